//! `LogicalHostPool` for JS.

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::failure::{Failure, outcome};
use super::number::{count, js};
use super::slots::{SlotRange, SlotStats, check_indices, check_ranges, js_ranges, js_stats};
use crate::pool;

/// Page-aligned slots without bytes. Every method takes microseconds.
#[napi]
pub struct LogicalHostPool {
    pool: pool::LogicalHostPool,
}

impl LogicalHostPool {
    pub(super) fn new(pool: pool::LogicalHostPool) -> Self {
        Self { pool }
    }
}

#[napi]
impl LogicalHostPool {
    /// How full it is.
    #[napi]
    pub fn stats(&self) -> SlotStats {
        js_stats(self.pool.stats())
    }

    /// Takes slots; refuses a size that is no multiple of the page.
    #[napi]
    pub fn allocate_slots(&self, need_size: f64) -> napi::Result<Either<Vec<SlotRange>, Failure>> {
        let taken = count("need_size", need_size).and_then(|need| self.pool.allocate_slots(need));
        outcome(taken, js_ranges)
    }

    /// Gives slots back; answers how many.
    #[napi]
    pub fn free_indices(&self, indices: Vec<f64>) -> napi::Result<Either<f64, Failure>> {
        outcome(check_indices(indices).and_then(|indices| self.pool.free_slots(&indices)), js)
    }

    /// Gives slots back; answers how many.
    #[napi]
    pub fn free_ranges(&self, ranges: Vec<SlotRange>) -> napi::Result<Either<f64, Failure>> {
        outcome(check_ranges(ranges).and_then(|ranges| self.pool.free_ranges(&ranges)), js)
    }

    /// Every slot is free again.
    #[napi]
    pub fn clear(&self) {
        self.pool.clear();
    }

    /// Gives its bookkeeping back; it has no slots from here on.
    #[napi]
    pub fn close(&self) {
        self.pool.close();
    }
}
