//! The thread that writes: what comes while it writes goes into the next transaction together, so that many callers
//! share one wait for the disk.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, Result, Transaction, TransactionBehavior, params};

use super::error::{NotSaved, SaveFailure};
use super::place::Place;
use super::record::{BudgetRecord, Change, EntryRecord, ReservationRecord};
use super::rows::{millis, nanos};
use super::store::Ticket;

/// The most callers that share a transaction.
const MAX_SHARED: usize = 1024;
/// Ended reservations and answers that are kept; the oldest go first.
pub(super) const REMEMBERED: u64 = 10_000;

/// The running thread; when this is dropped it writes what is in line, and closes the file.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Changes of one caller, and where to answer.
#[derive(Debug)]
struct Job {
    changes: Vec<Change>,
    answer: SyncSender<std::result::Result<(), NotSaved>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path, ended_order: u64) -> io::Result<Self> {
        let (jobs, inbox) = channel();
        let pen = Pen { connection, place: Place::of(path)?, ended_order };
        let thread =
            thread::Builder::new().name("hostpool-state".to_owned()).spawn(move || pen.write(&inbox))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn enqueue(&self, changes: Vec<Change>) -> Ticket {
        let (answer, ticket) = sync_channel(1);
        if let Some(jobs) = &self.jobs {
            // A thread that is gone drops the job, and with it the answer: the ticket says so.
            let _ = jobs.send(Job { changes, answer });
        }
        Ticket::new(ticket)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Ticket {
    /// A change that is refused before it is written.
    pub(super) fn refused(path: &Path, detail: &str) -> Self {
        let (answer, ticket) = sync_channel(1);
        let not_saved =
            NotSaved { path: path.to_owned(), reason: SaveFailure::Io, detail: detail.to_owned() };
        let _ = answer.send(Err(not_saved));
        Self::new(ticket)
    }
}

struct Pen {
    connection: Connection,
    place: Place,
    /// The place of the reservation that ended last among all that have.
    ended_order: u64,
}

impl Pen {
    fn write(mut self, inbox: &Receiver<Job>) {
        while let Ok(first) = inbox.recv() {
            let mut jobs = vec![first];
            jobs.extend(inbox.try_iter().take(MAX_SHARED - 1));
            self.write_together(jobs);
        }
        let _ = self.connection.close();
    }

    /// All in one transaction; should that fail, each in its own, so that one does not take the others with it.
    fn write_together(&mut self, jobs: Vec<Job>) {
        if let Err(gone) = self.place.check() {
            for job in jobs {
                let _ = job.answer.send(Err(gone.clone()));
            }
            return;
        }
        if jobs.len() > 1 && self.commit(jobs.iter().flat_map(|job| &job.changes)).is_ok() {
            for job in jobs {
                let _ = job.answer.send(Ok(()));
            }
            return;
        }
        for job in jobs {
            let outcome = self.commit(&job.changes).map_err(|error| NotSaved::of(self.place.path(), &error));
            let _ = job.answer.send(outcome);
        }
    }

    /// On disk, all of them, when it returns; none of them after an error.
    fn commit<'a>(&mut self, changes: impl IntoIterator<Item = &'a Change>) -> Result<()> {
        let mut ended_order = self.ended_order;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for change in changes {
            apply(&transaction, change, &mut ended_order)?;
        }
        transaction.commit()?;
        self.ended_order = ended_order;
        Ok(())
    }
}

fn apply(to: &Transaction<'_>, change: &Change, ended_order: &mut u64) -> Result<()> {
    match change {
        Change::PutBudget(budget) => put_budget(to, budget),
        Change::DropBudget(name) => run(to, "DELETE FROM budget WHERE name = ?1", params![name]),
        Change::PutReservation(reservation) => put_reservation(to, reservation, ended_order),
        Change::DropReservation(id) => run(to, "DELETE FROM reservation WHERE id = ?1", params![id]),
        Change::PutEntry(entry) => put_entry(to, entry),
        Change::DropEntry(kind, number) => {
            run(to, "DELETE FROM entry WHERE kind = ?1 AND number = ?2", params![kind, number])
        }
        Change::DropAnswer { operation, key } => {
            run(to, "DELETE FROM answer WHERE operation = ?1 AND key = ?2", params![operation, key])
        }
        Change::PutAnswer(answer) => {
            let (operation, key) = (&answer.operation, &answer.key);
            let put =
                "INSERT OR REPLACE INTO answer (operation, key, request, result) VALUES (?1, ?2, ?3, ?4)";
            run(to, put, params![operation, key, answer.request, answer.result])?;
            let forget =
                "DELETE FROM answer WHERE answer_order <= (SELECT max(answer_order) FROM answer) - ?1";
            run(to, forget, params![REMEMBERED])
        }
    }
}

fn put_budget(to: &Transaction<'_>, budget: &BudgetRecord) -> Result<()> {
    let BudgetRecord { name, reserve, requested, fraction, ranks, size, admission_closed } = budget;
    let put =
        "INSERT OR REPLACE INTO budget (name, reserve, requested, fraction, ranks, size, admission_closed)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    run(to, put, params![name, reserve, requested, fraction, ranks, size, admission_closed])
}

fn put_entry(to: &Transaction<'_>, entry: &EntryRecord) -> Result<()> {
    let EntryRecord { kind, number, name, specification, created_at } = entry;
    let put = "INSERT OR REPLACE INTO entry (kind, number, name, specification, created_at_ms)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    run(to, put, params![kind, number, name, specification, millis(*created_at)])?;
    note_number(to, kind, *number)
}

fn put_reservation(to: &Transaction<'_>, it: &ReservationRecord, ended_order: &mut u64) -> Result<()> {
    let process = it.process;
    let order = it.ended_at.map(|_| {
        *ended_order += 1;
        *ended_order
    });
    let put = "INSERT OR REPLACE INTO reservation (
                   id, budget, rank, bytes, mapped, backing, hugepage_size, node, holder,
                   pid, start_time, baseline_ordinary, baseline_hugepages,
                   state, created_at_ms, expires_at_ms, deadline_ns, ended_at_ms, ended_order)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
    let values = params![
        it.id,
        it.budget,
        it.rank,
        it.bytes,
        it.mapped,
        it.backing,
        it.hugepage_size,
        it.node,
        it.holder,
        it.pid,
        process.map(|process| process.start_time),
        process.map(|process| process.baseline_ordinary),
        process.map(|process| process.baseline_hugepages),
        it.state,
        millis(it.created_at),
        it.expires_at.map(millis),
        it.deadline.map(nanos),
        it.ended_at.map(millis),
        order,
    ];
    run(to, put, values)?;
    if let Some(order) = order {
        let forget = "DELETE FROM reservation WHERE ended_order <= ?1";
        run(to, forget, params![order.saturating_sub(REMEMBERED)])?;
    }
    note_number(to, "reservation", it.id)
}

/// The numbers up to this one are taken, whatever becomes of what has them.
fn note_number(to: &Transaction<'_>, kind: impl rusqlite::ToSql, number: u64) -> Result<()> {
    let note = "INSERT INTO last_number (kind, number) VALUES (?1, ?2)
                ON CONFLICT (kind) DO UPDATE SET number = max(number, excluded.number)";
    run(to, note, params![kind, number])
}

fn run(to: &Transaction<'_>, sql: &str, values: impl rusqlite::Params) -> Result<()> {
    to.prepare_cached(sql)?.execute(values).map(drop)
}
