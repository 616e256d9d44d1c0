//! A slot allocator that many threads share, and its refusals in the documented words.

use crate::error::Error;
use crate::slots::{SlotAllocator, SlotError, SlotRange};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock, process_wide};

/// How full a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotStats {
    /// Slots in all; a multiple of `page_size`.
    pub size: u64,
    /// Slots a page.
    pub page_size: u64,
    /// Pages in all.
    pub page_count: u64,
    /// Slots free.
    pub available_slots: u64,
    /// Slots taken.
    pub allocated_slots: u64,
    /// The longest run of free pages.
    pub largest_free_run_pages: u64,
}

/// Pages that all pools of this process may keep books on: about 160 MiB of bookkeeping when all are touched.
pub(super) const MAX_BOOKED_PAGES: u64 = 1 << 30;

process_wide! {
    /// Pages that all pools of this process keep books on.
    static BOOKED_PAGES: AtomicU64 = AtomicU64::new(0);
}

/// The slots of one pool. Each method holds the lock for microseconds.
#[derive(Debug)]
pub(super) struct SlotPool {
    page_size: u64,
    /// `None` once it is closed: it has no slots then.
    books: Mutex<Option<Books>>,
}

/// A slot allocator, counted among the books of this process until it is dropped.
#[derive(Debug)]
struct Books(SlotAllocator);

impl SlotPool {
    pub(super) fn new(page_count: u64, page_size: u64, fields: SizeFields) -> Result<Self, Error> {
        let slots = SlotAllocator::new(page_count, page_size).map_err(|error| fields.refusal(&error))?;
        let within = |booked: u64| booked.checked_add(page_count).filter(|sum| *sum <= MAX_BOOKED_PAGES);
        let booked = BOOKED_PAGES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        booked.map_err(|booked| fields.too_many(page_count, MAX_BOOKED_PAGES.saturating_sub(booked)))?;
        Ok(Self { page_size, books: Mutex::new(Some(Books(slots))) })
    }

    /// Gives the bookkeeping back. From here on the pool has no slots.
    pub(super) fn close(&self) {
        *lock(&self.books) = None;
    }

    pub(super) fn stats(&self) -> SlotStats {
        let page_size = self.page_size;
        let books = lock(&self.books);
        let pages = |count: fn(&SlotAllocator) -> u64| books.as_ref().map_or(0, |Books(slots)| count(slots));
        SlotStats {
            size: pages(SlotAllocator::slot_count),
            page_size,
            page_count: pages(SlotAllocator::page_count),
            available_slots: pages(SlotAllocator::free_pages).saturating_mul(page_size),
            allocated_slots: pages(SlotAllocator::allocated_pages).saturating_mul(page_size),
            largest_free_run_pages: pages(SlotAllocator::largest_free_run_pages),
        }
    }

    pub(super) fn page_size(&self) -> u64 {
        self.page_size
    }

    /// Takes `slot_count` slots, a multiple of the page size, all or none.
    pub(super) fn allocate(&self, slot_count: u64) -> Result<Vec<SlotRange>, Error> {
        let mut books = lock(&self.books);
        let exhausted = |available_slots| Error::PoolExhausted { need_size: slot_count, available_slots };
        let Some(Books(slots)) = books.as_mut() else { return Err(exhausted(0)) };
        let available = slots.free_pages().saturating_mul(self.page_size);
        slots.allocate_slots(slot_count).map_err(|error| match error {
            SlotError::Exhausted { .. } => exhausted(available),
            other => Error::invalid("need_size", format!("is refused: {other}")),
        })
    }

    pub(super) fn free_slots(&self, indices: &[u64], not_whole_pages: NotWholePages) -> Result<u64, Error> {
        let free = |slots: &mut SlotAllocator| slots.free_slots(indices);
        self.free(free).map_err(|error| free_refusal(error, "indices", not_whole_pages))
    }

    pub(super) fn free_ranges(
        &self,
        ranges: &[SlotRange],
        not_whole_pages: NotWholePages,
    ) -> Result<u64, Error> {
        let free = |slots: &mut SlotAllocator| slots.free_ranges(ranges);
        self.free(free).map_err(|error| free_refusal(error, "ranges", not_whole_pages))
    }

    fn free(
        &self,
        free: impl FnOnce(&mut SlotAllocator) -> Result<u64, SlotError>,
    ) -> Result<u64, SlotError> {
        match lock(&self.books).as_mut() {
            Some(Books(slots)) => free(slots),
            None => Err(SlotError::OutOfRange { slot: 0, size: 0 }),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(Books(slots)) = lock(&self.books).as_mut() {
            slots.clear();
        }
    }
}

impl Drop for Books {
    fn drop(&mut self) {
        BOOKED_PAGES.fetch_sub(self.0.page_count(), Ordering::Relaxed);
    }
}

/// How a pool calls a free of a count of slots that is not whole pages: (slots given, page size, field).
pub(super) type NotWholePages = fn(u64, u64, &'static str) -> Error;

fn free_refusal(error: SlotError, field: &'static str, not_whole_pages: NotWholePages) -> Error {
    match error {
        SlotError::NotWholePages { len, page_size } => not_whole_pages(len, page_size, field),
        SlotError::OutOfRange { slot, size } => Error::SlotOutOfRange { slot, size },
        SlotError::DoubleFree { slots, count } => Error::DoubleFree { slots, count },
        SlotError::OffPageBoundary { slot } => Error::invalid(
            field,
            format!("must cover whole pages from their first slot; the page of slot {slot} is not"),
        ),
        other => Error::invalid(field, format!("is refused: {other}")),
    }
}

/// What the arguments that size a pool are called.
#[derive(Clone, Copy)]
pub(super) struct SizeFields {
    /// The one that says how many pages.
    pub(super) count: &'static str,
    /// The one that says how many slots a page.
    pub(super) page_size: &'static str,
}

impl SizeFields {
    fn too_many(self, pages: u64, left: u64) -> Error {
        let reason =
            format!("makes {pages} pages, but this process can keep books on {left} more: destroy pools");
        Error::invalid(self.count, reason)
    }

    fn refusal(self, error: &SlotError) -> Error {
        let field = if *error == SlotError::ZeroPageSize { self.page_size } else { self.count };
        Error::invalid(field, format!("is refused: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::MAX_PAGE_COUNT;

    #[test]
    fn a_closed_pool_has_no_slots() {
        let pool = SlotPool::new(4, 2, SizeFields { count: "size", page_size: "page_size" }).unwrap();
        pool.allocate(4).unwrap();
        pool.close();
        assert_eq!((pool.stats().size, pool.stats().allocated_slots), (0, 0));
        assert!(matches!(pool.allocate(2), Err(Error::PoolExhausted { available_slots: 0, .. })));
        let not_whole = |_, _, field| Error::invalid(field, "");
        assert!(matches!(pool.free_slots(&[0, 1], not_whole), Err(Error::SlotOutOfRange { size: 0, .. })));
    }

    #[test]
    fn the_pools_of_a_process_keep_books_on_a_bounded_number_of_pages() {
        let fields = SizeFields { count: "size", page_size: "page_size" };
        let pool = || SlotPool::new(MAX_PAGE_COUNT, 1, fields);
        let pools: Vec<_> = std::iter::from_fn(|| pool().ok()).collect();
        assert!(matches!(pools.len(), 3 | 4), "2^30 pages, less what other tests hold: {}", pools.len());
        assert!(matches!(pool(), Err(Error::InvalidArgument { field: "size", .. })));
        pools.iter().for_each(SlotPool::close);
        assert!(pool().is_ok(), "a closed pool gives its books back at once");
    }
}
