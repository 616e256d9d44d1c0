//! Reservations on their way to disk: put in line under the table's lock, so in the order in which they changed.

use super::kernel;
use super::record::Reservation;
use super::table::{Live, Table};
use crate::state::{AnswerRecord, Change, ReservationRecord, ReservationState, Ticket};

impl Table {
    /// Puts reservation `id` as it is now in line to be kept, and an answer that gave its number.
    pub(super) fn keep(&mut self, id: u64, answer: Option<AnswerRecord>) -> Ticket {
        let put = self.live.get_mut(&id).map(|live| live.put(live.reservation.state));
        let answer =
            answer.map(|answer| Change::PutAnswer(AnswerRecord { result: id.to_string(), ..answer }));
        self.store.enqueue(put.into_iter().chain(answer).collect())
    }

    /// Puts it in line as it is to be, though it is not yet. Answers how often it has been put there: once it is more,
    /// somebody else's change is behind this one.
    pub(super) fn keep_as(&mut self, id: u64, state: ReservationState) -> (Option<u64>, Ticket) {
        let live = self.live.get_mut(&id);
        let to_be = live.map(|live| (live.put(state), live.puts));
        let puts = to_be.as_ref().map(|(_, puts)| *puts);
        (puts, self.store.enqueue(to_be.into_iter().map(|(put, _)| put).collect()))
    }

    /// How often it was put in line; `None` when it is not live.
    pub(super) fn puts(&self, id: u64) -> Option<u64> {
        self.live.get(&id).map(|live| live.puts)
    }

    /// Puts it in line once more, live or ended.
    pub(super) fn keep_again(&mut self, id: u64) -> Ticket {
        if self.live.contains_key(&id) {
            return self.keep(id, None);
        }
        self.store.enqueue(self.remembered(id).map(put_ended).into_iter().collect())
    }
}

impl Live {
    fn put(&mut self, state: ReservationState) -> Change {
        self.puts += 1;
        let ended_at = (state == ReservationState::Released).then(kernel::wall_clock);
        let record = self.reservation.record(self.tied_to, self.deadline);
        Change::PutReservation(Box::new(ReservationRecord { state, ended_at, ..record }))
    }
}

/// How it was tied and when it would have expired decides nothing any more.
pub(super) fn put_ended(ended: &Reservation) -> Change {
    Change::PutReservation(Box::new(ended.record(None, None)))
}

#[cfg(not(loom))]
#[cfg(test)]
#[path = "keeping_tests.rs"]
mod tests;
