//! What JS asks for, checked into what the core takes.

use napi_derive::napi;

use super::memory::{Backing, NumaPolicy, OnHugepageShortage, TransparentHugepages};
use super::nodes::numa;
use super::number::{bytes, count, small};
use crate::error::Error;
use crate::memory;
use crate::pool;
use crate::units::Bytes;

/// How layers and pages are interleaved.
#[napi(string_enum)]
pub enum Layout {
    /// One mapping a layer.
    LayerFirst,
    /// One mapping, the layers of a page side by side.
    PageFirst,
    /// The bytes of `PageFirst`, with a dimension of 1 before the item.
    PageFirstDirect,
}

impl From<Layout> for pool::Layout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::LayerFirst => Self::LayerFirst,
            Layout::PageFirst => Self::PageFirst,
            Layout::PageFirstDirect => Self::PageFirstDirect,
        }
    }
}

/// How memory should be made.
#[napi(object)]
pub struct MemoryWish {
    /// The kind of mapping.
    pub backing: Backing,
    /// Bytes of a hugepage; for hugetlb backings.
    pub hugepage_size: Option<f64>,
    /// What to do when there are not enough of those.
    pub on_hugepage_shortage: OnHugepageShortage,
    /// The node asked for; -1 for any.
    pub numa_node: f64,
    /// How the nodes are meant; `Bind` when left out.
    pub numa_policy: Option<NumaPolicy>,
    /// The nodes asked for, when they are several: instead of `numaNode`.
    pub numa_nodes: Option<Vec<f64>>,
    /// What is wished of transparent hugepages; `Default` when left out.
    pub transparent_hugepages: Option<TransparentHugepages>,
    /// Whether it must never be swapped out; `false` when left out.
    pub lock_memory: Option<bool>,
}

/// What a V4 paged pool should be.
#[napi(object)]
pub struct V4PagedPoolSpec {
    /// Its name, for the sentence of a refusal.
    pub name: String,
    /// Layers.
    pub layer_num: f64,
    /// Pages.
    pub num_host_pages: f64,
    /// Bytes of one page in one layer.
    pub item_bytes: f64,
    /// Slots a page.
    pub slot_page_size: f64,
    /// How layers and pages are interleaved.
    pub layout: Layout,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<f64>,
    /// How to make the memory.
    pub memory: MemoryWish,
}

/// What a host buffer should be.
#[napi(object)]
pub struct HostBufferSpec {
    /// Its name, for whoever watches the budget.
    pub name: Option<String>,
    /// Its bytes.
    pub nbytes: f64,
    /// How to make it.
    pub memory: MemoryWish,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<f64>,
}

/// What a logical pool should be.
#[napi(object)]
pub struct LogicalPoolSpec {
    /// Slots.
    pub size: f64,
    /// Slots a page.
    pub page_size: f64,
}

const DEFAULT_HUGEPAGE: Bytes = Bytes::mebibytes(2);

impl MemoryWish {
    pub(super) fn check(self) -> Result<memory::MemoryWish, Error> {
        let hugepage_size = self.hugepage_size.map(|size| bytes("memory.hugepage_size", size)).transpose()?;
        let numa = numa(self.numa_node, self.numa_policy, self.numa_nodes)?;
        Ok(memory::MemoryWish {
            backing: self.backing.into(),
            hugepage_size: hugepage_size.unwrap_or(DEFAULT_HUGEPAGE),
            on_hugepage_shortage: self.on_hugepage_shortage.into(),
            numa,
            transparent_hugepages: self.transparent_hugepages.map(Into::into).unwrap_or_default(),
            lock: self.lock_memory.unwrap_or(false),
        })
    }
}

impl V4PagedPoolSpec {
    pub(super) fn check(self) -> Result<pool::V4PagedPoolSpec, Error> {
        Ok(pool::V4PagedPoolSpec {
            name: self.name,
            layer_num: small("layer_num", self.layer_num, pool::MAX_LAYERS)?,
            num_host_pages: count("num_host_pages", self.num_host_pages)?,
            item_bytes: bytes("item_bytes", self.item_bytes)?,
            slot_page_size: count("slot_page_size", self.slot_page_size)?,
            layout: self.layout.into(),
            budget: self.budget,
            rank: rank(self.rank)?,
            memory: self.memory.check()?,
        })
    }
}

impl HostBufferSpec {
    pub(super) fn check(self) -> Result<memory::HostBufferSpec, Error> {
        Ok(memory::HostBufferSpec {
            name: self.name,
            bytes: bytes("nbytes", self.nbytes)?,
            memory: self.memory.check()?,
            budget: self.budget,
            rank: rank(self.rank)?,
        })
    }
}

impl LogicalPoolSpec {
    pub(super) fn check(self) -> Result<(u64, u64), Error> {
        Ok((count("size", self.size)?, count("page_size", self.page_size)?))
    }
}

pub(super) fn rank(rank: Option<f64>) -> Result<Option<u32>, Error> {
    rank.map(|rank| small("rank", rank, u32::MAX)).transpose()
}
