//! What is on disk in the end, whoever comes between, and what a refused change leaves.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::*;
use crate::backing::Backing;
use crate::budget::{Claimant, Demand, HOST_BUDGET, HostSource, Ledger, MemoryKind};
use crate::error::Error;
use crate::host::{AdmissionReading, HostError, MemInfo};
use crate::node_set::NodeSet;
use crate::reservation::{KeptReservations, ReservationSpec, Reservations};
use crate::state::{NotSaved, SaveFailure, Store};
use crate::sync::{Arc, Mutex, lock};
use crate::units::Bytes;

type Answer = SyncSender<Result<(), NotSaved>>;

/// A disk that writes when the test says so.
#[derive(Debug, Default)]
struct Disk {
    written: Mutex<Vec<Change>>,
    waiting: Mutex<Vec<Answer>>,
    outcome: Mutex<Option<Result<(), NotSaved>>>,
}

impl Store for Disk {
    fn enqueue(&self, changes: Vec<Change>) -> Ticket {
        let (answer, ticket) = sync_channel(1);
        let outcome = lock(&self.outcome).clone();
        if outcome != Some(Err(full())) {
            lock(&self.written).extend(changes);
        }
        match outcome {
            Some(outcome) => answer.send(outcome).unwrap(),
            None => lock(&self.waiting).push(answer),
        }
        Ticket::new(ticket)
    }
}

impl Disk {
    /// From now on every write is answered so; those that wait too.
    fn answers(&self, outcome: &Result<(), NotSaved>) {
        *lock(&self.outcome) = Some(outcome.clone());
        for answer in lock(&self.waiting).drain(..) {
            answer.send(outcome.clone()).unwrap();
        }
    }

    fn waits(&self) {
        *lock(&self.outcome) = None;
    }

    fn until_waiting(&self, count: usize) {
        while lock(&self.waiting).len() < count {
            thread::yield_now();
        }
    }

    fn last(&self) -> ReservationRecord {
        let written = lock(&self.written);
        let put = |change: &Change| match change {
            Change::PutReservation(record) => Some((**record).clone()),
            _ => None,
        };
        written.iter().rev().find_map(put).unwrap()
    }
}

fn full() -> NotSaved {
    NotSaved { path: "/state".into(), reason: SaveFailure::DiskFull, detail: "full".to_owned() }
}

struct Host;

impl HostSource for Host {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        let memory =
            MemInfo { mem_total_bytes: 1 << 40, mem_available_bytes: 1 << 40, available_is_estimated: false };
        Ok(AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() })
    }
}

fn open() -> (Arc<Disk>, Arc<Ledger>, Arc<Reservations>) {
    let (disk, ledger) = (Arc::new(Disk::default()), Ledger::new(Box::new(Host), Bytes::ZERO));
    disk.answers(&Ok(()));
    let store: Arc<dyn Store> = Arc::<Disk>::clone(&disk);
    let reservations = Reservations::restore(&ledger, &store, &KeptReservations::default()).unwrap();
    (disk, ledger, Arc::new(reservations))
}

fn spec() -> ReservationSpec {
    let bytes = Bytes::new(4096);
    let claimant = Claimant::Reservation { holder: "engine".to_owned(), pid: None };
    let demand = Demand {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant,
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: bytes,
        mapped: bytes,
    };
    let (holder, backing) = ("engine".to_owned(), Backing::Anonymous);
    ReservationSpec { bytes, demand, backing, holder, pid: None, ttl: None }
}

fn charged(ledger: &Ledger) -> u64 {
    ledger.budget(HOST_BUDGET).unwrap().unwrap().charged.get()
}

#[test]
fn a_release_is_the_last_word_on_disk_though_a_commit_comes_between() {
    let (disk, ledger, reservations) = open();
    let id = reservations.reserve(spec()).unwrap().id;
    disk.waits();
    let spawn = |act: fn(&Reservations, u64) -> Result<Reservation, Error>| {
        let reservations = Arc::clone(&reservations);
        thread::spawn(move || act(&reservations, id))
    };
    let releasing = spawn(Reservations::release);
    disk.until_waiting(1);
    let committing = spawn(Reservations::commit);
    disk.until_waiting(2);
    disk.answers(&Ok(()));
    assert_eq!(releasing.join().unwrap().unwrap().state, ReservationState::Released);
    let committed = committing.join().unwrap();
    assert!(committed.is_ok() || matches!(committed, Err(Error::LeaseExpired { .. })));
    assert_eq!((disk.last().state, charged(&ledger)), (ReservationState::Released, 0));
}

#[test]
fn a_renewal_during_a_commit_is_on_disk_with_it() {
    let (disk, _ledger, reservations) = open();
    let id = reservations.reserve(spec()).unwrap().id;
    disk.waits();
    let committing = {
        let reservations = Arc::clone(&reservations);
        thread::spawn(move || reservations.commit(id))
    };
    disk.until_waiting(1);
    let renewing = {
        let reservations = Arc::clone(&reservations);
        thread::spawn(move || reservations.renew(id, std::time::Duration::from_secs(60)))
    };
    disk.until_waiting(2);
    disk.answers(&Ok(()));
    committing.join().unwrap().unwrap();
    renewing.join().unwrap().unwrap();
    let kept = disk.last();
    assert_eq!((kept.state, kept.deadline.is_some()), (ReservationState::Committed, true));
}

#[test]
fn of_renewals_that_cannot_be_saved_none_lasts() {
    let (disk, _ledger, reservations) = open();
    let id = reservations.reserve(spec()).unwrap().id;
    disk.waits();
    let renewing = [60, 120].map(|seconds| {
        let reservations = Arc::clone(&reservations);
        thread::spawn(move || reservations.renew(id, std::time::Duration::from_secs(seconds)))
    });
    disk.until_waiting(2);
    disk.answers(&Err(full()));
    for renewal in renewing {
        assert!(matches!(renewal.join().unwrap(), Err(Error::StateNotSaved(_))));
    }
    assert_eq!(reservations.find(id).unwrap().expires_at, None);
}

#[test]
fn what_cannot_be_saved_is_not_done() {
    let (disk, ledger, reservations) = open();
    let held = reservations.reserve(spec()).unwrap();
    disk.answers(&Err(full()));
    assert!(matches!(reservations.reserve(spec()), Err(Error::StateNotSaved(_))));
    assert!(matches!(reservations.commit(held.id), Err(Error::StateNotSaved(_))));
    assert!(matches!(reservations.release(held.id), Err(Error::StateNotSaved(_))));
    let renewed = reservations.renew(held.id, std::time::Duration::from_secs(60));
    assert!(matches!(renewed, Err(Error::StateNotSaved(_))));
    assert_eq!(reservations.list(), [held]);
    assert_eq!(charged(&ledger), 4096);
}
