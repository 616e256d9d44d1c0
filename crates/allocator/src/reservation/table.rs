//! The table of reservations: every change under one lock, so that each reservation ends exactly once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::holder::Holder;
use super::kernel;
use super::processes::Processes;
use super::record::{Reservation, ReservationSpec, ReservationState};
use super::watch::Watch;
use crate::budget::{Charge, ChargeEnd, Demand, Holders, Ledger, Refusal};
use crate::error::{BudgetExceeded, Error};
use crate::sync::{Arc, Mutex, lock};
use crate::units::Bytes;

/// Ended reservations that are remembered, so that a late renewal learns why.
const REMEMBERED: usize = 10_000;
/// The longest time to live: a year.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// Every reservation of this process.
#[derive(Debug)]
pub struct Reservations {
    ledger: Arc<Ledger>,
    table: Arc<Mutex<Table>>,
    watch: Watch,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    live: BTreeMap<u64, Live>,
    processes: Arc<Processes>,
    ended: VecDeque<Reservation>,
    untold: VecDeque<Reservation>,
    deadlines: BTreeMap<(Instant, u64), ()>,
    next_id: u64,
}

#[derive(Debug)]
struct Live {
    reservation: Reservation,
    deadline: Option<Instant>,
    /// The number of the process it is tied to.
    process: Option<u64>,
    charge: Charge,
}

impl Reservations {
    /// No reservations yet, and the thread that watches over them.
    ///
    /// # Errors
    /// When the system has no thread or descriptor for it.
    pub fn new(ledger: Arc<Ledger>) -> std::io::Result<Self> {
        let table = Table::default();
        let holders: Weak<dyn Holders> = Arc::downgrade(&table.processes) as _;
        ledger.attend(holders);
        let table = Arc::new(Mutex::new(table));
        let watch = Watch::start(Arc::clone(&table))?;
        Ok(Self { ledger, table, watch })
    }

    /// Counts `spec` in the ledger until it ends.
    ///
    /// # Errors
    /// BUDGET_EXCEEDED, BUDGET_ADMISSION_CLOSED, NOT_FOUND for the budget, or INVALID_ARGUMENT for no bytes, a process that is not there, or a time to live
    /// of nothing or above a year.
    pub fn reserve(&self, spec: ReservationSpec) -> Result<Reservation, Error> {
        check(&spec)?;
        let holder = spec.pid.map(Holder::open).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let charge =
            self.ledger.charge(spec.demand.clone()).map_err(|refusal| refused(refusal, &spec.demand))?;
        // After the decision, whose figures showed what it had faulted in till then.
        let holder = holder.map(Holder::granted_now);
        let mut table = lock(&self.table);
        let id = table.next_id;
        let tie = |holder| {
            table.processes.tie(id, holder, &spec.demand, |holder, number| self.watch.add(holder, number))
        };
        let process = holder.map(tie).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let reservation = table.enter(id, spec, process, charge.keep());
        let soonest = table.expires_first(id);
        drop(table);
        if soonest {
            self.watch.wake();
        }
        Ok(reservation)
    }

    /// The holder has faulted it in: from here on the host's own figures show it. Twice is no error.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED.
    pub fn commit(&self, id: u64) -> Result<Reservation, Error> {
        lock(&self.table).commit(id)
    }

    /// It lasts `ttl` from now.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED; INVALID_ARGUMENT for a time of nothing or above a
    /// year.
    pub fn renew(&self, id: u64, ttl: Duration) -> Result<Reservation, Error> {
        check_ttl(Some(ttl))?;
        let mut table = lock(&self.table);
        let renewed = table.renew(id, ttl);
        if table.expires_first(id) {
            self.watch.wake();
        }
        renewed
    }

    /// Gives it back. A reservation that was released before is answered again.
    ///
    /// # Errors
    /// NOT_FOUND; LEASE_EXPIRED when it expired or its process died.
    pub fn release(&self, id: u64) -> Result<Reservation, Error> {
        lock(&self.table).release(id)
    }

    /// The reservations that have ended since this was asked last, in that order, each once; at most the latest 10,000.
    #[must_use]
    pub fn take_ended(&self) -> Vec<Reservation> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        table.untold.drain(..).collect()
    }

    /// Every live reservation, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Reservation> {
        let table = lock(&self.table);
        table.processes.look();
        table.live.values().map(|live| live.reading(&table.processes)).collect()
    }
}

