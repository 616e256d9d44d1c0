//! Budgets as JS sees them.

use napi::bindgen_prelude::{Either, Null};
use napi_derive::napi;

use super::number::{bytes, js_bytes, small};
use crate::budget;
use crate::error::Error;

/// A rank's part of a budget.
#[napi(object)]
pub struct RankShare {
    /// Which rank.
    pub rank: u32,
    /// Its part.
    pub effective_bytes: f64,
    /// What it holds.
    pub charged_bytes: f64,
    /// What it could still take.
    pub available_bytes: f64,
}

/// A budget: asked for, honoured now, held.
#[napi(object)]
pub struct BudgetReading {
    /// Its name.
    pub name: String,
    /// What the host keeps for itself.
    pub reserve_bytes: f64,
    /// The cap asked for.
    pub requested_bytes: Option<f64>,
    /// The fraction asked for.
    pub fraction: Option<f64>,
    /// What the host can honour now.
    pub effective_bytes: f64,
    /// What is held.
    pub charged_bytes: f64,
    /// What a new charge on ordinary pages could still take.
    pub available_bytes: f64,
    /// How many ranks it is split between.
    pub ranks: u32,
    /// Their shares.
    pub rank_shares: Vec<RankShare>,
    /// Whether new charges are refused.
    pub admission_closed: bool,
    /// Whether more is held than can be honoured.
    pub over_budget: bool,
}

/// What is asked for a new budget.
#[napi(object)]
pub struct BudgetTerms {
    /// The cap.
    pub requested_bytes: Option<f64>,
    /// A part of what the host can promise now.
    pub fraction: Option<f64>,
    /// How many ranks share it.
    pub ranks: f64,
}

impl BudgetTerms {
    pub(super) fn check(self) -> Result<budget::BudgetTerms, Error> {
        Ok(budget::BudgetTerms {
            requested: self
                .requested_bytes
                .map(|requested| bytes("requested_bytes", requested))
                .transpose()?,
            fraction: self.fraction,
            ranks: small("ranks", self.ranks, budget::MAX_RANKS)?,
        })
    }
}

/// A change to a budget. Undefined leaves a figure alone, null puts it back to its default.
#[napi(object)]
pub struct BudgetChange {
    /// What the host keeps for itself; for "host" only.
    pub reserve_bytes: Option<Either<f64, Null>>,
    /// The cap.
    pub requested_bytes: Option<Either<f64, Null>>,
    /// The fraction.
    pub fraction: Option<Either<f64, Null>>,
    /// Whether to refuse new charges.
    pub admission_closed: Option<Either<bool, Null>>,
}

impl BudgetChange {
    pub(super) fn check(self) -> Result<budget::BudgetChange, Error> {
        let checked = |field, value: Option<Either<f64, Null>>| {
            nullable(value).map(|value| value.map(|value| bytes(field, value)).transpose()).transpose()
        };
        Ok(budget::BudgetChange {
            reserve: checked("reserve_bytes", self.reserve_bytes)?,
            requested: checked("requested_bytes", self.requested_bytes)?,
            fraction: nullable(self.fraction),
            admission_closed: nullable(self.admission_closed),
        })
    }
}

fn nullable<T>(value: Option<Either<T, Null>>) -> Option<Option<T>> {
    value.map(|value| match value {
        Either::A(value) => Some(value),
        Either::B(Null) => None,
    })
}

pub(super) fn js_budget(reading: budget::BudgetReading) -> BudgetReading {
    let shares: Vec<_> = reading.rank_shares.iter().map(js_share).collect();
    BudgetReading {
        name: reading.name,
        reserve_bytes: js_bytes(reading.reserve),
        requested_bytes: reading.requested.map(js_bytes),
        fraction: reading.fraction,
        effective_bytes: js_bytes(reading.effective),
        charged_bytes: js_bytes(reading.charged),
        available_bytes: js_bytes(reading.available),
        ranks: u32::try_from(shares.len()).unwrap_or(u32::MAX),
        rank_shares: shares,
        admission_closed: reading.admission_closed,
        over_budget: reading.over_budget,
    }
}

fn js_share(share: &budget::RankShare) -> RankShare {
    RankShare {
        rank: share.rank,
        effective_bytes: js_bytes(share.effective),
        charged_bytes: js_bytes(share.charged),
        available_bytes: js_bytes(share.available),
    }
}
