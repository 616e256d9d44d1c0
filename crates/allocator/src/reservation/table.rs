//! The table of reservations: every change under one lock, so that each reservation ends exactly once.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use super::keeping::put_ended;
use super::kernel;
use super::processes::Processes;
use super::record::{Reservation, ReservationSpec};
use crate::budget::{Charge, ChargeEnd};
use crate::error::Error;
use crate::state::{Change, ProcessRecord, ReservationState, Store, Ticket};
use crate::sync::Arc;
use crate::units::Bytes;

/// Ended reservations that are remembered, so that a late renewal learns why.
const REMEMBERED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Table {
    pub(super) store: Arc<dyn Store>,
    pub(super) live: BTreeMap<u64, Live>,
    pub(super) processes: Arc<Processes>,
    pub(super) ended: VecDeque<Reservation>,
    pub(super) untold: VecDeque<Reservation>,
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
    /// When it expires as far as that is on disk.
    pub(super) saved: Times,
    /// How often it was put in line to be kept.
    pub(super) puts: u64,
}

/// When a reservation expires: for the clock that decides, and for people.
pub(super) type Times = (Option<Instant>, Option<SystemTime>);

impl Table {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
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

    pub(super) fn enter(
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
        let saved = (deadline, expires_at);
        let live =
            Live { reservation: reservation.clone(), deadline, process, tied_to, charge, saved, puts: 0 };
        self.live.insert(id, live);
        reservation
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Live)) -> Result<Reservation, Error> {
        self.expire_due(kernel::now());
        let Some(live) = self.live.get_mut(&id) else { return Err(self.gone(id)) };
        change(live);
        Ok(live.reading(&self.processes))
    }

    /// It was not granted after all: it could not be kept.
    pub(super) fn withdraw(&mut self, id: u64) {
        if let Some(live) = self.take(id) {
            live.charge.end(ChargeEnd::Released);
            self.store.enqueue(vec![Change::DropReservation(id)]).nobody_waits();
        }
    }

    /// First it shows nowhere, then everywhere: at no moment twice.
    pub(super) fn commit(&mut self, id: u64) -> Result<Reservation, Error> {
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

    pub(super) fn times(&self, id: u64) -> Option<Times> {
        self.live.get(&id).map(|live| (live.deadline, live.reservation.expires_at))
    }

    pub(super) fn set_times(&mut self, id: u64, (deadline, expires_at): Times) {
        let Some(live) = self.live.get_mut(&id) else { return };
        if let Some(earlier) = live.deadline {
            self.deadlines.remove(&(earlier, id));
        }
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        live.deadline = deadline;
        live.reservation.expires_at = expires_at;
    }

    /// A renewal is on disk.
    pub(super) fn note_saved(&mut self, id: u64, times: Option<Times>) {
        if let (Some(live), Some(times)) = (self.live.get_mut(&id), times) {
            live.saved = times;
        }
    }

    /// A renewal could not be saved: unless another has come since, it lasts as long as is on disk. What was put in line
    /// behind it had its time: the line ends with the right one.
    pub(super) fn take_back(&mut self, id: u64, times: Option<Times>) {
        let Some(saved) = self.live.get(&id).map(|live| live.saved) else { return };
        if self.times(id) == times {
            self.set_times(id, saved);
            self.keep(id, None).nobody_waits();
        }
    }

    pub(super) fn renew(&mut self, id: u64, ttl: Duration) -> Result<(Reservation, Ticket), Error> {
        self.change(id, |_| ())?;
        // In this order: it never outlives the time it tells.
        let deadline = kernel::now() + ttl;
        self.set_times(id, (Some(deadline), Some(kernel::wall_clock() + ttl)));
        let renewed = self.live.get(&id).map(|live| live.reading(&self.processes));
        Ok((renewed.ok_or_else(|| self.gone(id))?, self.keep(id, None)))
    }

    pub(super) fn release(&mut self, id: u64) -> Result<Reservation, Error> {
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
    pub(super) fn expires_first(&self, id: u64) -> bool {
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

    pub(super) fn remembered(&self, id: u64) -> Option<&Reservation> {
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

pub(super) fn remember(latest: &mut VecDeque<Reservation>, ended: Reservation) {
    latest.push_back(ended);
    if latest.len() > REMEMBERED {
        latest.pop_front();
    }
}

impl Live {
    /// As it is now; what a holder has faulted in as of the last look.
    pub(super) fn reading(&self, processes: &Processes) -> Reservation {
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
