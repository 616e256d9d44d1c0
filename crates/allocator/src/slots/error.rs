//! Why the slot allocator refused. Nothing has changed when one of these is returned.

use thiserror::Error;

/// Every way a slot operation is refused. The fields are the numbers the decision used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SlotError {
    /// A page of no slots cannot be handed out.
    #[error("a page must hold at least one slot")]
    ZeroPageSize,
    /// A pool of no pages cannot be made.
    #[error("a slot allocator needs at least one page")]
    ZeroPageCount,
    /// More pages than [`MAX_PAGE_COUNT`](super::MAX_PAGE_COUNT): the bookkeeping itself would be big.
    #[error("{page_count} pages are more than the {max_page_count} one slot allocator keeps")]
    TooManyPages {
        /// Pages asked for.
        page_count: u64,
        /// [`MAX_PAGE_COUNT`](super::MAX_PAGE_COUNT).
        max_page_count: u64,
    },
    /// `page_count * page_size` is above [`MAX_SLOT_COUNT`](super::MAX_SLOT_COUNT).
    #[error("{page_count} pages of {page_size} slots are more than {max_slot_count} slots")]
    TooManySlots {
        /// Pages asked for.
        page_count: u64,
        /// Slots a page.
        page_size: u64,
        /// [`MAX_SLOT_COUNT`](super::MAX_SLOT_COUNT).
        max_slot_count: u64,
    },
    /// This process could not get the memory for the bookkeeping.
    #[error("no memory for the bookkeeping of {page_count} pages")]
    BookkeepingUnavailable {
        /// Pages asked for.
        page_count: u64,
    },
    /// Fewer pages are free than were asked for.
    #[error("{requested_pages} pages requested, {free_pages} free (longest run {largest_free_run_pages})")]
    Exhausted {
        /// Pages asked for.
        requested_pages: u64,
        /// Pages free when asked.
        free_pages: u64,
        /// Pages in the longest free run when asked.
        largest_free_run_pages: u64,
    },
    /// A count of slots that is no multiple of the page size.
    #[error("{len} slots are not whole pages of {page_size}")]
    NotWholePages {
        /// Slots given; `u64::MAX` if the ranges add up to more.
        len: u64,
        /// Slots a page.
        page_size: u64,
    },
    /// A slot outside `0..size`.
    #[error("slot {slot} is outside 0..{size}")]
    OutOfRange {
        /// The first such slot, in the order given.
        slot: u64,
        /// Slots in the pool.
        size: u64,
    },
    /// Slots given twice in one call, or not taken at all.
    #[error("Double-free detected: slots not currently allocated: {slots:?}.")]
    DoubleFree {
        /// The lowest offending slots, ascending, each once, at most [`MAX_NAMED_SLOTS`](super::MAX_NAMED_SLOTS).
        slots: Vec<u64>,
        /// All offending slots, each counted once.
        count: u64,
    },
    /// A page given in part: the slots start off a page boundary, or leave a hole in the page.
    #[error("slot {slot} belongs to a page that is not given back whole")]
    OffPageBoundary {
        /// The lowest slot given of the lowest such page.
        slot: u64,
    },
}
