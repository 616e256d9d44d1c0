//! What a reservation is asked as, and what it is.

use std::time::{Duration, Instant, SystemTime};

use crate::backing::Backing;
use crate::budget::{Claimant, Demand, MemoryKind};
use crate::node_set::NodeSet;
use crate::state::{ProcessRecord, ReservationRecord, ReservationState, since_boot};
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

impl Reservation {
    /// What is kept of it; `tied_to` is its process, `deadline` when it expires.
    pub(super) fn record(
        &self,
        tied_to: Option<ProcessRecord>,
        deadline: Option<Instant>,
    ) -> ReservationRecord {
        let ReservationSpec { bytes, demand, backing, holder, .. } = &self.spec;
        ReservationRecord {
            id: self.id,
            budget: demand.budget.clone(),
            rank: demand.rank,
            bytes: *bytes,
            mapped: demand.mapped,
            backing: *backing,
            hugepage_size: match demand.kind {
                MemoryKind::Ordinary => None,
                MemoryKind::Hugepages(size) => Some(size),
            },
            node: demand.nodes.single(),
            holder: holder.clone(),
            pid: self.spec.pid,
            process: tied_to,
            state: self.state,
            created_at: self.created_at,
            expires_at: self.expires_at,
            deadline: deadline.map(since_boot),
            ended_at: self.ended_at,
        }
    }

    /// The reservation that was kept; nothing of it shows yet.
    pub(super) fn of(record: &ReservationRecord) -> Self {
        let ReservationRecord { bytes, mapped, backing, .. } = *record;
        let (holder, pid) = (record.holder.clone(), record.pid);
        let demand = Demand {
            budget: record.budget.clone(),
            rank: record.rank,
            claimant: Claimant::Reservation { holder: holder.clone(), pid },
            kind: record.hugepage_size.map_or(MemoryKind::Ordinary, MemoryKind::Hugepages),
            nodes: NodeSet::from(record.node),
            requested: bytes,
            mapped,
        };
        Self {
            id: record.id,
            spec: ReservationSpec { bytes, demand, backing, holder, pid, ttl: None },
            state: record.state,
            resident: Bytes::ZERO,
            created_at: record.created_at,
            expires_at: record.expires_at,
            ended_at: record.ended_at,
        }
    }
}
