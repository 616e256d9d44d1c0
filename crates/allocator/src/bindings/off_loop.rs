//! Work that may block, away from the event loop.

use napi::bindgen_prelude::{Error, Result, spawn_blocking};

/// Runs `work` on a thread that may block. A panic in it rejects the promise: a bug, but not the process's end.
pub(super) async fn off_loop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    spawn_blocking(work)
        .await
        .map_err(|error| Error::from_reason(format!("the allocator's thread failed: {error}")))
}
