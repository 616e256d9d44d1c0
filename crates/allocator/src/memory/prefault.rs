//! Faulting memory in on several threads, with progress, cancellation and an errno instead of a signal.
//!
//! Each thread takes the next piece and asks for it, a step at a time, with `MADV_POPULATE_WRITE` (madvise(2), Linux
//! 5.14), which answers where a touch would raise SIGBUS.

use std::ops::Range;
use std::sync::OnceLock;
use std::thread;

use super::gate::{Call, permit};
use super::headroom::Headroom;
use super::pieces::Pieces;
use super::progress::Progress;
use super::sys::Region;
use super::tally::Tally;
use crate::errno::Errno;
use crate::error::HostBufferFailure;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};
use crate::units::Bytes;

/// What one system call faults in. The kernel holds the lock of the address space meanwhile, and every other thread that
/// maps memory, the one that answers requests among them, waits for it.
const STEP: usize = 2 << 20;
/// A thread is worth starting for this much.
const BYTES_PER_THREAD: u64 = 128 << 20;

/// Why memory could not be faulted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrefaultError {
    /// The kind of failure.
    pub(super) reason: HostBufferFailure,
    /// What the kernel said, when it was the kernel.
    pub(super) errno: Option<Errno>,
}

impl PrefaultError {
    pub(super) const CANCELLED: Self = Self { reason: HostBufferFailure::Cancelled, errno: None };

    fn kernel(errno: Errno) -> Self {
        Self { reason: HostBufferFailure::PrefaultFailed, errno: Some(errno) }
    }
}

/// Everything the threads of one prefault share.
pub(super) struct Prefault<'a> {
    pub(super) regions: &'a [Region],
    pub(super) most_threads: u32,
    /// The size of the pages behind the regions.
    pub(super) page: Bytes,
    pub(super) headroom: Headroom,
    pub(super) tally: &'a Tally,
    pub(super) progress: &'a Progress,
    pub(super) cancelled: &'a AtomicBool,
}

impl Prefault<'_> {
    /// Faults everything in and blocks until that is done, refused or cancelled. What was faulted in before a
    /// failure is still there: the caller unmaps.
    pub(super) fn run(&self) -> Result<(), PrefaultError> {
        let pieces = Pieces::of(self.regions, self.page);
        let failure = Mutex::new(None);
        let threads = self.threads();
        self.progress.begin(threads);
        let work = || {
            if let Err(error) = self.work(&pieces) {
                pieces.stop();
                lock(&failure).get_or_insert(error);
            }
        };
        run_together(threads, &work);
        match lock(&failure).take() {
            Some(error) => Err(error),
            None => {
                self.progress.finish();
                Ok(())
            }
        }
    }

    fn work(&self, pieces: &Pieces<'_>) -> Result<(), PrefaultError> {
        while let Some(piece) = pieces.take() {
            let leave = self.headroom.admit(piece.bytes());
            let _leave = leave.map_err(|reason| PrefaultError { reason, errno: None })?;
            for region in piece.regions {
                self.populate(region, piece.range.clone())?;
            }
        }
        Ok(())
    }

    fn populate(&self, region: &Region, range: Range<usize>) -> Result<(), PrefaultError> {
        let step = STEP.max(usize::try_from(self.page.get()).unwrap_or(STEP));
        for start in range.clone().step_by(step) {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(PrefaultError::CANCELLED);
            }
            let end = range.end.min(start.saturating_add(step));
            region.populate(start..end).map_err(PrefaultError::kernel)?;
            let bytes = bytes_of(end - start);
            self.progress.add(bytes);
            self.tally.faulted_in(bytes);
        }
        Ok(())
    }

    /// No more than is worth it for the size.
    fn threads(&self) -> u32 {
        let total: Bytes = self.regions.iter().map(|region| bytes_of(region.length())).sum();
        let worth = total.units_to_hold(Bytes::new(BYTES_PER_THREAD));
        u32::try_from(worth).unwrap_or(u32::MAX).min(self.most_threads).max(1)
    }
}

/// The CPUs this process may use: sched_getaffinity(2) and the cpu cgroup.
pub(crate) fn usable_cpus() -> u32 {
    thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

/// Runs `work` on this thread and on `threads - 1` others, all of them held back until the last has started: a thread
/// that starts late would have its stack mapping wait for the lock that a populate holds. With fewer threads than
/// wished when the system has no more. None of them is left when it returns.
fn run_together(threads: u32, work: &(impl Fn() + Sync)) {
    let go = OnceLock::new();
    let at_work = || {
        go.wait();
        work();
    };
    thread::scope(|scope| {
        let start = |_| {
            permit(Call::Clone).ok()?;
            let worker = thread::Builder::new().name("hostpool-prefault".to_owned());
            worker.spawn_scoped(scope, at_work).ok()
        };
        let workers: Vec<_> = (1..threads).map_while(start).collect();
        let _ = go.set(());
        work();
        // The scope waits for their work, a join for their end: their stacks and their entries in /proc are gone then.
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

fn bytes_of(length: usize) -> Bytes {
    Bytes::new(u64::try_from(length).unwrap_or(u64::MAX))
}
