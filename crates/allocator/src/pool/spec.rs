//! What a V4 paged pool should be, checked; and what making it would take.

use super::layout::{Layout, PageShape};
use super::logical::check_count;
use crate::backing::Backing;
use crate::budget::{Claimant, Quote};
use crate::error::{Error, InsufficientHostMemory, MemoryLimit};
use crate::memory::{AllocationError, MemoryRequest, MemoryWish};
use crate::slots::MAX_PAGE_COUNT;
use crate::units::{Bytes, MAX_COUNT};

/// More layers than any model has; each is a mapping of its own in `LayerFirst`.
pub const MAX_LAYERS: u32 = 4096;

/// What a V4 paged pool should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V4PagedPoolSpec {
    /// Its name, as the documented sentence shows it.
    pub name: String,
    /// Layers.
    pub layer_num: u32,
    /// Pages.
    pub num_host_pages: u64,
    /// Bytes of one page in one layer.
    pub item_bytes: Bytes,
    /// Slots a page.
    pub slot_page_size: u64,
    /// How layers and pages are interleaved.
    pub layout: Layout,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<u32>,
    /// How to make the memory.
    pub memory: MemoryWish,
}

/// What making a pool would do now; every figure is the one a decision would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V4PagedPoolPlan {
    /// Whether it would be granted.
    pub fits: bool,
    /// layer_num x num_host_pages x item_bytes.
    pub requested: Bytes,
    /// What the mappings would take.
    pub mapped: Bytes,
    /// How many mappings.
    pub mappings: u32,
    /// What the tightest limit still has.
    pub available: Bytes,
    /// The tightest limit, whether it refuses or not.
    pub limited_by: MemoryLimit,
    /// The largest num_host_pages that fits with everything else unchanged.
    pub max_num_host_pages: u64,
    /// Hugepages it would take; `None` on ordinary pages.
    pub hugepages_needed: Option<u64>,
    /// Hugepages it could have; `None` on ordinary pages.
    pub hugepages_free: Option<u64>,
}

impl V4PagedPoolSpec {
    /// The three numbers that shape it.
    #[must_use]
    pub fn shape(&self) -> PageShape {
        PageShape {
            layer_num: self.layer_num,
            num_host_pages: self.num_host_pages,
            item_bytes: self.item_bytes,
        }
    }

    /// The memory it takes.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming the first field that is 0, above its bound, or makes a product above 2^53 - 1.
    pub(super) fn memory_request(&self) -> Result<MemoryRequest, Error> {
        self.check()?;
        let shape = self.shape();
        let mapping_bytes = self.layout.mapping_bytes(&shape).ok_or_else(too_many_bytes)?;
        Ok(MemoryRequest {
            budget: self.budget.clone(),
            rank: self.rank,
            claimant: Claimant::Pool(self.name.clone()),
            mapping_bytes,
            mapping_count: self.layout.mapping_count(&shape),
            wish: self.memory.clone(),
        })
    }

    fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_LAYERS).contains(&self.layer_num) {
            let reason = format!("must be 1 to {MAX_LAYERS}, got {}", self.layer_num);
            return Err(Error::invalid("layer_num", reason));
        }
        check_count("num_host_pages", self.num_host_pages)?;
        check_count("item_bytes", self.item_bytes.get())?;
        check_count("slot_page_size", self.slot_page_size)?;
        self.check_slots()?;
        let bytes = self.item_bytes.checked_mul(self.layer_num.into());
        let bytes = bytes.and_then(|bytes| bytes.checked_mul(self.num_host_pages));
        bytes.filter(|bytes| bytes.get() <= MAX_COUNT).ok_or_else(too_many_bytes).map(drop)
    }

    /// The slots can be numbered and their bookkeeping stays small.
    fn check_slots(&self) -> Result<(), Error> {
        if self.num_host_pages > MAX_PAGE_COUNT {
            let reason = format!("must be at most {MAX_PAGE_COUNT}, got {}", self.num_host_pages);
            return Err(Error::invalid("num_host_pages", reason));
        }
        let slots = self.slot_page_size.checked_mul(self.num_host_pages);
        if slots.is_none_or(|slots| slots > MAX_COUNT) {
            let reason = format!("times num_host_pages must be at most {MAX_COUNT}");
            return Err(Error::invalid("slot_page_size", reason));
        }
        Ok(())
    }

    /// Why there is no such pool.
    pub(super) fn refusal(&self, request: &MemoryRequest, error: AllocationError) -> Error {
        match error {
            AllocationError::Shortage(short) => self.insufficient(request, short.backing, &short.quote),
            AllocationError::AdmissionClosed(budget) => Error::BudgetAdmissionClosed { budget },
            AllocationError::Failed(failure) => Error::HostBufferAllocationFailed(failure),
            AllocationError::Other(error) => error,
        }
    }

    /// The refusal that `quote`, for `backing`, amounts to.
    pub(super) fn insufficient(&self, request: &MemoryRequest, backing: Backing, quote: &Quote) -> Error {
        Error::InsufficientHostMemory(Box::new(InsufficientHostMemory {
            pool_name: self.name.clone(),
            requested: request.requested(),
            mapped: quote.mapped,
            available: quote.available,
            max_num_host_pages: self.max_num_host_pages(request, backing, quote),
            limited_by: quote.limited_by,
            budget: self.budget.clone(),
            rank: self.rank,
        }))
    }

    /// What `quote`, for `backing`, means for this pool.
    pub(super) fn plan(&self, request: &MemoryRequest, backing: Backing, quote: &Quote) -> V4PagedPoolPlan {
        V4PagedPoolPlan {
            fits: quote.fits(),
            requested: request.requested(),
            mapped: quote.mapped,
            mappings: request.mapping_count,
            available: quote.available,
            limited_by: quote.limited_by,
            max_num_host_pages: self.max_num_host_pages(request, backing, quote),
            hugepages_needed: quote.hugepages_needed,
            hugepages_free: quote.hugepages_free,
        }
    }

    /// Each mapping gets its even part of what is available, in whole memory pages. Never more than the slot
    /// bookkeeping can number.
    fn max_num_host_pages(&self, request: &MemoryRequest, backing: Backing, quote: &Quote) -> u64 {
        let (page, mappings) = (request.page(backing), u64::from(request.mapping_count.max(1)));
        let stride = self.layout.page_stride(&self.shape()).unwrap_or_default();
        let within =
            |bytes: Bytes| page.saturating_mul(bytes.whole_units(page) / mappings).whole_units(stride);
        let asked = quote.available.whole_units(stride.saturating_mul(mappings));
        // The page in which the limit ends counts only for what was asked for within the limit (see `Quote::fits`).
        let most = within(quote.available).max(within(quote.whole_pages_available()).min(asked));
        let slots = MAX_COUNT.checked_div(self.slot_page_size).unwrap_or_default();
        most.min(MAX_PAGE_COUNT).min(slots)
    }
}

fn too_many_bytes() -> Error {
    let reason = format!("times layer_num times num_host_pages must be at most {MAX_COUNT} bytes");
    Error::invalid("item_bytes", reason)
}
