//! The host as JS sees it.

use napi_derive::napi;

use super::number::js;
use crate::host;

/// Hugepages of one size.
#[napi(object)]
pub struct HugepagePool {
    /// Bytes of a page.
    pub size: f64,
    /// Pages in all.
    pub total: f64,
    /// Pages free, some of them perhaps reserved.
    pub free: f64,
    /// Pages promised to mappings that have not touched them; 0 on a node, where the kernel does not say.
    pub reserved: f64,
    /// Pages beyond the persistent pool.
    pub surplus: f64,
    /// free - reserved.
    pub usable: f64,
    /// usable x size.
    pub usable_bytes: f64,
}

/// A NUMA node.
#[napi(object)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// MemTotal.
    pub mem_total: f64,
    /// MemFree.
    pub mem_free: f64,
    /// Its CPUs as a list: 0-3,8.
    pub cpus: String,
    /// Distance to each node.
    pub distances: Vec<u32>,
    /// Its hugepages.
    pub hugepages: Vec<HugepagePool>,
}

/// The tightest memory cgroup.
#[napi(object)]
pub struct CgroupMemory {
    /// 1 or 2.
    pub version: u32,
    /// The group.
    pub path: String,
    /// Its limit.
    pub limit: f64,
    /// What it uses.
    pub usage: f64,
    /// Page cache in it that the kernel can drop.
    pub reclaimable: f64,
    /// limit - usage + reclaimable.
    pub available: f64,
}

/// Memory pressure (PSI), in per cent of the last 10 seconds.
#[napi(object)]
pub struct MemoryPressure {
    /// Some task was stalled.
    pub some_avg_10: f64,
    /// All tasks were stalled.
    pub full_avg_10: f64,
}

/// Everything the host has.
#[napi(object)]
pub struct HostReading {
    /// Its name.
    pub hostname: String,
    /// MemTotal.
    pub mem_total: f64,
    /// MemAvailable.
    pub mem_available: f64,
    /// The tightest memory cgroup.
    pub cgroup: Option<CgroupMemory>,
    /// min(memAvailable, cgroup.available).
    pub effective_available: f64,
    /// Hugepages by size.
    pub hugepages: Vec<HugepagePool>,
    /// NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Memory pressure.
    pub pressure: Option<MemoryPressure>,
}

pub(super) fn js_host(host: host::HostReading) -> HostReading {
    HostReading {
        hostname: host.hostname,
        mem_total: js(host.memory.mem_total_bytes),
        mem_available: js(host.memory.mem_available_bytes),
        cgroup: host.cgroup.map(js_cgroup),
        effective_available: js(host.effective_available_bytes),
        hugepages: host.hugepages.iter().map(js_hugepages).collect(),
        numa_nodes: host.numa_nodes.iter().map(js_node).collect(),
        pressure: host.pressure.map(js_pressure),
    }
}

fn js_hugepages(pool: &host::HugepagePool) -> HugepagePool {
    HugepagePool {
        size: js(pool.size_bytes),
        total: js(pool.total_pages),
        free: js(pool.free_pages),
        reserved: js(pool.reserved_pages),
        surplus: js(pool.surplus_pages),
        usable: js(pool.usable_pages()),
        usable_bytes: js(pool.usable_bytes()),
    }
}

fn js_node(node: &host::NumaNode) -> NumaNode {
    NumaNode {
        id: node.memory.id,
        mem_total: js(node.memory.mem.mem_total_bytes),
        mem_free: js(node.memory.mem.mem_free_bytes),
        cpus: node.cpus.to_string(),
        distances: node.distances.clone(),
        hugepages: node.memory.hugepages.iter().map(js_hugepages).collect(),
    }
}

fn js_cgroup(cgroup: host::CgroupMemory) -> CgroupMemory {
    CgroupMemory {
        version: cgroup.version.number(),
        path: cgroup.path,
        limit: js(cgroup.limit_bytes),
        usage: js(cgroup.usage_bytes),
        reclaimable: js(cgroup.reclaimable_bytes),
        available: js(cgroup.available_bytes),
    }
}

fn js_pressure(pressure: host::MemoryPressure) -> MemoryPressure {
    MemoryPressure { some_avg_10: pressure.some_avg10, full_avg_10: pressure.full_avg10 }
}
