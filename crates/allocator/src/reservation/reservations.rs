//! The door to reservations: what is answered is on disk.

use std::sync::Weak;
use std::time::Duration;

use super::holder::Holder;
use super::kernel;
use super::record::{Reservation, ReservationSpec};
use super::refusal::{check, check_ttl, no_process, refused};
use super::table::Table;
use super::watch::Watch;
use crate::budget::{Holders, Ledger};
use crate::error::Error;
use crate::state::{AnswerRecord, Forgetful, ReservationState, Store};
use crate::sync::{Arc, Mutex, lock};

/// Every reservation of this host. What is answered is on disk; a reservation that ended by itself is put there
/// soon after, and should that be lost, the next start finds out for itself.
#[derive(Debug)]
pub struct Reservations {
    ledger: Arc<Ledger>,
    pub(super) table: Arc<Mutex<Table>>,
    pub(super) watch: Watch,
}

impl Reservations {
    /// No reservations yet, none that is kept, and the thread that watches over them.
    ///
    /// # Errors
    /// When the system has no thread or descriptor for it.
    pub fn new(ledger: Arc<Ledger>) -> std::io::Result<Self> {
        Self::start(ledger, Arc::new(Forgetful))
    }

    /// None yet; changes are kept in `store`.
    pub(super) fn start(ledger: Arc<Ledger>, store: Arc<dyn Store>) -> std::io::Result<Self> {
        let table = Table::new(store);
        let holders: Weak<dyn Holders> = Arc::downgrade(&table.processes) as _;
        ledger.attend(holders);
        let table = Arc::new(Mutex::new(table));
        let watch = Watch::start(Arc::clone(&table))?;
        Ok(Self { ledger, table, watch })
    }

    /// Counts `spec` in the ledger until it ends. Blocks until it is on disk.
    ///
    /// # Errors
    /// BUDGET_EXCEEDED, BUDGET_ADMISSION_CLOSED, NOT_FOUND for the budget, or INVALID_ARGUMENT for no bytes, a process that is not there, or a time to live
    /// of nothing or above a year; STATE_NOT_SAVED. Nothing is counted then.
    pub fn reserve(&self, spec: ReservationSpec) -> Result<Reservation, Error> {
        self.reserve_answering(spec, None)
    }

    /// As [`reserve`](Self::reserve); `answer` is kept with it, its result set to the number.
    ///
    /// # Errors
    /// The same.
    pub fn reserve_answering(
        &self,
        spec: ReservationSpec,
        answer: Option<AnswerRecord>,
    ) -> Result<Reservation, Error> {
        check(&spec)?;
        let holder = spec.pid.map(Holder::open).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let charge =
            self.ledger.charge(spec.demand.clone()).map_err(|refusal| refused(refusal, &spec.demand))?;
        // After the decision, whose figures showed what it had faulted in till then.
        let holder = holder.map(Holder::granted_now);
        let mut table = lock(&self.table);
        let id = table.next_id;
        let tied_to = holder.as_ref().map(Holder::record);
        let tie = |holder| {
            table.processes.tie(id, holder, &spec.demand, |holder, number| self.watch.add(holder, number))
        };
        let process = holder.map(tie).transpose().map_err(|errno| no_process(spec.pid, errno))?;
        let reservation = table.enter(id, spec, process, tied_to, charge.keep());
        let saving = table.keep(id, answer);
        let soonest = table.expires_first(id);
        drop(table);
        if soonest {
            self.watch.wake();
        }
        saving.wait().inspect_err(|_| lock(&self.table).withdraw(id))?;
        Ok(reservation)
    }

    /// The holder has faulted it in: from here on the host's own figures show it. Twice is no error. Blocks until it is on
    /// disk.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED; STATE_NOT_SAVED: it is held as before, then.
    pub fn commit(&self, id: u64) -> Result<Reservation, Error> {
        self.after_saving(id, ReservationState::Committed, Table::commit)
    }

    /// It lasts `ttl` from now. Blocks until that is on disk.
    ///
    /// # Errors
    /// NOT_FOUND, LEASE_EXPIRED; INVALID_ARGUMENT for a time of nothing or above a
    /// year; STATE_NOT_SAVED: it lasts as long as before, then.
    pub fn renew(&self, id: u64, ttl: Duration) -> Result<Reservation, Error> {
        check_ttl(Some(ttl))?;
        let mut table = lock(&self.table);
        let (renewed, saving) = table.renew(id, ttl)?;
        let times = table.times(id);
        if table.expires_first(id) {
            self.watch.wake();
        }
        drop(table);
        let saved = saving.wait();
        let mut table = lock(&self.table);
        if saved.is_ok() {
            table.note_saved(id, times);
        } else {
            table.take_back(id, times);
            self.watch.wake();
        }
        drop(table);
        Ok(saved.map(|()| renewed)?)
    }

    /// Gives it back. A reservation that was released before is answered again. Blocks until it is on disk: only then is the
    /// memory anybody else's.
    ///
    /// # Errors
    /// NOT_FOUND; LEASE_EXPIRED when it expired or its process died; STATE_NOT_SAVED: it is held as before, then.
    pub fn release(&self, id: u64) -> Result<Reservation, Error> {
        self.after_saving(id, ReservationState::Released, Table::release)
    }

    /// A reservation as it is now, live or ended.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Reservation> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        match table.live.get(&id) {
            Some(live) => Some(live.reading(&table.processes)),
            None => table.remembered(id).cloned(),
        }
    }

    /// Puts it on disk as it is to be, and makes it that. When somebody else's change has gone behind it meanwhile, what it
    /// is in the end goes behind both, and is waited for too.
    fn after_saving(
        &self,
        id: u64,
        state: ReservationState,
        make: fn(&mut Table, u64) -> Result<Reservation, Error>,
    ) -> Result<Reservation, Error> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        let (puts, saving) = table.keep_as(id, state);
        drop(table);
        saving.wait()?;
        let mut table = lock(&self.table);
        let overtaken = table.puts(id).is_some_and(|now| Some(now) != puts);
        let made = make(&mut table, id)?;
        if overtaken {
            let saving = table.keep_again(id);
            drop(table);
            saving.wait()?;
        }
        Ok(made)
    }

    /// The reservations that have ended since this was asked last, in that order, each once; at most the latest 10,000.
    #[must_use]
    pub fn take_ended(&self) -> Vec<Reservation> {
        let mut table = lock(&self.table);
        table.expire_due(kernel::now());
        table.untold.drain(..).collect()
    }

    /// Every live reservation, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Reservation> {
        // Without the table's lock: it reads a file for each process.
        let processes = Arc::clone(&lock(&self.table).processes);
        processes.look();
        let table = lock(&self.table);
        table.live.values().map(|live| live.reading(&table.processes)).collect()
    }
}
