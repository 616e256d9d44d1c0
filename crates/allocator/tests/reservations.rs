//! Reservations over real processes and the real clock.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic here is how a test fails")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hostpool_allocator::budget::{
    BudgetEventKind, ChargeEnd, Claimant, Demand, HOST_BUDGET, HostSource, Ledger, MemoryKind,
};
use hostpool_allocator::host::{AdmissionReading, HostError, MemInfo};
use hostpool_allocator::reservation::{Reservation, ReservationSpec, ReservationState, Reservations};
use hostpool_allocator::{Backing, Bytes, Error, NodeSet};
use memmap2::MmapMut;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// A host of 20 GiB that has so much of it available.
struct Host(Arc<AtomicU64>);

impl HostSource for Host {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        let memory = MemInfo {
            mem_total_bytes: 20 * GIB,
            mem_available_bytes: self.0.load(Ordering::Relaxed),
            available_is_estimated: false,
        };
        Ok(AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() })
    }
}

struct Bench {
    host_has: Arc<AtomicU64>,
    ledger: Arc<Ledger>,
    reservations: Reservations,
}

fn bench() -> Bench {
    let host_has = Arc::new(AtomicU64::new(20 * GIB));
    let ledger = Ledger::new(Box::new(Host(Arc::clone(&host_has))), Bytes::ZERO);
    let reservations = Reservations::new(Arc::clone(&ledger)).unwrap();
    Bench { host_has, ledger, reservations }
}

impl Bench {
    fn charged(&self) -> u64 {
        self.ledger.budget(HOST_BUDGET).unwrap().unwrap().charged.get()
    }

    fn available(&self) -> u64 {
        self.ledger.budget(HOST_BUDGET).unwrap().unwrap().available.get()
    }

    fn until_charged_is(&self, bytes: u64) {
        let start = Instant::now();
        while self.charged() != bytes {
            assert!(start.elapsed() < Duration::from_secs(30), "charged stays {}", self.charged());
            std::thread::yield_now();
        }
    }
}

fn spec(bytes: u64) -> ReservationSpec {
    let demand = Demand {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant: Claimant::Reservation { holder: "engine".to_owned(), pid: None },
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: Bytes::new(bytes),
        mapped: Bytes::new(bytes),
    };
    let (holder, backing) = ("engine".to_owned(), Backing::Anonymous);
    ReservationSpec { bytes: Bytes::new(bytes), demand, backing, holder, pid: None, ttl: None }
}

/// A process that does nothing until it is killed; killed when dropped.
struct Process(Child);

impl Process {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// For a test that counts what this very process faults in.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a reservation ended.
fn ended(outcome: Result<Reservation, Error>) -> &'static str {
    match outcome {
        Err(Error::LeaseExpired { how, .. }) => how,
        other => panic!("expected LEASE_EXPIRED, got {other:?}"),
    }
}

#[test]
fn a_held_reservation_counts_in_full_until_it_is_committed() {
    let bench = bench();
    let held = bench.reservations.reserve(spec(15 * GIB)).unwrap();
    assert_eq!((held.state, held.resident), (ReservationState::Held, Bytes::ZERO));
    assert_eq!(bench.available(), 5 * GIB);
    assert!(matches!(bench.reservations.reserve(spec(6 * GIB)), Err(Error::BudgetExceeded(_))));
    let committed = bench.reservations.commit(held.id).unwrap();
    assert_eq!((committed.state, committed.resident.get()), (ReservationState::Committed, 15 * GIB));
    assert_eq!(bench.available(), 20 * GIB, "from here on it is the host's own figures that show it");
    assert_eq!(bench.charged(), 15 * GIB);
    assert_eq!(bench.reservations.release(held.id).unwrap().state, ReservationState::Released);
    assert_eq!(bench.charged(), 0);
}

#[test]
fn releasing_twice_is_no_error_and_an_unknown_one_is_not_found() {
    let bench = bench();
    let held = bench.reservations.reserve(spec(GIB)).unwrap();
    bench.reservations.release(held.id).unwrap();
    assert_eq!(bench.reservations.release(held.id).unwrap().state, ReservationState::Released);
    assert_eq!(ended(bench.reservations.commit(held.id)), "was released");
    assert!(matches!(bench.reservations.release(held.id + 1), Err(Error::NotFound { .. })));
}

