//! The processes that reservations are tied to, and what each has faulted in.
//!
//! Kept apart from the reservations themselves, under a lock of its own: the ledger looks here in the middle of a
//! decision. A look costs what there is to see, however many reservations there are: each process that holds something
//! is read, and only what has changed is worked out anew.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::holder::{Holder, Resident};
use crate::budget::{Demand, Holders, MemoryKind, Visible};
use crate::sync::{Mutex, MutexGuard, lock};
use crate::units::{Bytes, NumaNode};

/// Every process that a live reservation is tied to.
#[derive(Debug, Default)]
pub(super) struct Processes(Mutex<Known>);

/// The processes, by the first reservation that was tied to each: that number is never given twice, as a process's own
/// is.
#[derive(Debug, Default)]
struct Known {
    watched: BTreeMap<u64, Process>,
    /// The latest process of each number.
    latest: BTreeMap<u32, u64>,
    /// What all held reservations show together.
    visible: Visible,
}

/// One process: one pidfd, however many reservations it holds.
#[derive(Debug)]
struct Process {
    holder: Holder,
    tied: BTreeMap<u64, Tie>,
    /// How many of them are held, not committed: for those it has to be looked at.
    held: usize,
    /// What it had faulted in at the last look; `None` when reservations have come or gone since.
    seen: Option<Resident>,
    /// No later reservation than this shows anything.
    last_shown: Option<u64>,
}

/// What the process had faulted in when it was granted a reservation, and how much of that reservation shows.
#[derive(Debug)]
struct Tie {
    baseline: Resident,
    kind: MemoryKind,
    node: NumaNode,
    mapped: Bytes,
    held: bool,
    shown: Bytes,
}

impl Processes {
    /// Ties reservation `id`, held, to the process of `holder` and answers the number to know that process by. One that
    /// is not known yet is given to `watch`.
    ///
    /// # Errors
    /// What `watch` answers; nothing is tied then.
    pub(super) fn tie(
        &self,
        id: u64,
        holder: Holder,
        demand: &Demand,
        watch: impl FnOnce(&Holder, u64) -> Result<(), Errno>,
    ) -> Result<u64, Errno> {
        let mut known = self.known();
        let (pid, tie) = (holder.pid(), Tie::of(&holder, demand));
        let number = known.living(pid).unwrap_or(id);
        if number == id {
            watch(&holder, id)?;
            known.watched.insert(id, Process::new(holder));
            known.latest.insert(pid, id);
        }
        if let Some(process) = known.watched.get_mut(&number) {
            process.tied.insert(id, tie);
            process.held += 1;
            process.seen = None;
        }
        Ok(number)
    }

    /// Reservation `id`, tied to process `number`, is committed: from now on the ledger counts all of it as shown.
    pub(super) fn commit(&self, number: u64, id: u64) {
        self.known().let_go(number, id);
    }

    /// Reservation `id` is tied to process `number` no more. With its last reservation a process is let go.
    pub(super) fn untie(&self, number: u64, id: u64) {
        let mut known = self.known();
        known.let_go(number, id);
        let Some(process) = known.watched.get_mut(&number) else { return };
        process.tied.remove(&id);
        process.seen = None;
        if process.tied.is_empty() {
            let pid = process.holder.pid();
            known.watched.remove(&number);
            if known.latest.get(&pid) == Some(&number) {
                known.latest.remove(&pid);
            }
        }
    }

    /// The reservations tied to process `number`, oldest first.
    pub(super) fn tied_to(&self, number: u64) -> Vec<u64> {
        let known = self.known();
        known.watched.get(&number).map_or_else(Vec::new, |process| process.tied.keys().copied().collect())
    }

    /// What of the held reservation `id` was faulted in at the last look.
    pub(super) fn shown(&self, number: u64, id: u64) -> Bytes {
        let known = self.known();
        let tie = known.watched.get(&number).and_then(|process| process.tied.get(&id));
        tie.map_or(Bytes::ZERO, |tie| tie.shown)
    }

    /// Looks at every process that holds something.
    pub(super) fn look(&self) {
        self.known().look(&Resident::of, || ());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

impl Holders for Processes {
    fn visible_during(&self, read: &mut dyn FnMut()) -> Option<Visible> {
        let mut known = self.known();
        if known.watched.values().all(|process| process.held == 0) {
            return None;
        }
        known.look(&Resident::of, read);
        Some(known.visible.clone())
    }
}

impl Known {
    /// The process that had the number `pid` when it was seen alive: as long as it lives, nobody else has that number.
    fn living(&self, pid: u32) -> Option<u64> {
        let number = *self.latest.get(&pid)?;
        self.watched.get(&number).filter(|process| process.holder.is_alive()).map(|_| number)
    }

    /// What of it shows is no longer counted here.
    fn let_go(&mut self, number: u64, id: u64) {
        let Some(process) = self.watched.get_mut(&number) else { return };
        let Some(tie) = process.tied.get_mut(&id).filter(|tie| tie.held) else { return };
        tie.held = false;
        process.held -= 1;
        tie.show(Bytes::ZERO, &mut self.visible);
    }

    /// Works out what shows both before and after `during`. What a process has faulted in since its grants goes to its
    /// reservations, the oldest first; nothing is attributed twice.
    fn look(&mut self, read: &impl Fn(u32) -> Option<Resident>, during: impl FnOnce()) {
        let holding = |(_, process): &(&u64, &mut Process)| process.held > 0;
        let of = |process: &Process| read(process.holder.pid()).unwrap_or_default();
        let before: Vec<Resident> =
            self.watched.iter_mut().filter(holding).map(|(_, process)| of(process)).collect();
        during();
        for ((_, process), before) in self.watched.iter_mut().filter(holding).zip(before) {
            let now = before.least(of(process));
            if process.seen != Some(now) {
                process.attribute(now, &mut self.visible);
            }
        }
    }
}

impl Process {
    fn new(holder: Holder) -> Self {
        Self { holder, tied: BTreeMap::new(), held: 0, seen: None, last_shown: None }
    }

    fn attribute(&mut self, now: Resident, visible: &mut Visible) {
        let first = self.tied.values().next().map(|tie| tie.baseline);
        let mut left = now.since(first.unwrap_or(now));
        let until = self.last_shown.take();
        for (id, tie) in &mut self.tied {
            if left == Resident::default() && until.is_none_or(|until| *id > until) {
                break;
            }
            let part = tie.take(now, &mut left);
            if tie.held {
                tie.show(part, visible);
            }
            if tie.shown > Bytes::ZERO {
                self.last_shown = Some(*id);
            }
        }
        self.seen = Some(now);
    }
}

impl Tie {
    fn of(holder: &Holder, demand: &Demand) -> Self {
        let Demand { kind, mapped, .. } = *demand;
        let node = demand.nodes.single();
        Self { baseline: holder.baseline(), kind, node, mapped, held: true, shown: Bytes::ZERO }
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

    fn show(&mut self, bytes: Bytes, visible: &mut Visible) {
        if bytes != self.shown {
            let sum = visible.entry((self.kind, self.node)).or_default();
            *sum = sum.saturating_add(bytes).saturating_sub(self.shown);
            self.shown = bytes;
        }
    }
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
