//! The events of budgets for JS.

use std::sync::Arc;

use napi_derive::napi;

use super::allocator::{HostAllocator, thrown};
use super::failure::MemoryLimit;
use super::memory::js_node;
use super::number::{count, js, js_bytes, js_time};
use super::off_loop::off_loop;
use crate::budget::{self, ChargeEnd, MemoryKind, Quote};
use crate::memory::HostMemoryAllocator;

/// What became of a charge.
#[napi(string_enum)]
pub enum BudgetEventKind {
    /// Granted.
    Charged,
    /// Given back, or rolled back.
    Released,
    /// A reservation that was not renewed in time.
    Expired,
    /// A reservation whose process died.
    OwnerDied,
    /// Not granted.
    Refused,
}

/// What a charge is for.
#[napi(string_enum)]
pub enum ClaimantKind {
    /// A V4 paged pool.
    Pool,
    /// A host buffer.
    HostBuffer,
    /// Memory that another process maps itself.
    Reservation,
}

/// Whom a charge is for.
#[napi(object)]
pub struct BudgetClaimant {
    /// What it is for.
    pub kind: ClaimantKind,
    /// The name of the pool or buffer, or the holder of the reservation; undefined for a buffer without a name.
    pub name: Option<String>,
    /// The process whose death ends a reservation.
    pub pid: Option<u32>,
}

/// A charge that was granted, refused or given back.
#[napi(object)]
pub struct BudgetEvent {
    /// 1, 2, 3, … over all budgets.
    pub sequence: f64,
    /// What became of it.
    pub kind: BudgetEventKind,
    /// When, in milliseconds since 1970.
    pub at: f64,
    /// The budget charged.
    pub budget: String,
    /// The rank charged.
    pub rank: Option<u32>,
    /// Whom it is for.
    pub claimant: BudgetClaimant,
    /// Bytes of a hugepage; undefined on ordinary pages.
    pub hugepage_size: Option<f64>,
    /// The node; -1 for any.
    pub numa_node: f64,
    /// The bytes asked for.
    pub requested_bytes: f64,
    /// What they take in whole pages.
    pub mapped_bytes: f64,
    /// What the tightest limit had; undefined when nothing was weighed.
    pub available_bytes: Option<f64>,
    /// The tightest limit; undefined when nothing was weighed.
    pub limited_by: Option<MemoryLimit>,
    /// The budget that takes no new charges; undefined when that is not why.
    pub closed_budget: Option<String>,
    /// What the budget holds after the event.
    pub charged_bytes: f64,
    /// What all budgets hold after the event.
    pub host_charged_bytes: f64,
}

/// A look at the events.
#[napi(object)]
pub struct BudgetEventsRead {
    /// In order.
    pub events: Vec<BudgetEvent>,
    /// How many are kept no longer, of whichever budget.
    pub missed: f64,
    /// The event to read on after.
    pub through: f64,
}

/// The latest events of one allocator's budgets.
#[napi]
pub struct BudgetEventLog {
    allocator: Arc<HostMemoryAllocator>,
}

#[napi]
#[expect(clippy::needless_pass_by_value, reason = "the shape in which napi hands it over")]
impl BudgetEventLog {
    /// Those of this allocator.
    #[napi(constructor)]
    pub fn new(allocator: &HostAllocator) -> Self {
        Self { allocator: allocator.core() }
    }

    /// The number of the latest event; 0 before the first.
    #[napi]
    pub fn latest(&self) -> f64 {
        js(self.allocator.ledger().events().latest())
    }

    /// Those after event number `sequence`, of `budget` alone when it is given; at most `limit`, the oldest first. Never
    /// waits for a decision.
    #[napi]
    pub fn after(&self, sequence: f64, limit: u32, budget: Option<String>) -> napi::Result<BudgetEventsRead> {
        let sequence = count("sequence", sequence).map_err(thrown)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let read = self.allocator.ledger().events().after(sequence, limit, budget.as_deref());
        Ok(BudgetEventsRead {
            events: read.events.into_iter().map(js_event).collect(),
            missed: js(read.missed),
            through: js(read.through),
        })
    }

    /// Whether there is such a budget.
    #[napi]
    pub async fn has_budget(&self, name: String) -> napi::Result<bool> {
        let allocator = Arc::clone(&self.allocator);
        off_loop(move || allocator.ledger().has_budget(&name)).await
    }
}

/// What a kind of the core is for JS: the kind itself, the quote, and the budget that is closed.
fn parts(kind: budget::BudgetEventKind) -> (BudgetEventKind, Option<Quote>, Option<String>) {
    match kind {
        budget::BudgetEventKind::Charged(quote) => (BudgetEventKind::Charged, Some(quote), None),
        budget::BudgetEventKind::Refused(quote) => (BudgetEventKind::Refused, Some(quote), None),
        budget::BudgetEventKind::AdmissionClosed(closed) => (BudgetEventKind::Refused, None, Some(closed)),
        budget::BudgetEventKind::Ended(ChargeEnd::Released) => (BudgetEventKind::Released, None, None),
        budget::BudgetEventKind::Ended(ChargeEnd::Expired) => (BudgetEventKind::Expired, None, None),
        budget::BudgetEventKind::Ended(ChargeEnd::OwnerDied) => (BudgetEventKind::OwnerDied, None, None),
    }
}

fn js_event(event: budget::BudgetEvent) -> BudgetEvent {
    let (kind, quote, closed_budget) = parts(event.kind);
    let demand = event.demand;
    BudgetEvent {
        sequence: js(event.sequence),
        kind,
        at: js_time(event.at),
        budget: demand.budget.clone(),
        rank: demand.rank,
        claimant: js_claimant(&demand.claimant),
        hugepage_size: match demand.kind {
            MemoryKind::Ordinary => None,
            MemoryKind::Hugepages(size) => Some(js_bytes(size)),
        },
        numa_node: js_node(demand.nodes.single()),
        requested_bytes: js_bytes(demand.requested),
        mapped_bytes: js_bytes(demand.mapped),
        available_bytes: quote.as_ref().map(|quote| js_bytes(quote.available)),
        limited_by: quote.map(|quote| quote.limited_by.into()),
        closed_budget,
        charged_bytes: js_bytes(event.charged),
        host_charged_bytes: js_bytes(event.host_charged),
    }
}

fn js_claimant(claimant: &budget::Claimant) -> BudgetClaimant {
    match claimant {
        budget::Claimant::Pool(name) => {
            BudgetClaimant { kind: ClaimantKind::Pool, name: Some(name.clone()), pid: None }
        }
        budget::Claimant::HostBuffer(name) => {
            BudgetClaimant { kind: ClaimantKind::HostBuffer, name: name.clone(), pid: None }
        }
        budget::Claimant::Reservation { holder, pid } => {
            BudgetClaimant { kind: ClaimantKind::Reservation, name: Some(holder.clone()), pid: *pid }
        }
    }
}
