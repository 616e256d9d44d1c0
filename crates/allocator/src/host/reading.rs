//! The snapshots: everything, and what a decision needs.

use super::cgroup::CgroupMemory;
use super::error::{HostError, ParseError};
use super::hugepages::HugepagePool;
use super::meminfo::MemInfo;
use super::numa::{NodeMemory, NumaNode};
use super::pressure::MemoryPressure;
use super::root::{HostReader, HostRoot};
use super::text::lines;

/// What a decision needs, and no more: taken anew under the ledger's lock each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionReading {
    /// The machine's memory.
    pub memory: MemInfo,
    /// The tightest memory limit of this process's groups; `None` where none has one.
    pub cgroup: Option<CgroupMemory>,
    /// The machine's hugepages of each size, ascending.
    pub hugepages: Vec<HugepagePool>,
    /// The online nodes, ascending; empty on a kernel without NUMA.
    pub nodes: Vec<NodeMemory>,
}

impl AdmissionReading {
    /// Reads it. Blocks for the time of a few dozen small files; the reader's buffer is used again.
    ///
    /// # Errors
    /// [`HostError`] for the first file that is needed and missing, or there and unusable.
    pub fn read(reader: &mut HostReader) -> Result<Self, HostError> {
        let memory = MemInfo::read(reader)?;
        let cgroup = CgroupMemory::read(reader)?;
        let hugepages = HugepagePool::read_system(reader)?;
        let nodes = NodeMemory::read_all(reader, &hugepages)?;
        Ok(Self { memory, cgroup, hugepages, nodes })
    }

    /// `min(MemAvailable, cgroup.available)`: what this process could get of ordinary memory.
    #[must_use]
    pub fn effective_available_bytes(&self) -> u64 {
        let available = self.memory.mem_available_bytes;
        self.cgroup.as_ref().map_or(available, |cgroup| available.min(cgroup.available_bytes))
    }

    /// The machine's pages of one size.
    #[must_use]
    pub fn hugepage_pool(&self, size_bytes: u64) -> Option<&HugepagePool> {
        self.hugepages.iter().find(|pool| pool.size_bytes == size_bytes)
    }

    /// The online node with this number.
    #[must_use]
    pub fn node(&self, id: u32) -> Option<&NodeMemory> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

/// Everything, for the `host` query.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReading {
    /// The machine's name as this process sees it (a container's own).
    pub hostname: String,
    /// The machine's memory.
    pub memory: MemInfo,
    /// The tightest memory limit of this process's groups; `None` where none has one.
    pub cgroup: Option<CgroupMemory>,
    /// [`AdmissionReading::effective_available_bytes`] of the same moment.
    pub effective_available_bytes: u64,
    /// The machine's hugepages of each size, ascending.
    pub hugepages: Vec<HugepagePool>,
    /// The online nodes, ascending; empty on a kernel without NUMA.
    pub numa_nodes: Vec<NumaNode>,
    /// `None` where the kernel has no pressure figures.
    pub pressure: Option<MemoryPressure>,
}

impl HostReading {
    /// Reads it. Blocks for the time of a few dozen small files.
    ///
    /// # Errors
    /// [`HostError`] for the first file that is needed and missing, or there and unusable.
    pub fn read(root: &HostRoot) -> Result<Self, HostError> {
        let mut reader = HostReader::new(root.clone());
        let admission = AdmissionReading::read(&mut reader)?;
        let effective_available_bytes = admission.effective_available_bytes();
        let AdmissionReading { memory, cgroup, hugepages, nodes } = admission;
        let numa_nodes = nodes.into_iter().map(|node| NumaNode::read(&mut reader, node));
        let numa_nodes = numa_nodes.collect::<Result<_, _>>()?;
        let pressure = MemoryPressure::read(&mut reader)?;
        let hostname = read_hostname(&mut reader)?;
        Ok(Self { hostname, memory, cgroup, effective_available_bytes, hugepages, numa_nodes, pressure })
    }
}

/// The name below the root, else (fake trees have none) the real machine's.
fn read_hostname(reader: &mut HostReader) -> Result<String, HostError> {
    let parts = ["proc/sys/kernel/hostname"];
    match reader.read(&parts, parse_hostname)? {
        Some(hostname) => Ok(hostname),
        None => HostReader::new(HostRoot::default()).require(&parts, parse_hostname),
    }
}

/// Reads the text of `/proc/sys/kernel/hostname` (Documentation/admin-guide/sysctl/kernel.rst): its first line.
///
/// # Errors
/// [`ParseError::MissingField`] for a text without any.
pub fn parse_hostname(text: &str) -> Result<String, ParseError> {
    lines(text).next().map(str::to_owned).ok_or(ParseError::MissingField { field: "hostname" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostname_is_the_first_line() {
        assert_eq!(parse_hostname("gpu-7\n"), Ok("gpu-7".to_owned()));
        assert_eq!(parse_hostname("\n"), Err(ParseError::MissingField { field: "hostname" }));
    }
}
