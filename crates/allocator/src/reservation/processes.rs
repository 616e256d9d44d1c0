//! The processes that reservations are tied to, and what each has faulted in.
//!
//! Kept apart from the reservations themselves so that a look at the processes costs what there is to see, however many
//! reservations there are: each process is read once, and only what has changed is handed on.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::holder::{Holder, Resident};
use crate::budget::{Demand, MemoryKind};
use crate::units::Bytes;

/// Every process that a live reservation is tied to, by the first reservation that was tied to it: that number is never
/// given twice, as a process's own is.
#[derive(Debug, Default)]
pub(super) struct Processes {
    watched: BTreeMap<u64, Process>,
    /// The latest process of each number.
    latest: BTreeMap<u32, u64>,
}

/// One process: one pidfd, however many reservations it holds.
#[derive(Debug)]
struct Process {
    holder: Holder,
    tied: BTreeMap<u64, Tie>,
    /// What it had faulted in at the last look; `None` when reservations have come or gone since.
    seen: Option<Resident>,
    /// No later reservation than this has been attributed anything.
    last_shown: Option<u64>,
}

/// What the process had faulted in when it was granted a reservation, and how much of that reservation has shown since.
#[derive(Debug)]
struct Tie {
    baseline: Resident,
    kind: MemoryKind,
    mapped: Bytes,
    shown: Bytes,
}

impl Processes {
    /// Ties reservation `id` to the process of `holder` and answers the number to untie it by. A process that is not
    /// known yet is given to `watch`, with its number.
    ///
    /// # Errors
    /// What `watch` answers; nothing is tied then.
    pub(super) fn tie(
        &mut self,
        id: u64,
        holder: Holder,
        demand: &Demand,
        watch: impl FnOnce(&OwnedFd, u64) -> Result<(), Errno>,
    ) -> Result<u64, Errno> {
        let (pid, tie) = (holder.pid(), Tie::of(&holder, demand));
        if let Some((number, process)) = self.living(pid) {
            process.tied.insert(id, tie);
            process.seen = None;
            return Ok(number);
        }
        watch(holder.pidfd(), id)?;
        let tied = BTreeMap::from([(id, tie)]);
        self.watched.insert(id, Process { holder, tied, seen: None, last_shown: None });
        self.latest.insert(pid, id);
        Ok(id)
    }

    /// The process that had the number `pid` when it was seen alive: as long as it lives, nobody else has that number.
    fn living(&mut self, pid: u32) -> Option<(u64, &mut Process)> {
        let number = *self.latest.get(&pid)?;
        self.watched.get_mut(&number).filter(|process| process.holder.is_alive()).map(|it| (number, it))
    }

    /// Reservation `id` is tied to process `number` no more. With its last reservation a process is let go.
    pub(super) fn untie(&mut self, number: u64, id: u64) {
        let Some(process) = self.watched.get_mut(&number) else { return };
        process.tied.remove(&id);
        process.seen = None;
        if process.tied.is_empty() {
            let pid = process.holder.pid();
            self.watched.remove(&number);
            if self.latest.get(&pid) == Some(&number) {
                self.latest.remove(&pid);
            }
        }
    }

    /// The reservations tied to process `number`, oldest first.
    pub(super) fn tied_to(&self, number: u64) -> Vec<u64> {
        self.watched.get(&number).map_or_else(Vec::new, |process| process.tied.keys().copied().collect())
    }

    /// Reads each process once and hands on what of each reservation shows now, where that has changed. What a process
    /// has faulted in since its grants goes to its reservations, the oldest first; nothing is attributed twice.
    pub(super) fn look(&mut self, read: impl Fn(u32) -> Option<Resident>, mut show: impl FnMut(u64, Bytes)) {
        for process in self.watched.values_mut() {
            let now = read(process.holder.pid()).unwrap_or_default();
            if process.seen != Some(now) {
                process.attribute(now, &mut show);
            }
        }
    }
}

impl Process {
    fn attribute(&mut self, now: Resident, show: &mut impl FnMut(u64, Bytes)) {
        let first = self.tied.values().next().map(|tie| tie.baseline);
        let mut left = now.since(first.unwrap_or(now));
        let until = self.last_shown.take();
        for (id, tie) in &mut self.tied {
            if left == Resident::default() && until.is_none_or(|until| *id > until) {
                break;
            }
            let shown = tie.take(now, &mut left);
            if shown > Bytes::ZERO {
                self.last_shown = Some(*id);
            }
            if shown != tie.shown {
                tie.shown = shown;
                show(*id, shown);
            }
        }
        self.seen = Some(now);
    }
}

impl Tie {
    fn of(holder: &Holder, demand: &Demand) -> Self {
        Self { baseline: holder.baseline(), kind: demand.kind, mapped: demand.mapped, shown: Bytes::ZERO }
    }

    /// The part of `left` that belongs to this reservation.
    fn take(&self, now: Resident, left: &mut Resident) -> Bytes {
        let grown = now.since(self.baseline);
        let (grown, left) = match self.kind {
            MemoryKind::Ordinary => (grown.ordinary, &mut left.ordinary),
            MemoryKind::Hugepages(_) => (grown.hugepages, &mut left.hugepages),
        };
        let part = self.mapped.min(grown).min(*left);
        *left = left.saturating_sub(part);
        part
    }
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
