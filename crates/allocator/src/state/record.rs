//! What is kept of each thing: enough to have it again, and no more.

use std::time::{Duration, SystemTime};

use crate::backing::Backing;
use crate::units::{Bytes, NumaNode};

/// A budget: what was asked for it and the size it was given. What it holds follows from what is charged to it.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetRecord {
    /// Its name; "host" too, once it was changed.
    pub name: String,
    /// What the host keeps for itself, where a call has set that; "host" only.
    pub reserve: Option<Bytes>,
    /// The cap asked for.
    pub requested: Option<Bytes>,
    /// The fraction asked for.
    pub fraction: Option<f64>,
    /// How many ranks share it.
    pub ranks: u32,
    /// The size it was given; `None` for "host".
    pub size: Option<Bytes>,
    /// Whether new charges are refused.
    pub admission_closed: bool,
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

/// A reservation, live or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationRecord {
    /// Its number, never given twice.
    pub id: u64,
    /// The budget charged.
    pub budget: String,
    /// The rank charged, when one was named.
    pub rank: Option<u32>,
    /// The bytes asked for.
    pub bytes: Bytes,
    /// What that takes in whole pages.
    pub mapped: Bytes,
    /// How it is mapped.
    pub backing: Backing,
    /// Bytes of a hugepage; `None` on ordinary pages.
    pub hugepage_size: Option<Bytes>,
    /// The node bound to.
    pub node: NumaNode,
    /// Who holds it, for people.
    pub holder: String,
    /// The number of the process whose death ends it, for people.
    pub pid: Option<u32>,
    /// That process, as long as the reservation lives.
    pub process: Option<ProcessRecord>,
    /// Where it is in its life.
    pub state: ReservationState,
    /// When it was granted.
    pub created_at: SystemTime,
    /// When it expires, or would have, for people.
    pub expires_at: Option<SystemTime>,
    /// The same on the clock that decides: CLOCK_MONOTONIC, which begins with the boot (clock_gettime(2)).
    pub deadline: Option<Duration>,
    /// When it ended; `None` while it lives.
    pub ended_at: Option<SystemTime>,
}

/// A process, as it can be told from a later one of its number: no two of one number start at the same time in one boot
/// (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRecord {
    /// When it started, in clock ticks after the boot.
    pub start_time: u64,
    /// What it had faulted in on ordinary pages at the grant.
    pub baseline_ordinary: Bytes,
    /// What it had faulted in on hugepages at the grant.
    pub baseline_hugepages: Bytes,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A pool of either kind.
    Pool,
    /// A host buffer.
    HostBuffer,
}

/// A pool or a buffer. Its specification is the caller's text: whoever makes pools reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRecord {
    /// What it is.
    pub kind: EntryKind,
    /// Its number among its kind, never given twice.
    pub number: u64,
    /// Its name, when it has one.
    pub name: Option<String>,
    /// What it was asked as.
    pub specification: String,
    /// When it was made.
    pub created_at: SystemTime,
}

/// The answer to a request that may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRecord {
    /// What was asked to be done.
    pub operation: String,
    /// The caller's key for it.
    pub key: String,
    /// A digest of the request: a key stands for one request only.
    pub request: String,
    /// What came of it: a number or a name.
    pub result: String,
}

/// One change to what is kept. Each puts a thing as it now is, or drops it: made twice it is the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A budget was made or changed.
    PutBudget(BudgetRecord),
    /// A budget is gone.
    DropBudget(String),
    /// A reservation was granted, changed or ended.
    PutReservation(Box<ReservationRecord>),
    /// A reservation was never granted after all.
    DropReservation(u64),
    /// A pool or buffer was made.
    PutEntry(EntryRecord),
    /// A pool or buffer is gone.
    DropEntry(EntryKind, u64),
    /// A request was answered.
    PutAnswer(AnswerRecord),
    /// What a request was answered with came to nothing: a repeat is decided anew.
    DropAnswer {
        /// What was asked to be done.
        operation: String,
        /// The caller's key for it.
        key: String,
    },
}
