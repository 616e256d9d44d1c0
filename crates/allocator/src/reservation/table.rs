//! The table of reservations: every change under one lock, so that each reservation ends exactly once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::holder::{Holder, Resident};
use super::record::{Reservation, ReservationSpec, ReservationState};
use super::watch::Watch;
use crate::budget::{Charge, Ledger, MemoryKind, Refusal};
use crate::error::Error;
use crate::sync::lock;
use crate::units::Bytes;

/// Ended reservations that are remembered, so that a late renewal learns why.
const REMEMBERED: usize = 10_000;
/// How old a look at the holders may be when a decision counts on it.
const FRESH: Duration = Duration::from_millis(100);
/// The longest time to live: a year.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// Why a reservation was not granted or could not be changed. Nothing has changed.
#[derive(Debug)]
pub enum ReservationError {
    /// The ledger refused it.
    Refused(Refusal),
    /// There is no such reservation, or it ended too long ago to be remembered.
    NotFound,
    /// It has ended: its time ran out, its process died, or it was released.
    Ended(Box<Reservation>),
    /// The watching thread, a pidfd or an argument: see the error.
    Other(Error),
}

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
    ended: VecDeque<Reservation>,
    deadlines: BTreeMap<(Instant, u64), ()>,
    next_id: u64,
    looked_at: Option<Instant>,
}

#[derive(Debug)]
struct Live {
    reservation: Reservation,
    deadline: Option<Instant>,
    holder: Option<Holder>,
    charge: Charge,
}

impl Reservations {
    /// No reservations yet, and the thread that watches over them.
    ///
    /// # Errors
    /// When the system has no thread or descriptor for it.
    pub fn new(ledger: Arc<Ledger>) -> std::io::Result<Self> {
        let table = Arc::new(Mutex::new(Table::default()));
        let watch = Watch::start(Arc::clone(&table))?;
        Ok(Self { ledger, table, watch })
    }

    /// Counts `spec` in the ledger until it ends.
    ///
    /// # Errors
    /// [`ReservationError::Refused`], or INVALID_ARGUMENT for no bytes, a process that is not there, or a time to live
    /// of nothing or above a year.
    pub fn reserve(&self, spec: ReservationSpec) -> Result<Reservation, ReservationError> {
        check(&spec)?;
        self.look_at_holders();
        let holder = spec.pid.map(Holder::open).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let charge = self.ledger.charge(spec.demand.clone()).map_err(ReservationError::Refused)?;
        let mut table = lock(&self.table);
        let id = table.next_id;
        if let Some(holder) = &holder {
            let watched = self.watch.add(holder.pidfd(), id);
            watched.map_err(|errno| no_process(spec.pid, errno))?;
        }
        let reservation = table.enter(id, spec, holder, charge.keep());
        drop(table);
        self.watch.wake();
        Ok(reservation)
    }

    /// The holder has faulted it in: from here on the host's own figures show it. Twice is no error.
    ///
    /// # Errors
    /// [`ReservationError::NotFound`], [`ReservationError::Ended`].
    pub fn commit(&self, id: u64) -> Result<Reservation, ReservationError> {
        lock(&self.table).change(id, |live| {
            live.reservation.state = ReservationState::Committed;
            live.show(live.reservation.spec.demand.mapped);
        })
    }

    /// It lasts `ttl` from now.
    ///
    /// # Errors
    /// [`ReservationError::NotFound`], [`ReservationError::Ended`]; INVALID_ARGUMENT for a time of nothing or above a
    /// year.
    pub fn renew(&self, id: u64, ttl: Duration) -> Result<Reservation, ReservationError> {
        check_ttl(Some(ttl))?;
        let renewed = lock(&self.table).renew(id, ttl);
        self.watch.wake();
        renewed
    }

    /// Gives it back. A reservation that was released before is answered again.
    ///
    /// # Errors
    /// [`ReservationError::NotFound`]; [`ReservationError::Ended`] when it expired or its process died.
    pub fn release(&self, id: u64) -> Result<Reservation, ReservationError> {
        lock(&self.table).release(id)
    }

    /// Every live reservation, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Reservation> {
        self.look_at_holders();
        lock(&self.table).live.values().map(|live| live.reservation.clone()).collect()
    }

    /// Brings what the holders have faulted in up to date, unless that was done a moment ago.
    pub fn look_at_holders(&self) {
        lock(&self.table).look_at_holders(Instant::now());
    }
}

