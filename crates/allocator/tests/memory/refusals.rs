//! Every way memory is refused: the type, the figures, and nothing left behind.

use std::sync::Arc;

use hostpool_allocator::budget::{BudgetChange, Budgets, HOST_BUDGET};
use hostpool_allocator::memory::{MemoryWish, NumaPolicy, OnHugepageShortage};
use hostpool_allocator::pool::{V4PagedHostPool, V4PagedPoolSpec};
use hostpool_allocator::{
    Backing, Bytes, Errno, Error, HostBufferAllocationFailed, HostBufferFailure, InsufficientHostMemory,
    MemoryLimit, NumaNode,
};

use crate::machine::{
    Footprint, Hugepages, LAYOUTS, MIB, allocator, alone, believing, buffer, charged, pool_spec, wish,
};

fn failed(outcome: Result<impl Sized, Error>) -> HostBufferAllocationFailed {
    match outcome.err() {
        Some(Error::HostBufferAllocationFailed(failure)) => *failure,
        other => panic!("expected HOST_BUFFER_ALLOCATION_FAILED, got {other:?}"),
    }
}

fn insufficient(outcome: Result<V4PagedHostPool, Error>) -> InsufficientHostMemory {
    match outcome.err() {
        Some(Error::InsufficientHostMemory(short)) => *short,
        other => panic!("expected INSUFFICIENT_HOST_MEMORY, got {other:?}"),
    }
}

#[test]
fn a_pool_that_fails_at_its_17th_layer_has_given_back_the_first_16() {
    let _alone = alone();
    let Some(_pages) = Hugepages::set_up(2048, 16) else { return };
    let (_root, allocator) = believing(64 << 30, 1000);
    for backing in [Backing::AnonymousHugetlb, Backing::AnonymousShmHugetlb] {
        let before = Footprint::now();
        let failure = failed(V4PagedHostPool::allocate(&allocator, pool_spec(17, 2, MIB, backing)));
        assert_eq!(failure.reason, HostBufferFailure::HugepagesExhausted);
        assert_eq!(failure.errno.map(Errno::name).as_deref(), Some("ENOMEM"));
        assert_eq!(failure.hugepages_needed, Some(17));
        assert_eq!(Footprint::now(), before, "{backing:?}");
        assert_eq!(charged(&allocator), 0);
        assert!(V4PagedHostPool::allocate(&allocator, pool_spec(16, 2, MIB, backing)).is_ok());
    }
}

#[test]
fn equal_to_the_budget_fits_and_one_byte_more_does_not() {
    let _alone = alone();
    let cap = 1_000_000;
    for layout in LAYOUTS {
        let allocator = allocator();
        let change = BudgetChange { requested: Some(Some(Bytes::new(cap))), ..Default::default() };
        Budgets::unkept(Arc::clone(allocator.ledger())).update(HOST_BUDGET, &change).unwrap();
        let spec = |item_bytes| V4PagedPoolSpec { layout, ..pool_spec(1, 1, item_bytes, Backing::Anonymous) };
        drop(V4PagedHostPool::allocate(&allocator, spec(cap)).unwrap());
        let page_more =
            insufficient(V4PagedHostPool::allocate(&allocator, spec(cap.next_multiple_of(4096) + 1)));
        assert_eq!(page_more.limited_by, MemoryLimit::BudgetCap);
        let whole = BudgetChange { requested: Some(Some(Bytes::new(245 * 4096))), ..Default::default() };
        Budgets::unkept(Arc::clone(allocator.ledger())).update(HOST_BUDGET, &whole).unwrap();
        assert!(V4PagedHostPool::allocate(&allocator, spec(245 * 4096)).is_ok());
        let byte_more = insufficient(V4PagedHostPool::allocate(&allocator, spec(245 * 4096 + 1)));
        assert_eq!(byte_more.available.get(), 245 * 4096);
    }
}

#[test]
fn what_does_not_fit_names_the_largest_pool_that_would() {
    let _alone = alone();
    let (_root, allocator) = believing(100 * MIB, 24);
    for layout in LAYOUTS {
        for backing in [Backing::Anonymous, Backing::AnonymousHugetlb] {
            let spec = |pages| V4PagedPoolSpec { layout, ..pool_spec(3, pages, 300_000, backing) };
            let plan = V4PagedHostPool::plan(&allocator, &spec(1_000_000)).unwrap();
            assert!(!plan.fits);
            let most = plan.max_num_host_pages;
            assert!(
                V4PagedHostPool::plan(&allocator, &spec(most)).unwrap().fits,
                "{layout:?} {backing:?} {most}"
            );
            assert!(
                !V4PagedHostPool::plan(&allocator, &spec(most + 1)).unwrap().fits,
                "{layout:?} {backing:?}"
            );
        }
    }
}

