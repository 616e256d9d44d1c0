//! Pools that grow together: all of them or none.

use std::sync::Arc;

use std::thread;

use hostpool_allocator::budget::{BudgetChange, BudgetTerms, Budgets, HOST_BUDGET};
use hostpool_allocator::memory::{HostMemoryAllocator, MemoryWish, NumaPolicy, OnHugepageShortage};
use hostpool_allocator::pool::{
    Layout, MAX_GROUP_POOLS, PagesPerAnchorPage, PoolGroup, PoolGroupMember, PoolGroupSpec,
};
use hostpool_allocator::{
    Backing, Bytes, Error, HostBufferFailure, InsufficientHostMemory, MAX_COUNT, MemoryLimit, NumaNode,
};

use crate::machine::{Footprint, Hugepages, MIB, allocator, alone, believing, charged, wish};

pub(crate) fn member(
    name: &str,
    layer_num: u32,
    item_bytes: u64,
    pages_per_anchor_page: f64,
) -> PoolGroupMember {
    PoolGroupMember {
        name: name.to_owned(),
        layer_num,
        item_bytes: Bytes::new(item_bytes),
        slot_page_size: 64,
        layout: Layout::LayerFirst,
        pages_per_anchor_page: PagesPerAnchorPage::from_decimal(pages_per_anchor_page).unwrap(),
    }
}

pub(crate) fn group(
    members: Vec<PoolGroupMember>,
    anchor_pages: Option<u64>,
    backing: Backing,
) -> PoolGroupSpec {
    PoolGroupSpec {
        anchor_name: "kv".to_owned(),
        anchor_page_size: 64,
        anchor_pages,
        members,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        memory: wish(backing),
    }
}

pub(crate) fn two(anchor_pages: Option<u64>, backing: Backing) -> PoolGroupSpec {
    group(vec![member("a", 2, MIB, 1.0), member("b", 3, 100_000, 0.5)], anchor_pages, backing)
}

pub(crate) fn cap(allocator: &HostMemoryAllocator, bytes: u64) {
    let change = BudgetChange { requested: Some(Some(Bytes::new(bytes))), ..Default::default() };
    Budgets::unkept(Arc::clone(allocator.ledger())).update(HOST_BUDGET, &change).unwrap();
}

fn insufficient<T>(outcome: Result<T, Error>) -> InsufficientHostMemory {
    match outcome.err() {
        Some(Error::InsufficientHostMemory(short)) => *short,
        other => panic!("expected INSUFFICIENT_HOST_MEMORY, got {other:?}"),
    }
}

#[test]
fn what_was_planned_is_made_on_real_memory_and_given_back() {
    let _alone = alone();
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let (before, allocator) = (Footprint::now(), allocator());
        cap(&allocator, 20 * MIB);
        let plan = two(None, backing).plan(&allocator).unwrap();
        let made = PoolGroup::allocate(&allocator, &two(None, backing)).unwrap();
        assert_eq!((made.anchor_pages, plan.fits), (plan.anchor_pages, true));
        assert_eq!(charged(&allocator), plan.mapped.get());
        assert_eq!(made.anchor.stats().page_count, plan.anchor_pages);
        for (pool, planned) in made.pools.iter().zip(&plan.pools) {
            pool.prefault().unwrap();
            assert!(pool.memory().progress().done);
            assert_eq!(pool.spec().name, planned.name);
            assert_eq!(pool.stats().page_count, planned.num_host_pages);
            assert_eq!(pool.memory().placement().mapped, planned.mapped);
            let last = planned.num_host_pages - 1;
            let bytes = vec![7; usize::try_from(pool.spec().item_bytes.get()).unwrap()];
            pool.write_page(1, last, &bytes).unwrap();
        }
        assert!(!two(None, backing).plan(&allocator).unwrap().fits);
        made.pools[0].close();
        assert_eq!(charged(&allocator), plan.pools[1].mapped.get(), "each pool has a charge of its own");
        drop(made);
        assert_eq!(charged(&allocator), 0);
        assert_eq!(Footprint::now(), before);
    }
}

#[test]
fn a_group_that_does_not_fit_is_told_in_anchor_pages_and_takes_nothing() {
    let _alone = alone();
    let (_root, allocator) = believing(64 * MIB, 0);
    let short = insufficient(PoolGroup::allocate(&allocator, &two(Some(100), Backing::AnonymousShm)));
    let plan = two(Some(100), Backing::AnonymousShm).plan(&allocator).unwrap();
    assert_eq!((short.requested, short.mapped), (plan.requested, plan.mapped));
    assert_eq!((short.max_num_host_pages, short.available.get()), (plan.max_anchor_pages, 64 * MIB));
    assert_eq!((short.pool_name.as_str(), short.limited_by), ("group kv", MemoryLimit::HostMemory));
    assert_eq!(charged(&allocator), 0);
    cap(&allocator, MIB);
    let none = insufficient(PoolGroup::allocate(&allocator, &two(None, Backing::AnonymousShm)));
    assert_eq!((none.max_num_host_pages, none.limited_by), (0, MemoryLimit::BudgetCap));
    assert_eq!(none.requested.get(), 2 * MIB + 300_000, "the figures of one anchor page");
}

