//! How far a prefault is; written by its threads, read by anybody.

use std::sync::OnceLock;
use std::time::Instant;

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::units::Bytes;

/// How much of the memory is faulted in, how fast, by how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefaultProgress {
    /// Bytes faulted in.
    pub resident: Bytes,
    /// Bytes mapped.
    pub total: Bytes,
    /// Whether a prefault has faulted all of it in.
    pub done: bool,
    /// The rate so far, or of the whole prefault when done; `None` before one has faulted anything in.
    pub bytes_per_second: Option<Bytes>,
    /// Threads at work; of the whole prefault when done; 0 before one begins.
    pub threads: u32,
}

#[derive(Debug)]
pub(super) struct Progress {
    total: Bytes,
    resident: AtomicU64,
    threads: AtomicU32,
    done: AtomicBool,
    started: OnceLock<Instant>,
    ended: OnceLock<Instant>,
}

impl Progress {
    pub(super) fn of(total: Bytes) -> Self {
        Self {
            total,
            resident: AtomicU64::new(0),
            threads: AtomicU32::new(0),
            done: AtomicBool::new(false),
            started: OnceLock::new(),
            ended: OnceLock::new(),
        }
    }

    pub(super) fn begin(&self, threads: u32) {
        self.threads.store(threads, Ordering::Relaxed);
        self.started.get_or_init(Instant::now);
    }

    pub(super) fn add(&self, bytes: Bytes) {
        self.resident.fetch_add(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn finish(&self) {
        self.ended.get_or_init(Instant::now);
        self.done.store(true, Ordering::Release);
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// `resident_elsewhere`: what the kernel says of memory that somebody else faults in, e.g. through a memfd.
    pub(super) fn read(&self, resident_elsewhere: Option<Bytes>) -> PrefaultProgress {
        let faulted = Bytes::new(self.resident.load(Ordering::Relaxed));
        PrefaultProgress {
            resident: faulted.max(resident_elsewhere.unwrap_or_default()).min(self.total),
            total: self.total,
            done: self.is_done(),
            bytes_per_second: self.rate(faulted),
            threads: self.threads.load(Ordering::Relaxed),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people, never negative"
    )]
    fn rate(&self, faulted: Bytes) -> Option<Bytes> {
        let until = self.ended.get().copied().unwrap_or_else(Instant::now);
        let seconds = until.duration_since(*self.started.get()?).as_secs_f64();
        (faulted > Bytes::ZERO && seconds > 0.0).then(|| Bytes::new((faulted.get() as f64 / seconds) as u64))
    }
}
