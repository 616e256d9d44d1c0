//! The DeepSeek-V4 paged host pool: slots and the bytes behind them (sglang `V4PagedHostPool`).

use super::slot_pool::{SizeFields, SlotPool, SlotStats};
use super::spec::{V4PagedPoolPlan, V4PagedPoolSpec};
use crate::backing::Backing;
use crate::errno::Errno;
use crate::error::Error;
use crate::memory::{HostMemory, HostMemoryAllocator, Rehearsed};
use crate::slots::SlotRange;
use crate::units::Bytes;

/// layer_num x num_host_pages x item_bytes of memory, and num_host_pages x slot_page_size slots. Dropping it unmaps the
/// memory and gives the charge back.
#[derive(Debug)]
pub struct V4PagedHostPool {
    spec: V4PagedPoolSpec,
    slots: SlotPool,
    memory: HostMemory,
    /// How many threads fault it in at most; `None` for one a usable CPU.
    most_threads: Option<u32>,
}

impl V4PagedHostPool {
    /// Charges, maps and binds; nothing is faulted in yet. Blocks for a few system calls a mapping.
    ///
    /// # Errors
    /// INVALID_ARGUMENT; NOT_FOUND for the budget; BUDGET_ADMISSION_CLOSED; INSUFFICIENT_HOST_MEMORY when the ledger
    /// refuses, HOST_BUFFER_ALLOCATION_FAILED when the host or the kernel does. Nothing is left behind.
    pub fn allocate(allocator: &HostMemoryAllocator, spec: V4PagedPoolSpec) -> Result<Self, Error> {
        let request = spec.memory_request()?;
        let fields = SizeFields { count: "num_host_pages", page_size: "slot_page_size" };
        let slots = SlotPool::new(spec.num_host_pages, spec.slot_page_size, fields)?;
        let memory = allocator.allocate(&request).map_err(|error| spec.refusal(&request, error))?;
        Ok(Self::of_parts(spec, slots, memory, None))
    }

    /// What [`allocate`](Self::allocate) would be granted, without mappings; see [`HostMemoryAllocator::rehearse`].
    ///
    /// # Errors
    /// As `allocate`.
    pub fn rehearse(allocator: &HostMemoryAllocator, spec: &V4PagedPoolSpec) -> Result<Rehearsed, Error> {
        let request = spec.memory_request()?;
        allocator.rehearse(&request).map_err(|error| spec.refusal(&request, error))
    }

    /// The backing that [`allocate`](Self::allocate) would get now; see [`HostMemoryAllocator::check`].
    ///
    /// # Errors
    /// As `allocate`, without BUDGET_ADMISSION_CLOSED.
    pub fn check(allocator: &HostMemoryAllocator, spec: &V4PagedPoolSpec) -> Result<Backing, Error> {
        let request = spec.memory_request()?;
        allocator.check(&request).map_err(|error| spec.refusal(&request, error))
    }

    pub(super) fn of_parts(
        spec: V4PagedPoolSpec,
        slots: SlotPool,
        memory: HostMemory,
        most_threads: Option<u32>,
    ) -> Self {
        Self { spec, slots, memory, most_threads }
    }

    /// What [`allocate`](Self::allocate) would answer now. Nothing is charged or mapped.
    ///
    /// # Errors
    /// INVALID_ARGUMENT, also for a node that is offline or a hugepage size this kernel does not have; NOT_FOUND for
    /// the budget.
    pub fn plan(allocator: &HostMemoryAllocator, spec: &V4PagedPoolSpec) -> Result<V4PagedPoolPlan, Error> {
        let request = spec.memory_request()?;
        let (backing, quote) = allocator.quote(&request)?;
        Ok(spec.plan(&request, backing, &quote))
    }

    /// What it was made as.
    #[must_use]
    pub fn spec(&self) -> &V4PagedPoolSpec {
        &self.spec
    }

    /// The memory behind it.
    #[must_use]
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    /// Faults everything in and blocks until that is done; a pool of a group on its part of the CPUs. When it fails, the
    /// memory and its charge are given back already.
    ///
    /// # Errors
    /// As [`HostMemory::prefault`].
    pub fn prefault(&self) -> Result<(), Error> {
        match self.most_threads {
            Some(most_threads) => self.memory.prefault_with(most_threads),
            None => self.memory.prefault(),
        }
    }

    /// How full it is.
    #[must_use]
    pub fn stats(&self) -> SlotStats {
        self.slots.stats()
    }

    /// Takes `need_size` slots rounded up to whole pages, all or none: the fewest, lowest, longest runs, ascending.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for 0 or above 2^53 - 1; POOL_EXHAUSTED.
    pub fn allocate_slots(&self, need_size: u64) -> Result<Vec<SlotRange>, Error> {
        super::logical::check_count("need_size", need_size)?;
        self.slots.allocate(need_size.next_multiple_of(self.spec.slot_page_size))
    }

    /// Gives slots back, in any order, as long as together they are whole pages. Answers how many; none is no error.
    ///
    /// # Errors
    /// SLOT_OUT_OF_RANGE, DOUBLE_FREE, INVALID_ARGUMENT for pages given in part. Nothing has changed then.
    pub fn free_slots(&self, indices: &[u64]) -> Result<u64, Error> {
        self.slots.free_slots(indices, not_whole_pages)
    }

    /// As [`free_slots`](Self::free_slots), by ranges.
    ///
    /// # Errors
    /// The same.
    pub fn free_ranges(&self, ranges: &[SlotRange]) -> Result<u64, Error> {
        self.slots.free_ranges(ranges, not_whole_pages)
    }

    /// Every slot is free again; the bytes stay as they are.
    pub fn clear(&self) {
        self.slots.clear();
    }

    /// Gives back memory, charge and bookkeeping; see [`HostMemory::close`]. Blocks. Dropping it does the same.
    pub fn close(&self) -> Bytes {
        self.slots.close();
        self.memory.close()
    }

    /// Copies the bytes of `page` of `layer` into `into`. Blocks when they have to be faulted in.
    ///
    /// # Errors
    /// EFAULT for a page or layer the pool does not have; EINVAL when `into` is not item_bytes long; see
    /// [`HostMemory::read`].
    pub fn read_page(&self, layer: u32, page: u64, into: &mut [u8]) -> Result<(), Errno> {
        let (mapping, offset) = self.locate(layer, page, into.len())?;
        self.memory.read(mapping, offset, into)
    }

    /// Copies `bytes` to `page` of `layer`. Blocks when it has to be faulted in.
    ///
    /// # Errors
    /// As [`read_page`](Self::read_page).
    pub fn write_page(&self, layer: u32, page: u64, bytes: &[u8]) -> Result<(), Errno> {
        let (mapping, offset) = self.locate(layer, page, bytes.len())?;
        self.memory.write(mapping, offset, bytes)
    }

    fn locate(&self, layer: u32, page: u64, length: usize) -> Result<(usize, usize), Errno> {
        if u64::try_from(length).ok() != Some(self.spec.item_bytes.get()) {
            return Err(Errno::new(libc::EINVAL));
        }
        let fault = Errno::new(libc::EFAULT);
        let at = self.spec.layout.locate(&self.spec.shape(), layer, page).ok_or(fault)?;
        let mapping = usize::try_from(at.mapping).map_err(|_| fault)?;
        Ok((mapping, usize::try_from(at.offset.get()).map_err(|_| fault)?))
    }
}

fn not_whole_pages(length: u64, page_size: u64, field: &'static str) -> Error {
    Error::invalid(field, format!("must be whole pages of {page_size} slots, got {length} slots"))
}
