//! What the source systems do and clients rely on, and the sentences they match on.

#![expect(clippy::unwrap_used, reason = "a panic here is how a test fails")]

use hostpool_allocator::budget::HOST_BUDGET;
use hostpool_allocator::host::HostRoot;
use hostpool_allocator::memory::{HostMemoryAllocator, MemoryWish};
use hostpool_allocator::pool::{Layout, LogicalHostPool, V4PagedHostPool, V4PagedPoolSpec};
use hostpool_allocator::slots::SlotRange;
use hostpool_allocator::{
    Backing, Bytes, Error, HostBufferAllocationFailed, HostBufferFailure, InsufficientHostMemory, MAX_COUNT,
    MemoryLimit, NodeSet, NumaNode,
};

fn range(start: u64, count: u64) -> SlotRange {
    SlotRange { start, count }
}

fn v4_pool() -> V4PagedHostPool {
    let allocator = HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO).unwrap();
    let memory = MemoryWish::of(Backing::Anonymous);
    let spec = V4PagedPoolSpec {
        name: "kv".to_owned(),
        layer_num: 1,
        num_host_pages: 3,
        item_bytes: Bytes::new(100),
        slot_page_size: 64,
        layout: Layout::PageFirst,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        memory,
    };
    V4PagedHostPool::allocate(&allocator, spec).unwrap()
}

#[test]
fn six_of_eight_taken_one_page_back_and_taken_again() {
    let pool = LogicalHostPool::new(8, 2).unwrap();
    assert_eq!(pool.allocate_slots(6).unwrap(), [range(0, 6)]);
    assert_eq!(pool.free_slots(&[0, 1]).unwrap(), 2);
    assert_eq!(pool.stats().available_slots, 4);
    let again = pool.allocate_slots(2).unwrap();
    assert_eq!(again, [range(0, 2)], "a whole page, the lowest");
    assert_eq!(pool.stats().available_slots, 2);
    assert_eq!(pool.stats().allocated_slots, 6);
}

#[test]
fn a_v4_pool_rounds_a_request_up_to_a_page() {
    let pool = v4_pool();
    assert_eq!(pool.allocate_slots(1).unwrap(), [range(0, 64)]);
    assert_eq!(pool.allocate_slots(65).unwrap(), [range(64, 128)]);
    assert!(matches!(
        pool.allocate_slots(1),
        Err(Error::PoolExhausted { need_size: 64, available_slots: 0 })
    ));
}

#[test]
fn freeing_nothing_is_zero_and_freeing_after_a_clear_is_refused() {
    let pool = LogicalHostPool::new(8, 2).unwrap();
    pool.allocate_slots(8).unwrap();
    assert_eq!(pool.free_slots(&[]).unwrap(), 0);
    assert_eq!(pool.free_ranges(&[]).unwrap(), 0);
    pool.clear();
    assert!(matches!(pool.free_slots(&[0, 1]), Err(Error::DoubleFree { count: 2, .. })));
    assert_eq!(pool.stats().available_slots, 8);
}

#[test]
fn a_v4_pool_takes_back_whole_pages_only() {
    let pool = v4_pool();
    pool.allocate_slots(64).unwrap();
    assert!(matches!(pool.free_slots(&[0]), Err(Error::InvalidArgument { field: "indices", .. })));
    assert!(matches!(pool.free_ranges(&[range(0, 63)]), Err(Error::InvalidArgument { field: "ranges", .. })));
    assert!(matches!(
        pool.free_ranges(&[range(128, 128)]),
        Err(Error::SlotOutOfRange { slot: 192, size: 192 })
    ));
    assert_eq!(pool.free_ranges(&[range(0, 64)]).unwrap(), 64);
}

#[test]
fn a_run_that_is_long_enough_but_starts_off_a_page_boundary_is_an_invalid_argument() {
    let pool = LogicalHostPool::new(8, 2).unwrap();
    pool.allocate_slots(8).unwrap();
    assert!(matches!(pool.free_slots(&[1, 2]), Err(Error::InvalidArgument { field: "indices", .. })));
    assert!(matches!(pool.free_ranges(&[range(1, 2)]), Err(Error::InvalidArgument { field: "ranges", .. })));
    assert_eq!(pool.stats().available_slots, 0);
}

