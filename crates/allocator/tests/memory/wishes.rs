//! Nodes, transparent hugepages and locking: wished, had, and told apart.

use std::fs;

use hostpool_allocator::memory::{
    HostBuffer, HostMemoryAllocator, MemoryWish, NumaPolicy, TransparentHugepages,
};
use hostpool_allocator::{Backing, Bytes, Error, HostBufferFailure, NodeSet};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::machine::{Footprint, Hugepages, MIB, allocator, alone, believing, charged, wish};

const ORDINARY: [Backing; 2] = [Backing::Anonymous, Backing::AnonymousShm];

fn make(allocator: &HostMemoryAllocator, bytes: u64, memory: MemoryWish) -> Result<HostBuffer, Error> {
    let buffer = crate::machine::buffer(allocator, bytes, memory)?;
    buffer.memory().prefault()?;
    Ok(buffer)
}

fn reason(outcome: Result<HostBuffer, Error>) -> HostBufferFailure {
    let Err(Error::HostBufferAllocationFailed(failure)) = outcome else {
        panic!("expected a failure of the allocator")
    };
    failure.reason
}

fn nodes(nodes: &[u32]) -> NodeSet {
    nodes.iter().copied().collect()
}

/// `VmLck` of this process.
fn locked_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn every_policy_over_node_0_is_on_node_0_and_says_which_it_is() {
    let _alone = alone();
    let allocator = allocator();
    for numa in [
        NumaPolicy::Bind(nodes(&[0])),
        NumaPolicy::Preferred(0),
        NumaPolicy::Interleave(nodes(&[0])),
        NumaPolicy::Interleave(nodes(&[])),
    ] {
        for backing in ORDINARY {
            let buffer =
                make(&allocator, 8 * MIB, MemoryWish { numa: numa.clone(), ..wish(backing) }).unwrap();
            let told = &buffer.memory().placement().numa;
            assert!(told.named().contains(0), "{told:?}");
            assert_eq!(std::mem::discriminant(told), std::mem::discriminant(&numa));
            let by_node = buffer.memory().bytes_by_node().unwrap();
            assert!(by_node.iter().any(|at| at.node == 0), "{by_node:?}");
            assert_eq!(by_node.iter().map(|at| at.bytes.get()).sum::<u64>(), 8 * MIB);
        }
    }
}

#[test]
fn one_node_that_is_offline_refuses_a_policy_over_several() {
    let _alone = alone();
    let allocator = allocator();
    let before = Footprint::now();
    for numa in [
        NumaPolicy::Bind(nodes(&[0, 1000])),
        NumaPolicy::Interleave(nodes(&[0, 1000])),
        NumaPolicy::Preferred(1000),
    ] {
        let refused = make(&allocator, MIB, MemoryWish { numa, ..wish(Backing::AnonymousShm) });
        assert_eq!(reason(refused), HostBufferFailure::NumaNodeOffline);
    }
    assert_eq!((charged(&allocator), Footprint::now()), (0, before));
}

#[test]
fn what_the_kernel_takes_of_a_policy_is_read_back() {
    let _alone = alone();
    if fs::read_to_string("/sys/devices/system/node/has_memory").unwrap().trim() != "0" {
        println!("SKIPPED: this machine has more than one node; a bind to nodes 0 and 1 is no lie here");
        return;
    }
    // It believes in node 1, which the kernel passes over without a word.
    let (_root, allocator) = believing(64 << 30, 0);
    let before = Footprint::now();
    let numa = NumaPolicy::Bind(nodes(&[0, 1]));
    let refused = make(&allocator, MIB, MemoryWish { numa, ..wish(Backing::AnonymousShm) });
    assert_eq!(reason(refused), HostBufferFailure::NumaBindDenied);
    assert_eq!((charged(&allocator), Footprint::now()), (0, before));
}

