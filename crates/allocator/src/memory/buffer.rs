//! A host buffer: memory by itself, without slots.

use super::allocation_error::{AllocationError, Shortage};
use super::allocator::{HostMemoryAllocator, Rehearsed};
use super::host_memory::HostMemory;
use super::request::{MemoryRequest, MemoryWish};
use crate::backing::Backing;
use crate::budget::{Claimant, Quote};
use crate::error::{BudgetExceeded, Error, HostBufferFailure, MemoryLimit};
use crate::units::{Bytes, MAX_COUNT};

/// What a host buffer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBufferSpec {
    /// Its name, for whoever watches the budget; it need not have one.
    pub name: Option<String>,
    /// Its size.
    pub bytes: Bytes,
    /// How to make it.
    pub memory: MemoryWish,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<u32>,
}

impl HostBufferSpec {
    /// The memory it takes.
    fn memory_request(self) -> Result<MemoryRequest, Error> {
        if self.bytes == Bytes::ZERO || self.bytes.get() > MAX_COUNT {
            let reason = format!("must be 1 to {MAX_COUNT}, got {}", self.bytes.get());
            return Err(Error::invalid("nbytes", reason));
        }
        Ok(MemoryRequest {
            budget: self.budget,
            rank: self.rank,
            claimant: Claimant::HostBuffer(self.name),
            mapping_bytes: self.bytes,
            mapping_count: 1,
            wish: self.memory,
        })
    }
}

/// A host buffer. Dropping it unmaps it and gives the charge back.
#[derive(Debug)]
pub struct HostBuffer {
    memory: HostMemory,
}

impl HostBuffer {
    /// Charges, maps and binds; nothing is faulted in yet.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a size of 0 or above 2^53 - 1; BUDGET_EXCEEDED when the budget's cap or a share refuses,
    /// HOST_BUFFER_ALLOCATION_FAILED when the host or the kernel does; BUDGET_ADMISSION_CLOSED; NOT_FOUND for the
    /// budget. Nothing is left behind.
    pub fn allocate(allocator: &HostMemoryAllocator, spec: HostBufferSpec) -> Result<Self, Error> {
        let request = spec.memory_request()?;
        let memory = allocator.allocate(&request).map_err(|error| refusal(&request, error))?;
        Ok(Self { memory })
    }

    /// What [`allocate`](Self::allocate) would be granted, without mappings; see [`HostMemoryAllocator::rehearse`].
    ///
    /// # Errors
    /// As `allocate`.
    pub fn rehearse(allocator: &HostMemoryAllocator, spec: HostBufferSpec) -> Result<Rehearsed, Error> {
        let request = spec.memory_request()?;
        allocator.rehearse(&request).map_err(|error| refusal(&request, error))
    }

    /// The backing that [`allocate`](Self::allocate) would get now; see [`HostMemoryAllocator::check`].
    ///
    /// # Errors
    /// As `allocate`, without BUDGET_ADMISSION_CLOSED.
    pub fn check(allocator: &HostMemoryAllocator, spec: HostBufferSpec) -> Result<Backing, Error> {
        let request = spec.memory_request()?;
        allocator.check(&request).map_err(|error| refusal(&request, error))
    }

    /// The memory behind it.
    #[must_use]
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }
}

/// A cap or a share refuses a budget; everything else refuses the buffer.
fn refusal(request: &MemoryRequest, error: AllocationError) -> Error {
    match error {
        AllocationError::Shortage(shortage) => short(request, shortage),
        AllocationError::AdmissionClosed(budget) => Error::BudgetAdmissionClosed { budget },
        AllocationError::Failed(failure) => Error::HostBufferAllocationFailed(failure),
        AllocationError::Other(error) => error,
    }
}

fn short(request: &MemoryRequest, shortage: Shortage) -> Error {
    let quote = shortage.quote;
    let reason = match quote.limited_by {
        MemoryLimit::HostMemory => HostBufferFailure::HostMemoryExhausted,
        MemoryLimit::Cgroup => HostBufferFailure::CgroupLimit,
        MemoryLimit::Hugepages => HostBufferFailure::HugepagesExhausted,
        MemoryLimit::NumaNode => HostBufferFailure::NumaNodeExhausted,
        MemoryLimit::BudgetCap | MemoryLimit::RankShare => return exceeded(request, &quote),
    };
    let mut failure = request.failure(reason, None, shortage.online_nodes);
    failure.mapped = quote.mapped;
    (failure.hugepages_needed, failure.hugepages_free) = (quote.hugepages_needed, quote.hugepages_free);
    Error::HostBufferAllocationFailed(Box::new(failure))
}

fn exceeded(request: &MemoryRequest, quote: &Quote) -> Error {
    Error::BudgetExceeded(Box::new(BudgetExceeded {
        field: "nbytes",
        budget: request.budget.clone(),
        requested: quote.mapped,
        available: quote.available,
        limited_by: quote.limited_by,
        rank: request.rank,
    }))
}
