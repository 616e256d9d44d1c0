//! The slot allocator against a model of sets: every answer, the policy, and that a refusal changes nothing.

#[path = "support/slots.rs"]
mod support;

use hostpool_allocator::slots::SlotRange;
use proptest::prelude::*;
use support::{FreeTaken, Pair, Step};

/// Slots in and around a pool of `size`.
fn slot(size: u64) -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..size, 2 => size..size + 4, 1 => Just(u64::MAX)]
}

fn range(size: u64) -> impl Strategy<Value = SlotRange> {
    let count = prop_oneof![20 => 0..size + 2, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)];
    (slot(size), count).prop_map(|(start, count)| SlotRange { start, count })
}

fn free_taken(pages: usize, size: u64) -> impl Strategy<Value = FreeTaken> {
    let page_count = prop_oneof![0..4usize, 0..pages + 1];
    let spoil = prop_oneof![3 => Just(None), 1 => (any::<usize>(), slot(size)).prop_map(Some)];
    (any::<u64>(), page_count, any::<[bool; 3]>(), spoil).prop_map(
        |(seed, page_count, [in_a_row, shuffled, as_ranges], spoil)| FreeTaken {
            seed,
            page_count,
            in_a_row,
            shuffled,
            as_ranges,
            spoil,
        },
    )
}

fn step(pages: u64, page_size: u64) -> impl Strategy<Value = Step> {
    let (size, most) = (pages * page_size, usize::try_from(pages).unwrap_or(0));
    prop_oneof![
        4 => (0..8u64).prop_map(Step::Allocate),
        4 => (0..pages + 2).prop_map(Step::Allocate),
        1 => (0..size + 2).prop_map(Step::AllocateSlots),
        1 => Just(Step::Allocate(u64::MAX)),
        8 => free_taken(most, size).prop_map(Step::FreeTaken),
        1 => prop::collection::vec(slot(size), 0..6).prop_map(Step::FreeSlots),
        1 => prop::collection::vec(range(size), 0..4).prop_map(Step::FreeRanges),
        1 => Just(Step::Clear),
    ]
}

/// Pools from one page to more than two levels of summaries, and what happens to them.
fn story(pages: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = (u64, u64, Vec<Step>)> {
    (pages, 1..=5u64).prop_flat_map(|(pages, page_size)| {
        (Just(pages), Just(page_size), prop::collection::vec(step(pages, page_size), 1..40))
    })
}

fn run((pages, page_size, steps): (u64, u64, Vec<Step>)) {
    let mut pair = Pair::new(pages, page_size);
    for step in &steps {
        pair.apply(step);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_small_pool_does_what_the_model_does(story in story(1..=140)) {
        run(story);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pool_of_many_leaves_does_what_the_model_does(story in story(500..=5_000)) {
        run(story);
    }
}
