//! All pools of a group, or none.

use super::spec::PoolGroupSpec;
use crate::error::Error;
use crate::memory::{AllocationError, HostMemory, HostMemoryAllocator, usable_cpus};
use crate::pool::logical::LogicalHostPool;
use crate::pool::paged::V4PagedHostPool;
use crate::pool::slot_pool::{SizeFields, SlotPool};
use crate::units::Bytes;

/// Pools that were made together. They are ordinary pools: each is closed by itself, or by dropping it.
#[derive(Debug)]
pub struct PoolGroup {
    /// Pages of the anchor.
    pub anchor_pages: u64,
    /// The slots that the pages of the others are lined up with.
    pub anchor: LogicalHostPool,
    /// The pools with bytes, in the order of the specification.
    pub pools: Vec<V4PagedHostPool>,
}

impl PoolGroup {
    /// Charges all pools in one decision, maps and binds them; nothing is faulted in yet. Without `anchor_pages` the most
    /// that fit are found in that decision. Blocks for a few system calls a mapping.
    ///
    /// # Errors
    /// As [`V4PagedHostPool::allocate`]. INSUFFICIENT_HOST_MEMORY is told of the group, in anchor pages;
    /// HOST_BUFFER_ALLOCATION_FAILED of the pool whose memory could not be mapped, or of the group. Nothing is left behind.
    pub fn allocate(allocator: &HostMemoryAllocator, spec: &PoolGroupSpec) -> Result<Self, Error> {
        spec.check()?;
        let (anchor_pages, memories) = allocator.allocate_all(spec).map_err(|error| match error {
            AllocationError::Shortage(short) => spec.insufficient(short.backing, &short.quote),
            AllocationError::AdmissionClosed(budget) => Error::BudgetAdmissionClosed { budget },
            AllocationError::Failed(failure) => Error::HostBufferAllocationFailed(failure),
            AllocationError::Other(error) => error,
        })?;
        let anchor = spec.anchor(anchor_pages)?;
        Ok(Self { anchor_pages, anchor, pools: spec.with_slots(anchor_pages, memories)? })
    }
}

impl PoolGroupSpec {
    fn anchor(&self, anchor_pages: u64) -> Result<LogicalHostPool, Error> {
        let slots = anchor_pages.saturating_mul(self.anchor_page_size);
        LogicalHostPool::new(slots, self.anchor_page_size).map_err(of_anchor_pages)
    }

    /// The CPUs are shared out by size, so that all are faulted in side by side and end together.
    fn with_slots(
        &self,
        anchor_pages: u64,
        memories: Vec<HostMemory>,
    ) -> Result<Vec<V4PagedHostPool>, Error> {
        let mapped: Bytes = memories.iter().map(|memory| memory.placement().mapped).sum();
        let fields = SizeFields { count: "anchor_pages", page_size: "slot_page_size" };
        let with_slots = |(spec, memory): (crate::pool::V4PagedPoolSpec, HostMemory)| {
            let slots = SlotPool::new(spec.num_host_pages, spec.slot_page_size, fields)?;
            let threads = share(usable_cpus(), memory.placement().mapped, mapped);
            Ok(V4PagedHostPool::of_parts(spec, slots, memory, Some(threads)))
        };
        self.pools(anchor_pages).zip(memories).map(with_slots).collect()
    }
}

/// The part of `cpus` that `mapped` of `total` bytes has, rounded up.
fn share(cpus: u32, mapped: Bytes, total: Bytes) -> u32 {
    let part = u128::from(cpus) * u128::from(mapped.get());
    let share = part.div_ceil(u128::from(total.get()).max(1));
    u32::try_from(share).unwrap_or(cpus).clamp(1, cpus.max(1))
}

/// A refusal of the anchor's bookkeeping, told of the argument that sizes it.
fn of_anchor_pages(error: Error) -> Error {
    match error {
        Error::InvalidArgument { field: "size", reason } => Error::invalid("anchor_pages", reason),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_shared_out_by_size_and_everybody_has_one() {
        let shares = |cpus, sizes: &[u64]| -> Vec<u32> {
            let total = Bytes::new(sizes.iter().sum());
            sizes.iter().map(|size| share(cpus, Bytes::new(*size), total)).collect()
        };
        assert_eq!(shares(64, &[30, 1, 1]), [60, 2, 2]);
        assert_eq!(shares(2, &[1000, 1]), [2, 1]);
        assert_eq!(shares(8, &[1]), [8]);
        assert_eq!(share(8, Bytes::ZERO, Bytes::ZERO), 1);
    }
}
