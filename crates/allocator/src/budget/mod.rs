//! Who may have how much: the only place where bytes meet a cap.
//!
//! [`Ledger`] decides under one lock; [`Demand`] is the question, [`Quote`] the answer with the figures it used, and
//! [`Charge`] what a granted demand holds until it is dropped.

mod account;
mod charge;
mod demand;
mod holders;
mod ledger;
mod promises;
mod quote;
mod reading;

pub use account::{BudgetChange, BudgetReading, BudgetTerms, MAX_RANKS, RankShare};
pub use charge::{Charge, PendingCharge};
pub use demand::{Demand, MemoryKind};
pub(crate) use holders::{Holders, Visible};
pub use ledger::{CreatedBudget, HostSource, Ledger, Refusal};
pub use quote::Quote;

/// The budget that always exists: everything the host can promise.
pub const HOST_BUDGET: &str = "host";

/// What the host keeps for itself unless told otherwise: 10 GiB, as upstream's `host_memory_budget_bytes`.
pub const DEFAULT_RESERVE: crate::units::Bytes = crate::units::Bytes::mebibytes(10 << 10);
