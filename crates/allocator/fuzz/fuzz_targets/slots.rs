//! Any sequence of operations leaves the slot allocator and its model in the same state.

#![no_main]

#[path = "../../tests/support/slots.rs"]
mod support;

use arbitrary::{Result, Unstructured};
use hostpool_allocator::slots::SlotRange;
use libfuzzer_sys::fuzz_target;
use support::{FreeTaken, Pair, Step};

/// Mostly slots in and just after the pool, sometimes any number.
fn slot(input: &mut Unstructured, size: u64) -> Result<u64> {
    if input.ratio(1, 16)? { input.arbitrary() } else { input.int_in_range(0..=size + 1) }
}

fn range(input: &mut Unstructured, size: u64) -> Result<SlotRange> {
    Ok(SlotRange { start: slot(input, size)?, count: slot(input, size)? })
}

fn list<T>(input: &mut Unstructured, mut item: impl FnMut(&mut Unstructured) -> Result<T>) -> Result<Vec<T>> {
    let len = input.int_in_range(0..=7)?;
    (0..len).map(|_| item(input)).collect()
}

fn free_taken(input: &mut Unstructured, pages: u64, size: u64) -> Result<FreeTaken> {
    Ok(FreeTaken {
        seed: input.arbitrary()?,
        page_count: input.int_in_range(0..=usize::try_from(pages).unwrap_or(0))?,
        in_a_row: input.arbitrary()?,
        shuffled: input.arbitrary()?,
        as_ranges: input.arbitrary()?,
        spoil: if input.ratio(1, 4)? { Some((input.arbitrary()?, slot(input, size)?)) } else { None },
    })
}

fn step(input: &mut Unstructured, pages: u64, size: u64) -> Result<Step> {
    Ok(match input.int_in_range(0..=7)? {
        0 => Step::Clear,
        1 => Step::FreeSlots(list(input, |input| slot(input, size))?),
        2 => Step::FreeRanges(list(input, |input| range(input, size))?),
        3 => Step::AllocateSlots(slot(input, size)?),
        4 | 5 => Step::Allocate(slot(input, pages)?),
        _ => Step::FreeTaken(free_taken(input, pages, size)?),
    })
}

fn run(input: &mut Unstructured) -> Result<()> {
    let pages =
        if input.ratio(1, 8)? { input.int_in_range(1..=4200)? } else { input.int_in_range(1..=600)? };
    let page_size = input.int_in_range(1..=4)?;
    let mut pair = Pair::new(pages, page_size);
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        pair.apply(&step(input, pages, pages * page_size)?);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
