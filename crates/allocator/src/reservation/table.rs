//! The table of reservations: every change under one lock, so that each reservation ends exactly once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Weak;
use std::time::{Duration, Instant, SystemTime};

use super::holder::Holder;
use super::kernel;
use super::processes::Processes;
use super::record::{Reservation, ReservationSpec};
use super::watch::Watch;
use crate::budget::{Charge, ChargeEnd, Demand, Holders, Ledger, Refusal};
use crate::error::{BudgetExceeded, Error};
use crate::state::{AnswerRecord, Change, Forgetful, ProcessRecord, ReservationState, Store, Ticket};
use crate::sync::{Arc, Mutex, lock};
use crate::units::Bytes;

/// Ended reservations that are remembered, so that a late renewal learns why.
const REMEMBERED: usize = 10_000;
/// The longest time to live: a year.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// Every reservation of this host. What is answered is on disk; a reservation that ended by itself is put there
/// soon after, and should that be lost, the next start finds out for itself.
#[derive(Debug)]
pub struct Reservations {
    ledger: Arc<Ledger>,
    pub(super) table: Arc<Mutex<Table>>,
    pub(super) watch: Watch,
}

#[derive(Debug)]
pub(super) struct Table {
    store: Arc<dyn Store>,
    pub(super) live: BTreeMap<u64, Live>,
    pub(super) processes: Arc<Processes>,
    pub(super) ended: VecDeque<Reservation>,
    untold: VecDeque<Reservation>,
    pub(super) deadlines: BTreeMap<(Instant, u64), ()>,
    pub(super) next_id: u64,
}

#[derive(Debug)]
pub(super) struct Live {
    pub(super) reservation: Reservation,
    pub(super) deadline: Option<Instant>,
    /// The number of the process it is tied to.
    pub(super) process: Option<u64>,
    /// How that process is found again.
    pub(super) tied_to: Option<ProcessRecord>,
    pub(super) charge: Charge,
}

impl Reservations {
    /// No reservations yet, none that is kept, and the thread that watches over them.
    ///
    /// # Errors
    /// When the system has no thread or descriptor for it.
    pub fn new(ledger: Arc<Ledger>) -> std::io::Result<Self> {
        Self::start(ledger, Arc::new(Forgetful))
    }

    /// None yet; changes are kept in `store`.
    pub(super) fn start(ledger: Arc<Ledger>, store: Arc<dyn Store>) -> std::io::Result<Self> {
        let table = Table::new(store);
        let holders: Weak<dyn Holders> = Arc::downgrade(&table.processes) as _;
        ledger.attend(holders);
        let table = Arc::new(Mutex::new(table));
        let watch = Watch::start(Arc::clone(&table))?;
        Ok(Self { ledger, table, watch })
    }

    /// Counts `spec` in the ledger until it ends. Blocks until it is on disk.
    ///
    /// # Errors
    /// BUDGET_EXCEEDED, BUDGET_ADMISSION_CLOSED, NOT_FOUND for the budget, or INVALID_ARGUMENT for no bytes, a process that is not there, or a time to live
    /// of nothing or above a year; STATE_NOT_SAVED. Nothing is counted then.
    pub fn reserve(&self, spec: ReservationSpec) -> Result<Reservation, Error> {
        self.reserve_answering(spec, None)
    }

    /// As [`reserve`](Self::reserve); `answer` is kept with it, its result set to the number.
    ///
    /// # Errors
    /// The same.
    pub fn reserve_answering(
        &self,
        spec: ReservationSpec,
        answer: Option<AnswerRecord>,
    ) -> Result<Reservation, Error> {
        check(&spec)?;
        let holder = spec.pid.map(Holder::open).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let charge =
            self.ledger.charge(spec.demand.clone()).map_err(|refusal| refused(refusal, &spec.demand))?;
        // After the decision, whose figures showed what it had faulted in till then.
        let holder = holder.map(Holder::granted_now);
        let mut table = lock(&self.table);
        let id = table.next_id;
        let tied_to = holder.as_ref().map(Holder::record);
        let tie = |holder| {
            table.processes.tie(id, holder, &spec.demand, |holder, number| self.watch.add(holder, number))
        };
        let process = holder.map(tie).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let reservation = table.enter(id, spec, process, tied_to, charge.keep());
        let saving = table.keep_with(id, answer);
        let soonest = table.expires_first(id);
        drop(table);
        if soonest {
            self.watch.wake();
        }
        saving.wait().inspect_err(|_| lock(&self.table).withdraw(id))?;
        Ok(reservation)
    }

