//! Charge, map, bind, commit; on any failure none of it has happened.

use std::sync::{Arc, Mutex};

use super::headroom::InFlight;
use super::host_memory::{Held, HostMemory, Placement};
use super::quota::{Permit, Quota};
use super::request::{MemoryRequest, OnHugepageShortage};
use super::sys::{Region, sealed_memfd};
use crate::backing::Backing;
use crate::budget::{Demand, HostSource, Ledger, PendingCharge, Quote, Refusal};
use crate::errno::Errno;
use crate::error::{Error, HostBufferAllocationFailed, HostBufferFailure, MemoryLimit};
use crate::host::{AdmissionReading, HostError, HostReader, HostReading, HostRoot};
use crate::sync::lock;
use crate::units::{Bytes, MAX_COUNT};

/// The door to host memory: one per process, over one ledger.
#[derive(Debug)]
pub struct HostMemoryAllocator {
    root: HostRoot,
    ledger: Arc<Ledger>,
    quota: Arc<Quota>,
    in_flight: Arc<InFlight>,
}

/// Why there is no memory. The callers put their own sentence to it.
#[derive(Debug)]
pub enum AllocationError {
    /// The ledger refused: it does not fit.
    Shortage(Shortage),
    /// The budget of that name takes no new charges.
    AdmissionClosed(String),
    /// The host or the kernel cannot make it.
    Failed(Box<HostBufferAllocationFailed>),
    /// Another error: an unknown budget, a bad argument, an unreadable host.
    Other(Error),
}

/// A refusal of the ledger, with what a caller needs to tell of it.
#[derive(Debug)]
pub struct Shortage {
    /// The figures of the decision.
    pub quote: Quote,
    /// The backing that was asked for last: the wished one, or the one fallen back to.
    pub backing: Backing,
    /// Nodes that memory can be bound to.
    pub online_nodes: Vec<u32>,
}

impl From<Error> for AllocationError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Box<HostBufferAllocationFailed>> for AllocationError {
    fn from(failure: Box<HostBufferAllocationFailed>) -> Self {
        Self::Failed(failure)
    }
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
        let fallback = Attempt { backing: wished.backing.on_ordinary_pages(), ..wished };
        let quote = self.quote_attempt(&wished);
        let short = match &quote {
            Ok(quote) => !quote.fits() && is_hugepage_limit(quote.limited_by),
            Err(error) => is_hugepage_shortage(error),
        };
        if short && wished.falls_back() {
            return Ok((fallback.backing, self.quote_attempt(&fallback).map_err(as_argument)?));
        }
        Ok((wished.backing, quote.map_err(as_argument)?))
    }

    /// What `request` takes of the ledger, for memory that somebody else maps.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a wish that this host does not know, or a size whose rounding overflows; an unreadable host.
    pub fn demand(&self, request: &MemoryRequest) -> Result<Demand, Error> {
        let host = self.read_admission()?;
        let attempt = Attempt { host: &host, request, backing: request.wish.backing };
        attempt.demand().map_err(|failure| as_argument(failure.into()))
    }

    /// Memory as wished, or on ordinary pages where the wish allows that: charged, mapped and bound; nothing is
    /// faulted in yet. Blocks for a few system calls a mapping.
    ///
    /// # Errors
    /// [`AllocationError`]; no mapping, descriptor or charge is left then.
    pub fn allocate(&self, request: &MemoryRequest) -> Result<HostMemory, AllocationError> {
        let host = self.read_admission()?;
        let wished = Attempt { host: &host, request, backing: request.wish.backing };
        match self.attempt(&wished) {
            Err(error) if wished.falls_back() && is_hugepage_shortage(&error) => {
                self.attempt(&Attempt { backing: wished.backing.on_ordinary_pages(), ..wished })
            }
            outcome => outcome,
        }
    }

    fn read_admission(&self) -> Result<AdmissionReading, Error> {
        Ok(AdmissionReading::read(&mut HostReader::new(self.root.clone()))?)
    }

    fn quote_attempt(&self, attempt: &Attempt<'_>) -> Result<Quote, AllocationError> {
        Ok(self.ledger.quote(&attempt.demand()?)?)
    }

    fn attempt(&self, attempt: &Attempt<'_>) -> Result<HostMemory, AllocationError> {
        let charge = self.ledger.charge(attempt.demand()?).map_err(|refusal| attempt.refused(refusal))?;
        let mappings = attempt.request.mapping_count.into();
        let permit = self.quota.take(mappings, attempt.backing.is_memfd().into());
        let permit = permit.map_err(|errno| attempt.failed(HostBufferFailure::System, Some(errno)))?;
        attempt.map(charge, permit, Arc::clone(&self.in_flight))
    }
}

/// One rung of the ladder: a request on a certain backing.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    host: &'a AdmissionReading,
    request: &'a MemoryRequest,
    backing: Backing,
}

