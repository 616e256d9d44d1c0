//! What the host says: free to change at any moment, and to be unreadable.

use std::sync::{Arc, Mutex};

use hostpool_allocator::base_page;
use hostpool_allocator::budget::HostSource;
use hostpool_allocator::host::{
    AdmissionReading, CgroupMemory, CgroupVersion, HostError, HugepagePool, MemInfo, NodeMemInfo, NodeMemory,
};
use proptest::prelude::*;

/// Nodes there may be; an [`Ask`](super::step::Ask) may name one more.
const NODES: usize = 2;
/// Sizes of hugepages there are, in ordinary pages: small ones, so that all memory here is of one order.
pub(crate) const HUGE: [u64; 2] = [8, 32];

/// Figures in bytes, hugepages in pages.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) total: u64,
    pub(crate) available: u64,
    /// Limit and what is available below it.
    pub(crate) cgroup: Option<(u64, u64)>,
    /// Free and reserved pages of each size.
    pub(crate) hugepages: [(u64, u64); HUGE.len()],
    /// The nodes that are online.
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) file: u64,
    /// Free pages of each size.
    pub(crate) hugepages: [u64; HUGE.len()],
}

/// The bytes of an ordinary page.
pub(crate) fn page() -> u64 {
    base_page().get()
}

/// A host whose figures the test sets; `None` cannot be read.
#[derive(Clone)]
pub(crate) struct TestHost(pub(crate) Arc<Mutex<Option<AdmissionReading>>>);

impl HostSource for TestHost {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        self.0.lock().unwrap().clone().ok_or(HostError::Missing { path: "proc/meminfo".into() })
    }
}

impl TestHost {
    pub(crate) fn set(&self, weather: Option<&Weather>) {
        *self.0.lock().unwrap() = weather.map(Weather::reading);
    }
}

impl Weather {
    fn reading(&self) -> AdmissionReading {
        let pool = |(size, (free, reserved)): (u64, (u64, u64))| pool(size, free, reserved);
        AdmissionReading {
            memory: MemInfo {
                mem_total_bytes: self.total,
                mem_available_bytes: self.available,
                available_is_estimated: false,
            },
            cgroup: self.cgroup.map(|(limit, available)| cgroup(limit, available)),
            hugepages: HUGE.into_iter().zip(self.hugepages).map(pool).collect(),
            nodes: (0..).zip(&self.nodes).map(|(id, node)| node.memory(id)).collect(),
        }
    }
}

impl Node {
    fn memory(&self, id: u32) -> NodeMemory {
        NodeMemory {
            id,
            has_memory: true,
            mem: NodeMemInfo {
                mem_total_bytes: self.total,
                mem_free_bytes: self.free,
                file_bytes: self.file,
            },
            hugepages: HUGE.into_iter().zip(self.hugepages).map(|(size, free)| pool(size, free, 0)).collect(),
        }
    }
}

fn cgroup(limit_bytes: u64, available_bytes: u64) -> CgroupMemory {
    CgroupMemory {
        version: CgroupVersion::V2,
        path: "/job".to_owned(),
        limit_bytes,
        usage_bytes: limit_bytes - available_bytes,
        reclaimable_bytes: 0,
        available_bytes,
    }
}

fn pool(size_in_pages: u64, free_pages: u64, reserved_pages: u64) -> HugepagePool {
    HugepagePool {
        size_bytes: size_in_pages * page(),
        total_pages: 1000,
        free_pages,
        reserved_pages,
        surplus_pages: 0,
        overcommit_pages: 0,
    }
}

pub(crate) fn weather() -> impl Strategy<Value = Weather> {
    let hugepages = || [(0..80_u64, 0..40_u64), (0..24, 0..12)];
    let nodes = prop_oneof![9 => Just(NODES), 1 => 0..NODES]
        .prop_flat_map(|count| prop::collection::vec(node(), count));
    let bytes = (0..400_u64, 0..page()).prop_map(|(pages, odd)| pages * page() + odd);
    let figures = (400..800_u64, bytes, cgroup_pages(), hugepages(), nodes);
    figures.prop_map(|(total, available, cgroup, hugepages, nodes)| Weather {
        total: total * page(),
        available,
        cgroup: cgroup.map(|pages| {
            pages.map_or((total * page(), available), |(limit, available)| {
                (limit * page(), limit.min(available) * page())
            })
        }),
        hugepages,
        nodes,
    })
}

/// Limit and what is available below it; the inner `None`: as much as on the machine.
fn cgroup_pages() -> impl Strategy<Value = Option<Option<(u64, u64)>>> {
    let pages = (0..600_u64, 0..=600_u64);
    prop_oneof![7 => Just(None), 7 => pages.prop_map(|pages| Some(Some(pages))), 1 => Just(Some(None))]
}

fn node() -> impl Strategy<Value = Node> {
    let many = [0..40_u64, 0..12];
    let few = [0..6_u64, 0..3];
    let hugepages = prop_oneof![many, few];
    (0..400_u64, 0..300_u64, 0..80_u64, hugepages).prop_map(|(total, free, file, hugepages)| Node {
        total: total * page(),
        free: free * page(),
        file: file * page(),
        hugepages,
    })
}
