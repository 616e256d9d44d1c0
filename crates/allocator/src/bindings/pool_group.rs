//! Groups of pools as JS sees them.

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::allocator::HostAllocator;
use super::failure::{Failure, outcome};
use super::logical_pool::LogicalHostPool;
use super::number::{bytes, count, js, js_bytes, small};
use super::off_loop::off_loop;
use super::paged_pool::V4PagedHostPool;
use super::specs::{Layout, MemoryWish, rank};
use crate::error::Error;
use crate::pool::{self, PagesPerAnchorPage};

/// The most pools in a group.
#[napi]
#[expect(unreachable_pub, reason = "the macro exports public constants only")]
pub const MAX_GROUP_POOLS: u32 = 64;
const _: () = assert!(MAX_GROUP_POOLS as usize == pool::MAX_GROUP_POOLS);

/// One pool of a group.
#[napi(object)]
pub struct PoolGroupMember {
    /// Its name, for the sentence of a refusal.
    pub name: String,
    /// Layers.
    pub layer_num: f64,
    /// Bytes of one page in one layer.
    pub item_bytes: f64,
    /// Slots a page.
    pub slot_page_size: f64,
    /// How layers and pages are interleaved.
    pub layout: Layout,
    /// How many pages it has for each of the anchor's; whole or not.
    pub pages_per_anchor_page: f64,
}

/// What a group of pools should be.
#[napi(object)]
pub struct PoolGroupSpec {
    /// The anchor's name; refusals tell the group by it.
    pub anchor_name: String,
    /// Slots a page of the anchor.
    pub anchor_page_size: f64,
    /// Pages of the anchor; the most that fit without.
    pub anchor_pages: Option<f64>,
    /// The pools with bytes.
    pub pools: Vec<PoolGroupMember>,
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<f64>,
    /// How to make the memory of all.
    pub memory: MemoryWish,
}

/// What making a group would do now.
#[napi(object)]
pub struct PoolGroupPlan {
    /// Whether it would be granted.
    pub fits: bool,
    /// Pages of the anchor: those asked for, or the most that fit, but 1 at least.
    pub anchor_pages: f64,
    /// The most pages of the anchor that fit.
    pub max_anchor_pages: f64,
    /// Bytes of all pools before rounding.
    pub requested_bytes: f64,
    /// What all mappings would take.
    pub mapped_bytes: f64,
    /// How many mappings.
    pub mappings: u32,
    /// What the tightest limit still has.
    pub available_bytes: f64,
    /// The tightest limit.
    pub limited_by: super::failure::MemoryLimit,
    /// Hugepages it would take.
    pub hugepages_needed: Option<f64>,
    /// Hugepages it could have.
    pub hugepages_free: Option<f64>,
    /// Each pool.
    pub pools: Vec<PoolGroupMemberPlan>,
}

/// One pool of a plan.
#[napi(object)]
pub struct PoolGroupMemberPlan {
    /// Its name.
    pub name: String,
    /// Pages in each layer.
    pub num_host_pages: f64,
    /// Slots.
    pub size: f64,
    /// layerNum x numHostPages x itemBytes.
    pub requested_bytes: f64,
    /// What its mappings would take.
    pub mapped_bytes: f64,
    /// How many mappings.
    pub mappings: u32,
}

/// Pools that were made together.
#[napi(object, object_from_js = false)]
pub struct MappedPoolGroup {
    /// Pages of the anchor.
    pub anchor_pages: f64,
    /// The slots that the pages of the others are lined up with.
    pub anchor: LogicalHostPool,
    /// The pools with bytes, in the order of the specification.
    pub pools: Vec<V4PagedHostPool>,
}

#[napi]
impl HostAllocator {
    /// Pages of a pool beside so many of its anchor; undefined where no group can have that.
    #[napi]
    pub fn pages_beside_anchor(anchor_pages: f64, pages_per_anchor_page: f64) -> Option<f64> {
        let anchor_pages = count("anchor_pages", anchor_pages).ok()?;
        PagesPerAnchorPage::from_decimal(pages_per_anchor_page)?.pages(anchor_pages).map(js)
    }

