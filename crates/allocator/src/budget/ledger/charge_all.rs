//! Several charges in one decision: two callers that ask at once cannot each get a part and fail.

use std::sync::Arc;

use super::{Ledger, Refusal, State};
use crate::budget::{Demand, HOST_BUDGET, PendingCharge, Quote};
use crate::error::Error;
use crate::sync::lock;

impl Ledger {
    /// Takes a charge for each of the demands that `size` answers, or none, and says why not. `question` has the budget,
    /// rank, kind and node that all of them share; its bytes play no part. `size` is given the figures of the decision
    /// while the lock is held: it must not block, nor ask this ledger. The charges are in the order of the demands.
    ///
    /// # Errors
    /// [`Refusal`], with the quote for all demands together when they do not fit; what `size` refuses. Nothing has
    /// changed then.
    pub fn charge_all(
        self: &Arc<Self>,
        question: &Demand,
        size: impl FnOnce(&Quote) -> Result<Vec<Demand>, Error>,
    ) -> Result<Vec<PendingCharge>, Refusal> {
        let mut state = lock(&self.state);
        let rank = state.admit(question)?;
        let figures = self.decide(&state, question)?;
        let demands = size(&figures)?;
        let quote = figures.asked_for(&question.sum_of(&demands));
        if !quote.fits() {
            return Err(Refusal::Exceeded(quote));
        }
        let mut charge = |demand: Demand| {
            let mapped = demand.mapped;
            PendingCharge::new(Arc::clone(self), state.enter(demand, rank), mapped)
        };
        Ok(demands.into_iter().map(&mut charge).collect())
    }
}

impl State {
    /// The rank to charge, when the budget takes new charges.
    pub(super) fn admit(&self, question: &Demand) -> Result<usize, Refusal> {
        let account = self.account(&question.budget)?;
        let rank = account.rank(question.rank)?;
        if account.admission_closed {
            return Err(Refusal::AdmissionClosed(question.budget.clone()));
        }
        if self.whole.admission_closed {
            return Err(Refusal::AdmissionClosed(HOST_BUDGET.to_owned()));
        }
        Ok(rank)
    }
}
