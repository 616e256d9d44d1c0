//! Runs of pages and ranges of slots, and the sweep that lays ranges side by side.

/// Pages that lie side by side. Page numbers fit 32 bits: [`MAX_PAGE_COUNT`](super::MAX_PAGE_COUNT) is 2^28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageRun {
    /// The lowest page.
    pub start_page: u32,
    /// How many pages, at least one.
    pub page_count: u32,
}

impl PageRun {
    /// The page after the last. Runs the allocator makes end at or below `MAX_PAGE_COUNT`, so this cannot wrap.
    pub(super) fn end_page(self) -> u32 {
        self.start_page.saturating_add(self.page_count)
    }
}

/// Slots that lie side by side: `start..start + count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    /// The lowest slot.
    pub start: u64,
    /// How many slots; none is allowed, and means nothing.
    pub count: u64,
}

impl SlotRange {
    /// The slot after the last; exact for ranges inside a pool, `u64::MAX` for absurd ones.
    pub(super) fn end(self) -> u64 {
        self.start.saturating_add(self.count)
    }

    /// The range from `start` up to `end`; empty if they are the wrong way round.
    pub(super) fn between(start: u64, end: u64) -> Self {
        Self { start, count: end.saturating_sub(start) }
    }
}

/// Sorts `ranges` and joins those that touch or overlap, in place; returns the parts given more than once.
///
/// O(n) when they come in ascending order, else O(n log n). The returned parts ascend but may overlap each other.
pub(super) fn sort_and_join(ranges: &mut Vec<SlotRange>) -> Vec<SlotRange> {
    let mut repeated = Vec::new();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, kept| {
        if next.start > kept.end() {
            return false;
        }
        if next.start < kept.end() {
            repeated.push(SlotRange::between(next.start, next.end().min(kept.end())));
        }
        *kept = SlotRange::between(kept.start, kept.end().max(next.end()));
        true
    });
    repeated
}