    /// The holder has faulted it in: from here on the host's own figures show it. Twice is no error. Blocks until it is on
    /// disk.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED; STATE_NOT_SAVED: it is held as before, then.
    pub fn commit(&self, id: u64) -> Result<Reservation, Error> {
        self.after_saving(id, ReservationState::Committed, Table::commit)
    }

    /// It lasts `ttl` from now. Blocks until that is on disk.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED; INVALID_ARGUMENT for a time of nothing or above a
    /// year; STATE_NOT_SAVED: it lasts as long as before, then.
    pub fn renew(&self, id: u64, ttl: Duration) -> Result<Reservation, Error> {
        check_ttl(Some(ttl))?;
        let mut table = lock(&self.table);
        let before = table.times(id);
        let (renewed, saving) = table.renew(id, ttl)?;
        let times = table.times(id);
        if table.expires_first(id) {
            self.watch.wake();
        }
        drop(table);
        saving.wait().inspect_err(|_| self.take_back(id, times, before))?;
        Ok(renewed)
    }

    /// Gives it back. A reservation that was released before is answered again. Blocks until it is on disk: only then is the
    /// memory anybody else's.
    ///
    /// # Errors
    /// NOT_FOUND; LEASE_EXPIRED when it expired or its process died; STATE_NOT_SAVED: it is held as before, then.
    pub fn release(&self, id: u64) -> Result<Reservation, Error> {
        self.after_saving(id, ReservationState::Released, Table::release)
    }

