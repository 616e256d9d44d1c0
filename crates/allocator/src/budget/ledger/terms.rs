//! Budgets: what making, changing or removing one comes to, and the doing of it.

use super::decide::Look;
use super::{Ledger, State};
use crate::budget::HOST_BUDGET;
use crate::budget::account::{Account, BudgetChange, BudgetReading, BudgetTerms};
use crate::error::Error;
use crate::state::BudgetRecord;
use crate::sync::lock;
use crate::units::Bytes;

/// What a budget would be, and what it would read as; nothing has changed.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::budget) enum Design {
    /// There is none of that name.
    New(BudgetRecord, BudgetReading),
    /// There is one; these are the terms in which it differs from those asked for.
    Exists(BudgetReading, Vec<&'static str>),
}

impl Ledger {
    /// What making the budget `name` would come to. Its size is fixed here: the bytes asked for, else the fraction of
    /// what the host can promise now, else all of that.
    pub(in crate::budget) fn design(&self, name: &str, terms: BudgetTerms) -> Result<Design, Error> {
        terms.check()?;
        let state = lock(&self.state);
        let look = self.look(&state)?;
        if let Ok(account) = state.account(name) {
            let reading = state.figures(&look, account).reading(name);
            return Ok(Design::Exists(reading, account.terms.differences(&terms)));
        }
        let account = Account::new(terms, Some(state.size_of(&look, &terms, Bytes::ZERO)));
        Ok(Design::New(account.record(name, None), state.figures(&look, &account).reading(name)))
    }

    /// What changing the budget `name` would come to. A named budget whose cap or fraction is changed is given its size
    /// anew.
    pub(in crate::budget) fn redesign(
        &self,
        name: &str,
        change: &BudgetChange,
    ) -> Result<(BudgetRecord, BudgetReading), Error> {
        change.check()?;
        let state = lock(&self.state);
        let mut account = state.account(name)?.clone();
        if name != HOST_BUDGET && change.reserve.is_some() {
            return Err(Error::invalid("reserve_bytes", "belongs to the budget host only"));
        }
        let look = self.look(&state)?;
        change.apply_to(&mut account);
        let reserve = change.reserve.unwrap_or(state.reserve);
        let mut figures = state.figures(&look, &account);
        if name == HOST_BUDGET {
            figures.reserve = reserve.unwrap_or(state.default_reserve);
            figures.whole = &account;
            return Ok((account.record(name, reserve), figures.reading(name)));
        }
        if change.resizes() {
            account.size = Some(state.size_of(&look, &account.terms, account.charged));
        }
        Ok((account.record(name, None), state.figures(&look, &account).reading(name)))
    }

    /// The budget is from here on what the record says. What it holds stays.
    pub(in crate::budget) fn put_budget(&self, record: &BudgetRecord) {
        lock(&self.state).put_budget(record);
    }

    /// As [`put_budget`](Self::put_budget); answers what it is then, no charge later. It is put though the host cannot be
    /// read.
    pub(in crate::budget) fn put_and_read(&self, record: &BudgetRecord) -> Result<BudgetReading, Error> {
        let mut state = lock(&self.state);
        state.put_budget(record);
        let look = self.look(&state)?;
        Ok(state.figures(&look, state.account(&record.name)?).reading(&record.name))
    }

    /// Takes out the budget `name`, which must hold nothing.
    pub(in crate::budget) fn take_budget(&self, name: &str) -> Result<(BudgetRecord, BudgetReading), Error> {
        if name == HOST_BUDGET {
            return Err(Error::invalid("name", "must be a named budget: host always exists"));
        }
        let mut state = lock(&self.state);
        let account = state.account(name)?;
        if account.charges > 0 {
            return Err(Error::InUse { what: "budget", id: name.to_owned(), holders: account.charges });
        }
        let look = self.look(&state)?;
        let taken = (account.record(name, None), state.figures(&look, account).reading(name));
        state.named.remove(name);
        Ok(taken)
    }
}

impl State {
    fn put_budget(&mut self, record: &BudgetRecord) {
        if record.name == HOST_BUDGET {
            self.reserve = record.reserve;
        }
        self.account_or_new(record).follow(record);
    }

    fn account_or_new(&mut self, record: &BudgetRecord) -> &mut Account {
        if record.name == HOST_BUDGET {
            return &mut self.whole;
        }
        self.named.entry(record.name.clone()).or_insert_with(|| Account::of(record))
    }

    /// What a named budget of these terms is given now, when it holds `held` already.
    fn size_of(&self, look: &Look, terms: &BudgetTerms, held: Bytes) -> Bytes {
        let promisable = self.figures(look, &self.whole).host_available().1.saturating_add(held);
        let part = terms.fraction.map(|fraction| promisable.fraction(fraction));
        [terms.requested, part].into_iter().flatten().min().unwrap_or(promisable)
    }
}
