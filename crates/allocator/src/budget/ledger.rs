//! The ledger: one lock, every charge, and the host read afresh under that lock for every decision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use super::HOST_BUDGET;
use super::account::{Account, BudgetChange, BudgetReading, BudgetTerms};
use super::charge::PendingCharge;
use super::demand::{Demand, MemoryKind};
use super::holders::Holders;
use super::promises::{Promises, Shown};
use super::quote::{Figures, Quote};
use crate::error::Error;
use crate::host::{AdmissionReading, HostError};
use crate::sync::lock;
use crate::units::Bytes;

/// Where the ledger reads what the host has. Called under the ledger's lock: it must not block for long.
pub trait HostSource: Send + Sync {
    /// The host as it is now.
    ///
    /// # Errors
    /// When the host's files cannot be read or understood.
    fn read(&self) -> Result<AdmissionReading, HostError>;
}

/// Why the ledger did not grant a charge. Nothing has changed.
#[derive(Debug)]
pub enum Refusal {
    /// It does not fit; the quote has the figures.
    Exceeded(Quote),
    /// The budget of that name, the one asked or "host", takes no new charges.
    AdmissionClosed(String),
    /// Another error: an unknown budget, a rank it does not have, an unreadable host.
    Other(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// What asking for a budget came to.
#[derive(Clone, Debug, PartialEq)]
pub enum CreatedBudget {
    /// It was made.
    Made(BudgetReading),
    /// There was one of that name already; nothing has changed.
    Exists {
        /// The one there is.
        reading: BudgetReading,
        /// The terms in which it differs from those asked for.
        differs: Vec<&'static str>,
    },
}

impl CreatedBudget {
    /// The budget; NAME_TAKEN when it existed and differs, or when existing is not fine at all.
    ///
    /// # Errors
    /// NAME_TAKEN with the terms that differ.
    pub fn or_name_taken(self, existing_is_fine: bool) -> Result<BudgetReading, Error> {
        match self {
            Self::Made(reading) => Ok(reading),
            Self::Exists { reading, differs } if existing_is_fine && differs.is_empty() => Ok(reading),
            Self::Exists { reading, differs } => {
                Err(Error::NameTaken { what: "budget", name: reading.name, differs })
            }
        }
    }
}

pub(super) type ChargeId = u64;

/// Reserve, then commit or roll back: the sum of what is promised never exceeds what the host has.
pub struct Ledger {
    source: Box<dyn HostSource>,
    default_reserve: Bytes,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    reserve: Bytes,
    /// What all budgets hold together, and the cap on that.
    whole: Account,
    named: BTreeMap<String, Account>,
    promises: Promises,
    /// Ordered: the latest, which come and go most, are next to each other, however many there are.
    charges: BTreeMap<ChargeId, Entry>,
    next_id: ChargeId,
    /// Who fault in themselves what they were granted.
    holders: Option<Weak<dyn Holders>>,
}

/// What a decision goes by: the host, and what is promised beyond what its figures show.
struct Look {
    host: AdmissionReading,
    promises: Promises,
}

#[derive(Debug)]
struct Entry {
    demand: Demand,
    rank: usize,
    /// How much of it shows in the host's own figures: that is promised no longer.
    shown: Shown,
}

impl Ledger {
    /// A ledger with the budget "host" alone, keeping `reserve` bytes for the host.
    #[must_use]
    pub fn new(source: Box<dyn HostSource>, reserve: Bytes) -> Arc<Self> {
        let state = State {
            reserve,
            whole: Account::host(),
            named: BTreeMap::new(),
            promises: Promises::default(),
            charges: BTreeMap::new(),
            next_id: 0,
            holders: None,
        };
        Arc::new(Self { source, default_reserve: reserve, state: Mutex::new(state) })
    }

    /// From now on decisions look at these holders.
    pub(crate) fn attend(&self, holders: Weak<dyn Holders>) {
        lock(&self.state).holders = Some(holders);
    }

    /// What charging `demand` would answer now; nothing changes.
    ///
    /// # Errors
    /// NOT_FOUND for an unknown budget, INVALID_ARGUMENT for a rank it does not have, an unreadable host.
    pub fn quote(&self, demand: &Demand) -> Result<Quote, Error> {
        let state = lock(&self.state);
        state.quote(&self.look(&state)?, demand)
    }

    /// Takes the charge, or says why not. The host is read under the lock, after every charge before this one.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn charge(self: &Arc<Self>, demand: Demand) -> Result<PendingCharge, Refusal> {
        let mut state = lock(&self.state);
        let account = state.account(&demand.budget)?;
        let rank = account.rank(demand.rank)?;
        if account.admission_closed {
            return Err(Refusal::AdmissionClosed(demand.budget));
        }
        if state.whole.admission_closed {
            return Err(Refusal::AdmissionClosed(HOST_BUDGET.to_owned()));
        }
        let quote = self.decide(&state, &demand)?;
        if !quote.fits() {
            return Err(Refusal::Exceeded(quote));
        }
        let mapped = demand.mapped;
        let id = state.enter(demand, rank);
        Ok(PendingCharge::new(Arc::clone(self), id, mapped))
    }

    /// The budget called `name`, `None` when there is none.
    ///
    /// # Errors
    /// When the host cannot be read.
    pub fn budget(&self, name: &str) -> Result<Option<BudgetReading>, Error> {
        let state = lock(&self.state);
        let Ok(account) = state.account(name) else { return Ok(None) };
        let look = self.look(&state)?;
        Ok(Some(state.figures(&look, account).reading(name)))
    }

    /// Every budget, "host" first, the others by name; all of the same moment.
    ///
    /// # Errors
    /// When the host cannot be read.
    pub fn budgets(&self) -> Result<Vec<BudgetReading>, Error> {
        let state = lock(&self.state);
        let look = self.look(&state)?;
        let named = state.named.iter().map(|(name, account)| (name.as_str(), account));
        let all = std::iter::once((HOST_BUDGET, &state.whole)).chain(named);
        Ok(all.map(|(name, account)| state.figures(&look, account).reading(name)).collect())
    }

    /// Makes the budget `name`, or finds it. Its size is fixed here: the bytes asked for, else the fraction of what the
    /// host can promise now, else all of that.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for terms that are none; nothing has changed then.
    pub fn create_budget(&self, name: &str, terms: BudgetTerms) -> Result<CreatedBudget, Error> {
        terms.check()?;
        let mut state = lock(&self.state);
        let look = self.look(&state)?;
        if let Ok(account) = state.account(name) {
            let reading = state.figures(&look, account).reading(name);
            return Ok(CreatedBudget::Exists { reading, differs: account.terms.differences(&terms) });
        }
        let size = state.size_of(&look, &terms, Bytes::ZERO);
        let account = state.named.entry(name.to_owned()).or_insert(Account::new(terms, Some(size))).clone();
        Ok(CreatedBudget::Made(state.figures(&look, &account).reading(name)))
    }

    /// Changes the budget `name` and answers what it is then. Lowering a cap below what is held frees nothing. A named
    /// budget whose cap or fraction is changed is given its size anew.
    ///
    /// # Errors
    /// NOT_FOUND; INVALID_ARGUMENT for a fraction outside (0, 1], a byte count above 2^53 - 1, or a reserve for a named
    /// budget. Nothing has changed then.
    pub fn update_budget(&self, name: &str, change: &BudgetChange) -> Result<BudgetReading, Error> {
        change.check()?;
        let mut state = lock(&self.state);
        let mut account = state.account(name)?.clone();
        let look = self.look(&state)?;
        change.apply_to(&mut account);
        if name == HOST_BUDGET {
            let reserve = change.reserve.map(|reserve| reserve.unwrap_or(self.default_reserve));
            state.reserve = reserve.unwrap_or(state.reserve);
            state.whole = account.clone();
        } else {
            if change.reserve.is_some() {
                return Err(Error::invalid("reserve_bytes", "belongs to the budget host only"));
            }
            if change.resizes() {
                account.size = Some(state.size_of(&look, &account.terms, account.charged));
            }
            state.named.insert(name.to_owned(), account.clone());
        }
        Ok(state.figures(&look, &account).reading(name))
    }

    /// Removes the budget `name`, which must hold nothing, and answers what it was.
    ///
    /// # Errors
    /// NOT_FOUND; IN_USE while it holds something; INVALID_ARGUMENT for "host", which always exists.
    pub fn delete_budget(&self, name: &str) -> Result<BudgetReading, Error> {
        if name == HOST_BUDGET {
            return Err(Error::invalid("name", "must be a named budget: host always exists"));
        }
        let mut state = lock(&self.state);
        let account = state.account(name)?;
        if account.charges > 0 {
            return Err(Error::InUse { what: "budget", id: name.to_owned(), holders: account.charges });
        }
        let look = self.look(&state)?;
        let reading = state.figures(&look, account).reading(name);
        state.named.remove(name);
        Ok(reading)
    }

    pub(super) fn commit(&self, id: ChargeId) {
        lock(&self.state).commit(id);
    }

    pub(super) fn add_resident(&self, id: ChargeId, bytes: Bytes) {
        let mut state = lock(&self.state);
        let resident = state.charges.get(&id).map_or(Bytes::ZERO, |entry| entry.shown.node);
        state.set_resident(id, resident.saturating_add(bytes));
    }

    pub(super) fn set_resident(&self, id: ChargeId, bytes: Bytes) {
        lock(&self.state).set_resident(id, bytes);
    }

    pub(super) fn release(&self, id: ChargeId) {
        lock(&self.state).release(id);
    }

    /// What fits although no holder had faulted in anything fits whatever they do: only near a limit they are looked at.
    fn decide(&self, state: &State, demand: &Demand) -> Result<Quote, Error> {
        let quote = state.quote(&self.glance(state)?, demand)?;
        if quote.fits() {
            return Ok(quote);
        }
        match self.look_at_holders(state)? {
            Some(look) => state.quote(&look, demand),
            None => Ok(quote),
        }
    }

    fn look(&self, state: &State) -> Result<Look, Error> {
        match self.look_at_holders(state)? {
            Some(look) => Ok(look),
            None => self.glance(state),
        }
    }

    fn glance(&self, state: &State) -> Result<Look, Error> {
        Ok(Look { host: self.source.read()?, promises: state.promises.clone() })
    }

    /// `None` where no holder has anything that could show.
    fn look_at_holders(&self, state: &State) -> Result<Option<Look>, Error> {
        let Some(holders) = state.holders.as_ref().and_then(Weak::upgrade) else { return Ok(None) };
        let mut host = None;
        let visible = holders.visible_during(&mut || host = Some(self.source.read()));
        let (Some(visible), Some(host)) = (visible, host) else { return Ok(None) };
        Ok(Some(Look { host: host?, promises: state.promises.without(&visible) }))
    }
}

impl State {
    fn account(&self, name: &str) -> Result<&Account, Error> {
        let account = if name == HOST_BUDGET { Some(&self.whole) } else { self.named.get(name) };
        account.ok_or_else(|| Error::NotFound { what: "budget", id: name.to_owned() })
    }

