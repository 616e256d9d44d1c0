//! The ledger: one lock, every charge, and the host read afresh under that lock for every decision.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use super::HOST_BUDGET;
use super::account::{BudgetReading, BudgetState, HostBudgetChange};
use super::charge::PendingCharge;
use super::demand::{Demand, MemoryKind};
use super::promises::Promises;
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
    /// The budget takes no new charges.
    AdmissionClosed,
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
    default_reserve: Bytes,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reserve: Bytes,
    budgets: BTreeMap<String, BudgetState>,
    promises: Promises,
    charges: HashMap<ChargeId, Entry>,
    next_id: ChargeId,
}

#[derive(Debug)]
struct Entry {
    demand: Demand,
    resident: Bytes,
    committed: bool,
}

impl Ledger {
    /// A ledger with the budget "host" alone, keeping `reserve` bytes for the host.
    #[must_use]
    pub fn new(source: Box<dyn HostSource>, reserve: Bytes) -> Arc<Self> {
        let budgets = BTreeMap::from([(HOST_BUDGET.to_owned(), BudgetState::default())]);
        let state = Mutex::new(State { reserve, budgets, ..State::default() });
        Arc::new(Self { source, default_reserve: reserve, state })
    }

    /// What charging `demand` would answer now; nothing changes.
    ///
    /// # Errors
    /// NOT_FOUND for an unknown budget, INVALID_ARGUMENT for a rank it does not have, an unreadable host.
    pub fn quote(&self, demand: &Demand) -> Result<Quote, Error> {
        let state = lock(&self.state);
        self.decide(&state, demand)
    }

    /// Takes the charge, or says why not. The host is read under the lock, after every charge before this one.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn charge(self: &Arc<Self>, demand: Demand) -> Result<PendingCharge, Refusal> {
        let mut state = lock(&self.state);
        if state.budget(&demand)?.admission_closed {
            return Err(Refusal::AdmissionClosed);
        }
        let quote = self.decide(&state, &demand)?;
        if !quote.fits() {
            return Err(Refusal::Exceeded(quote));
        }
        let mapped = demand.mapped;
        let id = state.enter(demand);
        Ok(PendingCharge::new(Arc::clone(self), id, mapped))
    }

    /// The budget called `name`, `None` when there is none.
    ///
    /// # Errors
    /// When the host cannot be read.
    pub fn budget(&self, name: &str) -> Result<Option<BudgetReading>, Error> {
        let state = lock(&self.state);
        let Some(budget) = state.budgets.get(name) else { return Ok(None) };
        let host = self.source.read()?;
        Ok(Some(state.figures(&host, budget).reading(name)))
    }

    /// Changes the budget "host" and answers what it is then. Lowering a cap below what is held frees nothing.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a fraction outside (0, 1] or a byte count above 2^53 - 1; nothing has changed then.
    pub fn set_host_budget(&self, change: &HostBudgetChange) -> Result<BudgetReading, Error> {
        change.check()?;
        let mut state = lock(&self.state);
        let host = self.source.read()?;
        if let Some(reserve) = change.reserve {
            state.reserve = reserve.unwrap_or(self.default_reserve);
        }
        let budget = state.budgets.entry(HOST_BUDGET.to_owned()).or_default();
        change.apply_to(budget);
        let budget = budget.clone();
        Ok(state.figures(&host, &budget).reading(HOST_BUDGET))
    }

    pub(super) fn commit(&self, id: ChargeId) {
        lock(&self.state).commit(id);
    }

    pub(super) fn add_resident(&self, id: ChargeId, bytes: Bytes) {
        lock(&self.state).add_resident(id, bytes);
    }

    pub(super) fn release(&self, id: ChargeId) {
        lock(&self.state).release(id);
    }

    fn decide(&self, state: &State, demand: &Demand) -> Result<Quote, Error> {
        let budget = state.budget(demand)?;
        let host = self.source.read()?;
        Ok(state.figures(&host, budget).quote(demand))
    }
}

impl State {
    fn budget(&self, demand: &Demand) -> Result<&BudgetState, Error> {
        let budget = self.budgets.get(&demand.budget);
        let budget = budget.ok_or_else(|| Error::NotFound { what: "budget", id: demand.budget.clone() })?;
        match demand.rank {
            Some(rank) if rank > 0 => {
                Err(Error::invalid("rank", format!("must be below the budget's ranks (1), got {rank}")))
            }
            _ => Ok(budget),
        }
    }

