//! Reservations on a host of three pages, over the kernel of the models.

use std::time::Duration;

use super::super::kernel;
use super::super::{Reservation, ReservationSpec, ReservationState, Reservations};
use crate::backing::Backing;
use crate::budget::{HOST_BUDGET, Ledger};
use crate::error::Error;
use crate::model_host::{ModelHost, ordinary, pages};
use crate::sync::Arc;
use crate::units::Bytes;

pub(super) const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct Bench {
    pub(super) ledger: Arc<Ledger>,
    pub(super) reservations: Arc<Reservations>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let ledger = ModelHost::new(3, 0).ledger();
        let reservations = Arc::new(Reservations::new(Arc::clone(&ledger)).unwrap());
        Self { ledger, reservations }
    }

    pub(super) fn reserve(&self, spec: ReservationSpec) -> Reservation {
        self.reservations.reserve(spec).unwrap()
    }

    pub(super) fn charged(&self) -> Bytes {
        self.ledger.budget(HOST_BUDGET).unwrap().unwrap().charged
    }

    /// What it is once the watcher has nothing more to do: live and charged, or ended once and given back.
    pub(super) fn outcome(&self, id: u64) -> ReservationState {
        kernel::settle();
        let live: Vec<_> = self.reservations.list().into_iter().filter(|live| live.id == id).collect();
        let ended: Vec<_> =
            self.reservations.take_ended().into_iter().filter(|ended| ended.id == id).collect();
        assert_eq!(live.len() + ended.len(), 1, "it is live or has ended once: {live:?} {ended:?}");
        let held = if live.is_empty() { Bytes::ZERO } else { live[0].spec.demand.mapped };
        assert_eq!(self.charged(), held);
        live.into_iter().chain(ended).map(|reservation| reservation.state).next().unwrap()
    }
}

/// Nobody has to call for it to end by the time it tells.
pub(super) fn assert_does_not_outlive_what_it_says(bench: &Bench, granted: &Reservation) {
    kernel::settle();
    let is_due = granted.expires_at.unwrap() <= kernel::wall_clock();
    let charged = bench.charged();
    match bench.outcome(granted.id) {
        ReservationState::Expired => {
            assert_eq!(charged, Bytes::ZERO, "the watcher ended it, not the question");
        }
        state => assert!(!is_due, "it is {state:?} after its time"),
    }
}

/// So many pages, until they are released.
pub(super) fn spec(count: u64) -> ReservationSpec {
    let (holder, backing) = ("engine".to_owned(), Backing::Anonymous);
    ReservationSpec { bytes: pages(count), demand: ordinary(count), backing, holder, pid: None, ttl: None }
}

/// Two pages for ten seconds.
pub(super) fn for_ten_seconds() -> ReservationSpec {
    ReservationSpec { ttl: Some(10 * SECOND), ..spec(2) }
}

/// A process that is there.
pub(super) fn process() -> u32 {
    std::process::id()
}

/// What a caller was answered, in terms of where the reservation is then.
pub(super) fn told(answer: &Result<Reservation, Error>) -> Result<ReservationState, &'static str> {
    match answer {
        Ok(reservation) => Ok(reservation.state),
        Err(Error::LeaseExpired { how, .. }) => Err(how),
        Err(other) => panic!("{other}"),
    }
}
