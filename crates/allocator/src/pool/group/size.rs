//! What a group comes to at so many anchor pages.

use super::largest::largest;
use super::spec::{PoolGroupMember, PoolGroupSpec};
use crate::backing::Backing;
use crate::budget::Quote;
use crate::pool::layout::PageShape;
use crate::pool::slot_pool::MAX_BOOKED_PAGES;
use crate::slots::MAX_PAGE_COUNT;
use crate::units::{Bytes, MAX_COUNT, base_page};

/// Bytes that pools take, before and after each mapping is rounded up to whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) requested: Bytes,
    pub(super) mapped: Bytes,
}

impl Size {
    fn plus(self, other: Self) -> Option<Self> {
        let requested = self.requested.checked_add(other.requested)?;
        Some(Self { requested, mapped: self.mapped.checked_add(other.mapped)? })
    }
}

impl PoolGroupMember {
    /// Its pages beside so many of the anchor; `None` above what its slots can be numbered for.
    pub(super) fn pages(&self, anchor_pages: u64) -> Option<u64> {
        let pages =
            self.pages_per_anchor_page.pages(anchor_pages).filter(|pages| *pages <= MAX_PAGE_COUNT)?;
        let slots = pages.checked_mul(self.slot_page_size)?;
        (slots <= MAX_COUNT).then_some(pages)
    }

    /// What it takes in memory pages of `page`; `None` above what can be counted.
    pub(super) fn size(&self, anchor_pages: u64, page: Bytes) -> Option<Size> {
        let num_host_pages = self.pages(anchor_pages)?;
        let shape = PageShape { layer_num: self.layer_num, num_host_pages, item_bytes: self.item_bytes };
        let (each, count) = (self.layout.mapping_bytes(&shape)?, self.layout.mapping_count(&shape));
        let mapped = each.round_up(page)?.checked_mul(count.into())?;
        Some(Size { requested: each.checked_mul(count.into())?, mapped })
    }
}

impl PoolGroupSpec {
    /// What all pools take in memory pages of `page`. `None` when a sum is above 2^53 - 1, or when there would be more
    /// pages or slots than can be numbered.
    pub(super) fn size(&self, anchor_pages: u64, page: Bytes) -> Option<Size> {
        if !self.can_number(anchor_pages) {
            return None;
        }
        let sizes = self.members.iter().map(|member| member.size(anchor_pages, page));
        let size = sizes.into_iter().try_fold(Size::default(), |sum, size| sum.plus(size?))?;
        (size.requested.max(size.mapped).get() <= MAX_COUNT).then_some(size)
    }

    /// The most anchor pages whose pages, slots and bytes can be counted at all, whatever memory there is.
    pub(super) fn most_countable(&self) -> u64 {
        largest(MAX_PAGE_COUNT, |anchor_pages| self.size(anchor_pages, Bytes::new(1)).is_some())
    }

    /// The most anchor pages that fit on `backing` by `figures`; 0 when not even one does.
    pub(super) fn most_within(&self, backing: Backing, figures: &Quote) -> u64 {
        let page = self.memory_page(backing);
        largest(MAX_PAGE_COUNT, |anchor_pages| {
            let size = self.size(anchor_pages, page);
            size.is_some_and(|size| figures.would_hold(size.requested, size.mapped))
        })
    }

    /// The memory page that each mapping on `backing` is rounded up to.
    pub(super) fn memory_page(&self, backing: Backing) -> Bytes {
        if backing.is_hugetlb() { self.memory.hugepage_size } else { base_page() }
    }

    /// Whether the slots of the anchor can be numbered, and this process could keep books on the pages of all.
    fn can_number(&self, anchor_pages: u64) -> bool {
        let slots = self.anchor_page_size.checked_mul(anchor_pages);
        let of_pools = self.members.iter().map(|member| member.pages(anchor_pages));
        let pages = of_pools.into_iter().try_fold(anchor_pages, |sum, pages| sum.checked_add(pages?));
        slots.is_some_and(|slots| slots <= MAX_COUNT) && pages.is_some_and(|pages| pages <= MAX_BOOKED_PAGES)
    }
}
