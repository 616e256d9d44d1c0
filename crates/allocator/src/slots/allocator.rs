//! The allocator: whole pages, all or nothing, in the fewest runs.

use super::bitmap::Bitmap;
use super::error::SlotError;
use super::range::{PageRun, SlotRange};
use super::tree::Tree;
use super::{MAX_PAGE_COUNT, MAX_SLOT_COUNT};

/// Which pages of a pool are taken.
///
/// Owns no memory but its own bookkeeping: one bit a page and about a fifth of a bit of summaries. Nothing blocks;
/// who shares it brings the lock. Every refusal leaves it as it was.
#[derive(Debug)]
pub struct SlotAllocator {
    pub(super) bitmap: Bitmap,
    tree: Tree,
    page_size: u64,
    free_pages: u32,
}

impl SlotAllocator {
    /// A pool of `page_count` free pages of `page_size` slots.
    ///
    /// # Errors
    /// [`SlotError::ZeroPageSize`], [`SlotError::ZeroPageCount`], [`SlotError::TooManyPages`] above 2^28 pages,
    /// [`SlotError::TooManySlots`] above 2^53 - 1 slots, [`SlotError::BookkeepingUnavailable`] without memory.
    pub fn new(page_count: u64, page_size: u64) -> Result<Self, SlotError> {
        let free_pages = checked_page_count(page_count, page_size)?;
        let bitmap = Bitmap::new(free_pages)?;
        let tree = Tree::new(&bitmap)?;
        Ok(Self { bitmap, tree, page_size, free_pages })
    }

    /// Takes `page_count` pages, or none: in the fewest runs, and of those the lowest.
    ///
    /// If one free run holds the request, the start of the lowest such run; else the whole of the longest (the lowest
    /// of equals), and so on with the rest. The runs ascend and never touch each other. No pages: no runs. The cost
    /// follows the runs handed out and the logarithm of the pool.
    ///
    /// # Errors
    /// [`SlotError::Exhausted`] if fewer are free.
    pub fn allocate(&mut self, page_count: u64) -> Result<Vec<PageRun>, SlotError> {
        let exhausted = self.exhausted(page_count);
        let Some(mut rest) = u32::try_from(page_count).ok().filter(|&pages| pages <= self.free_pages) else {
            return Err(exhausted);
        };
        let mut runs = Vec::new();
        while rest > 0 {
            let round = runs.len();
            rest = self.take_round(rest, &mut runs);
            match runs.get(round..) {
                Some(taken) if !taken.is_empty() => self.tree.refresh(&self.bitmap, taken),
                // The summaries promise a run that the bits do not have: a bug. Still all or nothing.
                _ => return self.undo(runs, exhausted),
            }
        }
        runs.sort_unstable();
        Ok(runs)
    }

    /// [`allocate`](Self::allocate) in slots.
    ///
    /// # Errors
    /// [`SlotError::NotWholePages`] if `slot_count` is no multiple of the page size, [`SlotError::Exhausted`].
    pub fn allocate_slots(&mut self, slot_count: u64) -> Result<Vec<SlotRange>, SlotError> {
        self.check_whole_pages(slot_count)?;
        let runs = self.allocate(slot_count / self.page_size)?;
        Ok(runs.into_iter().map(|run| self.slots_of(run)).collect())
    }

    /// Frees every page, whoever holds it.
    ///
    /// The one operation whose cost follows the pool: a few ns for each 512 pages.
    pub fn clear(&mut self) {
        self.bitmap.clear(self.tree.leaves());
        self.tree.reset(self.bitmap.page_count());
        self.free_pages = self.bitmap.page_count();
    }

    /// Pages in the pool.
    #[must_use]
    pub fn page_count(&self) -> u64 {
        self.bitmap.page_count().into()
    }

    /// Slots a page.
    #[must_use]
    pub fn page_size(&self) -> u64 {
        self.page_size
    }

    /// Slots in the pool: page count times page size.
    #[must_use]
    pub fn slot_count(&self) -> u64 {
        self.page_count() * self.page_size
    }

