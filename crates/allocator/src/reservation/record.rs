//! What a reservation is asked as, and what it is.

use std::time::{Duration, SystemTime};

use crate::backing::Backing;
use crate::budget::Demand;
use crate::units::Bytes;

/// Memory that a process wants to map itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationSpec {
    /// The bytes asked for.
    pub bytes: Bytes,
    /// What that takes of the ledger, in whole pages.
    pub demand: Demand,
    /// How it will be mapped; told again, since the demand knows the kind of page only.
    pub backing: Backing,
    /// Who holds it, for people.
    pub holder: String,
    /// The process whose death ends it.
    pub pid: Option<u32>,
    /// How long it lasts unless it is renewed (monotonic).
    pub ttl: Option<Duration>,
}

/// Where a reservation is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReservationState {
    /// Counted in full, less what its process has been seen to fault in.
    Held,
    /// Its holder has faulted it in: it shows in the host's own figures.
    Committed,
    /// Given back by a call.
    Released,
    /// Its time ran out.
    Expired,
    /// Its process died.
    OwnerDied,
}

impl ReservationState {
    /// What became of it, as the end of a sentence.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Held | Self::Committed => "is live",
            Self::Released => "was released",
            Self::Expired => "was not renewed in time",
            Self::OwnerDied => "lost its process",
        }
    }
}

/// A reservation as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its number, never given twice by one process.
    pub id: u64,
    /// What it was asked as.
    pub spec: ReservationSpec,
    /// Where it is in its life.
    pub state: ReservationState,
    /// What shows in the host's own figures.
    pub resident: Bytes,
    /// When it was granted.
    pub created_at: SystemTime,
    /// When it expires, or would have; `None` without a time to live.
    pub expires_at: Option<SystemTime>,
    /// When it ended; `None` while it lives.
    pub ended_at: Option<SystemTime>,
}
