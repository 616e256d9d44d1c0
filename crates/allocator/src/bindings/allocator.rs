//! `HostAllocator` for JS: the host root, the ledger, and the doors to new pools and buffers.

use std::sync::Arc;

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::budget::{BudgetChange, BudgetReading, BudgetTerms, js_budget};
use super::failure::{Failure, outcome};
use super::host::{HostReading, js_host};
use super::host_buffer::HostBuffer;
use super::logical_pool::LogicalHostPool;
use super::number::{bytes, js, js_bytes};
use super::off_loop::off_loop;
use super::paged_pool::V4PagedHostPool;
use super::specs::{HostBufferSpec, LogicalPoolSpec, V4PagedPoolSpec};
use super::state::{AnswerRecord, HostState};
use crate::budget::Budgets;
use crate::error::Error;
use crate::host::HostRoot;
use crate::memory::HostMemoryAllocator;
use crate::{memory, pool};

/// How the allocator starts.
#[napi(object)]
pub struct HostAllocatorOptions {
    /// The folder that holds `proc` and `sys`.
    pub host_root: String,
    /// What the host keeps for itself.
    pub reserve_bytes: f64,
}

/// What making a V4 paged pool would do now.
#[napi(object, js_name = "V4PagedPoolPlan")]
pub struct V4PagedPoolPlan {
    /// Whether it would be granted.
    pub fits: bool,
    /// layerNum x numHostPages x itemBytes.
    pub requested_bytes: f64,
    /// What the mappings would take.
    pub mapped_bytes: f64,
    /// How many mappings.
    pub mappings: u32,
    /// What the tightest limit still has.
    pub available_bytes: f64,
    /// The tightest limit.
    pub limited_by: super::failure::MemoryLimit,
    /// The largest numHostPages that fits.
    pub max_num_host_pages: f64,
    /// Hugepages it would take.
    pub hugepages_needed: Option<f64>,
    /// Hugepages it could have.
    pub hugepages_free: Option<f64>,
}

/// One per process.
#[napi]
pub struct HostAllocator {
    allocator: Arc<HostMemoryAllocator>,
    budgets: Arc<Budgets>,
}

impl HostAllocator {
    pub(super) fn core(&self) -> Arc<HostMemoryAllocator> {
        Arc::clone(&self.allocator)
    }
}

#[napi]
impl HostAllocator {
    /// With the budgets that were kept. Throws when the host below the root cannot be read: start-up stops there.
    #[napi(constructor)]
    pub fn new(options: HostAllocatorOptions, state: &HostState) -> napi::Result<Self> {
        let reserve = bytes("reserve_bytes", options.reserve_bytes).map_err(thrown)?;
        let allocator =
            HostMemoryAllocator::new(HostRoot::new(options.host_root), reserve).map_err(thrown)?;
        let kept = state.take(|saved| std::mem::take(&mut saved.budgets));
        let budgets = Budgets::restore(Arc::clone(allocator.ledger()), state.store(), &kept);
        Ok(Self { allocator: Arc::new(allocator), budgets: Arc::new(budgets) })
    }

    /// While pools and buffers that were kept are made anew, budgets do not stand in their way. Nobody else may be asking.
    #[napi]
    pub fn set_restoring(&self, restoring: bool) {
        self.allocator.ledger().set_restoring(restoring);
    }

    /// Everything the host has, now.
    #[napi]
    pub async fn read_host(&self) -> napi::Result<HostReading> {
        let allocator = Arc::clone(&self.allocator);
        off_loop(move || allocator.read_host()).await?.map(js_host).map_err(thrown)
    }

    /// Undefined when there is no such budget.
    #[napi]
    pub async fn read_budget(&self, name: String) -> napi::Result<Option<BudgetReading>> {
        let allocator = Arc::clone(&self.allocator);
        let budget = off_loop(move || allocator.ledger().budget(&name)).await?.map_err(thrown)?;
        Ok(budget.map(js_budget))
    }

    /// Every budget of the same moment, "host" first.
    #[napi]
    pub async fn read_budgets(&self) -> napi::Result<Vec<BudgetReading>> {
        let allocator = Arc::clone(&self.allocator);
        let budgets = off_loop(move || allocator.ledger().budgets()).await?.map_err(thrown)?;
        Ok(budgets.into_iter().map(js_budget).collect())
    }