    fn quote(&self, look: &Look, demand: &Demand) -> Result<Quote, Error> {
        let account = self.account(&demand.budget)?;
        let rank = account.rank(demand.rank)?;
        Ok(self.figures(look, account).quote(demand, rank))
    }

    fn figures<'a>(&'a self, look: &'a Look, account: &'a Account) -> Figures<'a> {
        let Look { host, promises } = look;
        Figures { host, reserve: self.reserve, whole: &self.whole, account, promises }
    }

    /// What a named budget of these terms is given now, when it holds `held` already.
    fn size_of(&self, look: &Look, terms: &BudgetTerms, held: Bytes) -> Bytes {
        let promisable = self.figures(look, &self.whole).host_available().1.saturating_add(held);
        let part = terms.fraction.map(|fraction| promisable.fraction(fraction));
        [terms.requested, part].into_iter().flatten().min().unwrap_or(promisable)
    }

    fn enter(&mut self, demand: Demand, rank: usize) -> ChargeId {
        let id = self.next_id;
        self.next_id += 1;
        self.promises.begin(&demand);
        for (account, rank) in self.accounts_of(&demand.budget, rank) {
            account.add(rank, &demand);
        }
        self.charges.insert(id, Entry { demand, rank, shown: Shown::default() });
        id
    }

    /// The accounts that a charge of `budget` stands in: the whole, and the named one.
    fn accounts_of(&mut self, budget: &str, rank: usize) -> impl Iterator<Item = (&mut Account, usize)> {
        let named = self.named.get_mut(budget).map(|account| (account, rank));
        std::iter::once((&mut self.whole, 0)).chain(named)
    }

    /// Mapped hugepages show as reserved; ordinary memory shows only when it is faulted in.
    fn commit(&mut self, id: ChargeId) {
        self.show(id, |demand, shown| match demand.kind {
            MemoryKind::Ordinary => shown,
            MemoryKind::Hugepages(_) => Shown { machine: demand.mapped, ..shown },
        });
    }

    fn set_resident(&mut self, id: ChargeId, bytes: Bytes) {
        self.show(id, |demand, shown| shown.faulted(demand, bytes));
    }

    fn show(&mut self, id: ChargeId, now: impl FnOnce(&Demand, Shown) -> Shown) {
        let Some(entry) = self.charges.get_mut(&id) else { return };
        let now = now(&entry.demand, entry.shown);
        self.promises.show(&entry.demand, entry.shown, now);
        entry.shown = now;
    }

    fn release(&mut self, id: ChargeId) {
        let Some(Entry { demand, rank, shown }) = self.charges.remove(&id) else { return };
        self.promises.end(&demand, shown);
        for (account, rank) in self.accounts_of(&demand.budget, rank) {
            account.subtract(rank, &demand);
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
