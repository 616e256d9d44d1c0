//! What a group of pools should be, checked.

use super::ratio::PagesPerAnchorPage;
use crate::backing::Backing;
use crate::budget::Quote;
use crate::error::Error;
use crate::memory::{MemoryRequest, MemoryWish, RequestGroup};
use crate::pool::layout::Layout;
use crate::pool::logical::check_count;
use crate::pool::spec::V4PagedPoolSpec;
use crate::slots::MAX_PAGE_COUNT;
use crate::units::{Bytes, MAX_COUNT};

/// More pools than any model has kinds of cache.
pub const MAX_GROUP_POOLS: usize = 64;

/// One pool of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGroupMember {
    /// Its name, as the documented sentences show it.
    pub name: String,
    /// Layers.
    pub layer_num: u32,
    /// Bytes of one page in one layer.
    pub item_bytes: Bytes,
    /// Slots a page.
    pub slot_page_size: u64,
    /// How layers and pages are interleaved.
    pub layout: Layout,
    /// How many pages it has for each of the anchor's.
    pub pages_per_anchor_page: PagesPerAnchorPage,
}

/// What a group of pools should be: pools that grow together, and the logical pool they are lined up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGroupSpec {
    /// The anchor's name; refusals tell the group by it.
    pub anchor_name: String,
    /// Slots a page of the anchor.
    pub anchor_page_size: u64,
    /// Pages of the anchor; `None` for the most that fit.
    pub anchor_pages: Option<u64>,
    /// The pools with bytes: 1 to [`MAX_GROUP_POOLS`].
    pub members: Vec<PoolGroupMember>,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<u32>,
    /// How to make the memory of all.
    pub memory: MemoryWish,
}

impl PoolGroupSpec {
    /// # Errors
    /// INVALID_ARGUMENT naming the first field that is 0, above its bound, or makes a product above 2^53 - 1.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_GROUP_POOLS).contains(&self.members.len()) {
            let reason = format!("must be 1 to {MAX_GROUP_POOLS}, got {}", self.members.len());
            return Err(Error::invalid("pools", reason));
        }
        for (index, member) in self.members.iter().enumerate() {
            let checked = self.pool(member, 1).memory_request();
            checked.map_err(|error| error.of_member("pools", index))?;
        }
        check_count("anchor.page_size", self.anchor_page_size)?;
        self.check_anchor_pages()
    }

    fn check_anchor_pages(&self) -> Result<(), Error> {
        let most = self.most_countable();
        if most == 0 {
            let reason =
                format!("make more than {MAX_COUNT} bytes, or too many pages, for a single anchor page");
            return Err(Error::invalid("pools", reason));
        }
        match self.anchor_pages {
            Some(pages) if !(1..=most).contains(&pages) => Err(Error::invalid(
                "anchor_pages",
                format!("must be 1 to {most} for these pools, got {pages}"),
            )),
            _ => Ok(()),
        }
    }

    /// One of the pools beside so many anchor pages.
    pub(super) fn pool(&self, member: &PoolGroupMember, anchor_pages: u64) -> V4PagedPoolSpec {
        V4PagedPoolSpec {
            name: member.name.clone(),
            layer_num: member.layer_num,
            // More pages than can be numbered are refused wherever a size is checked.
            num_host_pages: member.pages_per_anchor_page.pages(anchor_pages).unwrap_or(MAX_PAGE_COUNT),
            item_bytes: member.item_bytes,
            slot_page_size: member.slot_page_size,
            layout: member.layout,
            budget: self.budget.clone(),
            rank: self.rank,
            memory: self.memory.clone(),
        }
    }

    /// All pools beside so many anchor pages.
    pub(super) fn pools(&self, anchor_pages: u64) -> impl Iterator<Item = V4PagedPoolSpec> {
        self.members.iter().map(move |member| self.pool(member, anchor_pages))
    }
}

/// Sizes are anchor pages.
impl RequestGroup for PoolGroupSpec {
    fn least_size(&self) -> u64 {
        self.anchor_pages.unwrap_or(1)
    }

    /// What was asked for, or the most that fit; when not even one fits, 1, so that the refusal has its figures.
    fn size_within(&self, backing: Backing, figures: &Quote) -> u64 {
        self.anchor_pages.unwrap_or_else(|| self.most_within(backing, figures).max(1))
    }

    fn requests(&self, size: u64) -> Vec<MemoryRequest> {
        self.pools(size).filter_map(|pool| pool.memory_request().ok()).collect()
    }
}