#[test]
fn sizes_that_are_no_sizes_name_their_field() {
    for (size, page_size, expected) in [
        (0, 16, "size"),
        (16, 0, "page_size"),
        (MAX_COUNT + 1, 1, "size"),
        (u64::MAX, 1, "size"),
        (16, MAX_COUNT + 1, "page_size"),
        (1 << 40, 1, "size"),
    ] {
        match LogicalHostPool::new(size, page_size) {
            Err(Error::InvalidArgument { field, .. }) => assert_eq!(field, expected, "{size}, {page_size}"),
            other => panic!("expected INVALID_ARGUMENT for {size}, {page_size}, got {other:?}"),
        }
    }
    let pool = LogicalHostPool::new(16, 16).unwrap();
    assert!(matches!(pool.allocate_slots(0), Err(Error::InvalidArgument { field: "need_size", .. })));
    assert!(matches!(
        v4_pool().allocate_slots(u64::MAX),
        Err(Error::InvalidArgument { field: "need_size", .. })
    ));
}

#[test]
fn the_sentences_are_the_documented_ones() {
    let pool = LogicalHostPool::new(32, 16).unwrap();
    let sentence = |error: Error| error.to_string();
    assert_eq!(
        sentence(LogicalHostPool::new(1000, 16).unwrap_err()),
        "LogicalHostPool size must be page-aligned, got size=1000, page_size=16"
    );
    assert_eq!(
        sentence(pool.allocate_slots(5).unwrap_err()),
        "LogicalHostPool allocation must be page-aligned, got need_size=5, page_size=16"
    );
    assert_eq!(
        sentence(pool.free_slots(&[1, 2, 3]).unwrap_err()),
        "LogicalHostPool free must be page-aligned, got len(indices)=3, page_size=16"
    );
    let slots: Vec<u64> = (0..16).collect();
    assert_eq!(
        sentence(pool.free_slots(&slots).unwrap_err()),
        "Double-free detected: slots not currently allocated: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]."
    );
    let short = InsufficientHostMemory {
        pool_name: "rank0".to_owned(),
        requested: Bytes::new(176_710_000_000),
        mapped: Bytes::new(176_710_000_640),
        available: Bytes::new(105_819_996_160),
        max_num_host_pages: 10_581,
        limited_by: MemoryLimit::HostMemory,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
    };
    assert_eq!(
        sentence(Error::InsufficientHostMemory(Box::new(short))),
        "Not enough host memory for V4 paged pool rank0. Requesting 176.71 GB but only have 105.82 GB free."
    );
}

#[test]
fn the_allocators_sentence_spells_each_backing_and_node() {
    for (backing, node, spelled) in [
        (Backing::Anonymous, NumaNode::Node(3), "Anonymous, numa_node=3"),
        (Backing::AnonymousHugetlb, NumaNode::Any, "AnonymousHugetlb, numa_node=-1"),
        (Backing::AnonymousShm, NumaNode::Any, "AnonymousShm, numa_node=-1"),
        (Backing::AnonymousShmHugetlb, NumaNode::Node(0), "AnonymousShmHugetlb, numa_node=0"),
    ] {
        let failure = HostBufferAllocationFailed {
            reason: HostBufferFailure::System,
            requested: Bytes::new(1_048_576),
            mapped: Bytes::new(1_048_576),
            requested_backing: backing,
            hugepage_size: None,
            numa_nodes: NodeSet::from(node),
            errno: None,
            hugepages_needed: None,
            hugepages_free: None,
            online_numa_nodes: vec![0],
        };
        assert_eq!(
            Error::HostBufferAllocationFailed(Box::new(failure)).to_string(),
            format!(
                "UMBPHostMemAllocator.alloc(1048576 bytes) failed (requested_backing=UMBPHostBufferBacking.{spelled})."
            )
        );
    }
}
