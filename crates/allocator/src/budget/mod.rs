//! Who may have how much: the only place where bytes meet a cap.
//!
//! [`Ledger`] decides under one lock; [`Demand`] is the question, [`Quote`] the answer with the figures it used, and
//! [`Charge`] what a granted demand holds until it is dropped. [`Budgets`] is the door to making and changing budgets,
//! [`BudgetEvents`] has the latest of all that.

mod account;
mod budgets;
mod charge;
mod demand;
mod events;
mod holders;
mod ledger;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
mod promises;
mod quote;
mod reading;

pub use account::{BudgetChange, BudgetReading, BudgetTerms, MAX_RANKS, RankShare};
pub use budgets::Budgets;
pub use charge::{Charge, ChargeEnd, PendingCharge};
pub use demand::{Claimant, Demand, MemoryKind};
pub use events::{BudgetEvent, BudgetEventKind, BudgetEvents, EventsRead};
pub(crate) use holders::{Holders, Visible};
pub use ledger::{HostSource, Ledger, Refusal};
pub use quote::Quote;

/// The budget that always exists: everything the host can promise.
pub const HOST_BUDGET: &str = "host";

/// What the host keeps for itself unless told otherwise: 10 GiB, as upstream's `host_memory_budget_bytes`.
pub const DEFAULT_RESERVE: crate::units::Bytes = crate::units::Bytes::mebibytes(10 << 10);
