//! One rung of the ladder from the backing wished to ordinary pages: what it takes, and its mappings.

use super::allocation_error::{AllocationError, Shortage};
use super::headroom::InFlight;
use super::host_memory::{Held, HostMemory, Placement};
use super::memlock::lockable;
use super::policy::NumaPolicy;
use super::quota::Permit;
use super::request::{MemoryRequest, OnHugepageShortage};
use super::sys::{Region, sealed_memfd};
use super::tally::Tally;
use super::wishes::{apply, locks};
use crate::backing::Backing;
use crate::budget::{Demand, PendingCharge, Refusal};
use crate::errno::Errno;
use crate::error::{HostBufferAllocationFailed, HostBufferFailure};
use crate::host::AdmissionReading;
use crate::sync::Arc;
use crate::units::{Bytes, MAX_COUNT};

/// One rung of the ladder: a request on a certain backing.
#[derive(Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) host: &'a AdmissionReading,
    pub(super) request: &'a MemoryRequest,
    pub(super) backing: Backing,
}

impl Attempt<'_> {
    /// What to ask the ledger for, once the wish is one this host knows.
    pub(super) fn demand(&self) -> Result<Demand, Box<HostBufferAllocationFailed>> {
        self.check_wish().map_err(|reason| self.failed(reason, None))?;
        self.request.demand(self.backing).ok_or_else(|| self.failed(HostBufferFailure::SizeOverflow, None))
    }

    /// Whether this host has the nodes and the hugepage size, and lets this process lock that much.
    pub(super) fn check_wish(&self) -> Result<(), HostBufferFailure> {
        let nodes = self.online_nodes();
        if self.request.wish.numa.named().iter().any(|node| !nodes.contains(&node)) {
            return Err(HostBufferFailure::NumaNodeOffline);
        }
        let size = self.request.hugepage_size(self.backing);
        if size.is_some_and(|size| self.host.hugepage_pool(size.get()).is_none()) {
            return Err(HostBufferFailure::HugepageSizeUnsupported);
        }
        if locks(&self.request.wish, self.backing) && lockable().is_some_and(|left| self.mapped() > left) {
            return Err(HostBufferFailure::MemlockLimit);
        }
        Ok(())
    }

    fn mapped(&self) -> Bytes {
        self.request.demand(self.backing).map_or(Bytes::new(MAX_COUNT), |demand| demand.mapped)
    }

    /// The wish's, over the nodes that have memory where it names none.
    fn policy(&self) -> NumaPolicy {
        self.request.wish.numa.clone().over(|| self.online_nodes().into_iter().collect())
    }

    pub(super) fn map(
        &self,
        charge: PendingCharge,
        permit: Permit,
        in_flight: Arc<InFlight>,
    ) -> Result<HostMemory, AllocationError> {
        let (file, regions) = self.regions().map_err(|errno| self.failed(self.reason(errno), Some(errno)))?;
        let policy = self.policy();
        apply(&self.request.wish, &policy, self.backing, &regions)
            .map_err(|(reason, errno)| self.failed(reason, Some(errno)))?;
        let charge = charge.commit();
        let placement = self.placement(charge.mapped(), policy);
        let held = Held { regions, tally: Tally::of(file, charge), permit, in_flight };
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

    fn placement(&self, mapped: Bytes, numa: NumaPolicy) -> Placement {
        Placement {
            requested_backing: self.request.wish.backing,
            actual_backing: self.backing,
            hugepage_size: self.request.hugepage_size(self.backing),
            alignment: self.request.page(self.backing),
            mapped,
            mappings: self.request.mapping_count,
            numa,
            transparent_hugepages: self.request.wish.transparent_hugepages,
            locked: self.request.wish.lock,
        }
    }

    pub(super) fn falls_back(&self) -> bool {
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

    pub(super) fn refused(&self, refusal: Refusal) -> AllocationError {
        match refusal {
            Refusal::Exceeded(quote) => {
                let (backing, online_nodes) = (self.backing, self.online_nodes());
                AllocationError::Shortage(Shortage { quote, backing, online_nodes })
            }
            Refusal::AdmissionClosed(budget) => AllocationError::AdmissionClosed(budget),
            Refusal::Other(error) => AllocationError::Other(error),
        }
    }

    pub(super) fn failed(
        &self,
        reason: HostBufferFailure,
        errno: Option<Errno>,
    ) -> Box<HostBufferAllocationFailed> {
        Box::new(self.request.failure(reason, errno, self.online_nodes()))
    }
}
