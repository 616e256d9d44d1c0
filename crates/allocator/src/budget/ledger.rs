//! The ledger: one lock, every charge, and the host read afresh under that lock for every decision.

mod charge_all;
mod decide;
mod terms;

pub(super) use terms::Design;

use std::collections::BTreeMap;
use std::sync::Weak;

use super::HOST_BUDGET;
use super::account::{Account, BudgetReading};
use super::charge::{Charge, ChargeEnd, PendingCharge};
use super::demand::{Demand, MemoryKind};
use super::events::{BudgetEventKind, BudgetEvents};
use super::holders::Holders;
use super::promises::{Promises, Shown};
use super::quote::Quote;
use crate::error::Error;
use crate::host::{AdmissionReading, HostError};
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
    /// Only what the host has is looked at.
    restoring: bool,
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
            restoring: false,
        };
        Arc::new(Self { source, state: Mutex::new(state), events: BudgetEvents::default() })
    }

    /// While what was granted before is had again: budgets do not stand in its way, closed or smaller than what they held.
    /// What the host has still does. Nobody else may be asking.
    pub fn set_restoring(&self, restoring: bool) {
        lock(&self.state).restoring = restoring;
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
}

impl State {
    fn account(&self, name: &str) -> Result<&Account, Error> {
        let account = if name == HOST_BUDGET { Some(&self.whole) } else { self.named.get(name) };
        account.ok_or_else(|| Error::NotFound { what: "budget", id: name.to_owned() })
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
