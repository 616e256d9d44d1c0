//! Giving slots back: every check first, then the bits.

use super::MAX_NAMED_SLOTS;
use super::allocator::SlotAllocator;
use super::error::SlotError;
use super::range::{PageRun, SlotRange, sort_and_join};

impl SlotAllocator {
    /// Gives back single slots, in any order, that together are whole pages; returns how many slots.
    ///
    /// Nothing given: 0, nothing changed. O(n) for runs that ascend, O(n log n) otherwise, with a copy of at most 16
    /// bytes a slot; never proportional to the pool.
    ///
    /// # Errors
    /// In this order, and nothing has changed: [`SlotError::NotWholePages`] for the count, [`SlotError::OutOfRange`],
    /// [`SlotError::DoubleFree`] for slots given twice or not taken, [`SlotError::OffPageBoundary`].
    pub fn free_slots(&mut self, slots: &[u64]) -> Result<u64, SlotError> {
        self.check_whole_pages(slots.len() as u64)?;
        let ranges = self.ranges_of(slots)?;
        self.free_checked(ranges)
    }

    /// Gives back ranges, in any order, that together are whole pages; returns how many slots.
    ///
    /// A range of no slots is skipped, wherever it lies. Otherwise as [`free_slots`](Self::free_slots), but the cost
    /// follows ranges and pages, not slots.
    ///
    /// # Errors
    /// As [`free_slots`](Self::free_slots).
    pub fn free_ranges(&mut self, ranges: &[SlotRange]) -> Result<u64, SlotError> {
        let ranges: Vec<_> = ranges.iter().copied().filter(|range| range.count > 0).collect();
        self.check_ranges_whole(&ranges)?;
        let size = self.slot_count();
        if let Some(outside) = ranges.iter().find(|range| range.end() > size) {
            return Err(SlotError::OutOfRange { slot: outside.start.max(size), size });
        }
        self.free_checked(ranges)
    }

    /// The sum of the counts, which may not fit 64 bits, must be whole pages.
    fn check_ranges_whole(&self, ranges: &[SlotRange]) -> Result<(), SlotError> {
        let len: u128 = ranges.iter().map(|range| u128::from(range.count)).sum();
        if len.is_multiple_of(self.page_size().into()) {
            return Ok(());
        }
        let len = u64::try_from(len).unwrap_or(u64::MAX);
        Err(SlotError::NotWholePages { len, page_size: self.page_size() })
    }

    /// `slots` in the order given, neighbours joined; refuses the first outside the pool.
    fn ranges_of(&self, slots: &[u64]) -> Result<Vec<SlotRange>, SlotError> {
        let size = self.slot_count();
        let mut ranges = Vec::new();
        let mut open = SlotRange { start: 0, count: 0 };
        for &slot in slots {
            if slot >= size {
                return Err(SlotError::OutOfRange { slot, size });
            }
            if slot == open.end() && open.count > 0 {
                open.count += 1;
                continue;
            }
            ranges.extend((open.count > 0).then_some(open));
            open = SlotRange { start: slot, count: 1 };
        }
        ranges.extend((open.count > 0).then_some(open));
        Ok(ranges)
    }

    /// The last two checks, and the free itself, for ranges that are not empty and lie inside the pool.
    fn free_checked(&mut self, mut ranges: Vec<SlotRange>) -> Result<u64, SlotError> {
        let repeated = sort_and_join(&mut ranges);
        let taken = ranges.iter().all(|range| self.bitmap.is_taken(self.pages_touched(*range)));
        if !taken || !repeated.is_empty() {
            return Err(self.double_free(&ranges, repeated));
        }
        let runs = ranges.iter().map(|range| self.whole_pages(*range)).collect::<Result<Vec<_>, _>>()?;
        self.release(&runs);
        Ok(ranges.iter().map(|range| range.count).sum())
    }

    /// The pages that have at least one slot of `range`, which lies inside the pool.
    fn pages_touched(&self, range: SlotRange) -> PageRun {
        let start = range.start / self.page_size();
        let end = range.end().div_ceil(self.page_size());
        let narrow = |pages: u64| u32::try_from(pages).unwrap_or(u32::MAX);
        PageRun { start_page: narrow(start), page_count: narrow(end.saturating_sub(start)) }
    }

    /// The pages of `range`, or its lowest slot in a page it covers only in part.
    fn whole_pages(&self, range: SlotRange) -> Result<PageRun, SlotError> {
        if !range.start.is_multiple_of(self.page_size()) {
            return Err(SlotError::OffPageBoundary { slot: range.start });
        }
        let over = range.end() % self.page_size();
        if over != 0 {
            return Err(SlotError::OffPageBoundary { slot: range.end() - over });
        }
        Ok(self.pages_touched(range))
    }

    /// The refusal for `ranges` (ascending, apart) of which `repeated` were given again.
    ///
    /// Counts by words and lists no more than it names: a range over a huge free pool must not cost memory.
    fn double_free(&self, ranges: &[SlotRange], mut repeated: Vec<SlotRange>) -> SlotError {
        sort_and_join(&mut repeated);
        let free: u64 = ranges.iter().map(|range| self.free_slots_in(*range)).sum();
        let taken_twice: u64 = repeated.iter().map(|part| part.count - self.free_slots_in(*part)).sum();
        let mut slots: Vec<u64> =
            ranges.iter().flat_map(|range| self.free_slots_of(*range)).take(MAX_NAMED_SLOTS).collect();
        slots.extend(repeated.iter().flat_map(|part| part.start..part.end()).take(MAX_NAMED_SLOTS));
        slots.sort_unstable();
        slots.dedup();
        slots.truncate(MAX_NAMED_SLOTS);
        SlotError::DoubleFree { slots, count: free + taken_twice }
    }

    /// How many slots of `range` lie in free pages: all those pages' slots, less what sticks out at both ends.
    fn free_slots_in(&self, range: SlotRange) -> u64 {
        let pages = self.pages_touched(range);
        let touched = self.slots_of(pages);
        let before = if self.is_allocated(range.start) { 0 } else { range.start - touched.start };
        let after = if self.is_allocated(range.end() - 1) { 0 } else { touched.end() - range.end() };
        u64::from(self.bitmap.count_free(pages)) * self.page_size() - before - after
    }

    /// The slots of `range` that lie in free pages, ascending.
    fn free_slots_of(&self, range: SlotRange) -> impl Iterator<Item = u64> {
        let end_page = self.pages_touched(range).end_page();
        let next = move |from: u32| self.next_free_page(from).filter(|&page| page < end_page);
        let pages =
            std::iter::successors(next(self.pages_touched(range).start_page), move |&page| next(page + 1));
        pages.flat_map(move |start_page| {
            let slots = self.slots_of(PageRun { start_page, page_count: 1 });
            slots.start.max(range.start)..slots.end().min(range.end())
        })
    }
}
