//! What a look at the processes costs, counted, and what it attributes.

use std::cell::Cell;
use std::process::{Child, Command};

use super::*;
use crate::budget::{Claimant, HOST_BUDGET};
use crate::node_set::NodeSet;

const MIB: u64 = 1 << 20;

/// A process that does nothing; killed when dropped.
struct Idle(Child);

impl Idle {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// So much faulted in on ordinary pages.
fn at(bytes: u64) -> Resident {
    Resident { ordinary: Bytes::new(bytes), hugepages: Bytes::ZERO }
}

fn demand(kind: MemoryKind) -> Demand {
    let (budget, bytes) = (HOST_BUDGET.to_owned(), Bytes::mebibytes(1));
    let claimant = Claimant::HostBuffer(None);
    Demand { budget, rank: None, claimant, kind, nodes: NodeSet::default(), requested: bytes, mapped: bytes }
}

/// Ties a reservation of 1 MiB to a process that has faulted in so much.
fn tie(processes: &Processes, id: u64, pid: u32, baseline: Resident) -> u64 {
    let holder = Holder::open(pid).unwrap().posing_as(pid, baseline);
    processes.tie(id, holder, &demand(MemoryKind::Ordinary), |_, _| Ok(())).unwrap()
}

/// How many times a look has read a process.
fn look(processes: &Processes, before: Resident, after: Resident) -> u32 {
    let (reads, read_on) = (Cell::new(0), Cell::new(false));
    let read = |_| {
        reads.set(reads.get() + 1);
        Some(if read_on.get() { after } else { before })
    };
    processes.known().look(&read, || read_on.set(true));
    reads.get()
}

/// What a look at an unchanged process finds of each reservation that shows anything, and that their sum is kept.
fn shown(processes: &Processes, now: Resident) -> Vec<(u64, u64)> {
    look(processes, now, now);
    let known = processes.known();
    let ties = known.watched.values().flat_map(|process| &process.tied);
    let shown: Vec<_> =
        ties.map(|(id, tie)| (*id, tie.shown.get())).filter(|(_, bytes)| *bytes > 0).collect();
    let sum: Bytes = known.visible.values().copied().sum();
    assert_eq!(sum.get(), shown.iter().map(|(_, bytes)| bytes).sum::<u64>());
    shown
}

#[test]
fn a_look_reads_each_process_that_holds_something_however_many_reservations_there_are() {
    let (one, other, done) = (Idle::start(), Idle::start(), Idle::start());
    for count in [10, 1_000, 20_000] {
        let processes = Processes::default();
        for id in 0..count {
            tie(&processes, id, if id % 2 == 0 { one.pid() } else { other.pid() }, at(0));
        }
        let committed = tie(&processes, count, done.pid(), at(0));
        processes.commit(committed, count);
        assert_eq!(look(&processes, at(0), at(0)), 4, "two processes, before and after");
        let parts = |odd| vec![(0, MIB), (2, MIB), (4, odd), (1, MIB), (3, MIB), (5, odd)];
        assert_eq!(shown(&processes, at(2 * MIB + 7)), parts(7));
        assert_eq!(shown(&processes, at(2 * MIB + 8)), parts(8));
        assert_eq!(shown(&processes, at(MIB)), [(0, MIB), (1, MIB)]);
    }
}

#[test]
fn only_what_is_there_before_and_after_shows() {
    let (idle, processes) = (Idle::start(), Processes::default());
    tie(&processes, 0, idle.pid(), at(0));
    for (before, after) in [(0, MIB), (MIB, 0)] {
        look(&processes, at(before), at(after));
        assert_eq!(processes.shown(0, 0), Bytes::ZERO, "{before} {after}");
    }
    look(&processes, at(MIB), at(7));
    assert_eq!(processes.shown(0, 0), Bytes::new(7));
}

#[test]
fn what_was_faulted_in_before_a_grant_is_not_that_reservations() {
    let (idle, processes) = (Idle::start(), Processes::default());
    tie(&processes, 0, idle.pid(), at(0));
    tie(&processes, 1, idle.pid(), at(4 * MIB));
    assert_eq!(shown(&processes, at(4 * MIB)), [(0, MIB)]);
    assert_eq!(shown(&processes, at(4 * MIB + 5)), [(0, MIB), (1, 5)]);
    processes.untie(0, 0);
    assert_eq!(shown(&processes, at(4 * MIB + 5)), [(1, 5)]);
}

#[test]
fn a_committed_reservation_keeps_its_part_of_what_was_faulted_in() {
    let (idle, processes) = (Idle::start(), Processes::default());
    for id in [0, 1] {
        tie(&processes, id, idle.pid(), at(0));
    }
    assert_eq!(shown(&processes, at(MIB + 5)), [(0, MIB), (1, 5)]);
    processes.commit(0, 0);
    assert_eq!(shown(&processes, at(MIB + 5)), [(1, 5)], "the ledger counts the first by itself");
    assert_eq!(shown(&processes, at(MIB + 6)), [(1, 6)]);
}

#[test]
fn hugepages_and_ordinary_pages_are_attributed_apart() {
    let (idle, processes) = (Idle::start(), Processes::default());
    tie(&processes, 0, idle.pid(), at(0));
    let holder = Holder::open(idle.pid()).unwrap().posing_as(idle.pid(), at(0));
    let hugepages = demand(MemoryKind::Hugepages(Bytes::mebibytes(2)));
    processes.tie(1, holder, &hugepages, |_, _| Ok(())).unwrap();
    let now = Resident { ordinary: Bytes::new(3), hugepages: Bytes::new(5) };
    assert_eq!(shown(&processes, now), [(0, 3), (1, 5)]);
}

#[test]
fn one_process_is_watched_once_until_its_last_reservation_ends() {
    let idle = Idle::start();
    let (processes, watched) = (Processes::default(), Cell::new(0));
    let tie = |id| {
        let watch = |_: &Holder, _| {
            watched.set(watched.get() + 1);
            Ok(())
        };
        processes.tie(id, Holder::open(idle.pid()).unwrap(), &demand(MemoryKind::Ordinary), watch).unwrap()
    };
    assert_eq!([tie(3), tie(4)], [3, 3]);
    processes.untie(3, 3);
    assert_eq!((tie(5), watched.get()), (3, 1));
    assert_eq!(processes.tied_to(3), [4, 5]);
    processes.untie(3, 4);
    processes.untie(3, 5);
    assert_eq!((tie(6), watched.get()), (6, 2));
}

#[test]
fn a_later_process_with_the_same_number_is_another_process() {
    let (dying, heir) = (Idle::start(), Idle::start());
    let (pid, processes) = (dying.pid(), Processes::default());
    assert_eq!(tie(&processes, 0, pid, at(0)), 0);
    drop(dying);
    let holder = Holder::open(heir.pid()).unwrap().posing_as(pid, at(0));
    let number = processes.tie(1, holder, &demand(MemoryKind::Ordinary), |_, _| Ok(())).unwrap();
    assert_eq!((number, processes.tied_to(0), processes.tied_to(1)), (1, vec![0], vec![1]));
    processes.untie(0, 0);
    assert_eq!(tie(&processes, 2, heir.pid(), at(0)), 2, "by its own number");
    assert_eq!(processes.known().living(pid), Some(1), "the heir is still known by the number");
}

#[test]
fn a_process_that_cannot_be_watched_is_not_tied_to() {
    let (idle, processes) = (Idle::start(), Processes::default());
    let holder = Holder::open(idle.pid()).unwrap();
    let tied = processes.tie(0, holder, &demand(MemoryKind::Ordinary), |_, _| Err(Errno::NOSPC));
    assert_eq!(tied, Err(Errno::NOSPC));
    assert!(processes.tied_to(0).is_empty());
}

#[test]
fn where_nobody_holds_anything_there_is_nothing_to_look_at() {
    let (idle, processes) = (Idle::start(), Processes::default());
    let visible = || processes.visible_during(&mut || ());
    assert_eq!(visible(), None);
    let number = tie(&processes, 0, idle.pid(), at(0));
    assert!(visible().is_some());
    processes.commit(number, 0);
    assert_eq!(visible(), None);
}
