//! Memory that was granted: mapped, bound, and given back in the right order.

use std::sync::OnceLock;

use super::headroom::{Headroom, InFlight};
use super::landing::Landing;
use super::numa::NodeBytes;
use super::policy::{NumaPolicy, TransparentHugepages};
use super::prefault::{Prefault, PrefaultError, usable_cpus};
use super::progress::{PrefaultProgress, Progress};
use super::quota::Permit;
use super::request::MemoryRequest;
use super::sys::Region;
use super::tally::Tally;
use crate::backing::Backing;
use crate::errno::Errno;
use crate::error::Error;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, RwLock, lock, read, try_read, write};
use crate::units::Bytes;

/// The wish and the outcome, apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The backing wished.
    pub requested_backing: Backing,
    /// The backing got.
    pub actual_backing: Backing,
    /// The size of the hugepages behind it; `None` on ordinary pages.
    pub hugepage_size: Option<Bytes>,
    /// Every mapping starts at a multiple of this: the page or hugepage size.
    pub alignment: Bytes,
    /// What the mappings take.
    pub mapped: Bytes,
    /// How many mappings.
    pub mappings: u32,
    /// The nodes that serve it, as the kernel was told.
    pub numa: NumaPolicy,
    /// What was wished of transparent hugepages.
    pub transparent_hugepages: TransparentHugepages,
    /// Whether it is never swapped out.
    pub locked: bool,
}

impl Placement {
    /// Whether the backing got is not the one wished.
    #[must_use]
    pub fn fell_back(&self) -> bool {
        self.requested_backing != self.actual_backing
    }
}

/// Mapped memory and its charge. All methods may be called from any thread; those that can block say so.
#[derive(Debug)]
pub struct HostMemory {
    request: MemoryRequest,
    online_nodes: Vec<u32>,
    placement: Placement,
    progress: Progress,
    cancelled: AtomicBool,
    /// Held by the one prefault that is at work.
    prefaulting: Mutex<()>,
    landing: OnceLock<Landing>,
    held: RwLock<Option<Held>>,
}

/// What there is to give back. Fields drop in this order: the mappings, then the memfd and the charge for them.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) regions: Vec<Region>,
    /// With the memfd behind all regions, one after the other.
    pub(super) tally: Tally,
    #[expect(dead_code, reason = "held, not read: dropping it gives the mappings and descriptors back")]
    pub(super) permit: Permit,
    /// What all prefaults of this process are faulting in.
    pub(super) in_flight: Arc<InFlight>,
}

impl HostMemory {
    pub(super) fn new(
        request: MemoryRequest,
        online_nodes: Vec<u32>,
        placement: Placement,
        held: Held,
    ) -> Self {
        Self {
            request,
            online_nodes,
            progress: Progress::of(placement.mapped),
            placement,
            cancelled: AtomicBool::new(false),
            prefaulting: Mutex::new(()),
            landing: OnceLock::new(),
            held: RwLock::new(Some(held)),
        }
    }

    /// The bytes asked for, before rounding.
    #[must_use]
    pub fn requested(&self) -> Bytes {
        self.request.requested()
    }

    /// What was wished and what came of it.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How much is faulted in. Never blocks.
    #[must_use]
    pub fn progress(&self) -> PrefaultProgress {
        self.progress.read(self.resident_in_file())
    }

    /// Where the pages are, once a prefault is done; `None` before, and where the kernel does not tell.
    #[must_use]
    pub fn bytes_by_node(&self) -> Option<&[NodeBytes]> {
        self.landing.get()?.nodes.as_deref()
    }

    /// What of it is on transparent hugepages, once a prefault is done; `None` before, on a hugetlb backing, and where the
    /// kernel does not tell (before Linux 6.7).
    #[must_use]
    pub fn transparent_huge_bytes(&self) -> Option<Bytes> {
        self.landing.get()?.transparent_huge
    }

    /// Faults everything in and blocks until that is done, by this call or one before it. When it fails, everything is
    /// given back already.
    ///
    /// # Errors
    /// HOST_BUFFER_ALLOCATION_FAILED: the kernel's refusal, too little memory left on the machine, or
    /// [`cancel`](Self::cancel)led.
    pub fn prefault(&self) -> Result<(), Error> {
        self.prefault_with(usable_cpus())
    }

    /// As [`prefault`](Self::prefault), on `most_threads` threads at most instead of one a usable CPU.
    ///
    /// # Errors
    /// The same.
    pub fn prefault_with(&self, most_threads: u32) -> Result<(), Error> {
        self.prefault_held(most_threads).map_err(|PrefaultError { reason, errno }| {
            self.close();
            let failure = self.request.failure(reason, errno, self.online_nodes.clone());
            Error::HostBufferAllocationFailed(Box::new(failure))
        })
    }

    fn prefault_held(&self, most_threads: u32) -> Result<(), PrefaultError> {
        // One at a time: what two fault in would be counted twice.
        let _alone = lock(&self.prefaulting);
        let held = read(&self.held);
        let held = held.as_ref().ok_or(PrefaultError::CANCELLED)?;
        if self.progress.is_done() {
            return Ok(());
        }
        let page = self.placement.alignment;
        let ordinary = || Headroom::Ordinary(self.placement.numa.strict(), Arc::clone(&held.in_flight));
        let hugetlb = self.placement.actual_backing.is_hugetlb();
        let prefault = Prefault {
            regions: &held.regions,
            most_threads,
            page,
            headroom: if hugetlb { Headroom::Reserved } else { ordinary() },
            tally: &held.tally,
            progress: &self.progress,
            cancelled: &self.cancelled,
        };
        prefault.run()?;
        self.landing.get_or_init(|| Landing::of(&held.regions, page, hugetlb));
        Ok(())
    }

    /// Makes a prefault, running or yet to come, stop after the steps it is at. Never blocks.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Cancels, waits for a running prefault to notice, unmaps, and gives the charge back. Blocks for as long as the
    /// kernel takes. Answers the bytes given back: zero when that was done before, by then in full.
    pub fn close(&self) -> Bytes {
        self.cancel();
        let mut held = write(&self.held);
        // It drops under the lock: who finds it gone finds it given back.
        held.take().map_or(Bytes::ZERO, |held| held.tally.mapped())
    }

    /// Copies from `mapping` at `offset`, faulting in what is not there. Blocks.
    ///
    /// # Errors
    /// EFAULT outside the mapping or when the kernel has no page to hand out; EBADF after a close.
    pub fn read(&self, mapping: usize, offset: usize, into: &mut [u8]) -> Result<(), Errno> {
        let held = read(&self.held);
        let held = held.as_ref().ok_or(Errno::new(libc::EBADF))?;
        held.regions.get(mapping).ok_or(Errno::new(libc::EFAULT))?.read(offset, into)?;
        held.tally.recount();
        Ok(())
    }

    /// Copies `bytes` to `mapping` at `offset`, faulting in what is not there. Blocks, and keeps other readers and
    /// writers of this process waiting meanwhile.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, mapping: usize, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        let mut held = write(&self.held);
        let held = held.as_mut().ok_or(Errno::new(libc::EBADF))?;
        held.regions.get_mut(mapping).ok_or(Errno::new(libc::EFAULT))?.write(offset, bytes)?;
        held.tally.recount();
        Ok(())
    }

    /// What is resident behind the memfd. `None` without one, and while the memory is being given back.
    fn resident_in_file(&self) -> Option<Bytes> {
        try_read(&self.held)?.as_ref()?.tally.in_file()
    }
}