    /// Makes a budget. With `existing_is_fine` one of that name and these terms is answered as it is.
    #[napi]
    pub async fn create_budget(
        &self,
        name: String,
        terms: BudgetTerms,
        existing_is_fine: bool,
        answer: Option<AnswerRecord>,
    ) -> napi::Result<Either<BudgetReading, Failure>> {
        let budgets = Arc::clone(&self.budgets);
        let answer = answer.map(Into::into);
        let create = move || budgets.create(&name, terms.check()?, existing_is_fine, answer);
        outcome(off_loop(create).await?, js_budget)
    }

    /// Changes a budget.
    #[napi]
    pub async fn update_budget(
        &self,
        name: String,
        change: BudgetChange,
    ) -> napi::Result<Either<BudgetReading, Failure>> {
        let budgets = Arc::clone(&self.budgets);
        let update = move || change.check().and_then(|change| budgets.update(&name, &change));
        outcome(off_loop(update).await?, js_budget)
    }

    /// Removes a budget that holds nothing; answers what it was. Those answers to requests are kept with it.
    #[napi]
    pub async fn delete_budget(
        &self,
        name: String,
        answers: Vec<AnswerRecord>,
    ) -> napi::Result<Either<BudgetReading, Failure>> {
        let budgets = Arc::clone(&self.budgets);
        let answers = answers.into_iter().map(Into::into).collect();
        outcome(off_loop(move || budgets.delete(&name, answers)).await?, js_budget)
    }

    /// What making the pool would do now.
    #[napi(js_name = "planV4PagedPool")]
    pub async fn plan_v4_paged_pool(
        &self,
        spec: V4PagedPoolSpec,
    ) -> napi::Result<Either<V4PagedPoolPlan, Failure>> {
        let allocator = Arc::clone(&self.allocator);
        let plan = move || spec.check().and_then(|spec| pool::V4PagedHostPool::plan(&allocator, &spec));
        outcome(off_loop(plan).await?, |plan| js_plan(&plan))
    }

    /// Bookkeeping only: synchronous.
    #[napi]
    pub fn create_logical_host_pool(
        &self,
        spec: LogicalPoolSpec,
    ) -> napi::Result<Either<LogicalHostPool, Failure>> {
        let pool = spec.check().and_then(|(size, page_size)| pool::LogicalHostPool::new(size, page_size));
        outcome(pool, LogicalHostPool::new)
    }

    /// Charged, mapped and bound, nothing faulted in yet.
    #[napi(js_name = "mapV4PagedPool")]
    pub async fn map_v4_paged_pool(
        &self,
        spec: V4PagedPoolSpec,
    ) -> napi::Result<Either<V4PagedHostPool, Failure>> {
        let allocator = Arc::clone(&self.allocator);
        let map = move || spec.check().and_then(|spec| pool::V4PagedHostPool::allocate(&allocator, spec));
        outcome(off_loop(map).await?, V4PagedHostPool::new)
    }

    /// Charged, mapped and bound, nothing faulted in yet.
    #[napi]
    pub async fn map_host_buffer(&self, spec: HostBufferSpec) -> napi::Result<Either<HostBuffer, Failure>> {
        let allocator = Arc::clone(&self.allocator);
        let map = move || spec.check().and_then(|spec| memory::HostBuffer::allocate(&allocator, spec));
        outcome(off_loop(map).await?, HostBuffer::new)
    }
}

fn js_plan(plan: &pool::V4PagedPoolPlan) -> V4PagedPoolPlan {
    V4PagedPoolPlan {
        fits: plan.fits,
        requested_bytes: js_bytes(plan.requested),
        mapped_bytes: js_bytes(plan.mapped),
        mappings: plan.mappings,
        available_bytes: js_bytes(plan.available),
        limited_by: plan.limited_by.into(),
        max_num_host_pages: js(plan.max_num_host_pages),
        hugepages_needed: plan.hugepages_needed.map(js),
        hugepages_free: plan.hugepages_free.map(js),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape map_err takes")]
pub(super) fn thrown(error: Error) -> napi::Error {
    napi::Error::from_reason(error.to_string())
}