#[test]
fn a_bind_to_several_nodes_has_what_they_have_together() {
    let _alone = alone();
    let (_root, allocator) = believing(1 << 30, 100);
    let fits = |pages: u64, numa: NumaPolicy| {
        let memory = MemoryWish { numa, ..wish(Backing::AnonymousHugetlb) };
        let spec = hostpool_allocator::pool::V4PagedPoolSpec {
            memory,
            ..crate::machine::pool_spec(1, pages, 2 * MIB, Backing::AnonymousHugetlb)
        };
        hostpool_allocator::pool::V4PagedHostPool::plan(&allocator, &spec).unwrap().fits
    };
    assert!(fits(100, NumaPolicy::Bind(nodes(&[0]))));
    assert!(!fits(101, NumaPolicy::Bind(nodes(&[0]))));
    assert!(fits(100, NumaPolicy::Bind(nodes(&[0, 1]))), "the machine's figure is no more");
    assert!(fits(100, NumaPolicy::Interleave(nodes(&[0]))), "an interleave may go elsewhere");
}

#[test]
fn transparent_hugepages_are_had_where_the_kernel_allows_them_and_never_where_they_are_not_wished() {
    let _alone = alone();
    let allowed = |file: &str| {
        let modes = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}"));
        modes.is_ok_and(|modes| ["[always]", "[madvise]", "[advise]"].iter().any(|mode| modes.contains(mode)))
    };
    let allocator = allocator();
    for (backing, file) in [(Backing::Anonymous, "enabled"), (Backing::AnonymousShm, "shmem_enabled")] {
        for transparent_hugepages in [TransparentHugepages::Always, TransparentHugepages::Never] {
            let memory = MemoryWish { transparent_hugepages, ..wish(backing) };
            let buffer = make(&allocator, 64 * MIB, memory).unwrap();
            assert_eq!(buffer.memory().placement().transparent_hugepages, transparent_hugepages);
            let Some(huge) = buffer.memory().transparent_huge_bytes() else {
                println!("SKIPPED: this kernel does not tell (before 6.7)");
                return;
            };
            if transparent_hugepages == TransparentHugepages::Never || !allowed(file) {
                assert_eq!(huge, Bytes::ZERO, "{backing:?} {transparent_hugepages:?}");
            } else {
                assert!(huge >= Bytes::mebibytes(32), "{backing:?}: {huge} of 64 MiB");
            }
        }
    }
}

#[test]
fn locked_memory_is_locked_and_unlocked_with_it() {
    let _alone = alone();
    let allocator = allocator();
    for backing in ORDINARY {
        let before = locked_bytes();
        let buffer = make(&allocator, 16 * MIB, MemoryWish { lock: true, ..wish(backing) });
        let buffer = match buffer {
            Err(error) if getrlimit(Resource::Memlock).current.is_some_and(|limit| limit < 16 * MIB) => {
                assert_eq!(reason(Err(error)), HostBufferFailure::MemlockLimit);
                println!("SKIPPED: this user may not lock 16 MiB");
                return;
            }
            buffer => buffer.unwrap(),
        };
        assert!(buffer.memory().placement().locked);
        assert_eq!(locked_bytes() - before, 16 * MIB);
        drop(buffer);
        assert_eq!(locked_bytes(), before);
    }
}

#[test]
fn hugepages_of_a_pool_are_never_swapped_so_locking_them_takes_no_limit() {
    let _alone = alone();
    let Some(_hugepages) = Hugepages::set_up(2048, 8) else { return };
    let (allocator, before) = (allocator(), locked_bytes());
    let buffer = make(&allocator, 16 * MIB, MemoryWish { lock: true, ..wish(Backing::AnonymousShmHugetlb) });
    assert!(buffer.unwrap().memory().placement().locked);
    assert_eq!(locked_bytes(), before);
}

#[test]
fn more_than_this_process_may_lock_is_refused_before_anything_is_mapped() {
    let _alone = alone();
    let Some(limit) = getrlimit(Resource::Memlock).current else {
        println!("SKIPPED: RLIMIT_MEMLOCK is unlimited here, and is not ours to lower for the other tests");
        return;
    };
    let (allocator, before) = (allocator(), Footprint::now());
    let without_capability = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::IPC_LOCK);
        set_capabilities(None, sets).unwrap();
        let locking = |bytes| make(&allocator, bytes, MemoryWish { lock: true, ..wish(Backing::Anonymous) });
        assert_eq!(reason(locking(limit + MIB)), HostBufferFailure::MemlockLimit);
        assert!(locking(MIB.min(limit)).is_ok());
    };
    // A capability is a thread's own: the other tests keep theirs.
    std::thread::scope(|scope| scope.spawn(without_capability).join().unwrap());
    assert_eq!((charged(&allocator), Footprint::now()), (0, before));
}