impl Table {
    fn enter(&mut self, id: u64, spec: ReservationSpec, process: Option<u64>, charge: Charge) -> Reservation {
        self.next_id = id + 1;
        // In this order: it never outlives the time it tells.
        let deadline = spec.ttl.map(|ttl| kernel::now() + ttl);
        let created_at = kernel::wall_clock();
        let expires_at = spec.ttl.map(|ttl| created_at + ttl);
        let state = ReservationState::Held;
        let reservation =
            Reservation { id, spec, state, resident: Bytes::ZERO, created_at, expires_at, ended_at: None };
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        self.live.insert(id, Live { reservation: reservation.clone(), deadline, process, charge });
        reservation
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Live)) -> Result<Reservation, Error> {
        self.expire_due(kernel::now());
        let Some(live) = self.live.get_mut(&id) else { return Err(self.gone(id)) };
        change(live);
        Ok(live.reading(&self.processes))
    }

    /// First it shows nowhere, then everywhere: at no moment twice.
    fn commit(&mut self, id: u64) -> Result<Reservation, Error> {
        let processes = Arc::clone(&self.processes);
        self.change(id, |live| {
            if let Some(process) = live.process {
                processes.commit(process, id);
            }
            live.reservation.state = ReservationState::Committed;
            live.reservation.resident = live.reservation.spec.demand.mapped;
            live.charge.set_resident(live.reservation.resident);
        })
    }

    fn renew(&mut self, id: u64, ttl: Duration) -> Result<Reservation, Error> {
        let deadline = kernel::now() + ttl;
        let mut earlier = None;
        let renewed = self.change(id, |live| {
            earlier = live.deadline.replace(deadline);
            live.reservation.expires_at = Some(kernel::wall_clock() + ttl);
        })?;
        self.deadlines.extend([((deadline, id), ())]);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != deadline) {
            self.deadlines.remove(&(earlier, id));
        }
        Ok(renewed)
    }

    fn release(&mut self, id: u64) -> Result<Reservation, Error> {
        self.expire_due(kernel::now());
        if let Some(released) = self.end(id, ReservationState::Released) {
            return Ok(released);
        }
        match self.remembered(id) {
            Some(ended) if ended.state == ReservationState::Released => Ok(ended.clone()),
            _ => Err(self.gone(id)),
        }
    }

    /// Ends what is past its time.
    pub(super) fn expire_due(&mut self, now: Instant) {
        while let Some(((deadline, id), ())) = self.deadlines.first_key_value() {
            let (deadline, id) = (*deadline, *id);
            if deadline > now {
                return;
            }
            self.end(id, ReservationState::Expired);
            self.deadlines.remove(&(deadline, id));
        }
    }

    /// The process of that number has died.
    pub(super) fn owner_died(&mut self, process: u64) {
        for id in self.processes.tied_to(process) {
            self.end(id, ReservationState::OwnerDied);
        }
    }

    /// How long until the next one expires.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first_key_value().map(|((deadline, _), ())| *deadline)
    }

    /// Whether none expires sooner: the watcher has to look at the clock anew.
    fn expires_first(&self, id: u64) -> bool {
        self.deadlines.first_key_value().is_some_and(|((_, first), ())| *first == id)
    }

    /// Takes it out of the ledger, once.
    fn end(&mut self, id: u64, state: ReservationState) -> Option<Reservation> {
        let live = self.live.remove(&id)?;
        if let Some(deadline) = live.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if let Some(process) = live.process {
            self.processes.untie(process, id);
        }
        live.charge.end(charge_end(state));
        let ended_at = Some(kernel::wall_clock());
        let ended = Reservation { state, ended_at, resident: Bytes::ZERO, ..live.reservation };
        remember(&mut self.ended, ended.clone());
        remember(&mut self.untold, ended.clone());
        Some(ended)
    }

    fn remembered(&self, id: u64) -> Option<&Reservation> {
        self.ended.iter().rev().find(|ended| ended.id == id)
    }

    /// Why there is no live reservation `id`.
    fn gone(&self, id: u64) -> Error {
        match self.remembered(id) {
            None => Error::NotFound { what: "reservation", id: id.to_string() },
            Some(ended) => Error::LeaseExpired {
                id,
                how: ended.state.told(),
                ended_at: ended.ended_at.unwrap_or(ended.created_at),
            },
        }
    }
}

fn remember(latest: &mut VecDeque<Reservation>, ended: Reservation) {
    latest.push_back(ended);
    if latest.len() > REMEMBERED {
        latest.pop_front();
    }
}

impl Live {
    /// As it is now; what a holder has faulted in as of the last look.
    fn reading(&self, processes: &Processes) -> Reservation {
        let held = self.reservation.state == ReservationState::Held;
        let shown =
            self.process.filter(|_| held).map(|process| processes.shown(process, self.reservation.id));
        let resident = shown.unwrap_or(self.reservation.resident);
        Reservation { resident, ..self.reservation.clone() }
    }
}

fn charge_end(state: ReservationState) -> ChargeEnd {
    match state {
        ReservationState::Expired => ChargeEnd::Expired,
        ReservationState::OwnerDied => ChargeEnd::OwnerDied,
        ReservationState::Held | ReservationState::Committed | ReservationState::Released => {
            ChargeEnd::Released
        }
    }
}

fn check(spec: &ReservationSpec) -> Result<(), Error> {
    if spec.demand.mapped == Bytes::ZERO {
        return Err(Error::invalid("bytes", "must be at least 1"));
    }
    check_ttl(spec.ttl)
}

fn check_ttl(ttl: Option<Duration>) -> Result<(), Error> {
    match ttl {
        Some(ttl) if ttl.is_zero() || ttl > MAX_TTL => {
            let reason = format!("must be 1 to {}", MAX_TTL.as_secs());
            Err(Error::invalid("ttl_seconds", reason))
        }
        _ => Ok(()),
    }
}

fn no_process(pid: Option<u32>, errno: rustix::io::Errno) -> Error {
    let reason = format!("must be a process that can be watched: {} ({errno})", pid.unwrap_or_default());
    Error::invalid("pid", reason)
}

fn refused(refusal: Refusal, demand: &Demand) -> Error {
    match refusal {
        Refusal::AdmissionClosed(budget) => Error::BudgetAdmissionClosed { budget },
        Refusal::Other(error) => error,
        Refusal::Exceeded(quote) => Error::BudgetExceeded(Box::new(BudgetExceeded {
            field: "bytes",
            budget: demand.budget.clone(),
            requested: quote.mapped,
            available: quote.available,
            limited_by: quote.limited_by,
            rank: demand.rank,
        })),
    }
}
