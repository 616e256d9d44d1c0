//! `V4PagedHostPool` for JS.

use std::sync::Arc;

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::failure::{Failure, failure, outcome};
use super::memory::{self, MemoryPlacement, PrefaultProgress};
use super::number::{count, js, js_bytes};
use super::off_loop::off_loop;
use super::slots::{SlotRange, SlotStats, check_indices, check_ranges, js_ranges, js_stats};
use crate::pool;

/// Slots and the bytes behind them.
#[napi(js_name = "V4PagedHostPool")]
pub struct V4PagedHostPool {
    pool: Arc<pool::V4PagedHostPool>,
}

impl V4PagedHostPool {
    pub(super) fn new(pool: pool::V4PagedHostPool) -> Self {
        Self { pool: Arc::new(pool) }
    }
}

#[napi]
impl V4PagedHostPool {
    /// How full it is.
    #[napi]
    pub fn stats(&self) -> SlotStats {
        js_stats(self.pool.stats())
    }

    /// Takes slots, rounded up to a whole page.
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

    /// Every slot is free again; the bytes stay.
    #[napi]
    pub fn clear(&self) {
        self.pool.clear();
    }

    /// layerNum x numHostPages x itemBytes.
    #[napi(getter)]
    pub fn requested_bytes(&self) -> f64 {
        js_bytes(self.pool.memory().requested())
    }

    /// The wish and the outcome.
    #[napi]
    pub fn placement(&self) -> MemoryPlacement {
        memory::placement(self.pool.memory())
    }

    /// How much is faulted in.
    #[napi]
    pub fn progress(&self) -> PrefaultProgress {
        memory::progress(self.pool.memory())
    }

    /// Faults everything in. A failure has already given back mapping and charge.
    #[napi]
    pub async fn prefault(&self) -> napi::Result<Option<Failure>> {
        let pool = Arc::clone(&self.pool);
        off_loop(move || pool.prefault()).await?.err().map(failure).transpose()
    }

    /// Makes a running prefault stop.
    #[napi]
    pub fn cancel(&self) {
        self.pool.memory().cancel();
    }

    /// Cancels, unmaps and gives the charge back; resolves to the bytes released, 0 when closed before.
    #[napi]
    pub async fn close(&self) -> napi::Result<f64> {
        self.cancel();
        let pool = Arc::clone(&self.pool);
        off_loop(move || js_bytes(pool.close())).await
    }
}