#[test]
fn groups_that_ask_at_once_are_granted_as_wholes() {
    let _alone = alone();
    let (_root, allocator) = believing(64 * MIB, 0);
    let ask = |anchor_pages| PoolGroup::allocate(&allocator, &two(anchor_pages, Backing::Anonymous));
    for anchor_pages in [Some(3), None] {
        let (together, made) = thread::scope(|scope| {
            let asking: Vec<_> = (0..16).map(|_| scope.spawn(|| ask(anchor_pages))).collect();
            let outcomes: Vec<_> = asking.into_iter().map(|ask| ask.join().unwrap()).collect();
            let made: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
            assert!(outcomes.iter().all(|outcome| {
                matches!(outcome, Ok(group) if group.pools.len() == 2)
                    || matches!(outcome, Err(Error::InsufficientHostMemory(_)))
            }));
            let mapped = made.iter().flat_map(|group| &group.pools);
            let mapped: Bytes = mapped.map(|pool| pool.memory().placement().mapped).sum();
            assert_eq!(charged(&allocator), mapped.get());
            (mapped, made.len())
        });
        assert!(together.get() <= 64 * MIB);
        let each = two(Some(3), Backing::Anonymous).plan(&allocator).unwrap().mapped;
        let expected = if anchor_pages.is_some() { 64 * MIB / each.get() } else { 1 };
        assert_eq!(made as u64, expected, "nothing is lost to a group that got half");
        assert_eq!(charged(&allocator), 0);
    }
}

#[test]
fn a_budget_that_is_split_holds_a_group_to_the_share_of_its_rank() {
    let _alone = alone();
    let (_root, allocator) = believing(64 * MIB, 0);
    let terms = BudgetTerms { requested: Some(Bytes::new(20 * MIB)), fraction: None, ranks: 2 };
    Budgets::unkept(Arc::clone(allocator.ledger())).create("job", terms, false, None).unwrap();
    let of_rank = |rank| PoolGroupSpec { budget: "job".to_owned(), rank, ..two(None, Backing::Anonymous) };
    let made = PoolGroup::allocate(&allocator, &of_rank(Some(1))).unwrap();
    assert_eq!(made.anchor_pages, 4);
    assert_eq!(
        insufficient(PoolGroup::allocate(&allocator, &of_rank(Some(1)))).limited_by,
        MemoryLimit::RankShare
    );
    assert!(PoolGroup::allocate(&allocator, &of_rank(Some(0))).is_ok());
    let nowhere = PoolGroup::allocate(&allocator, &of_rank(None)).err();
    assert!(matches!(nowhere, Some(Error::InvalidArgument { field: "rank", .. })));
    let closed = BudgetChange { admission_closed: Some(Some(true)), ..Default::default() };
    Budgets::unkept(Arc::clone(allocator.ledger())).update("job", &closed).unwrap();
    let refused = PoolGroup::allocate(&allocator, &of_rank(Some(0))).err();
    assert!(matches!(refused, Some(Error::BudgetAdmissionClosed { budget }) if budget == "job"));
}

#[test]
fn a_wish_the_host_does_not_know_is_refused_with_the_figures_of_all_pools() {
    let _alone = alone();
    let (_root, allocator) = believing(1 << 30, 10);
    let odd = MemoryWish { hugepage_size: Bytes::new(3 * MIB), ..wish(Backing::AnonymousHugetlb) };
    let far = MemoryWish { numa: NumaPolicy::bind(NumaNode::Node(7)), ..wish(Backing::Anonymous) };
    for (memory, reason) in
        [(odd, HostBufferFailure::HugepageSizeUnsupported), (far, HostBufferFailure::NumaNodeOffline)]
    {
        let spec = PoolGroupSpec { memory, ..two(Some(2), Backing::Anonymous) };
        let Some(Error::HostBufferAllocationFailed(failure)) = PoolGroup::allocate(&allocator, &spec).err()
        else {
            panic!("expected HOST_BUFFER_ALLOCATION_FAILED")
        };
        assert_eq!((failure.reason, failure.requested.get()), (reason, 4 * MIB + 300_000));
        assert!(matches!(spec.plan(&allocator), Err(Error::InvalidArgument { .. })));
    }
    let whole = group(vec![member("a", 1, MAX_COUNT, 1.0)], Some(1), Backing::Anonymous);
    let Some(Error::HostBufferAllocationFailed(failure)) = PoolGroup::allocate(&allocator, &whole).err()
    else {
        panic!("expected HOST_BUFFER_ALLOCATION_FAILED")
    };
    assert_eq!(failure.reason, HostBufferFailure::SizeOverflow);
}

