//! What the kernel is set to, what it grants, and what this process may do.

use crate::host::{HostError, HostReader, HostRoot, HugepagePool, KernelSettings, ProcessStatus};
use crate::memory::{Granted, Limit, Probes};
use crate::units::Bytes;

/// Facts that no decision needs. Settings are read below the host root; what is tried, and what this process may do, is
/// always of the running kernel.
#[derive(Debug)]
pub struct HostFacts {
    /// What the kernel is set to.
    pub settings: KernelSettings,
    /// Sizes of hugepages, ascending.
    pub hugepages: Vec<HugepageSize>,
    /// What this process may do.
    pub process: ProcessStatus,
    /// Where this process may be, by the host root.
    pub placed: ProcessStatus,
    /// What was tried.
    pub probes: Probes,
    /// RLIMIT_MEMLOCK, in bytes.
    pub locked_memory: Limit,
    /// RLIMIT_NOFILE.
    pub descriptors: Limit,
    /// Files that are there and cannot be read or understood.
    pub unreadable: Vec<HostError>,
}

/// A size of hugepages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HugepageSize {
    /// Bytes of a page.
    pub size: Bytes,
    /// `nr_overcommit_hugepages`: pages the kernel may try to make on demand.
    pub overcommit_pages: u64,
    /// Whether the running kernel makes memfds on them.
    pub granted: Granted,
}

impl HostFacts {
    /// Reads and tries everything. What fails is a fact too. Blocks for the time of some dozens of small files.
    #[must_use]
    pub fn gather(root: &HostRoot) -> Self {
        let mut unreadable = Vec::new();
        let mut below = HostReader::new(root.clone());
        let settings = KernelSettings::read(&mut below, &mut unreadable);
        let placed = ProcessStatus::read(&mut below, &mut unreadable);
        let process = ProcessStatus::read(&mut HostReader::new(HostRoot::default()), &mut unreadable);
        let pools = HugepagePool::read_system(&mut below).unwrap_or_else(|error| {
            unreadable.push(error);
            Vec::new()
        });
        let probes = Probes::run(&sizes(&pools), first_node(&process));
        Self {
            hugepages: hugepages(&pools, &probes),
            settings,
            process,
            placed,
            probes,
            locked_memory: Limit::of_locked_memory(),
            descriptors: Limit::of_descriptors(),
            unreadable,
        }
    }
}

fn sizes(pools: &[HugepagePool]) -> Vec<Bytes> {
    pools.iter().map(|pool| Bytes::new(pool.size_bytes)).collect()
}

fn hugepages(pools: &[HugepagePool], probes: &Probes) -> Vec<HugepageSize> {
    let tried = pools.iter().zip(&probes.hugepage_sizes);
    tried
        .map(|(pool, (size, granted))| HugepageSize {
            size: *size,
            overcommit_pages: pool.overcommit_pages,
            granted: *granted,
        })
        .collect()
}

/// A node that memory of this process may be on.
fn first_node(process: &ProcessStatus) -> u32 {
    process.nodes_allowed.as_ref().and_then(|nodes| nodes.iter().next()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_files_still_gives_facts_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let facts = HostFacts::gather(&HostRoot::new(folder.path()));
        assert_eq!(facts.settings, KernelSettings::default());
        assert_eq!((facts.hugepages.len(), facts.unreadable.len()), (0, 0));
        assert!(facts.process.capabilities.is_some());
        assert_eq!(facts.placed, ProcessStatus::default());
    }

    #[test]
    fn a_file_that_cannot_be_understood_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/sys/vm")).unwrap();
        std::fs::write(folder.path().join("proc/sys/vm/max_map_count"), "many\n").unwrap();
        std::fs::write(folder.path().join("proc/sys/vm/overcommit_memory"), "2\n").unwrap();
        let facts = HostFacts::gather(&HostRoot::new(folder.path()));
        assert_eq!((facts.settings.max_map_count, facts.settings.overcommit_memory), (None, Some(2)));
        let told: Vec<_> = facts.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told.iter().all(|error| error.contains("max_map_count")), "{told:?}");
    }
}
