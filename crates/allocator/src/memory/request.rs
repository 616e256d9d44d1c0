//! What is wished of the host memory allocator.

use super::policy::{NumaPolicy, TransparentHugepages};
use crate::backing::Backing;
use crate::budget::{Claimant, Demand, MemoryKind};
use crate::errno::Errno;
use crate::error::{HostBufferAllocationFailed, HostBufferFailure};
use crate::units::{Bytes, MAX_COUNT, base_page};

/// What to do when there are not enough hugepages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHugepageShortage {
    /// Refuse.
    Fail,
    /// Take ordinary pages instead, judged by ordinary memory, and say so in the [`Placement`](super::Placement).
    FallBack,
}

/// How memory should be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWish {
    /// The kind of mapping.
    pub backing: Backing,
    /// The hugepage size; looked at for hugetlb backings only.
    pub hugepage_size: Bytes,
    /// What to do when there are not enough of those.
    pub on_hugepage_shortage: OnHugepageShortage,
    /// Which nodes serve it.
    pub numa: NumaPolicy,
    /// Whether ordinary pages should be transparent hugepages.
    pub transparent_hugepages: TransparentHugepages,
    /// Whether it must never be swapped out. Hugetlb backings never are.
    pub lock: bool,
}

impl MemoryWish {
    /// Memory of that backing, with 2 MiB hugepages or none, from whichever node.
    #[must_use]
    pub fn of(backing: Backing) -> Self {
        Self {
            backing,
            hugepage_size: Bytes::mebibytes(2),
            on_hugepage_shortage: OnHugepageShortage::Fail,
            numa: NumaPolicy::Any,
            transparent_hugepages: TransparentHugepages::Default,
            lock: false,
        }
    }
}

/// Memory wanted: `mapping_count` mappings of `mapping_bytes` each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<u32>,
    /// Whom it is for.
    pub claimant: Claimant,
    /// Bytes of each mapping before it is rounded up to whole pages; not zero.
    pub mapping_bytes: Bytes,
    /// How many mappings; not zero.
    pub mapping_count: u32,
    /// How to make them.
    pub wish: MemoryWish,
}

impl MemoryRequest {
    /// The bytes asked for, before rounding.
    #[must_use]
    pub fn requested(&self) -> Bytes {
        self.mapping_bytes.saturating_mul(self.mapping_count.into())
    }

    /// The hugepage size when `backing` has one.
    #[must_use]
    pub fn hugepage_size(&self, backing: Backing) -> Option<Bytes> {
        backing.is_hugetlb().then_some(self.wish.hugepage_size)
    }

    /// The size of the pages that `backing` maps.
    #[must_use]
    pub fn page(&self, backing: Backing) -> Bytes {
        self.hugepage_size(backing).unwrap_or_else(base_page)
    }

    /// Bytes of each mapping in whole pages of `backing`.
    pub(super) fn rounded_mapping(&self, backing: Backing) -> Option<Bytes> {
        self.mapping_bytes.round_up(self.page(backing))
    }

    /// What `backing` takes of the ledger; `None` when that is above 2^53 - 1 bytes.
    #[must_use]
    pub fn demand(&self, backing: Backing) -> Option<Demand> {
        let mapped = self.rounded_mapping(backing)?.checked_mul(self.mapping_count.into())?;
        (mapped.get() <= MAX_COUNT).then(|| Demand {
            budget: self.budget.clone(),
            rank: self.rank,
            claimant: self.claimant.clone(),
            kind: self.hugepage_size(backing).map_or(MemoryKind::Ordinary, MemoryKind::Hugepages),
            nodes: self.wish.numa.strict(),
            requested: self.requested(),
            mapped,
        })
    }

    /// A failure of this request, told in terms of the backing wished.
    pub(super) fn failure(
        &self,
        reason: HostBufferFailure,
        errno: Option<Errno>,
        online_numa_nodes: Vec<u32>,
    ) -> HostBufferAllocationFailed {
        let demand = self.demand(self.wish.backing);
        HostBufferAllocationFailed {
            reason,
            requested: self.requested(),
            mapped: demand.as_ref().map_or(Bytes::new(MAX_COUNT), |demand| demand.mapped),
            requested_backing: self.wish.backing,
            hugepage_size: self.hugepage_size(self.wish.backing),
            numa_nodes: self.wish.numa.named(),
            errno,
            hugepages_needed: demand.as_ref().and_then(Demand::hugepages),
            hugepages_free: None,
            online_numa_nodes,
        }
    }
}
