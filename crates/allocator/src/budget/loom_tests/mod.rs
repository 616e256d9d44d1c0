//! The ledger's lock, in every order of its callers' steps.

mod budgets;
mod charges;

use super::*;
use crate::model_host::pages;

/// Nothing is held or promised: all `total` pages can be had, and not one more.
fn assert_nothing_is_held(ledger: &Ledger, total: u64) {
    for budget in ledger.budgets().unwrap() {
        assert_eq!((budget.charged, &budget.rank_shares[0].charged), (Bytes::ZERO, &Bytes::ZERO));
    }
    assert_eq!(ledger.quote(&crate::model_host::ordinary(1)).unwrap().available, pages(total));
}

use crate::units::Bytes;
