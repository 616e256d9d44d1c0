//! Reservations for JS.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::allocator::HostAllocator;
use super::failure::{Failure, outcome};
use super::memory::{Backing, OnHugepageShortage};
use super::number::{bytes, count, js, js_bytes, js_time, small};
use super::off_loop::off_loop;
use super::specs::MemoryWish;
use super::state::{AnswerRecord, HostState};
use crate::budget::{Claimant, MemoryKind};
use crate::error::Error;
use crate::memory::{HostMemoryAllocator, MemoryRequest};
use crate::reservation;

/// Where a reservation is in its life.
#[napi(string_enum)]
pub enum ReservationState {
    /// Counted in full, less what its process has been seen to fault in.
    Held,
    /// Its holder has faulted it in.
    Committed,
    /// Given back by a call.
    Released,
    /// Its time ran out.
    Expired,
    /// Its process died.
    OwnerDied,
}

impl From<reservation::ReservationState> for ReservationState {
    fn from(state: reservation::ReservationState) -> Self {
        match state {
            reservation::ReservationState::Held => Self::Held,
            reservation::ReservationState::Committed => Self::Committed,
            reservation::ReservationState::Released => Self::Released,
            reservation::ReservationState::Expired => Self::Expired,
            reservation::ReservationState::OwnerDied => Self::OwnerDied,
        }
    }
}

/// What a reservation is asked as.
#[napi(object)]
pub struct ReservationSpec {
    /// The budget to charge.
    pub budget: String,
    /// The rank whose share to charge.
    pub rank: Option<f64>,
    /// The bytes that will be mapped.
    pub bytes: f64,
    /// How they will be mapped.
    pub backing: Backing,
    /// Bytes of a hugepage; for hugetlb backings.
    pub hugepage_size: Option<f64>,
    /// The node they will be bound to; -1 for any.
    pub numa_node: f64,
    /// Who holds it, for people.
    pub holder: String,
    /// The process whose death ends it.
    pub pid: Option<f64>,
    /// How long it lasts unless renewed.
    pub ttl_seconds: Option<f64>,
}

/// A reservation as it is at one moment. Times in milliseconds since 1970.
#[napi(object)]
pub struct ReservationReading {
    /// Its number.
    pub id: f64,
    /// The budget charged.
    pub budget: String,
    /// The rank charged.
    pub rank: Option<u32>,
    /// The bytes asked for.
    pub bytes: f64,
    /// How they are mapped.
    pub backing: Backing,
    /// Bytes of a hugepage; undefined on ordinary pages.
    pub hugepage_size: Option<f64>,
    /// The node; -1 for any.
    pub numa_node: f64,
    /// Who holds it.
    pub holder: String,
    /// The process whose death ends it.
    pub pid: Option<u32>,
    /// Where it is in its life.
    pub state: ReservationState,
    /// What shows in the host's own figures.
    pub resident_bytes: f64,
    /// When it was granted.
    pub created_at: f64,
    /// When it expires.
    pub expires_at: Option<f64>,
}

/// Every reservation of one allocator.
#[napi]
pub struct HostReservations {
    allocator: Arc<HostMemoryAllocator>,
    reservations: Arc<reservation::Reservations>,
}

