//! `HostBuffer` for JS.

use std::sync::Arc;

use napi_derive::napi;

use super::failure::{Failure, failure};
use super::memory::{self, MemoryPlacement, PrefaultProgress};
use super::number::js_bytes;
use super::off_loop::off_loop;
use crate::memory as core;

/// Memory by itself.
#[napi]
pub struct HostBuffer {
    buffer: Arc<core::HostBuffer>,
}

impl HostBuffer {
    pub(super) fn new(buffer: core::HostBuffer) -> Self {
        Self { buffer: Arc::new(buffer) }
    }
}

#[napi]
impl HostBuffer {
    /// The bytes asked for.
    #[napi(getter)]
    pub fn requested_bytes(&self) -> f64 {
        js_bytes(self.buffer.memory().requested())
    }

    /// The wish and the outcome.
    #[napi]
    pub fn placement(&self) -> MemoryPlacement {
        memory::placement(self.buffer.memory())
    }

    /// How much is faulted in.
    #[napi]
    pub fn progress(&self) -> PrefaultProgress {
        memory::progress(self.buffer.memory())
    }

    /// Faults everything in. A failure has already given back mapping and charge.
    #[napi]
    pub async fn prefault(&self) -> napi::Result<Option<Failure>> {
        let buffer = Arc::clone(&self.buffer);
        off_loop(move || buffer.memory().prefault()).await?.err().map(failure).transpose()
    }

    /// Makes a running prefault stop.
    #[napi]
    pub fn cancel(&self) {
        self.buffer.memory().cancel();
    }

    /// Cancels, unmaps and gives the charge back; resolves to the bytes released, 0 when closed before.
    #[napi]
    pub async fn close(&self) -> napi::Result<f64> {
        self.cancel();
        let buffer = Arc::clone(&self.buffer);
        off_loop(move || js_bytes(buffer.memory().close())).await
    }
}