#[test]
fn one_whose_time_runs_out_is_given_back_without_a_call() {
    let bench = bench();
    let short = ReservationSpec { ttl: Some(Duration::from_millis(50)), ..spec(GIB) };
    let held = bench.reservations.reserve(short).unwrap();
    bench.until_charged_is(0);
    assert_eq!(ended(bench.reservations.renew(held.id, Duration::from_secs(60))), "was not renewed in time");
    assert_eq!(ended(bench.reservations.release(held.id)), "was not renewed in time");
    assert!(bench.reservations.list().is_empty());
}

#[test]
fn a_renewed_one_outlives_its_first_time() {
    let bench = bench();
    let short = ReservationSpec { ttl: Some(Duration::from_millis(300)), ..spec(GIB) };
    let renewed = bench.reservations.reserve(short.clone()).unwrap();
    let witness = bench.reservations.reserve(short).unwrap();
    let later = bench.reservations.renew(renewed.id, Duration::from_secs(600)).unwrap();
    assert!(later.expires_at > renewed.expires_at);
    bench.until_charged_is(GIB);
    assert_eq!(ended(bench.reservations.commit(witness.id)), "was not renewed in time");
    assert_eq!(bench.reservations.release(renewed.id).unwrap().state, ReservationState::Released);
}

#[test]
fn one_tied_to_a_process_ends_with_it_and_never_before() {
    let bench = bench();
    let (mut dying, living) = (Process::start(), Process::start());
    let tied = |process: &Process| ReservationSpec { pid: Some(process.0.id()), ..spec(GIB) };
    let doomed = bench.reservations.reserve(tied(&dying)).unwrap();
    let safe = bench.reservations.reserve(tied(&living)).unwrap();
    dying.kill();
    bench.until_charged_is(GIB);
    assert_eq!(ended(bench.reservations.commit(doomed.id)), "lost its process");
    assert_eq!(bench.reservations.list().iter().map(|live| live.id).collect::<Vec<_>>(), [safe.id]);
}

#[test]
fn every_end_is_told_once_and_in_order() {
    let bench = bench();
    let short = ReservationSpec { ttl: Some(Duration::from_millis(20)), ..spec(GIB) };
    let (expired, released) =
        (bench.reservations.reserve(short).unwrap(), bench.reservations.reserve(spec(GIB)));
    bench.until_charged_is(GIB);
    for _ in 0..2 {
        bench.reservations.release(released.as_ref().unwrap().id).unwrap();
    }
    let told: Vec<_> = bench.reservations.take_ended().iter().map(|ended| (ended.id, ended.state)).collect();
    let released = released.unwrap().id;
    assert_eq!(told, [(expired.id, ReservationState::Expired), (released, ReservationState::Released)]);
    assert!(bench.reservations.take_ended().is_empty());
}

#[test]
fn the_event_of_an_end_tells_how_it_ended() {
    let bench = bench();
    let mut process = Process::start();
    let tied = ReservationSpec { pid: Some(process.0.id()), ..spec(GIB) };
    bench.reservations.reserve(tied).unwrap();
    process.kill();
    bench.until_charged_is(0);
    bench.reservations.reserve(ReservationSpec { ttl: Some(Duration::from_millis(1)), ..spec(GIB) }).unwrap();
    bench.until_charged_is(0);
    let released = bench.reservations.reserve(spec(GIB)).unwrap();
    bench.reservations.release(released.id).unwrap();
    let events = bench.ledger.events().after(0, 100, Some(HOST_BUDGET)).events;
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            BudgetEventKind::Ended(end) => Some((end, event.charged)),
            _ => None,
        })
        .collect();
    let expected = [ChargeEnd::OwnerDied, ChargeEnd::Expired, ChargeEnd::Released];
    assert_eq!(ends, expected.map(|end| (end, Bytes::ZERO)));
    assert_eq!(events.len(), 6);
}