#[napi]
impl HostReservations {
    /// With the reservations that were kept. Throws when the system has no thread or descriptor to watch with.
    #[napi(constructor)]
    pub fn new(allocator: &HostAllocator, state: &HostState) -> napi::Result<Self> {
        let allocator = allocator.core();
        let kept = state.take(|saved| reservation::KeptReservations {
            records: std::mem::take(&mut saved.reservations),
            last: saved.last_reservation,
            same_boot: saved.same_boot,
        });
        let reservations = reservation::Reservations::restore(allocator.ledger(), &state.store(), &kept);
        let reservations = reservations.map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Self { allocator, reservations: Arc::new(reservations) })
    }

    /// Counts memory that somebody else maps. The answer is kept with it, its result set to the number.
    #[napi]
    pub async fn reserve(
        &self,
        spec: ReservationSpec,
        answer: Option<AnswerRecord>,
    ) -> napi::Result<Either<ReservationReading, Failure>> {
        let (allocator, reservations) = (Arc::clone(&self.allocator), Arc::clone(&self.reservations));
        let reserve = move || reservations.reserve_answering(spec.check(&allocator)?, answer.map(Into::into));
        outcome(off_loop(reserve).await?, js_reservation)
    }

    /// The holder has faulted it in.
    #[napi]
    pub async fn commit(&self, id: f64) -> napi::Result<Either<ReservationReading, Failure>> {
        let reservations = Arc::clone(&self.reservations);
        let commit = move || count("id", id).and_then(|id| reservations.commit(id));
        outcome(off_loop(commit).await?, js_reservation)
    }

    /// It lasts so many seconds from now.
    #[napi]
    pub async fn renew(
        &self,
        id: f64,
        ttl_seconds: f64,
    ) -> napi::Result<Either<ReservationReading, Failure>> {
        let reservations = Arc::clone(&self.reservations);
        let renew = move || {
            let (id, ttl) = (count("id", id)?, Duration::from_secs(count("ttl_seconds", ttl_seconds)?));
            reservations.renew(id, ttl)
        };
        outcome(off_loop(renew).await?, js_reservation)
    }

    /// Gives it back.
    #[napi]
    pub async fn release(&self, id: f64) -> napi::Result<Either<ReservationReading, Failure>> {
        let reservations = Arc::clone(&self.reservations);
        let release = move || count("id", id).and_then(|id| reservations.release(id));
        outcome(off_loop(release).await?, js_reservation)
    }

    /// A reservation as it is now, live or ended; undefined when it is not remembered.
    #[napi]
    pub async fn find(&self, id: f64) -> napi::Result<Option<ReservationReading>> {
        let reservations = Arc::clone(&self.reservations);
        let found = move || reservations.find(count("id", id).ok()?);
        Ok(off_loop(found).await?.map(js_reservation))
    }

    /// The reservations that have ended since this was asked last, each once.
    #[napi]
    pub async fn take_ended(&self) -> napi::Result<Vec<ReservationReading>> {
        let reservations = Arc::clone(&self.reservations);
        let ended = off_loop(move || reservations.take_ended()).await?;
        Ok(ended.into_iter().map(js_reservation).collect())
    }

    /// Every live reservation, oldest first.
    #[napi]
    pub async fn list(&self) -> napi::Result<Vec<ReservationReading>> {
        let reservations = Arc::clone(&self.reservations);
        let list = off_loop(move || reservations.list()).await?;
        Ok(list.into_iter().map(js_reservation).collect())
    }
}

impl ReservationSpec {
    fn check(self, allocator: &HostMemoryAllocator) -> Result<reservation::ReservationSpec, Error> {
        let asked = bytes("bytes", self.bytes)?;
        let pid = self.pid.map(|pid| small("pid", pid, u32::MAX)).transpose()?;
        let wish = MemoryWish {
            backing: self.backing,
            hugepage_size: self.hugepage_size,
            on_hugepage_shortage: OnHugepageShortage::Fail,
            numa_node: self.numa_node,
            numa_policy: None,
            numa_nodes: None,
            transparent_hugepages: None,
            lock_memory: None,
        };
        let request = MemoryRequest {
            budget: self.budget,
            rank: self.rank.map(|rank| small("rank", rank, u32::MAX)).transpose()?,
            claimant: Claimant::Reservation { holder: self.holder.clone(), pid },
            mapping_bytes: asked,
            mapping_count: 1,
            wish: wish.check().map_err(flat)?,
        };
        let ttl = self.ttl_seconds.map(|seconds| count("ttl_seconds", seconds)).transpose()?;
        Ok(reservation::ReservationSpec {
            bytes: asked,
            demand: allocator.demand(&request).map_err(flat)?,
            backing: request.wish.backing,
            holder: self.holder,
            pid,
            ttl: ttl.map(Duration::from_secs),
        })
    }
}

/// A reservation's wish is not in an input of its own: `memory.numa_node` is `numa_node` there.
fn flat(error: Error) -> Error {
    match error {
        Error::InvalidArgument { field: "memory", reason } => {
            Error::InvalidArgument { field: "bytes", reason }
        }
        Error::InvalidArgument { field, reason } => {
            Error::InvalidArgument { field: field.strip_prefix("memory.").unwrap_or(field), reason }
        }
        other => other,
    }
}

fn js_reservation(reservation: reservation::Reservation) -> ReservationReading {
    let demand = reservation.spec.demand;
    ReservationReading {
        id: js(reservation.id),
        budget: demand.budget,
        rank: demand.rank,
        bytes: js_bytes(reservation.spec.bytes),
        backing: reservation.spec.backing.into(),
        hugepage_size: match demand.kind {
            MemoryKind::Ordinary => None,
            MemoryKind::Hugepages(size) => Some(js_bytes(size)),
        },
        numa_node: super::memory::js_node(demand.nodes.single()),
        holder: reservation.spec.holder,
        pid: reservation.spec.pid,
        state: reservation.state.into(),
        resident_bytes: js_bytes(reservation.resident),
        created_at: js_time(reservation.created_at),
        expires_at: reservation.expires_at.map(js_time),
    }
}