#[test]
fn bad_groups_name_their_field() {
    let _alone = alone();
    let (_root, allocator) = believing(1 << 30, 0);
    let refused = |spec: &PoolGroupSpec| match (spec.plan(&allocator), PoolGroup::allocate(&allocator, spec))
    {
        (Err(Error::InvalidArgument { field, .. }), Err(Error::InvalidArgument { field: again, .. })) => {
            assert_eq!(field, again);
            field.to_owned()
        }
        (Err(Error::InvalidMember { list, index, field, .. }), Err(Error::InvalidMember { .. })) => {
            format!("{list}[{index}].{field}")
        }
        other => panic!("expected a refusal, got {other:?}"),
    };
    let good = member("a", 1, 4096, 1.0);
    let with = |second| group(vec![good.clone(), second], None, Backing::Anonymous);
    let of = |second| refused(&with(second));
    assert_eq!(of(PoolGroupMember { layer_num: 0, ..good.clone() }), "pools[1].layer_num");
    assert_eq!(of(PoolGroupMember { layer_num: 4097, ..good.clone() }), "pools[1].layer_num");
    assert_eq!(of(PoolGroupMember { item_bytes: Bytes::ZERO, ..good.clone() }), "pools[1].item_bytes");
    assert_eq!(of(PoolGroupMember { slot_page_size: 0, ..good.clone() }), "pools[1].slot_page_size");
    assert_eq!(of(member("b", 4096, MAX_COUNT / 2, 1.0)), "pools[1].item_bytes");
    assert_eq!(of(member("b", 1, MAX_COUNT, 1.0)), "pools", "each can be counted, their sum cannot");
    let many = |count| group(vec![good.clone(); count], None, Backing::Anonymous);
    assert_eq!(refused(&many(0)), "pools");
    assert_eq!(refused(&many(MAX_GROUP_POOLS + 1)), "pools");
    assert!(many(MAX_GROUP_POOLS).plan(&allocator).unwrap().fits);
    let anchor = |anchor_page_size, anchor_pages| PoolGroupSpec {
        anchor_page_size,
        anchor_pages,
        ..group(vec![good.clone()], None, Backing::Anonymous)
    };
    assert_eq!(refused(&anchor(0, None)), "anchor.page_size");
    assert_eq!(refused(&anchor(MAX_COUNT + 1, None)), "anchor.page_size");
    assert_eq!(refused(&anchor(1, Some(0))), "anchor_pages");
    assert_eq!(refused(&anchor(1, Some((1 << 28) + 1))), "anchor_pages");
    assert_eq!(refused(&anchor(MAX_COUNT / 2, Some(3))), "anchor_pages");
    assert_eq!(refused(&anchor(1, Some(u64::MAX))), "anchor_pages");
}

#[test]
fn a_mapping_that_fails_half_way_takes_the_others_with_it() {
    let _alone = alone();
    let Some(_pages) = Hugepages::set_up(2048, 4) else { return };
    let (_root, deceived) = believing(64 << 30, 1000);
    let pools = vec![member("a", 1, 6 * MIB, 1.0), member("b", 1, 6 * MIB, 1.0)];
    let strict = group(pools, Some(1), Backing::AnonymousShmHugetlb);
    let before = Footprint::now();
    let Some(Error::HostBufferAllocationFailed(failure)) = PoolGroup::allocate(&deceived, &strict).err()
    else {
        panic!("expected HOST_BUFFER_ALLOCATION_FAILED")
    };
    assert_eq!(failure.reason, HostBufferFailure::HugepagesExhausted);
    assert_eq!(failure.requested.get(), 6 * MIB, "the figures of the pool that could not be mapped");
    assert_eq!((Footprint::now(), charged(&deceived)), (before, 0));
    let memory = MemoryWish { on_hugepage_shortage: OnHugepageShortage::FallBack, ..strict.memory };
    let fell = PoolGroup::allocate(&deceived, &PoolGroupSpec { memory, ..strict }).unwrap();
    assert!(
        fell.pools.iter().all(|pool| pool.memory().placement().fell_back()),
        "all of them, not the last alone"
    );
}
