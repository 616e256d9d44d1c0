//! Slots as JS sees them.

use napi_derive::napi;

use super::number::{count, js};
use crate::error::Error;
use crate::pool;
use crate::slots;

/// Slots side by side.
#[napi(object)]
pub struct SlotRange {
    /// The lowest slot.
    pub start: f64,
    /// How many.
    pub count: f64,
}

/// How full a pool is.
#[napi(object)]
pub struct SlotStats {
    /// Slots in all.
    pub size: f64,
    /// Slots a page.
    pub page_size: f64,
    /// Pages in all.
    pub page_count: f64,
    /// Slots free.
    pub available_slots: f64,
    /// Slots taken.
    pub allocated_slots: f64,
    /// The longest run of free pages.
    pub largest_free_run_pages: f64,
}

pub(super) fn js_ranges(ranges: Vec<slots::SlotRange>) -> Vec<SlotRange> {
    ranges.into_iter().map(|range| SlotRange { start: js(range.start), count: js(range.count) }).collect()
}

pub(super) fn check_ranges(ranges: Vec<SlotRange>) -> Result<Vec<slots::SlotRange>, Error> {
    let check = |range: SlotRange| {
        Ok(slots::SlotRange { start: count("ranges", range.start)?, count: count("ranges", range.count)? })
    };
    ranges.into_iter().map(check).collect()
}

pub(super) fn check_indices(indices: Vec<f64>) -> Result<Vec<u64>, Error> {
    indices.into_iter().map(|slot| count("indices", slot)).collect()
}

pub(super) fn js_stats(stats: pool::SlotStats) -> SlotStats {
    SlotStats {
        size: js(stats.size),
        page_size: js(stats.page_size),
        page_count: js(stats.page_count),
        available_slots: js(stats.available_slots),
        allocated_slots: js(stats.allocated_slots),
        largest_free_run_pages: js(stats.largest_free_run_pages),
    }
}
