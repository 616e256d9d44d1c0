//! The doors to an admission decision behind one face: another way to decide is another row of [`DOORS`].

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hostpool_allocator::budget::{
    Charge, Claimant, Demand, HOST_BUDGET, HostSource, Ledger, MemoryKind, Refusal,
};
use hostpool_allocator::host::{AdmissionReading, HostError, HostRoot, MemInfo};
use hostpool_allocator::memory::HostMemoryAllocator;
use hostpool_allocator::reservation::{KeptReservations, ReservationSpec, Reservations};
use hostpool_allocator::state::{Forgetful, StateFile, Store};
use hostpool_allocator::{Backing, Bytes, Error, NodeSet};
use tempfile::TempDir;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Opens a door behind which so many charges are live.
pub(crate) type Make = fn(u64, &Holders) -> Outcome<Box<dyn Door>>;

/// Every door, by what is measured of it.
pub(crate) const DOORS: [(&str, Make); 5] = [
    ("ledger", |live, _| Ok(Box::new(Charges::live(unchanging(PLENTY), live)?))),
    ("reservation", |live, holders| Ok(Box::new(Reserved::live(&unchanging(PLENTY), live, holders)?))),
    ("reservation, on disk", |live, holders| Ok(Box::new(Durable::live(live, holders)?))),
    // The longest way to an answer: near a limit the holders are looked at.
    ("reservation refused", |live, holders| {
        Ok(Box::new(Refused(Reserved::live(&unchanging(live * PAGE), live, holders)?)))
    }),
    ("reservation, this host's files", |live, holders| {
        Ok(Box::new(Reserved::live(this_host()?.ledger(), live, holders)?))
    }),
];

const PAGE: u64 = 4096;
const FILLERS: usize = 64;
const PLENTY: u64 = 1 << 50;

/// A grant and its release, or a refusal, with charges live beside it.
pub(crate) trait Door {
    fn decide(&mut self) -> Outcome<()>;
}

/// The ledger alone.
struct Charges {
    ledger: Arc<Ledger>,
    _live: Vec<Charge>,
}

impl Charges {
    fn live(ledger: Arc<Ledger>, live: u64) -> Outcome<Self> {
        let charge = |_| Ok(ledger.charge(demand()).map_err(refused)?.keep());
        let live = (0..live).map(charge).collect::<Outcome<_>>()?;
        Ok(Self { ledger, _live: live })
    }
}

impl Door for Charges {
    fn decide(&mut self) -> Outcome<()> {
        drop(self.ledger.charge(demand()).map_err(refused)?.keep());
        Ok(())
    }
}

/// Reservations, held by processes, with a time to live, or by nobody, in turn.
struct Reserved {
    reservations: Reservations,
    mine: ReservationSpec,
}

impl Reserved {
    fn live(ledger: &Arc<Ledger>, live: u64, holders: &Holders) -> Outcome<Self> {
        Self::kept(ledger, &(Arc::new(Forgetful) as _), live, holders)
    }

    fn kept(ledger: &Arc<Ledger>, store: &Arc<dyn Store>, live: u64, holders: &Holders) -> Outcome<Self> {
        let reservations = Reservations::restore(ledger, store, &KeptReservations::default())?;
        // Many at once, who share their waits for the disk.
        let fill = |first: u64| -> Result<(), Error> {
            for n in (first..live).step_by(FILLERS) {
                let spec = match n % 5 {
                    0 | 2 => ReservationSpec { pid: holders.pid(n), ..spec() },
                    1 => ReservationSpec { ttl: Some(Duration::from_secs(3600)), ..spec() },
                    _ => spec(),
                };
                reservations.reserve(spec)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let fillers: Vec<_> = (0..FILLERS as u64).map(|first| scope.spawn(move || fill(first))).collect();
            fillers.into_iter().try_for_each(|filler| filler.join().unwrap_or(Ok(())))
        })?;
        let mine = ReservationSpec { pid: holders.pid(0), ttl: Some(Duration::from_secs(7200)), ..spec() };
        Ok(Self { reservations, mine })
    }
}

impl Door for Reserved {
    fn decide(&mut self) -> Outcome<()> {
        let granted = self.reservations.reserve(self.mine.clone())?;
        self.reservations.release(granted.id)?;
        Ok(())
    }
}

/// Reservations that are answered once they are on disk.
struct Durable {
    reserved: Reserved,
    _folder: TempDir,
}

impl Durable {
    fn live(live: u64, holders: &Holders) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let store: Arc<dyn Store> = Arc::new(StateFile::open(folder.path())?.0);
        let reserved = Reserved::kept(&unchanging(PLENTY), &store, live, holders)?;
        Ok(Self { reserved, _folder: folder })
    }
}

impl Door for Durable {
    fn decide(&mut self) -> Outcome<()> {
        self.reserved.decide()
    }
}

/// No more fits.
struct Refused(Reserved);

impl Door for Refused {
    fn decide(&mut self) -> Outcome<()> {
        match self.0.reservations.reserve(self.0.mine.clone()) {
            Err(Error::BudgetExceeded(_)) => Ok(()),
            other => Err(format!("expected a refusal, got {other:?}").into()),
        }
    }
}

/// Processes that hold reservations and do nothing; killed when dropped.
pub(crate) struct Holders(Vec<Child>);

impl Holders {
    pub(crate) fn start() -> Outcome<Self> {
        let sleep = || Command::new("sleep").arg("3600").stdout(Stdio::null()).spawn();
        Ok(Self((0..2).map(|_| sleep()).collect::<Result<_, _>>()?))
    }

    fn pid(&self, n: u64) -> Option<u32> {
        let index = usize::try_from(n).unwrap_or(0) % self.0.len().max(1);
        self.0.get(index).map(Child::id)
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        for holder in &mut self.0 {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// A host that costs nothing to read.
struct Unchanging(AdmissionReading);

impl HostSource for Unchanging {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        Ok(self.0.clone())
    }
}

fn unchanging(available: u64) -> Arc<Ledger> {
    let memory =
        MemInfo { mem_total_bytes: PLENTY, mem_available_bytes: available, available_is_estimated: false };
    let host = AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() };
    Ledger::new(Box::new(Unchanging(host)), Bytes::ZERO)
}

fn this_host() -> Outcome<HostMemoryAllocator> {
    Ok(HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO)?)
}

/// A page: a hundred thousand of them fit this host.
fn demand() -> Demand {
    let (budget, page) = (HOST_BUDGET.to_owned(), Bytes::new(PAGE));
    let (kind, nodes) = (MemoryKind::Ordinary, NodeSet::default());
    let claimant = Claimant::HostBuffer(None);
    Demand { budget, rank: None, claimant, kind, nodes, requested: page, mapped: page }
}

fn spec() -> ReservationSpec {
    let (bytes, holder, backing) = (Bytes::new(PAGE), "engine".to_owned(), Backing::Anonymous);
    ReservationSpec { bytes, demand: demand(), backing, holder, pid: None, ttl: None }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape map_err takes")]
fn refused(refusal: Refusal) -> String {
    format!("{refusal:?}")
}