    fn figures<'a>(&'a self, host: &'a AdmissionReading, budget: &'a BudgetState) -> Figures<'a> {
        Figures { host, reserve: self.reserve, budget, promises: &self.promises }
    }

    fn enter(&mut self, demand: Demand) -> ChargeId {
        let id = self.next_id;
        self.next_id += 1;
        self.promises.begin(&demand);
        self.add_charged(&demand.budget, demand.mapped);
        self.charges.insert(id, Entry { demand, resident: Bytes::ZERO, committed: false });
        id
    }

    fn commit(&mut self, id: ChargeId) {
        if let Some(entry) = self.charges.get_mut(&id).filter(|entry| !entry.committed) {
            entry.committed = true;
            self.promises.mapped(&entry.demand);
        }
    }

    fn add_resident(&mut self, id: ChargeId, bytes: Bytes) {
        let Some(entry) = self.charges.get_mut(&id) else { return };
        let resident = entry.resident.saturating_add(bytes).min(entry.demand.mapped);
        if entry.demand.kind == MemoryKind::Ordinary {
            self.promises.remove_unfaulted(entry.demand.node, resident.saturating_sub(entry.resident));
        }
        entry.resident = resident;
    }

    fn release(&mut self, id: ChargeId) {
        let Some(Entry { demand, resident, committed }) = self.charges.remove(&id) else { return };
        if demand.kind == MemoryKind::Ordinary {
            self.promises.remove_unfaulted(demand.node, demand.mapped.saturating_sub(resident));
        }
        if !committed {
            self.promises.mapped(&demand);
        }
        if let Some(budget) = self.budgets.get_mut(&demand.budget) {
            budget.charged = budget.charged.saturating_sub(demand.mapped);
        }
    }

    fn add_charged(&mut self, budget: &str, bytes: Bytes) {
        if let Some(budget) = self.budgets.get_mut(budget) {
            budget.charged = budget.charged.saturating_add(bytes);
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MemoryLimit;
    use crate::host::MemInfo;
    use crate::units::NumaNode;

    const GIB: u64 = 1 << 30;

    struct Fixed(AdmissionReading);

    impl HostSource for Fixed {
        fn read(&self) -> Result<AdmissionReading, HostError> {
            Ok(self.0.clone())
        }
    }

    /// A host with `available` bytes and nothing else.
    fn ledger(available: u64, reserve: u64) -> Arc<Ledger> {
        let memory = MemInfo {
            mem_total_bytes: 100 * GIB,
            mem_available_bytes: available,
            available_is_estimated: false,
        };
        let host = AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() };
        Ledger::new(Box::new(Fixed(host)), Bytes::new(reserve))
    }

    fn ordinary(bytes: u64) -> Demand {
        Demand {
            budget: HOST_BUDGET.to_owned(),
            rank: None,
            kind: MemoryKind::Ordinary,
            node: NumaNode::Any,
            mapped: Bytes::new(bytes),
        }
    }

    fn refused(outcome: Result<PendingCharge, Refusal>) -> Quote {
        match outcome.err() {
            Some(Refusal::Exceeded(quote)) => quote,
            other => panic!("expected a shortage, got {other:?}"),
        }
    }

    #[test]
    fn equal_to_what_is_available_fits_and_a_page_more_does_not() {
        let ledger = ledger(20 * GIB, 10 * GIB);
        let quote = refused(ledger.charge(ordinary(10 * GIB + 4096)));
        assert_eq!((quote.available.get(), quote.limited_by), (10 * GIB, MemoryLimit::HostMemory));
        assert!(ledger.charge(ordinary(10 * GIB)).is_ok());
    }

    #[test]
    fn a_cap_that_ends_inside_a_page_holds_that_page() {
        let ledger = ledger(20 * GIB, 0);
        let cap = HostBudgetChange { requested: Some(Some(Bytes::new(1_000_000))), ..Default::default() };
        ledger.set_host_budget(&cap).unwrap();
        let charge = ledger.charge(ordinary(1_003_520)).unwrap();
        assert!(!ledger.budget(HOST_BUDGET).unwrap().unwrap().over_budget);
        assert_eq!(refused(ledger.charge(ordinary(4096))).limited_by, MemoryLimit::BudgetCap);
        drop(charge);
    }

    #[test]
    fn what_is_promised_but_not_faulted_in_is_not_promised_again() {
        let ledger = ledger(20 * GIB, 0);
        let first = ledger.charge(ordinary(12 * GIB)).unwrap().commit();
        assert_eq!(refused(ledger.charge(ordinary(12 * GIB))).available.get(), 8 * GIB);
        first.add_resident(Bytes::new(12 * GIB));
        assert!(ledger.charge(ordinary(12 * GIB)).is_ok(), "the host's own figures show it from here on");
    }

    #[test]
    fn dropping_a_pending_charge_rolls_it_back() {
        let ledger = ledger(20 * GIB, 0);
        drop(ledger.charge(ordinary(20 * GIB)).unwrap());
        assert!(ledger.charge(ordinary(20 * GIB)).is_ok());
    }

    #[test]
    fn lowering_the_cap_below_what_is_held_frees_nothing_and_shows_it() {
        let ledger = ledger(20 * GIB, 0);
        let _charge = ledger.charge(ordinary(8 * GIB)).unwrap();
        let cap = HostBudgetChange { requested: Some(Some(Bytes::new(4 * GIB))), ..Default::default() };
        let budget = ledger.set_host_budget(&cap).unwrap();
        assert_eq!((budget.charged.get(), budget.effective.get()), (8 * GIB, 4 * GIB));
        assert!(budget.over_budget);
        assert_eq!(budget.available, Bytes::ZERO);
    }

    #[test]
    fn a_fraction_is_of_what_the_machine_has_in_all() {
        let ledger = ledger(90 * GIB, 0);
        let half = HostBudgetChange { fraction: Some(Some(0.5)), ..Default::default() };
        assert_eq!(ledger.set_host_budget(&half).unwrap().effective.get(), 50 * GIB);
        for bad in [0.0, -0.5, 1.1, f64::NAN, f64::INFINITY] {
            let change = HostBudgetChange { fraction: Some(Some(bad)), ..Default::default() };
            assert!(matches!(
                ledger.set_host_budget(&change),
                Err(Error::InvalidArgument { field: "fraction", .. })
            ));
        }
        assert_eq!(ledger.budget(HOST_BUDGET).unwrap().unwrap().fraction, Some(0.5));
    }

    #[test]
    fn a_closed_budget_refuses_whatever_the_figures() {
        let ledger = ledger(20 * GIB, 0);
        let close = HostBudgetChange { admission_closed: Some(Some(true)), ..Default::default() };
        ledger.set_host_budget(&close).unwrap();
        assert!(matches!(ledger.charge(ordinary(4096)), Err(Refusal::AdmissionClosed)));
        assert!(ledger.quote(&ordinary(4096)).unwrap().fits(), "a quote tells of the figures alone");
    }

    #[test]
    fn null_puts_a_figure_back_to_its_default() {
        let ledger = ledger(20 * GIB, GIB);
        let change = HostBudgetChange {
            reserve: Some(Some(Bytes::ZERO)),
            requested: Some(Some(Bytes::new(GIB))),
            ..Default::default()
        };
        assert_eq!(ledger.set_host_budget(&change).unwrap().reserve, Bytes::ZERO);
        let back = HostBudgetChange { reserve: Some(None), requested: Some(None), ..Default::default() };
        let budget = ledger.set_host_budget(&back).unwrap();
        assert_eq!((budget.reserve.get(), budget.requested), (GIB, None));
    }

    #[test]
    fn an_unknown_budget_and_a_rank_it_does_not_have_are_named() {
        let ledger = ledger(20 * GIB, 0);
        let unknown = Demand { budget: "job-a".to_owned(), ..ordinary(4096) };
        assert!(matches!(ledger.quote(&unknown), Err(Error::NotFound { what: "budget", .. })));
        let second = Demand { rank: Some(1), ..ordinary(4096) };
        assert!(matches!(ledger.quote(&second), Err(Error::InvalidArgument { field: "rank", .. })));
        assert!(ledger.quote(&Demand { rank: Some(0), ..ordinary(4096) }).is_ok());
    }

    #[test]
    fn threads_that_charge_at_once_never_get_more_than_there_is() {
        let ledger = ledger(64 * 4096, 0);
        let granted: usize = std::thread::scope(|scope| {
            let worker = || {
                let kept: Vec<_> = (0..32).filter_map(|_| ledger.charge(ordinary(4096)).ok()).collect();
                let count = kept.len();
                std::mem::forget(kept);
                count
            };
            let workers: Vec<_> = (0..8).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(granted, 64);
    }
}