#[test]
fn a_cap_refuses_a_buffer_as_a_budget_and_the_host_as_a_buffer() {
    let _alone = alone();
    let allocator = allocator();
    let change = BudgetChange { requested: Some(Some(Bytes::new(MIB))), ..Default::default() };
    Budgets::unkept(Arc::clone(allocator.ledger())).update(HOST_BUDGET, &change).unwrap();
    let Err(Error::BudgetExceeded(exceeded)) = buffer(&allocator, 2 * MIB, wish(Backing::Anonymous)) else {
        panic!("expected BUDGET_EXCEEDED")
    };
    assert_eq!((exceeded.requested.get(), exceeded.available.get()), (2 * MIB, MIB));
    let (_root, small) = believing(MIB, 0);
    let failure = failed(buffer(&small, 2 * MIB, wish(Backing::Anonymous)));
    assert_eq!(failure.reason, HostBufferFailure::HostMemoryExhausted);
    assert_eq!(failure.errno, None, "nothing was asked of the kernel");
}

#[test]
fn a_hugepage_size_or_node_the_host_does_not_have_is_named() {
    let _alone = alone();
    let (_root, allocator) = believing(64 << 30, 1000);
    let odd = MemoryWish { hugepage_size: Bytes::new(3 * MIB), ..wish(Backing::AnonymousHugetlb) };
    let failure = failed(buffer(&allocator, MIB, odd));
    assert_eq!(failure.reason, HostBufferFailure::HugepageSizeUnsupported);
    let far = MemoryWish { numa: NumaPolicy::bind(NumaNode::Node(3)), ..wish(Backing::Anonymous) };
    let failure = failed(buffer(&allocator, MIB, far));
    assert_eq!(failure.reason, HostBufferFailure::NumaNodeOffline);
    assert_eq!(failure.online_numa_nodes, [0, 1]);
}

#[test]
fn a_bind_that_the_kernel_refuses_is_a_failure_and_leaves_nothing() {
    let _alone = alone();
    if std::path::Path::new("/sys/devices/system/node/node1").exists() {
        println!("SKIPPED: node 1 exists here, so the kernel would bind to it");
        return;
    }
    let (_root, allocator) = believing(64 << 30, 0);
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let before = Footprint::now();
        let failure = failed(buffer(
            &allocator,
            MIB,
            MemoryWish { numa: NumaPolicy::bind(NumaNode::Node(1)), ..wish(backing) },
        ));
        assert_eq!(failure.reason, HostBufferFailure::NumaBindDenied);
        assert_eq!(failure.errno.map(Errno::name).as_deref(), Some("EINVAL"));
        assert_eq!(Footprint::now(), before);
        assert_eq!(charged(&allocator), 0);
    }
}

#[test]
fn a_size_whose_rounding_overflows_is_named_and_zero_is_no_size() {
    let _alone = alone();
    let (_root, allocator) = believing(64 << 30, 1000);
    let most = hostpool_allocator::MAX_COUNT;
    let failure = failed(buffer(&allocator, most, wish(Backing::Anonymous)));
    assert_eq!(failure.reason, HostBufferFailure::SizeOverflow);
    for bytes in [0, most + 1, u64::MAX] {
        let outcome = buffer(&allocator, bytes, wish(Backing::Anonymous));
        assert!(matches!(outcome, Err(Error::InvalidArgument { field: "nbytes", .. })), "{bytes}");
    }
}

#[test]
fn bad_shapes_name_their_field() {
    let _alone = alone();
    let (_root, allocator) = believing(64 << 30, 0);
    let good = pool_spec(2, 2, 4096, Backing::Anonymous);
    let bad = [
        ("layer_num", V4PagedPoolSpec { layer_num: 0, ..good.clone() }),
        ("layer_num", V4PagedPoolSpec { layer_num: u32::MAX, ..good.clone() }),
        ("num_host_pages", V4PagedPoolSpec { num_host_pages: 0, ..good.clone() }),
        ("num_host_pages", V4PagedPoolSpec { num_host_pages: 1 << 29, ..good.clone() }),
        ("item_bytes", V4PagedPoolSpec { item_bytes: Bytes::ZERO, ..good.clone() }),
        ("item_bytes", V4PagedPoolSpec { item_bytes: Bytes::new(1 << 52), ..good.clone() }),
        ("slot_page_size", V4PagedPoolSpec { slot_page_size: 0, ..good.clone() }),
        ("num_host_pages", V4PagedPoolSpec { slot_page_size: 1 << 53, ..good.clone() }),
    ];
    for (expected, spec) in bad {
        let planned = V4PagedHostPool::plan(&allocator, &spec).err();
        let made = V4PagedHostPool::allocate(&allocator, spec).err();
        for outcome in [planned, made] {
            match outcome {
                Some(Error::InvalidArgument { field, .. }) => {
                    assert!(field == expected || field == "slot_page_size", "{field} for {expected}");
                }
                other => panic!("expected INVALID_ARGUMENT {expected}, got {other:?}"),
            }
        }
    }
}

