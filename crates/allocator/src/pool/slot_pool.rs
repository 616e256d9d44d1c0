//! A slot allocator that many threads share, and its refusals in the documented words.

use std::sync::Mutex;

use crate::error::Error;
use crate::slots::{SlotAllocator, SlotError, SlotRange};
use crate::sync::lock;

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

/// The slots of one pool. Each method holds the lock for microseconds.
#[derive(Debug)]
pub(super) struct SlotPool(Mutex<SlotAllocator>);

impl SlotPool {
    pub(super) fn new(page_count: u64, page_size: u64, fields: SizeFields) -> Result<Self, Error> {
        let slots = SlotAllocator::new(page_count, page_size).map_err(|error| fields.refusal(&error))?;
        Ok(Self(Mutex::new(slots)))
    }

    pub(super) fn stats(&self) -> SlotStats {
        let slots = lock(&self.0);
        let page_size = slots.page_size();
        SlotStats {
            size: slots.slot_count(),
            page_size,
            page_count: slots.page_count(),
            available_slots: slots.free_pages().saturating_mul(page_size),
            allocated_slots: slots.allocated_pages().saturating_mul(page_size),
            largest_free_run_pages: slots.largest_free_run_pages(),
        }
    }

    pub(super) fn page_size(&self) -> u64 {
        lock(&self.0).page_size()
    }

    /// Takes `slot_count` slots, a multiple of the page size, all or none.
    pub(super) fn allocate(&self, slot_count: u64) -> Result<Vec<SlotRange>, Error> {
        let mut slots = lock(&self.0);
        let available = slots.free_pages().saturating_mul(slots.page_size());
        slots.allocate_slots(slot_count).map_err(|error| match error {
            SlotError::Exhausted { .. } => {
                Error::PoolExhausted { need_size: slot_count, available_slots: available }
            }
            other => Error::invalid("need_size", format!("is refused: {other}")),
        })
    }

    pub(super) fn free_slots(&self, indices: &[u64], not_whole_pages: NotWholePages) -> Result<u64, Error> {
        let freed = lock(&self.0).free_slots(indices);
        freed.map_err(|error| free_refusal(error, "indices", not_whole_pages))
    }

    pub(super) fn free_ranges(
        &self,
        ranges: &[SlotRange],
        not_whole_pages: NotWholePages,
    ) -> Result<u64, Error> {
        let freed = lock(&self.0).free_ranges(ranges);
        freed.map_err(|error| free_refusal(error, "ranges", not_whole_pages))
    }

    pub(super) fn clear(&self) {
        lock(&self.0).clear();
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
    fn refusal(self, error: &SlotError) -> Error {
        let field = if *error == SlotError::ZeroPageSize { self.page_size } else { self.count };
        Error::invalid(field, format!("is refused: {error}"))
    }
}