    /// What making the group would do now.
    #[napi]
    pub async fn plan_pool_group(&self, spec: PoolGroupSpec) -> napi::Result<Either<PoolGroupPlan, Failure>> {
        let allocator = self.core();
        let plan = move || spec.check().and_then(|spec| spec.plan(&allocator));
        outcome(off_loop(plan).await?, js_plan)
    }

    /// Charged, mapped and bound, all pools or none; nothing faulted in yet.
    #[napi]
    pub async fn map_pool_group(
        &self,
        spec: PoolGroupSpec,
    ) -> napi::Result<Either<MappedPoolGroup, Failure>> {
        let allocator = self.core();
        let map = move || spec.check().and_then(|spec| pool::PoolGroup::allocate(&allocator, &spec));
        outcome(off_loop(map).await?, js_group)
    }
}

impl PoolGroupSpec {
    fn check(self) -> Result<pool::PoolGroupSpec, Error> {
        let members = self.pools.into_iter().enumerate();
        let members =
            members.map(|(index, member)| member.check().map_err(|error| error.of_member("pools", index)));
        Ok(pool::PoolGroupSpec {
            members: members.collect::<Result<_, _>>()?,
            anchor_name: self.anchor_name,
            anchor_page_size: count("anchor.page_size", self.anchor_page_size)?,
            anchor_pages: self.anchor_pages.map(|pages| count("anchor_pages", pages)).transpose()?,
            budget: self.budget,
            rank: rank(self.rank)?,
            memory: self.memory.check()?,
        })
    }
}

impl PoolGroupMember {
    fn check(self) -> Result<pool::PoolGroupMember, Error> {
        Ok(pool::PoolGroupMember {
            name: self.name,
            layer_num: small("layer_num", self.layer_num, pool::MAX_LAYERS)?,
            item_bytes: bytes("item_bytes", self.item_bytes)?,
            slot_page_size: count("slot_page_size", self.slot_page_size)?,
            layout: self.layout.into(),
            pages_per_anchor_page: ratio(self.pages_per_anchor_page)?,
        })
    }
}

fn ratio(ratio: f64) -> Result<PagesPerAnchorPage, Error> {
    PagesPerAnchorPage::from_decimal(ratio).ok_or_else(|| {
        let reason = format!("must be a number from 0.000000001 to 2^28, got {ratio:?}");
        Error::invalid("pages_per_anchor_page", reason)
    })
}

fn js_plan(plan: pool::PoolGroupPlan) -> PoolGroupPlan {
    PoolGroupPlan {
        fits: plan.fits,
        anchor_pages: js(plan.anchor_pages),
        max_anchor_pages: js(plan.max_anchor_pages),
        requested_bytes: js_bytes(plan.requested),
        mapped_bytes: js_bytes(plan.mapped),
        mappings: plan.mappings,
        available_bytes: js_bytes(plan.available),
        limited_by: plan.limited_by.into(),
        hugepages_needed: plan.hugepages_needed.map(js),
        hugepages_free: plan.hugepages_free.map(js),
        pools: plan.pools.into_iter().map(js_member).collect(),
    }
}

fn js_member(pool: pool::PoolGroupMemberPlan) -> PoolGroupMemberPlan {
    PoolGroupMemberPlan {
        name: pool.name,
        num_host_pages: js(pool.num_host_pages),
        size: js(pool.size),
        requested_bytes: js_bytes(pool.requested),
        mapped_bytes: js_bytes(pool.mapped),
        mappings: pool.mappings,
    }
}

fn js_group(group: pool::PoolGroup) -> MappedPoolGroup {
    MappedPoolGroup {
        anchor_pages: js(group.anchor_pages),
        anchor: LogicalHostPool::new(group.anchor),
        pools: group.pools.into_iter().map(V4PagedHostPool::new).collect(),
    }
}