#[test]
fn falling_back_must_be_asked_for_is_checked_again_and_shows() {
    let _alone = alone();
    let (_root, allocator) = believing(256 * MIB, 1);
    for (hugetlb, ordinary) in [
        (Backing::AnonymousHugetlb, Backing::Anonymous),
        (Backing::AnonymousShmHugetlb, Backing::AnonymousShm),
    ] {
        let wished = wish(hugetlb);
        let failure = failed(buffer(&allocator, 8 * MIB, wished.clone()));
        assert_eq!(failure.reason, HostBufferFailure::HugepagesExhausted);
        assert_eq!((failure.hugepages_needed, failure.hugepages_free), (Some(4), Some(1)));
        let yielding = MemoryWish { on_hugepage_shortage: OnHugepageShortage::FallBack, ..wished };
        let fell = buffer(&allocator, 8 * MIB, yielding.clone()).unwrap();
        let placement = fell.memory().placement();
        assert!(placement.fell_back());
        assert_eq!((placement.requested_backing, placement.actual_backing), (hugetlb, ordinary));
        assert_eq!((placement.hugepage_size, placement.alignment.get()), (None, 4096));
        let failure = failed(buffer(&allocator, 512 * MIB, yielding));
        assert_eq!(failure.reason, HostBufferFailure::HostMemoryExhausted, "judged by ordinary memory then");
        assert_eq!(failure.requested_backing, hugetlb);
    }
}

#[test]
fn a_plan_follows_the_ladder_that_making_it_would() {
    let _alone = alone();
    let (_root, allocator) = believing(256 * MIB, 1);
    let spec = |on_hugepage_shortage| {
        let memory = MemoryWish { on_hugepage_shortage, ..wish(Backing::AnonymousHugetlb) };
        V4PagedPoolSpec { memory, ..pool_spec(1, 8, MIB, Backing::AnonymousHugetlb) }
    };
    let strict = V4PagedHostPool::plan(&allocator, &spec(OnHugepageShortage::Fail)).unwrap();
    assert_eq!(
        (strict.fits, strict.limited_by, strict.hugepages_free),
        (false, MemoryLimit::Hugepages, Some(1))
    );
    let yielding = V4PagedHostPool::plan(&allocator, &spec(OnHugepageShortage::FallBack)).unwrap();
    assert_eq!((yielding.fits, yielding.limited_by), (true, MemoryLimit::HostMemory));
    assert_eq!(yielding.hugepages_needed, None);
}

#[test]
fn a_rival_that_takes_the_hugepages_between_check_and_map_is_a_typed_error() {
    let _alone = alone();
    let Some(_pages) = Hugepages::set_up(2048, 4) else { return };
    let rival = buffer(&allocator(), 8 * MIB, wish(Backing::AnonymousHugetlb)).unwrap();
    let (_root, deceived) = believing(64 << 30, 1000);
    let before = Footprint::now();
    let failure = failed(buffer(&deceived, 8 * MIB, wish(Backing::AnonymousShmHugetlb)));
    assert_eq!(failure.reason, HostBufferFailure::HugepagesExhausted);
    assert!(failure.errno.is_some());
    assert_eq!(Footprint::now(), before);
    let yielding = MemoryWish {
        on_hugepage_shortage: OnHugepageShortage::FallBack,
        ..wish(Backing::AnonymousShmHugetlb)
    };
    assert!(buffer(&deceived, 8 * MIB, yielding).unwrap().memory().placement().fell_back());
    drop(rival);
}

#[test]
fn reserved_hugepages_are_not_promised_again() {
    let _alone = alone();
    let Some(_pages) = Hugepages::set_up(2048, 4) else { return };
    let allocator = allocator();
    let untouched = buffer(&allocator, 6 * MIB, wish(Backing::AnonymousShmHugetlb)).unwrap();
    let failure = failed(buffer(&allocator, 4 * MIB, wish(Backing::AnonymousHugetlb)));
    assert_eq!((failure.hugepages_needed, failure.hugepages_free), (Some(2), Some(1)));
    drop(untouched);
    assert!(buffer(&allocator, 8 * MIB, wish(Backing::AnonymousHugetlb)).is_ok());
}

#[test]
fn more_mappings_than_the_process_can_spare_are_refused_before_the_kernel_runs_out() {
    let _alone = alone();
    let (_root, allocator) = believing(64 << 30, 0);
    let before = Footprint::now();
    let mut pools = Vec::new();
    let failure = loop {
        match V4PagedHostPool::allocate(&allocator, pool_spec(4096, 1, 4096, Backing::AnonymousShm)) {
            Ok(pool) => pools.push(pool),
            Err(error) => break failed(Err::<(), _>(error)),
        }
    };
    assert_eq!(failure.reason, HostBufferFailure::System);
    assert_eq!(failure.errno.map(Errno::name).as_deref(), Some("ENOMEM"));
    assert!(!pools.is_empty());
    drop(pools);
    assert_eq!(Footprint::now(), before);
}
