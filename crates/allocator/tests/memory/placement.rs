//! Prefault, cancellation, and where the pages landed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hostpool_allocator::memory::{MemoryWish, NumaPolicy};
use hostpool_allocator::{Backing, Bytes, Error, HostBufferFailure, NumaNode};

use crate::machine::{BACKINGS, Footprint, Hugepages, MIB, allocator, alone, buffer, charged, wish};

#[test]
fn a_prefault_reports_every_byte_and_where_it_is() {
    let _alone = alone();
    let hugepages = Hugepages::set_up(2048, 160);
    for backing in BACKINGS.into_iter().filter(|backing| !backing.is_hugetlb() || hugepages.is_some()) {
        let allocator = allocator();
        let buffer = buffer(&allocator, 300 * MIB + 1, wish(backing)).unwrap();
        let before = buffer.memory().progress();
        assert_eq!((before.resident, before.done, before.threads), (Bytes::ZERO, false, 0));
        assert_eq!(buffer.memory().bytes_by_node(), None);
        buffer.memory().prefault().unwrap();
        let after = buffer.memory().progress();
        assert_eq!((after.resident, after.done), (after.total, true));
        assert!(after.threads >= 1 && after.bytes_per_second.is_some());
        let by_node = buffer.memory().bytes_by_node().unwrap();
        assert_eq!(by_node.iter().map(|at| at.bytes).sum::<Bytes>(), after.total, "{backing:?}");
    }
}

#[test]
fn memory_bound_to_node_0_is_on_node_0() {
    let _alone = alone();
    let allocator = allocator();
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let buffer = buffer(
            &allocator,
            64 * MIB,
            MemoryWish { numa: NumaPolicy::bind(NumaNode::Node(0)), ..wish(backing) },
        )
        .unwrap();
        buffer.memory().prefault().unwrap();
        let by_node: Vec<_> =
            buffer.memory().bytes_by_node().unwrap().iter().map(|at| (at.node, at.bytes.get())).collect();
        assert_eq!(by_node, [(0, 64 * MIB)]);
    }
}

#[test]
fn what_another_process_faults_in_through_the_memfd_shows() {
    let _alone = alone();
    let allocator = allocator();
    let pool_spec = crate::machine::pool_spec(1, 4, MIB, Backing::AnonymousShm);
    let pool = hostpool_allocator::pool::V4PagedHostPool::allocate(&allocator, pool_spec).unwrap();
    assert_eq!(pool.memory().progress().resident, Bytes::ZERO);
    pool.write_page(0, 2, &vec![7; usize::try_from(MIB).unwrap()]).unwrap();
    assert_eq!(pool.memory().progress().resident.get(), MIB);
}

#[test]
fn a_cancelled_prefault_says_so_and_leaves_nothing() {
    let _alone = alone();
    let allocator = allocator();
    let before = Footprint::now();
    let buffer = Arc::new(buffer(&allocator, 2048 * MIB, wish(Backing::AnonymousShm)).unwrap());
    let outcome = std::thread::scope(|scope| {
        let prefault = scope.spawn(|| buffer.memory().prefault());
        let waiting = Instant::now();
        while buffer.memory().progress().resident == Bytes::ZERO
            && waiting.elapsed() < Duration::from_secs(60)
        {
            std::thread::yield_now();
        }
        buffer.memory().cancel();
        prefault.join().unwrap()
    });
    let Err(Error::HostBufferAllocationFailed(failure)) = outcome else { panic!("expected a failure") };
    assert_eq!(failure.reason, HostBufferFailure::Cancelled);
    assert_eq!(charged(&allocator), 0);
    assert_eq!(buffer.memory().close(), Bytes::ZERO, "given back already");
    assert_eq!(Footprint::now(), before);
}

#[test]
fn closing_waits_for_a_running_prefault_and_gives_everything_back() {
    let _alone = alone();
    let allocator = allocator();
    let before = Footprint::now();
    let buffer = Arc::new(buffer(&allocator, 1024 * MIB, wish(Backing::AnonymousShm)).unwrap());
    let (outcome, released) = std::thread::scope(|scope| {
        let prefault = scope.spawn(|| buffer.memory().prefault());
        let waiting = Instant::now();
        while buffer.memory().progress().threads == 0 && waiting.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        let released = buffer.memory().close();
        (prefault.join().unwrap(), released)
    });
    assert!(outcome.is_err());
    assert!(released == Bytes::ZERO || released.get() == 1024 * MIB, "whichever of the two got there first");
    assert_eq!(charged(&allocator), 0);
    assert_eq!(Footprint::now(), before);
}
