//! 512 pages: eight words, one cache line, one bit a page (1 = taken).

use std::ops::Range;

use super::summary::Summary;

const WORD_PAGES: u32 = u64::BITS;

/// The bits of [`LEAF_PAGES`] pages.
pub(super) type Leaf = [u64; 8];

/// log2 of [`LEAF_PAGES`].
pub(super) const LEAF_SHIFT: u32 = 9;

/// Pages in a leaf.
pub(super) const LEAF_PAGES: u32 = 1 << LEAF_SHIFT;

/// The words, by index, that the pages `range` of a leaf touch, each with the bits of it that are meant.
fn masks(range: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    (range.start / WORD_PAGES..range.end.div_ceil(WORD_PAGES)).map(move |index| {
        let base = index * WORD_PAGES;
        let from = range.start.saturating_sub(base);
        let to = range.end.saturating_sub(base).min(WORD_PAGES);
        (index as usize, (u64::MAX << from) & (u64::MAX >> (WORD_PAGES - to)))
    })
}

/// Marks the pages `range` of this leaf as taken or free.
pub(super) fn fill(leaf: &mut Leaf, range: Range<u32>, taken: bool) {
    for (index, mask) in masks(range) {
        if let Some(word) = leaf.get_mut(index) {
            *word = if taken { *word | mask } else { *word & !mask };
        }
    }
}

/// Whether every page of `range` in this leaf is taken.
pub(super) fn is_taken(leaf: &Leaf, range: Range<u32>) -> bool {
    masks(range).all(|(index, mask)| leaf.get(index).is_some_and(|word| word & mask == mask))
}

/// How many pages of `range` in this leaf are free.
pub(super) fn count_free(leaf: &Leaf, range: Range<u32>) -> u32 {
    masks(range).filter_map(|(index, mask)| Some((!leaf.get(index)? & mask).count_ones())).sum()
}

/// The free runs of this leaf. Eight words are read; a word of few short runs costs a few instructions.
pub(super) fn summarize(leaf: &Leaf) -> Summary {
    let (mut start, mut longest, mut open) = (None, 0, 0);
    for free in leaf.iter().map(|word| !word) {
        if free == u64::MAX {
            open += WORD_PAGES;
            continue;
        }
        let closed = open + free.trailing_ones();
        start = start.or(Some(closed));
        longest = longest_in_word(free, longest.max(closed));
        open = free.leading_ones();
    }
    Summary { start: start.unwrap_or(open), longest: longest.max(open), end: open }
}

/// What a search of one leaf came to.
pub(super) enum Found {
    /// A long enough run starts at this page of the pool.
    At(u32),
    /// None; this many pages right below the end of the leaf are free.
    Open(u32),
}

/// The lowest free run of `need` pages in the leaf that begins at page `base`, looking from page `from` up.
///
/// `open` pages right below `from` are free as well and count, so the run may begin before the leaf.
pub(super) fn find(leaf: &Leaf, base: u32, from: u32, need: u32, mut open: u32) -> Found {
    for (word, word_base) in leaf.iter().zip((base..).step_by(WORD_PAGES as usize)) {
        let below = from.saturating_sub(word_base);
        if below >= WORD_PAGES {
            continue;
        }
        let lead = (!word >> below).trailing_ones();
        if open + lead >= need {
            return Found::At((word_base + below).saturating_sub(open));
        }
        if below + lead == WORD_PAGES {
            open += lead;
            continue;
        }
        let free = !word & (u64::MAX << below);
        let starts = run_starts(free, need);
        if starts != 0 {
            return Found::At(word_base + starts.trailing_zeros());
        }
        open = free.leading_ones();
    }
    Found::Open(open)
}

/// The bits of `free` at which `need` (at least one) ones begin within the word. A handful of shifts.
fn run_starts(free: u64, need: u32) -> u64 {
    let (mut starts, mut left, mut step) = (free, need.saturating_sub(1), 1);
    while left > 0 && starts != 0 {
        let shift = left.min(step).min(WORD_PAGES - 1);
        starts &= starts >> shift;
        left -= shift;
        step *= 2;
    }
    starts
}

/// The longest run of ones in `free`, or `floor` if none is longer.
fn longest_in_word(free: u64, floor: u32) -> u32 {
    if floor >= WORD_PAGES {
        return floor;
    }
    let (mut longest, mut starts) = (floor, run_starts(free, floor + 1));
    while starts != 0 {
        longest += 1;
        starts &= starts >> 1;
    }
    longest
}