impl Attempt<'_> {
    /// What to ask the ledger for, once the wish is one this host knows.
    fn demand(&self) -> Result<Demand, Box<HostBufferAllocationFailed>> {
        let nodes = self.online_nodes();
        if self.request.wish.node.id().is_some_and(|node| !nodes.contains(&node)) {
            return Err(self.failed(HostBufferFailure::NumaNodeOffline, None));
        }
        let size = self.request.hugepage_size(self.backing);
        if size.is_some_and(|size| self.host.hugepage_pool(size.get()).is_none()) {
            return Err(self.failed(HostBufferFailure::HugepageSizeUnsupported, None));
        }
        self.request.demand(self.backing).ok_or_else(|| self.failed(HostBufferFailure::SizeOverflow, None))
    }

    fn map(
        &self,
        charge: PendingCharge,
        permit: Permit,
        in_flight: Arc<InFlight>,
    ) -> Result<HostMemory, AllocationError> {
        let (file, regions) = self.regions().map_err(|errno| self.failed(self.reason(errno), Some(errno)))?;
        if let Some(node) = self.request.wish.node.id() {
            let bound = regions.iter().try_for_each(|region| region.bind(node));
            bound.map_err(|errno| self.failed(HostBufferFailure::NumaBindDenied, Some(errno)))?;
        }
        let charge = charge.commit();
        let placement = self.placement(charge.mapped());
        let held = Held { regions, file, permit, in_flight, charge };
        Ok(HostMemory::new(self.request.clone(), self.online_nodes(), placement, held))
    }

    /// One memfd for all mappings (descriptors are scarcer than offsets), or anonymous ones.
    fn regions(&self) -> Result<(Option<std::fs::File>, Vec<Region>), Errno> {
        let too_long = Errno::new(libc::EOVERFLOW);
        let hugepage = self.request.hugepage_size(self.backing);
        let each = self.request.rounded_mapping(self.backing).ok_or(too_long)?.get();
        let length = usize::try_from(each).map_err(|_| too_long)?;
        let count = u64::from(self.request.mapping_count);
        if !self.backing.is_memfd() {
            let regions =
                (0..count).map(|_| Region::anonymous(length, hugepage)).collect::<Result<_, _>>()?;
            return Ok((None, regions));
        }
        let file = sealed_memfd(each.checked_mul(count).ok_or(too_long)?, hugepage)?;
        let regions = (0..count)
            .map(|n| Region::of_file(&file, n * each, length, hugepage))
            .collect::<Result<_, _>>()?;
        Ok((Some(file), regions))
    }

    fn placement(&self, mapped: Bytes) -> Placement {
        Placement {
            requested_backing: self.request.wish.backing,
            actual_backing: self.backing,
            hugepage_size: self.request.hugepage_size(self.backing),
            alignment: self.request.page(self.backing),
            mapped,
            mappings: self.request.mapping_count,
            node: self.request.wish.node,
        }
    }

    fn falls_back(&self) -> bool {
        self.backing.is_hugetlb() && self.request.wish.on_hugepage_shortage == OnHugepageShortage::FallBack
    }

    /// What a failed mapping means for this backing: mmap(2), memfd_create(2), ftruncate(2) on hugetlbfs.
    fn reason(&self, errno: Errno) -> HostBufferFailure {
        match errno.code() {
            libc::ENOMEM | libc::ENOSPC if self.backing.is_hugetlb() => HostBufferFailure::HugepagesExhausted,
            libc::EINVAL | libc::ENODEV if self.backing.is_hugetlb() => {
                HostBufferFailure::HugepageSizeUnsupported
            }
            libc::ENOMEM => HostBufferFailure::HostMemoryExhausted,
            _ => HostBufferFailure::System,
        }
    }

    fn online_nodes(&self) -> Vec<u32> {
        self.host.nodes.iter().filter(|node| node.has_memory).map(|node| node.id).collect()
    }

    fn refused(&self, refusal: Refusal) -> AllocationError {
        match refusal {
            Refusal::Exceeded(quote) => {
                let (backing, online_nodes) = (self.backing, self.online_nodes());
                AllocationError::Shortage(Shortage { quote, backing, online_nodes })
            }
            Refusal::AdmissionClosed(budget) => AllocationError::AdmissionClosed(budget),
            Refusal::Other(error) => AllocationError::Other(error),
        }
    }

    fn failed(&self, reason: HostBufferFailure, errno: Option<Errno>) -> Box<HostBufferAllocationFailed> {
        Box::new(self.request.failure(reason, errno, self.online_nodes()))
    }
}

fn is_hugepage_shortage(error: &AllocationError) -> bool {
    match error {
        AllocationError::Shortage(shortage) => is_hugepage_limit(shortage.quote.limited_by),
        AllocationError::Failed(failure) => matches!(
            failure.reason,
            HostBufferFailure::HugepagesExhausted | HostBufferFailure::HugepageSizeUnsupported
        ),
        AllocationError::AdmissionClosed(_) | AllocationError::Other(_) => false,
    }
}

fn is_hugepage_limit(limit: MemoryLimit) -> bool {
    matches!(limit, MemoryLimit::Hugepages | MemoryLimit::NumaNode)
}

/// A wish this host does not know, as a question that maps nothing tells it: an argument to change.
fn as_argument(error: AllocationError) -> Error {
    let failure = match error {
        AllocationError::Failed(failure) => failure,
        AllocationError::Other(error) => return error,
        AllocationError::Shortage(shortage) => {
            return Error::invalid("memory", format!("takes {}", shortage.quote.mapped));
        }
        AllocationError::AdmissionClosed(budget) => return Error::BudgetAdmissionClosed { budget },
    };
    match failure.reason {
        HostBufferFailure::NumaNodeOffline => Error::invalid(
            "memory.numa_node",
            format!("must be -1 or one of {:?}", failure.online_numa_nodes),
        ),
        HostBufferFailure::HugepageSizeUnsupported => {
            Error::invalid("memory.hugepage_size", "must be a size that the kernel has a pool of")
        }
        _ => Error::invalid(
            "memory",
            format!("makes mappings of more than {MAX_COUNT} bytes when rounded up to whole pages"),
        ),
    }
}