    /// Pages that can be taken. O(1).
    #[must_use]
    pub fn free_pages(&self) -> u64 {
        self.free_pages.into()
    }

    /// Pages that are taken. O(1).
    #[must_use]
    pub fn allocated_pages(&self) -> u64 {
        self.page_count() - self.free_pages()
    }

    /// Pages in the longest free run; 0 when nothing is free. O(1).
    #[must_use]
    pub fn largest_free_run_pages(&self) -> u64 {
        self.tree.longest().into()
    }

    /// Whether `slot` is taken; false outside the pool. O(1).
    #[must_use]
    pub fn is_allocated(&self, slot: u64) -> bool {
        let page = u32::try_from(slot / self.page_size).ok().filter(|&page| page < self.bitmap.page_count());
        page.is_some_and(|start_page| self.bitmap.is_taken(PageRun { start_page, page_count: 1 }))
    }

    /// The slots of a run of this pool's pages.
    #[must_use]
    pub fn slots_of(&self, run: PageRun) -> SlotRange {
        SlotRange {
            start: u64::from(run.start_page).saturating_mul(self.page_size),
            count: u64::from(run.page_count).saturating_mul(self.page_size),
        }
    }

    /// Refuses a number of slots that is no multiple of the page size.
    pub(super) fn check_whole_pages(&self, len: u64) -> Result<(), SlotError> {
        let whole = len.is_multiple_of(self.page_size);
        whole.then_some(()).ok_or(SlotError::NotWholePages { len, page_size: self.page_size })
    }

    /// The lowest free page at `from` or above.
    pub(super) fn next_free_page(&self, from: u32) -> Option<u32> {
        self.tree.find(&self.bitmap, from, 1)
    }

    /// Frees `runs`: ascending, apart, all taken.
    pub(super) fn release(&mut self, runs: &[PageRun]) {
        for run in runs {
            self.bitmap.fill(*run, false);
            self.free_pages += run.page_count;
        }
        self.tree.refresh(&self.bitmap, runs);
    }

    /// Marks the next runs for `rest` pages, ascending, and returns what is still to take. Summaries are not touched.
    ///
    /// Either one run that holds the rest, or as many of the longest as the rest needs whole.
    fn take_round(&mut self, mut rest: u32, runs: &mut Vec<PageRun>) -> u32 {
        let longest = self.tree.longest();
        let page_count = rest.min(longest).max(1);
        let mut from = 0;
        while rest >= page_count
            && let Some(start_page) = self.tree.find(&self.bitmap, from, page_count)
        {
            let run = PageRun { start_page, page_count };
            self.bitmap.fill(run, true);
            self.free_pages -= page_count;
            rest -= page_count;
            from = run.end_page();
            runs.push(run);
        }
        rest
    }

    fn undo(&mut self, mut runs: Vec<PageRun>, refusal: SlotError) -> Result<Vec<PageRun>, SlotError> {
        runs.sort_unstable();
        self.release(&runs);
        Err(refusal)
    }

    fn exhausted(&self, requested_pages: u64) -> SlotError {
        SlotError::Exhausted {
            requested_pages,
            free_pages: self.free_pages(),
            largest_free_run_pages: self.largest_free_run_pages(),
        }
    }
}

/// `page_count` as the allocator counts it, if such a pool may be made.
fn checked_page_count(page_count: u64, page_size: u64) -> Result<u32, SlotError> {
    if page_size == 0 {
        return Err(SlotError::ZeroPageSize);
    }
    if page_count == 0 {
        return Err(SlotError::ZeroPageCount);
    }
    if page_count > MAX_PAGE_COUNT {
        return Err(SlotError::TooManyPages { page_count, max_page_count: MAX_PAGE_COUNT });
    }
    let slot_count = page_count.checked_mul(page_size).filter(|&slots| slots <= MAX_SLOT_COUNT);
    let max_slot_count = MAX_SLOT_COUNT;
    slot_count.ok_or(SlotError::TooManySlots { page_count, page_size, max_slot_count })?;
    u32::try_from(page_count)
        .map_err(|_| SlotError::TooManyPages { page_count, max_page_count: MAX_PAGE_COUNT })
}