impl Table {
    fn enter(
        &mut self,
        id: u64,
        spec: ReservationSpec,
        holder: Option<Holder>,
        charge: Charge,
    ) -> Reservation {
        self.next_id = id + 1;
        let (created_at, deadline) = (SystemTime::now(), spec.ttl.map(|ttl| Instant::now() + ttl));
        let expires_at = spec.ttl.map(|ttl| created_at + ttl);
        let state = ReservationState::Held;
        let reservation = Reservation { id, spec, state, resident: Bytes::ZERO, created_at, expires_at };
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        self.live.insert(id, Live { reservation: reservation.clone(), deadline, holder, charge });
        reservation
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Live)) -> Result<Reservation, ReservationError> {
        self.expire_due(Instant::now());
        let Some(live) = self.live.get_mut(&id) else { return Err(self.gone(id)) };
        change(live);
        Ok(live.reservation.clone())
    }

    fn renew(&mut self, id: u64, ttl: Duration) -> Result<Reservation, ReservationError> {
        let deadline = Instant::now() + ttl;
        let mut earlier = None;
        let renewed = self.change(id, |live| {
            earlier = live.deadline.replace(deadline);
            live.reservation.expires_at = Some(SystemTime::now() + ttl);
        })?;
        self.deadlines.extend([((deadline, id), ())]);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != deadline) {
            self.deadlines.remove(&(earlier, id));
        }
        Ok(renewed)
    }

    fn release(&mut self, id: u64) -> Result<Reservation, ReservationError> {
        self.expire_due(Instant::now());
        if let Some(released) = self.end(id, ReservationState::Released) {
            return Ok(released);
        }
        match self.gone(id) {
            ReservationError::Ended(ended) if ended.state == ReservationState::Released => Ok(*ended),
            error => Err(error),
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

    /// Its process has died.
    pub(super) fn owner_died(&mut self, id: u64) {
        self.end(id, ReservationState::OwnerDied);
    }

    /// How long until the next one expires.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first_key_value().map(|((deadline, _), ())| *deadline)
    }

    /// Takes it out of the ledger, once.
    fn end(&mut self, id: u64, state: ReservationState) -> Option<Reservation> {
        let live = self.live.remove(&id)?;
        if let Some(deadline) = live.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        drop(live.charge);
        let ended = Reservation { state, resident: Bytes::ZERO, ..live.reservation };
        self.ended.push_back(ended.clone());
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
        Some(ended)
    }

    fn gone(&self, id: u64) -> ReservationError {
        let ended = self.ended.iter().rev().find(|ended| ended.id == id);
        ended.map_or(ReservationError::NotFound, |ended| ReservationError::Ended(Box::new(ended.clone())))
    }

    /// Attributes what each process has faulted in since its grants to its reservations, the oldest first; nothing is
    /// attributed twice.
    fn look_at_holders(&mut self, now: Instant) {
        if self.looked_at.is_some_and(|at| now.duration_since(at) < FRESH) {
            return;
        }
        self.looked_at = Some(now);
        let mut processes = BTreeMap::<u32, Faulted>::new();
        for live in self.live.values_mut() {
            let Some(holder) = &live.holder else { continue };
            let process = processes.entry(holder.pid()).or_insert_with(|| Faulted::of(holder));
            let visible = process.take(holder.baseline(), &live.reservation);
            if live.reservation.state == ReservationState::Held {
                live.show(visible);
            }
        }
    }
}

/// What a process has faulted in since its first grant and is not attributed yet.
struct Faulted {
    now: Resident,
    left: Resident,
}

impl Faulted {
    fn of(first: &Holder) -> Self {
        let now = Resident::of(first.pid()).unwrap_or_default();
        Self { now, left: now.since(first.baseline()) }
    }

    /// The part that belongs to `reservation`, granted when the process stood at `baseline`.
    fn take(&mut self, baseline: Resident, reservation: &Reservation) -> Bytes {
        let (grown, demand) = (self.now.since(baseline), &reservation.spec.demand);
        let (grown, left) = match demand.kind {
            MemoryKind::Ordinary => (grown.ordinary, &mut self.left.ordinary),
            MemoryKind::Hugepages(_) => (grown.hugepages, &mut self.left.hugepages),
        };
        let part = demand.mapped.min(grown).min(*left);
        *left = left.saturating_sub(part);
        part
    }
}

impl Live {
    fn show(&mut self, bytes: Bytes) {
        self.reservation.resident = bytes;
        self.charge.set_visible(bytes);
    }
}

fn check(spec: &ReservationSpec) -> Result<(), ReservationError> {
    if spec.demand.mapped == Bytes::ZERO {
        return Err(ReservationError::Other(Error::invalid("bytes", "must be at least 1")));
    }
    check_ttl(spec.ttl)
}

fn check_ttl(ttl: Option<Duration>) -> Result<(), ReservationError> {
    match ttl {
        Some(ttl) if ttl.is_zero() || ttl > MAX_TTL => {
            let reason = format!("must be 1 to {}", MAX_TTL.as_secs());
            Err(ReservationError::Other(Error::invalid("ttl_seconds", reason)))
        }
        _ => Ok(()),
    }
}

fn no_process(pid: Option<u32>, errno: rustix::io::Errno) -> ReservationError {
    let reason = format!("must be a process that can be watched: {} ({errno})", pid.unwrap_or_default());
    ReservationError::Other(Error::invalid("pid", reason))
}
