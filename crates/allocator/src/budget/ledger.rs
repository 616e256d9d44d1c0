//! The ledger: one lock, every charge, and the host read afresh under that lock for every decision.

mod charge_all;

use std::collections::BTreeMap;
use std::sync::Weak;

use super::HOST_BUDGET;
use super::account::{Account, BudgetChange, BudgetReading, BudgetTerms};
use super::charge::{Charge, ChargeEnd, PendingCharge};
use super::demand::{Demand, MemoryKind};
use super::events::{BudgetEventKind, BudgetEvents};
use super::holders::Holders;
use super::promises::{Promises, Shown};
use super::quote::{Figures, Quote};
use crate::error::Error;
use crate::host::{AdmissionReading, HostError};
use crate::state::BudgetRecord;
use crate::sync::{Arc, Mutex, lock};
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

/// What a budget would be, and what it would read as; nothing has changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Design {
    /// There is none of that name.
    New(BudgetRecord, BudgetReading),
    /// There is one; these are the terms in which it differs from those asked for.
    Exists(BudgetReading, Vec<&'static str>),
}

pub(super) type ChargeId = u64;

/// Reserve, then commit or roll back: the sum of what is promised never exceeds what the host has.
pub struct Ledger {
    source: Box<dyn HostSource>,
    state: Mutex<State>,
    events: BudgetEvents,
}

#[derive(Debug)]
struct State {
    /// What the host keeps for itself unless a call has set that.
    default_reserve: Bytes,
    /// What a call has set.
    reserve: Option<Bytes>,
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
    demand: Arc<Demand>,
    rank: usize,
    /// How much of it shows in the host's own figures: that is promised no longer.
    shown: Shown,
}

impl Ledger {
    /// A ledger with the budget "host" alone, keeping `reserve` bytes for the host.
    #[must_use]
    pub fn new(source: Box<dyn HostSource>, reserve: Bytes) -> Arc<Self> {
        let state = State {
            default_reserve: reserve,
            reserve: None,
            whole: Account::host(),
            named: BTreeMap::new(),
            promises: Promises::default(),
            charges: BTreeMap::new(),
            next_id: 0,
            holders: None,
        };
        Arc::new(Self { source, state: Mutex::new(state), events: BudgetEvents::default() })
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
        state.account(&demand.budget)?.rank(demand.rank)?;
        state.quote(&self.look(&state)?, demand)
    }

