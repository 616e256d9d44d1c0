//! Charge, map, bind, commit; on any failure none of it has happened.

mod group;
mod rehearse;

use super::allocation_error::AllocationError;
use super::attempt::Attempt;
use super::headroom::InFlight;
use super::host_memory::HostMemory;
use super::ladder::{make_on_ladder, quote_on_ladder};
use super::policy::NumaPolicy;
use super::quota::{Permit, Quota};
use super::request::MemoryRequest;
use crate::backing::Backing;
use crate::budget::{Demand, HostSource, Ledger, PendingCharge, Quote};
use crate::error::{Error, HostBufferFailure};
use crate::host::{AdmissionReading, HostError, HostReader, HostReading, HostRoot};
use crate::sync::{Arc, Mutex, lock};
use crate::units::Bytes;

pub use group::RequestGroup;
pub use rehearse::Rehearsed;

/// The door to host memory: one per process, over one ledger.
#[derive(Debug)]
pub struct HostMemoryAllocator {
    root: HostRoot,
    ledger: Arc<Ledger>,
    quota: Arc<Quota>,
    in_flight: Arc<InFlight>,
}

/// The ledger's view of a host root: one reader, whose buffer is used again.
struct RootSource(Mutex<HostReader>);

impl HostSource for RootSource {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        AdmissionReading::read(&mut lock(&self.0))
    }
}

impl HostMemoryAllocator {
    /// An allocator that decides by the files below `root` and keeps `reserve` bytes for the host. The memory itself
    /// always comes from the running kernel.
    ///
    /// # Errors
    /// When the host cannot be read.
    pub fn new(root: HostRoot, reserve: Bytes) -> Result<Self, Error> {
        let mut reader = HostReader::new(root.clone());
        AdmissionReading::read(&mut reader)?;
        let ledger = Ledger::new(Box::new(RootSource(Mutex::new(reader))), reserve);
        let in_flight = InFlight::beside(reserve);
        Ok(Self { root, ledger, quota: Quota::of_this_process(), in_flight })
    }

    /// The ledger that every allocation is charged to.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Everything the host has, now. Reads some dozens of files.
    ///
    /// # Errors
    /// When the host cannot be read.
    pub fn read_host(&self) -> Result<HostReading, Error> {
        Ok(HostReading::read(&self.root)?)
    }

    /// What [`allocate`](Self::allocate) would be judged by now, and on which backing: the wished one, or the one it
    /// would fall back to. Nothing is charged or mapped.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a wish that this host does not know; NOT_FOUND for the budget; an unreadable host. Never
    /// a shortage: that is in the quote.
    pub fn quote(&self, request: &MemoryRequest) -> Result<(Backing, Quote), Error> {
        let host = self.read_admission()?;
        let wished = Attempt { host: &host, request, backing: request.wish.backing };
        quote_on_ladder(&wished, |attempt| Ok(self.ledger.quote(&attempt.demand()?)?))
    }

    /// What `request` takes of the ledger, for memory that somebody else maps.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a wish that this host does not know, or a size whose rounding overflows; an unreadable host.
    pub fn demand(&self, request: &MemoryRequest) -> Result<Demand, Error> {
        // Only a node or a size of hugepages is something to know of a host.
        let plain = request.wish.numa == NumaPolicy::Any && !request.wish.backing.is_hugetlb();
        if plain && let Some(demand) = request.demand(request.wish.backing) {
            return Ok(demand);
        }
        let host = self.read_admission()?;
        let attempt = Attempt { host: &host, request, backing: request.wish.backing };
        attempt.demand().map_err(|failure| AllocationError::from(failure).into_argument())
    }

    /// Memory as wished, or on ordinary pages where the wish allows that: charged, mapped and bound; nothing is
    /// faulted in yet. Blocks for a few system calls a mapping.
    ///
    /// # Errors
    /// [`AllocationError`]; no mapping, descriptor or charge is left then.
    pub fn allocate(&self, request: &MemoryRequest) -> Result<HostMemory, AllocationError> {
        let host = self.read_admission()?;
        let wished = Attempt { host: &host, request, backing: request.wish.backing };
        make_on_ladder(&wished, |attempt| self.attempt(attempt))
    }

    /// Mappings and descriptors that the memories of this allocator hold now.
    #[cfg(not(loom))]
    #[cfg(test)]
    pub(crate) fn permitted(&self) -> (u64, u64) {
        self.quota.used()
    }

    fn read_admission(&self) -> Result<AdmissionReading, Error> {
        Ok(AdmissionReading::read(&mut HostReader::new(self.root.clone()))?)
    }

    fn attempt(&self, attempt: &Attempt<'_>) -> Result<HostMemory, AllocationError> {
        let (charge, permit) = self.admit(attempt)?;
        attempt.map(charge, permit, Arc::clone(&self.in_flight))
    }

    fn admit(&self, attempt: &Attempt<'_>) -> Result<(PendingCharge, Permit), AllocationError> {
        let charge = self.ledger.charge(attempt.demand()?).map_err(|refusal| attempt.refused(refusal))?;
        let mappings = attempt.request.mapping_count.into();
        let permit = self.quota.take(mappings, attempt.backing.is_memfd().into());
        let permit = permit.map_err(|errno| attempt.failed(HostBufferFailure::System, Some(errno)))?;
        Ok((charge, permit))
    }
}
