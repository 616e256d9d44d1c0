//! What the tests set up on the machine, and how they see that nothing is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hostpool_allocator::budget::HOST_BUDGET;
use hostpool_allocator::host::HostRoot;
use hostpool_allocator::memory::{HostBuffer, HostBufferSpec, HostMemoryAllocator, MemoryWish};
use hostpool_allocator::pool::{Layout, V4PagedPoolSpec};
use hostpool_allocator::{Backing, Bytes, Error};

#[path = "../support/hugepages.rs"]
mod hugepages;

pub(crate) use hugepages::Hugepages;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const TWO_MIB: Bytes = Bytes::mebibytes(2);
pub(crate) const BACKINGS: [Backing; 4] =
    [Backing::Anonymous, Backing::AnonymousHugetlb, Backing::AnonymousShm, Backing::AnonymousShmHugetlb];
pub(crate) const LAYOUTS: [Layout; 3] = [Layout::LayerFirst, Layout::PageFirst, Layout::PageFirstDirect];

/// These tests look at the whole process and change the machine: one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process's mappings, descriptors and the machine's free hugepages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    shared_mapped_bytes: u64,
    descriptors: usize,
    hugepages_free: u64,
    hugepages_reserved: u64,
}

impl Footprint {
    pub(crate) fn now() -> Self {
        Self {
            shared_mapped_bytes: mapped_bytes(|line| {
                line.contains("memfd:hostpool") || line.contains("anon_hugepage")
            }),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            hugepages_free: hugepages("free_hugepages"),
            hugepages_reserved: hugepages("resv_hugepages"),
        }
    }
}

/// Bytes of the mappings whose line of /proc/self/maps is wanted.
pub(crate) fn mapped_bytes(wanted: impl Fn(&str) -> bool) -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let length = |line: &str| {
        let (start, rest) = line.split_once('-').unwrap();
        let end = rest.split(' ').next().unwrap();
        u64::from_str_radix(end, 16).unwrap() - u64::from_str_radix(start, 16).unwrap()
    };
    maps.lines().filter(|line| wanted(line)).map(length).sum()
}

/// Bytes mapped by the process in all.
pub(crate) fn all_mapped_bytes() -> u64 {
    mapped_bytes(|_| true)
}

fn hugepages(file: &str) -> u64 {
    read_number(&two_mib_folder().join(file)).unwrap_or(0)
}

fn two_mib_folder() -> PathBuf {
    PathBuf::from("/sys/kernel/mm/hugepages/hugepages-2048kB")
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// An allocator over the real machine that keeps nothing for the host.
pub(crate) fn allocator() -> HostMemoryAllocator {
    HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO).unwrap()
}

/// An allocator that believes in `available` bytes, `hugepages` of 2 MiB and nodes 0 and 1.
pub(crate) fn believing(available: u64, hugepages: u64) -> (tempfile::TempDir, HostMemoryAllocator) {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: String| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let kib = available / 1024;
    write("proc/meminfo", format!("MemTotal: {kib} kB\nMemFree: {kib} kB\nMemAvailable: {kib} kB\n"));
    let pool = "hugepages/hugepages-2048kB";
    for folder in ["sys/kernel/mm", "sys/devices/system/node/node0", "sys/devices/system/node/node1"] {
        write(&format!("{folder}/{pool}/nr_hugepages"), hugepages.to_string());
        write(&format!("{folder}/{pool}/free_hugepages"), hugepages.to_string());
        write(&format!("{folder}/{pool}/surplus_hugepages"), "0".to_owned());
    }
    write(&format!("sys/kernel/mm/{pool}/resv_hugepages"), "0".to_owned());
    write("sys/devices/system/node/online", "0-1\n".to_owned());
    for node in 0..2 {
        let folder = format!("sys/devices/system/node/node{node}");
        write(
            &format!("{folder}/meminfo"),
            format!("Node {node} MemTotal: {kib} kB\nNode {node} MemFree: {kib} kB\n"),
        );
    }
    let allocator = HostMemoryAllocator::new(HostRoot::new(root.path()), Bytes::ZERO).unwrap();
    (root, allocator)
}

pub(crate) fn wish(backing: Backing) -> MemoryWish {
    MemoryWish::of(backing)
}

/// A buffer that nothing of is faulted in, or why there is none.
pub(crate) fn buffer(
    allocator: &HostMemoryAllocator,
    bytes: u64,
    memory: MemoryWish,
) -> Result<HostBuffer, Error> {
    let budget = HOST_BUDGET.to_owned();
    let spec = HostBufferSpec { name: None, bytes: Bytes::new(bytes), memory, budget, rank: None };
    HostBuffer::allocate(allocator, spec)
}

pub(crate) fn pool_spec(
    layer_num: u32,
    num_host_pages: u64,
    item_bytes: u64,
    backing: Backing,
) -> V4PagedPoolSpec {
    V4PagedPoolSpec {
        name: "kv".to_owned(),
        layer_num,
        num_host_pages,
        item_bytes: Bytes::new(item_bytes),
        slot_page_size: 64,
        layout: Layout::LayerFirst,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        memory: wish(backing),
    }
}

pub(crate) fn charged(allocator: &HostMemoryAllocator) -> u64 {
    allocator.ledger().budget(HOST_BUDGET).unwrap().unwrap().charged.get()
}
