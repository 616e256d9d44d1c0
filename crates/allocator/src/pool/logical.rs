//! The anchor pool: page-aligned slots without bytes (sglang `LogicalHostPool`).

use super::slot_pool::{SizeFields, SlotPool, SlotStats};
use crate::error::Error;
use crate::slots::SlotRange;
use crate::units::MAX_COUNT;

/// Page-aligned slots that hold nothing. Everything is in whole pages, or the documented error.
#[derive(Debug)]
pub struct LogicalHostPool {
    slots: SlotPool,
}

impl LogicalHostPool {
    /// `size` slots in pages of `page_size`.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a size or page size of 0, above 2^53 - 1, or of more than 2^28 pages;
    /// LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED when `size` is not a multiple of `page_size`.
    pub fn new(size: u64, page_size: u64) -> Result<Self, Error> {
        check_count("size", size)?;
        check_count("page_size", page_size)?;
        if !size.is_multiple_of(page_size) {
            return Err(Error::LogicalPoolSizeNotPageAligned { size, page_size });
        }
        let fields = SizeFields { count: "size", page_size: "page_size" };
        Ok(Self { slots: SlotPool::new(size / page_size, page_size, fields)? })
    }

    /// How full it is.
    #[must_use]
    pub fn stats(&self) -> SlotStats {
        self.slots.stats()
    }

    /// Takes `need_size` slots, all or none: the fewest, lowest, longest runs, ascending.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for 0; LOGICAL_POOL_ALLOCATION_NOT_PAGE_ALIGNED; POOL_EXHAUSTED.
    pub fn allocate_slots(&self, need_size: u64) -> Result<Vec<SlotRange>, Error> {
        check_count("need_size", need_size)?;
        let page_size = self.slots.page_size();
        if !need_size.is_multiple_of(page_size) {
            return Err(Error::LogicalPoolAllocationNotPageAligned { need_size, page_size });
        }
        self.slots.allocate(need_size)
    }

    /// Gives slots back, in any order, as long as together they are whole pages. Answers how many; none is no error.
    ///
    /// # Errors
    /// LOGICAL_POOL_FREE_NOT_PAGE_ALIGNED, SLOT_OUT_OF_RANGE, DOUBLE_FREE, INVALID_ARGUMENT for a page given in part.
    /// Nothing has changed then.
    pub fn free_slots(&self, indices: &[u64]) -> Result<u64, Error> {
        self.slots.free_slots(indices, not_page_aligned)
    }

    /// As [`free_slots`](Self::free_slots), by ranges.
    ///
    /// # Errors
    /// The same.
    pub fn free_ranges(&self, ranges: &[SlotRange]) -> Result<u64, Error> {
        self.slots.free_ranges(ranges, not_page_aligned)
    }

    /// Every slot is free again.
    pub fn clear(&self) {
        self.slots.clear();
    }

    /// Gives its bookkeeping back; it has no slots from here on. Dropping it does the same.
    pub fn close(&self) {
        self.slots.close();
    }
}

fn not_page_aligned(length: u64, page_size: u64, _field: &'static str) -> Error {
    Error::LogicalPoolFreeNotPageAligned { length, page_size }
}

/// `value` is 1 to 2^53 - 1, or INVALID_ARGUMENT.
pub(super) fn check_count(field: &'static str, value: u64) -> Result<(), Error> {
    if (1..=MAX_COUNT).contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("must be 1 to {MAX_COUNT}, got {value}")))
}