    /// Takes the charge, or says why not. The host is read under the lock, after every charge before this one.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn charge(self: &Arc<Self>, demand: Demand) -> Result<PendingCharge, Refusal> {
        let (mut state, demand) = (lock(&self.state), Arc::new(demand));
        let rank = state.account(&demand.budget)?.rank(demand.rank)?;
        let quote =
            self.admit(&state, &demand).inspect_err(|refusal| self.tell_refused(&state, refusal, &demand))?;
        let id = state.enter(Arc::clone(&demand), rank);
        self.tell(&state, BudgetEventKind::Charged(quote), &demand);
        Ok(PendingCharge::new(Arc::clone(self), id, demand.mapped))
    }

    /// What became of the latest charges, asked or held.
    #[must_use]
    pub fn events(&self) -> &BudgetEvents {
        &self.events
    }

    /// Whether there is a budget called `name`. Waits for a decision that is being made.
    #[must_use]
    pub fn has_budget(&self, name: &str) -> bool {
        lock(&self.state).account(name).is_ok()
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

    /// What making the budget `name` would come to. Its size is fixed here: the bytes asked for, else the fraction of
    /// what the host can promise now, else all of that.
    pub(super) fn design(&self, name: &str, terms: BudgetTerms) -> Result<Design, Error> {
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
    pub(super) fn redesign(
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
    pub(super) fn put_budget(&self, record: &BudgetRecord) {
        lock(&self.state).put_budget(record);
    }

    /// As [`put_budget`](Self::put_budget); answers what it is then, no charge later. It is put though the host cannot be
    /// read.
    pub(super) fn put_and_read(&self, record: &BudgetRecord) -> Result<BudgetReading, Error> {
        let mut state = lock(&self.state);
        state.put_budget(record);
        let look = self.look(&state)?;
        Ok(state.figures(&look, state.account(&record.name)?).reading(&record.name))
    }

    /// Takes out the budget `name`, which must hold nothing.
    pub(super) fn take_budget(&self, name: &str) -> Result<(BudgetRecord, BudgetReading), Error> {
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

    /// Takes back a charge that was granted before this process began, whatever the host has now: its memory may be in
    /// use. A budget or rank that is not there any more does not stand in the way.
    pub fn recharge(self: &Arc<Self>, demand: Demand) -> Charge {
        let mut state = lock(&self.state);
        let rank = state.account(&demand.budget).and_then(|account| account.rank(demand.rank)).unwrap_or(0);
        let mapped = demand.mapped;
        let id = state.enter(Arc::new(demand), rank);
        PendingCharge::new(Arc::clone(self), id, mapped).keep()
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

    pub(super) fn release(&self, id: ChargeId, end: ChargeEnd) {
        let mut state = lock(&self.state);
        if let Some(demand) = state.release(id) {
            self.tell(&state, BudgetEventKind::Ended(end), &demand);
        }
    }

    /// Puts what became of `demand` among the events, in the order of this lock and with what is held now.
    fn tell(&self, state: &State, kind: BudgetEventKind, demand: &Arc<Demand>) {
        let charged = state.account(&demand.budget).map_or(Bytes::ZERO, |account| account.charged);
        self.events.push(kind, demand, charged, state.whole.charged);
    }

    fn tell_refused(&self, state: &State, refusal: &Refusal, demand: &Arc<Demand>) {
        if let Some(kind) = BudgetEventKind::of(refusal) {
            self.tell(state, kind, demand);
        }
    }

    /// The quote that grants `demand`.
    fn admit(&self, state: &State, demand: &Demand) -> Result<Quote, Refusal> {
        state.check_open(&demand.budget)?;
        let quote = self.decide(state, demand)?;
        if quote.fits() { Ok(quote) } else { Err(Refusal::Exceeded(quote)) }
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

    /// Whether the budget, and "host", take new charges.
    fn check_open(&self, budget: &str) -> Result<(), Refusal> {
        let closed = |name: &str| Err(Refusal::AdmissionClosed(name.to_owned()));
        if self.account(budget)?.admission_closed {
            return closed(budget);
        }
        if self.whole.admission_closed { closed(HOST_BUDGET) } else { Ok(()) }
    }

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

    fn quote(&self, look: &Look, demand: &Demand) -> Result<Quote, Error> {
        let account = self.account(&demand.budget)?;
        let rank = account.rank(demand.rank)?;
        Ok(self.figures(look, account).quote(demand, rank))
    }

    fn figures<'a>(&'a self, look: &'a Look, account: &'a Account) -> Figures<'a> {
        let Look { host, promises } = look;
        let reserve = self.reserve.unwrap_or(self.default_reserve);
        Figures { host, reserve, whole: &self.whole, account, promises }
    }

    /// What a named budget of these terms is given now, when it holds `held` already.
    fn size_of(&self, look: &Look, terms: &BudgetTerms, held: Bytes) -> Bytes {
        let promisable = self.figures(look, &self.whole).host_available().1.saturating_add(held);
        let part = terms.fraction.map(|fraction| promisable.fraction(fraction));
        [terms.requested, part].into_iter().flatten().min().unwrap_or(promisable)
    }

    fn enter(&mut self, demand: Arc<Demand>, rank: usize) -> ChargeId {
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

    /// What was held; `None` when that was given back before.
    fn release(&mut self, id: ChargeId) -> Option<Arc<Demand>> {
        let Entry { demand, rank, shown } = self.charges.remove(&id)?;
        self.promises.end(&demand, shown);
        for (account, rank) in self.accounts_of(&demand.budget, rank) {
            account.subtract(rank, &demand);
        }
        Some(demand)
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
