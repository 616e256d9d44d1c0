//! One budget: what was asked for it, and what it holds.

use super::quote::Figures;
use crate::error::Error;
use crate::units::{Bytes, MAX_COUNT};

/// A budget as the ledger keeps it.
#[derive(Clone, Debug, Default)]
pub(super) struct BudgetState {
    /// The bytes asked for; `None`: all the host allows.
    pub(super) cap: Option<Bytes>,
    /// The part asked for of what the machine has in all, in (0, 1].
    pub(super) fraction: Option<f64>,
    /// Whether new charges are refused whatever the figures.
    pub(super) admission_closed: bool,
    /// Held by live charges, of either kind.
    pub(super) charged: Bytes,
}

/// A budget as its operator sees it: asked for, honoured now, held.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetReading {
    /// Its name.
    pub name: String,
    /// What the host keeps for itself; only the budget "host" carries one.
    pub reserve: Bytes,
    /// The cap asked for.
    pub requested: Option<Bytes>,
    /// The fraction asked for.
    pub fraction: Option<f64>,
    /// What the host can honour now, what is held already included; at most the cap.
    pub effective: Bytes,
    /// Held by pools and buffers, on ordinary pages and hugepages.
    pub charged: Bytes,
    /// What a new charge on ordinary pages could still take.
    pub available: Bytes,
    /// The shares of its ranks, in order.
    pub rank_shares: Vec<RankShare>,
    /// Whether new charges are refused.
    pub admission_closed: bool,
    /// Whether more is held than can be honoured now: the cap was lowered, or others took the host's memory.
    pub over_budget: bool,
}

/// A rank's part of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankShare {
    /// Which rank, from 0.
    pub rank: u32,
    /// Its part of the budget's effective bytes.
    pub effective: Bytes,
    /// What it holds.
    pub charged: Bytes,
    /// What it could still take.
    pub available: Bytes,
}

/// A change to the budget "host": outer `None` leaves a figure alone, inner `None` puts it back to its default.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostBudgetChange {
    /// What the host keeps for itself; back to the reserve the ledger was made with.
    pub reserve: Option<Option<Bytes>>,
    /// The cap; back to none.
    pub requested: Option<Option<Bytes>>,
    /// The fraction; back to none.
    pub fraction: Option<Option<f64>>,
    /// Whether to refuse new charges; back to no.
    pub admission_closed: Option<Option<bool>>,
}

impl HostBudgetChange {
    /// Refuses byte counts above 2^53 - 1 and fractions outside (0, 1].
    pub(super) fn check(&self) -> Result<(), Error> {
        check_bytes("reserve_bytes", self.reserve.flatten())?;
        check_bytes("requested_bytes", self.requested.flatten())?;
        match self.fraction.flatten() {
            Some(fraction) if !(fraction > 0.0 && fraction <= 1.0) => {
                Err(Error::invalid("fraction", format!("must be above 0 and at most 1, got {fraction}")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn apply_to(&self, budget: &mut BudgetState) {
        budget.cap = self.requested.unwrap_or(budget.cap);
        budget.fraction = self.fraction.unwrap_or(budget.fraction);
        let closed = self.admission_closed.unwrap_or(Some(budget.admission_closed));
        budget.admission_closed = closed.unwrap_or_default();
    }
}

fn check_bytes(field: &'static str, bytes: Option<Bytes>) -> Result<(), Error> {
    match bytes {
        Some(bytes) if bytes.get() > MAX_COUNT => {
            Err(Error::invalid(field, format!("must be at most {MAX_COUNT} bytes, got {}", bytes.get())))
        }
        _ => Ok(()),
    }
}

impl Figures<'_> {
    /// The budget these figures belong to, called `name`. It has one rank: the whole.
    pub(super) fn reading(&self, name: &str) -> BudgetReading {
        let BudgetState { cap, fraction, admission_closed, charged } = *self.budget;
        let (effective, available) = (self.effective(), self.available());
        BudgetReading {
            name: name.to_owned(),
            reserve: self.reserve,
            requested: cap,
            fraction,
            effective,
            charged,
            available,
            rank_shares: vec![RankShare { rank: 0, effective, charged, available }],
            admission_closed,
            over_budget: charged > effective.round_up(crate::memory::base_page()).unwrap_or(effective),
        }
    }

    /// What is held plus what the host still has (or less what it lacks), at most the cap.
    fn effective(&self) -> Bytes {
        let honoured = self.budget.charged.saturating_add(self.ordinary().1).saturating_sub(self.shortfall());
        self.cap().map_or(honoured, |cap| cap.min(honoured))
    }

    fn available(&self) -> Bytes {
        let host = self.ordinary().1;
        self.cap().map_or(host, |cap| host.min(cap.saturating_sub(self.budget.charged)))
    }

    /// How far the host is from honouring the reserve and every promise.
    fn shortfall(&self) -> Bytes {
        let wanted = self.reserve.saturating_add(self.promises.unfaulted());
        wanted.saturating_sub(Bytes::new(self.host.effective_available_bytes()))
    }
}
