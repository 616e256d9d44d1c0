//! Reservations of before: those whose holders live go on, the others have ended meanwhile.

use std::io;

use super::holder::Holder;
use super::keeping::put_ended;
use super::kernel;
use super::record::Reservation;
use super::reservations::Reservations;
use super::table::{Live, Table, remember};
use super::watch::Watch;
use crate::budget::Ledger;
use crate::state::{Change, ReservationRecord, ReservationState, Store, instant_at};
use crate::sync::{Arc, lock};

/// The reservations that were kept.
#[derive(Clone, Debug, Default)]
pub struct KeptReservations {
    /// Live and ended ones, by number.
    pub records: Vec<ReservationRecord>,
    /// The last number that was given.
    pub last: Option<u64>,
    /// Whether the machine has not been started again since.
    pub same_boot: bool,
}

/// What became of a reservation while nobody watched.
enum Fate {
    Goes(Option<Holder>),
    Ended(ReservationState),
}

impl Reservations {
    /// The reservations that were kept, whatever the host has now: their memory may be in use. Those whose time ran out or
    /// whose process died meanwhile have ended and are told of in [`take_ended`](Self::take_ended); so has every one when
    /// the machine was started again, since no process outlives that.
    ///
    /// # Errors
    /// When the system has no thread or descriptor to watch with, or does not say whether a process lives.
    pub fn restore(
        ledger: &Arc<Ledger>,
        store: &Arc<dyn Store>,
        kept: &KeptReservations,
    ) -> io::Result<Self> {
        let restored = Self::start(Arc::clone(ledger), Arc::clone(store))?;
        let mut table = lock(&restored.table);
        table.next_id = kept.last.map_or(table.next_id, |last| last + 1);
        let mut meanwhile = Vec::<Change>::new();
        for record in &kept.records {
            let reservation = Reservation::of(record);
            if record.ended_at.is_some() {
                remember(&mut table.ended, reservation);
                continue;
            }
            match fate(record, kept.same_boot)? {
                Fate::Ended(state) => {
                    let ended = Reservation { state, ended_at: Some(kernel::wall_clock()), ..reservation };
                    table.remember(&ended);
                    meanwhile.push(put_ended(&ended));
                }
                Fate::Goes(holder) => table.resume(ledger, &restored.watch, record, reservation, holder)?,
            }
        }
        drop(table);
        store.enqueue(meanwhile).nobody_waits();
        restored.watch.wake();
        Ok(restored)
    }
}

impl Table {
    fn resume(
        &mut self,
        ledger: &Arc<Ledger>,
        watch: &Watch,
        record: &ReservationRecord,
        mut reservation: Reservation,
        holder: Option<Holder>,
    ) -> io::Result<()> {
        let (id, demand) = (record.id, reservation.spec.demand.clone());
        let tie =
            |holder| self.processes.tie(id, holder, &demand, |holder, number| watch.add(holder, number));
        let process = holder.map(tie).transpose()?;
        let charge = ledger.recharge(demand);
        if record.state == ReservationState::Committed {
            if let Some(process) = process {
                self.processes.commit(process, id);
            }
            reservation.resident = record.mapped;
            charge.set_resident(record.mapped);
        }
        let deadline = record.deadline.map(instant_at);
        self.deadlines.extend(deadline.map(|deadline| ((deadline, id), ())));
        let (saved, tied_to) = ((deadline, reservation.expires_at), record.process);
        self.live.insert(id, Live { reservation, deadline, process, tied_to, charge, saved, puts: 0 });
        Ok(())
    }
}

fn fate(record: &ReservationRecord, same_boot: bool) -> io::Result<Fate> {
    if !same_boot {
        return Ok(Fate::Ended(ReservationState::OwnerDied));
    }
    if record.deadline.is_some_and(|deadline| instant_at(deadline) <= kernel::now()) {
        return Ok(Fate::Ended(ReservationState::Expired));
    }
    let Some((pid, process)) = record.pid.zip(record.process) else { return Ok(Fate::Goes(None)) };
    let unclear = |errno| {
        let id = record.id;
        io::Error::other(format!(
            "cannot tell whether process {pid}, which holds reservation {id}, lives: {errno}"
        ))
    };
    Ok(match Holder::find(pid, &process).map_err(unclear)? {
        Some(holder) => Fate::Goes(Some(holder)),
        None => Fate::Ended(ReservationState::OwnerDied),
    })
}
