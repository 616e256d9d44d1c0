//! What making a group would do now.

use super::size::Size;
use super::spec::{PoolGroupMember, PoolGroupSpec};
use crate::backing::Backing;
use crate::budget::Quote;
use crate::error::{Error, InsufficientHostMemory, MemoryLimit};
use crate::memory::HostMemoryAllocator;
use crate::units::Bytes;

/// What making a group would do now; every figure is the one a decision would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGroupPlan {
    /// Whether it would be granted.
    pub fits: bool,
    /// Pages of the anchor: those asked for, or the most that fit; 1 when not even one does.
    pub anchor_pages: u64,
    /// The most pages of the anchor that fit with everything else unchanged.
    pub max_anchor_pages: u64,
    /// The sum over the pools of layer_num x num_host_pages x item_bytes.
    pub requested: Bytes,
    /// What all mappings would take.
    pub mapped: Bytes,
    /// How many mappings.
    pub mappings: u32,
    /// What the tightest limit still has.
    pub available: Bytes,
    /// The tightest limit, whether it refuses or not.
    pub limited_by: MemoryLimit,
    /// Hugepages it would take; `None` on ordinary pages.
    pub hugepages_needed: Option<u64>,
    /// Hugepages it could have; `None` on ordinary pages.
    pub hugepages_free: Option<u64>,
    /// Each pool, in the order of the specification.
    pub pools: Vec<PoolGroupMemberPlan>,
}

/// One pool of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGroupMemberPlan {
    /// Its name.
    pub name: String,
    /// Pages in each layer.
    pub num_host_pages: u64,
    /// Slots.
    pub size: u64,
    /// layer_num x num_host_pages x item_bytes.
    pub requested: Bytes,
    /// What its mappings would take.
    pub mapped: Bytes,
    /// How many mappings.
    pub mappings: u32,
}

impl PoolGroupSpec {
    /// What making the group would answer now. Nothing is charged or mapped.
    ///
    /// # Errors
    /// INVALID_ARGUMENT, also for a node that is offline or a hugepage size this kernel does not have; NOT_FOUND for
    /// the budget.
    pub fn plan(&self, allocator: &HostMemoryAllocator) -> Result<PoolGroupPlan, Error> {
        self.check()?;
        let (backing, anchor_pages, quote) = allocator.quote_all(self)?;
        let pools: Vec<_> =
            self.members.iter().map(|pool| self.plan_of(pool, anchor_pages, backing)).collect();
        Ok(PoolGroupPlan {
            fits: quote.fits(),
            anchor_pages,
            max_anchor_pages: self.most_within(backing, &quote),
            requested: quote.requested,
            mapped: quote.mapped,
            mappings: pools.iter().map(|pool| pool.mappings).sum(),
            available: quote.available,
            limited_by: quote.limited_by,
            hugepages_needed: quote.hugepages_needed,
            hugepages_free: quote.hugepages_free,
            pools,
        })
    }

    fn plan_of(&self, member: &PoolGroupMember, anchor_pages: u64, backing: Backing) -> PoolGroupMemberPlan {
        let shape = self.pool(member, anchor_pages).shape();
        // Countable, since the sum of all was.
        let Size { requested, mapped } =
            member.size(anchor_pages, self.memory_page(backing)).unwrap_or_default();
        PoolGroupMemberPlan {
            name: member.name.clone(),
            num_host_pages: shape.num_host_pages,
            size: shape.num_host_pages.saturating_mul(member.slot_page_size),
            requested,
            mapped,
            mappings: member.layout.mapping_count(&shape),
        }
    }

    /// The refusal that `quote`, for `backing`, amounts to: of the group, whose pages are those of its anchor.
    pub(super) fn insufficient(&self, backing: Backing, quote: &Quote) -> Error {
        Error::InsufficientHostMemory(Box::new(InsufficientHostMemory {
            pool_name: format!("group {}", self.anchor_name),
            requested: quote.requested,
            mapped: quote.mapped,
            available: quote.available,
            max_num_host_pages: self.most_within(backing, quote),
            limited_by: quote.limited_by,
            budget: self.budget.clone(),
            rank: self.rank,
        }))
    }
}