#[test]
fn a_process_that_is_gone_already_is_named() {
    let bench = bench();
    let mut process = Process::start();
    process.kill();
    let late = ReservationSpec { pid: Some(process.0.id()), ..spec(GIB) };
    let outcome = bench.reservations.reserve(late);
    assert!(matches!(outcome, Err(Error::InvalidArgument { field: "pid", .. })));
    assert_eq!(bench.charged(), 0);
}

#[test]
fn no_bytes_and_no_time_are_named() {
    let bench = bench();
    let outcome = bench.reservations.reserve(spec(0));
    assert!(matches!(outcome, Err(Error::InvalidArgument { field: "bytes", .. })));
    for ttl in [Duration::ZERO, Duration::MAX] {
        let outcome = bench.reservations.reserve(ReservationSpec { ttl: Some(ttl), ..spec(GIB) });
        assert!(matches!(outcome, Err(Error::InvalidArgument { field: "ttl_seconds", .. })));
    }
}

#[test]
fn what_a_holder_has_faulted_in_since_the_grant_is_not_counted_twice() {
    let (_alone, bench) = (alone(), bench());
    let tied = ReservationSpec { pid: Some(std::process::id()), ..spec(256 * MIB) };
    let first = bench.reservations.reserve(tied.clone()).unwrap();
    let second = bench.reservations.reserve(tied).unwrap();
    let faulted = vec![1_u8; usize::try_from(200 * MIB).unwrap()];
    let start = Instant::now();
    let seen = loop {
        let list = bench.reservations.list();
        let seen: u64 = list.iter().map(|live| live.resident.get()).sum();
        if seen >= 200 * MIB || start.elapsed() > Duration::from_secs(30) {
            break seen;
        }
    };
    assert!((200 * MIB..=300 * MIB).contains(&seen), "{seen} of {} bytes", faulted.len());
    let list = bench.reservations.list();
    assert_eq!(list.iter().map(|live| live.id).collect::<Vec<_>>(), [first.id, second.id]);
    assert!(list.first().unwrap().resident >= list.last().unwrap().resident, "the oldest first");
}

#[test]
fn what_a_holder_drops_to_fault_in_anew_is_promised_to_nobody_else() {
    let (_alone, bench) = (alone(), bench());
    let tied = ReservationSpec { pid: Some(std::process::id()), ..spec(256 * MIB) };
    let held = bench.reservations.reserve(tied).unwrap();
    let mut memory = MmapMut::map_anon(usize::try_from(256 * MIB).unwrap()).unwrap();
    memory.fill(1);
    bench.host_has.store(300 * MIB, Ordering::Relaxed);
    assert!(bench.available() >= 200 * MIB, "it is faulted in: the host's own figures show it");
    let witness = bench.reservations.reserve(spec(100 * MIB)).unwrap();
    bench.reservations.release(witness.id).unwrap();
    drop(memory);
    let quote = bench.ledger.quote(&spec(100 * MIB).demand).unwrap();
    assert!(!quote.fits() && quote.available < Bytes::new(100 * MIB), "{quote:?}");
    assert!(matches!(bench.reservations.reserve(spec(100 * MIB)), Err(Error::BudgetExceeded(_))));
    assert!(bench.ledger.charge(spec(100 * MIB).demand).is_err(), "nor to a pool");
    bench.reservations.release(held.id).unwrap();
    assert!(bench.reservations.reserve(spec(100 * MIB)).is_ok());
}

#[test]
fn each_of_many_ends_exactly_once_whoever_ends_it() {
    let bench = bench();
    let ids: Vec<u64> = (0..2000)
        .map(|n| {
            let ttl = Some(Duration::from_millis(1 + n % 40));
            bench.reservations.reserve(ReservationSpec { ttl, ..spec(4096) }).unwrap().id
        })
        .collect();
    std::thread::scope(|scope| {
        let reservations = &bench.reservations;
        for part in ids.chunks(500) {
            scope.spawn(move || part.iter().for_each(|id| drop(reservations.release(*id))));
            scope.spawn(move || {
                part.iter().for_each(|id| drop(reservations.renew(*id, Duration::from_millis(5))));
            });
        }
    });
    bench.until_charged_is(0);
    assert!(bench.reservations.list().is_empty());
}
