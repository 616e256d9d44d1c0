//! What an operation may leave behind, of every kind.

use std::collections::BTreeSet;
use std::fs;

use crate::budget::HOST_BUDGET;
use crate::memory::HostMemoryAllocator;
use crate::units::Bytes;

/// Looks at a process that is about to be as it was: a scoped thread gives its stack back, and leaves /proc, a moment after
/// its scope has ended.
const LOOKS: usize = 10_000;

/// Everything that the process has, the allocator counts and the machine has left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Footprint {
    mappings: BTreeSet<String>,
    descriptors: Vec<String>,
    threads: usize,
    charged: Bytes,
    permitted: (u64, u64),
    hugepages_free: String,
    hugepages_reserved: String,
}

impl Footprint {
    pub(super) fn now(allocator: &HostMemoryAllocator) -> Self {
        Self {
            mappings: mappings(),
            descriptors: descriptors(),
            threads: threads(),
            charged: allocator.ledger().budget(HOST_BUDGET).unwrap().unwrap().charged,
            permitted: allocator.permitted(),
            hugepages_free: hugepages("free_hugepages"),
            hugepages_reserved: hugepages("resv_hugepages"),
        }
    }

    /// Fails unless everything is as it was, or is so in a moment.
    pub(super) fn assert_unchanged(&self, allocator: &HostMemoryAllocator, after: &str) {
        settle(|| Self::now(allocator) == *self);
        let now = Self::now(allocator);
        let changed: Vec<_> = now.mappings.symmetric_difference(&self.mappings).collect();
        assert!(changed.is_empty(), "mappings that came or went: {changed:#?} after {after}");
        assert_eq!(&now, self, "after {after}");
    }
}

/// Looks until it is `done`, or has been looked at often enough.
pub(super) fn settle(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        std::thread::yield_now();
    }
}

pub(super) fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// The lines of /proc/self/maps but for the heap, which grows at its own end (brk(2)).
fn mappings() -> BTreeSet<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| !line.ends_with("[heap]")).map(str::to_owned).collect()
}

/// What each descriptor is open to, but for the folder that is being read.
fn descriptors() -> Vec<String> {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    targets.map(|target| target.display().to_string()).filter(|target| !target.ends_with("/fd")).collect()
}

/// A count of hugepages of 2 MiB, as the kernel words it; nothing where it has none.
fn hugepages(file: &str) -> String {
    let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}");
    fs::read_to_string(path).unwrap_or_default()
}