    /// A reservation as it is now, live or ended.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Reservation> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        match table.live.get(&id) {
            Some(live) => Some(live.reading(&table.processes)),
            None => table.remembered(id).cloned(),
        }
    }

    /// Puts it on disk as it is to be, and makes it that. Whatever changes it meanwhile is on disk after that.
    fn after_saving(
        &self,
        id: u64,
        state: ReservationState,
        make: fn(&mut Table, u64) -> Result<Reservation, Error>,
    ) -> Result<Reservation, Error> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        let (before, saving) = (table.times(id), table.keep_as(id, state));
        drop(table);
        saving.wait()?;
        let mut table = lock(&self.table);
        let renewed = table.times(id) != before;
        let made = make(&mut table, id)?;
        if renewed {
            table.keep_reading(id);
        }
        Ok(made)
    }

    /// A renewal that could not be saved, unless another has come since.
    fn take_back(&self, id: u64, times: Option<Times>, before: Option<Times>) {
        let mut table = lock(&self.table);
        if table.times(id) == times
            && let Some(before) = before
        {
            table.set_times(id, before);
            self.watch.wake();
        }
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

/// When a reservation expires: for the clock that decides, and for people.
type Times = (Option<Instant>, Option<SystemTime>);

impl Table {
    fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            live: BTreeMap::new(),
            processes: Arc::default(),
            ended: VecDeque::new(),
            untold: VecDeque::new(),
            deadlines: BTreeMap::new(),
            next_id: 1,
        }
    }

    fn enter(
        &mut self,
        id: u64,
        spec: ReservationSpec,
        process: Option<u64>,
        tied_to: Option<ProcessRecord>,
        charge: Charge,
    ) -> Reservation {
        self.next_id = id + 1;
        // In this order: it never outlives the time it tells.
        let deadline = spec.ttl.map(|ttl| kernel::now() + ttl);
        let created_at = kernel::wall_clock();
        let expires_at = spec.ttl.map(|ttl| created_at + ttl);
        let state = ReservationState::Held;
        let reservation =
            Reservation { id, spec, state, resident: Bytes::ZERO, created_at, expires_at, ended_at: None };
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        let live = Live { reservation: reservation.clone(), deadline, process, tied_to, charge };
        self.live.insert(id, live);
        reservation
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Live)) -> Result<Reservation, Error> {
        self.expire_due(kernel::now());
        let Some(live) = self.live.get_mut(&id) else { return Err(self.gone(id)) };
        change(live);
        Ok(live.reading(&self.processes))
    }

    /// Puts reservation `id` as it is now in line to be kept, and an answer that gave its number.
    fn keep_with(&self, id: u64, answer: Option<AnswerRecord>) -> Ticket {
        let put = self.live.get(&id).map(|live| put(&live.reservation, live));
        let answer =
            answer.map(|answer| Change::PutAnswer(AnswerRecord { result: id.to_string(), ..answer }));
        self.store.enqueue(put.into_iter().chain(answer).collect())
    }

    /// Puts it in line as it is to be, though it is not yet.
    fn keep_as(&self, id: u64, state: ReservationState) -> Ticket {
        let to_be = self.live.get(&id).map(|live| {
            let ended_at = (state == ReservationState::Released).then(kernel::wall_clock);
            put(&Reservation { state, ended_at, ..live.reservation.clone() }, live)
        });
        self.store.enqueue(to_be.into_iter().collect())
    }

    /// Puts it in line once more, live or ended.
    fn keep_reading(&self, id: u64) {
        let live = self.live.get(&id).map(|live| put(&live.reservation, live));
        let again = live.or_else(|| self.remembered(id).map(put_ended));
        self.store.enqueue(again.into_iter().collect()).nobody_waits();
    }

    /// It was not granted after all: it could not be kept.
    fn withdraw(&mut self, id: u64) {
        if let Some(live) = self.take(id) {
            live.charge.end(ChargeEnd::Released);
            self.store.enqueue(vec![Change::DropReservation(id)]).nobody_waits();
        }
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

    fn times(&self, id: u64) -> Option<Times> {
        self.live.get(&id).map(|live| (live.deadline, live.reservation.expires_at))
    }

    fn set_times(&mut self, id: u64, (deadline, expires_at): Times) {
        let Some(live) = self.live.get_mut(&id) else { return };
        if let Some(earlier) = live.deadline {
            self.deadlines.remove(&(earlier, id));
        }
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        live.deadline = deadline;
        live.reservation.expires_at = expires_at;
    }

    fn renew(&mut self, id: u64, ttl: Duration) -> Result<(Reservation, Ticket), Error> {
        self.change(id, |_| ())?;
        // In this order: it never outlives the time it tells.
        let deadline = kernel::now() + ttl;
        self.set_times(id, (Some(deadline), Some(kernel::wall_clock() + ttl)));
        let renewed = self.live.get(&id).map(|live| live.reading(&self.processes));
        Ok((renewed.ok_or_else(|| self.gone(id))?, self.keep_with(id, None)))
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
            self.end_by_itself(id, ReservationState::Expired);
            self.deadlines.remove(&(deadline, id));
        }
    }

    /// The process of that number has died.
    pub(super) fn owner_died(&mut self, process: u64) {
        for id in self.processes.tied_to(process) {
            self.end_by_itself(id, ReservationState::OwnerDied);
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

    /// It ends without a call, so nobody waits for the disk: what is not there the next start finds out.
    fn end_by_itself(&mut self, id: u64, state: ReservationState) {
        if let Some(ended) = self.end(id, state) {
            self.store.enqueue(vec![put_ended(&ended)]).nobody_waits();
        }
    }

    /// Takes it out of the ledger, once.
    fn end(&mut self, id: u64, state: ReservationState) -> Option<Reservation> {
        let live = self.take(id)?;
        live.charge.end(charge_end(state));
        let ended_at = Some(kernel::wall_clock());
        let ended = Reservation { state, ended_at, resident: Bytes::ZERO, ..live.reservation };
        self.remember(&ended);
        Some(ended)
    }

    fn take(&mut self, id: u64) -> Option<Live> {
        let live = self.live.remove(&id)?;
        if let Some(deadline) = live.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if let Some(process) = live.process {
            self.processes.untie(process, id);
        }
        Some(live)
    }

    /// It has ended: whoever asks is told, and the log is.
    pub(super) fn remember(&mut self, ended: &Reservation) {
        remember(&mut self.ended, ended.clone());
        remember(&mut self.untold, ended.clone());
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

fn put(reservation: &Reservation, live: &Live) -> Change {
    Change::PutReservation(Box::new(reservation.record(live.tied_to, live.deadline)))
}

/// How it was tied and when it would have expired decides nothing any more.
pub(super) fn put_ended(ended: &Reservation) -> Change {
    Change::PutReservation(Box::new(ended.record(None, None)))
}

pub(super) fn remember(latest: &mut VecDeque<Reservation>, ended: Reservation) {
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
