//! The decision: who may ask, and what the host and its holders show at that moment.

use std::sync::Weak;

use super::{Ledger, Refusal, State};
use crate::budget::account::Account;
use crate::budget::promises::Promises;
use crate::budget::quote::Figures;
use crate::budget::{Demand, HOST_BUDGET, Quote};
use crate::error::Error;
use crate::host::AdmissionReading;

/// What a decision goes by: the host, and what is promised beyond what its figures show.
pub(super) struct Look {
    host: AdmissionReading,
    promises: Promises,
}

impl Ledger {
    /// The quote that grants `demand`.
    pub(super) fn admit(&self, state: &State, demand: &Demand) -> Result<Quote, Refusal> {
        state.check_open(&demand.budget)?;
        let quote = self.decide(state, demand)?;
        if quote.fits() { Ok(quote) } else { Err(Refusal::Exceeded(quote)) }
    }

    /// What fits although no holder had faulted in anything fits whatever they do: only near a limit they are looked at.
    pub(super) fn decide(&self, state: &State, demand: &Demand) -> Result<Quote, Error> {
        let quote = state.quote(&self.glance(state)?, demand)?;
        if quote.fits() {
            return Ok(quote);
        }
        match self.look_at_holders(state)? {
            Some(look) => state.quote(&look, demand),
            None => Ok(quote),
        }
    }

    pub(super) fn look(&self, state: &State) -> Result<Look, Error> {
        match self.look_at_holders(state)? {
            Some(look) => Ok(look),
            None => self.glance(state),
        }
    }

    pub(super) fn glance(&self, state: &State) -> Result<Look, Error> {
        Ok(Look { host: self.source.read()?, promises: state.promises.clone() })
    }

    /// `None` where no holder has anything that could show.
    pub(super) fn look_at_holders(&self, state: &State) -> Result<Option<Look>, Error> {
        let Some(holders) = state.holders.as_ref().and_then(Weak::upgrade) else { return Ok(None) };
        let mut host = None;
        let visible = holders.visible_during(&mut || host = Some(self.source.read()));
        let (Some(visible), Some(host)) = (visible, host) else { return Ok(None) };
        Ok(Some(Look { host: host?, promises: state.promises.without(&visible) }))
    }
}

impl State {
    /// Whether the budget, and "host", take new charges.
    pub(super) fn check_open(&self, budget: &str) -> Result<(), Refusal> {
        let closed = |name: &str| Err(Refusal::AdmissionClosed(name.to_owned()));
        if self.restoring {
            return Ok(());
        }
        if self.account(budget)?.admission_closed {
            return closed(budget);
        }
        if self.whole.admission_closed { closed(HOST_BUDGET) } else { Ok(()) }
    }

    pub(super) fn quote(&self, look: &Look, demand: &Demand) -> Result<Quote, Error> {
        let account = self.account(&demand.budget)?;
        let rank = account.rank(demand.rank)?;
        Ok(self.figures(look, account).quote(demand, rank))
    }

    pub(super) fn figures<'a>(&'a self, look: &'a Look, account: &'a Account) -> Figures<'a> {
        let Look { host, promises } = look;
        let reserve = self.reserve.unwrap_or(self.default_reserve);
        Figures { host, reserve, whole: &self.whole, account, promises, restoring: self.restoring }
    }
}
