//! What a look at the processes costs, counted, and what it attributes.

use std::cell::Cell;
use std::process::{Child, Command};

use super::*;
use crate::budget::HOST_BUDGET;
use crate::units::NumaNode;

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
    Demand { budget, rank: None, kind, node: NumaNode::Any, requested: bytes, mapped: bytes }
}

/// Ties a reservation of 1 MiB to a process that has faulted in so much.
fn tie(processes: &mut Processes, id: u64, pid: u32, baseline: Resident) -> u64 {
    let holder = Holder::open(pid).unwrap().posing_as(pid, baseline);
    processes.tie(id, holder, &demand(MemoryKind::Ordinary), |_, _| Ok(())).unwrap()
}

/// How many processes a look has read, and what it handed on.
fn look(processes: &mut Processes, now: Resident) -> (u32, Vec<(u64, u64)>) {
    let (reads, mut shown) = (Cell::new(0), Vec::new());
    let read = |_| {
        reads.set(reads.get() + 1);
        Some(now)
    };
    processes.look(read, |id, bytes| shown.push((id, bytes.get())));
    (reads.get(), shown)
}

#[test]
fn a_look_costs_what_has_changed_however_many_reservations_there_are() {
    let (one, other) = (Idle::start(), Idle::start());
    for count in [10, 1_000, 20_000] {
        let mut processes = Processes::default();
        for id in 0..count {
            tie(&mut processes, id, if id % 2 == 0 { one.pid() } else { other.pid() }, at(0));
        }
        let parts = vec![(0, MIB), (2, MIB), (4, 7), (1, MIB), (3, MIB), (5, 7)];
        assert_eq!(look(&mut processes, at(2 * MIB + 7)), (2, parts));
        assert_eq!(look(&mut processes, at(2 * MIB + 7)), (2, vec![]), "nothing has changed");
        assert_eq!(look(&mut processes, at(2 * MIB + 8)), (2, vec![(4, 8), (5, 8)]));
        assert_eq!(look(&mut processes, at(MIB)), (2, vec![(2, 0), (4, 0), (3, 0), (5, 0)]));
    }
}

#[test]
fn what_was_faulted_in_before_a_grant_is_not_that_reservations() {
    let idle = Idle::start();
    let mut processes = Processes::default();
    tie(&mut processes, 0, idle.pid(), at(0));
    tie(&mut processes, 1, idle.pid(), at(4 * MIB));
    assert_eq!(look(&mut processes, at(4 * MIB)).1, [(0, MIB)]);
    assert_eq!(look(&mut processes, at(4 * MIB + 5)).1, [(1, 5)]);
    processes.untie(0, 0);
    assert_eq!(look(&mut processes, at(4 * MIB + 5)).1, [], "it is attributed already");
}

#[test]
fn hugepages_and_ordinary_pages_are_attributed_apart() {
    let idle = Idle::start();
    let mut processes = Processes::default();
    tie(&mut processes, 0, idle.pid(), at(0));
    let holder = Holder::open(idle.pid()).unwrap().posing_as(idle.pid(), at(0));
    let hugepages = demand(MemoryKind::Hugepages(Bytes::mebibytes(2)));
    processes.tie(1, holder, &hugepages, |_, _| Ok(())).unwrap();
    let now = Resident { ordinary: Bytes::new(3), hugepages: Bytes::new(5) };
    assert_eq!(look(&mut processes, now).1, [(0, 3), (1, 5)]);
}

#[test]
fn one_process_is_watched_once_until_its_last_reservation_ends() {
    let idle = Idle::start();
    let (mut processes, watched) = (Processes::default(), Cell::new(0));
    let tie = |processes: &mut Processes, id| {
        let watch = |_: &OwnedFd, _| {
            watched.set(watched.get() + 1);
            Ok(())
        };
        processes.tie(id, Holder::open(idle.pid()).unwrap(), &demand(MemoryKind::Ordinary), watch).unwrap()
    };
    assert_eq!([tie(&mut processes, 3), tie(&mut processes, 4)], [3, 3]);
    processes.untie(3, 3);
    assert_eq!((tie(&mut processes, 5), watched.get()), (3, 1));
    assert_eq!(processes.tied_to(3), [4, 5]);
    processes.untie(3, 4);
    processes.untie(3, 5);
    assert_eq!((tie(&mut processes, 6), watched.get()), (6, 2));
}

#[test]
fn a_later_process_with_the_same_number_is_another_process() {
    let (dying, heir) = (Idle::start(), Idle::start());
    let (pid, mut processes) = (dying.pid(), Processes::default());
    assert_eq!(tie(&mut processes, 0, pid, at(0)), 0);
    drop(dying);
    let holder = Holder::open(heir.pid()).unwrap().posing_as(pid, at(0));
    let number = processes.tie(1, holder, &demand(MemoryKind::Ordinary), |_, _| Ok(())).unwrap();
    assert_eq!((number, processes.tied_to(0), processes.tied_to(1)), (1, vec![0], vec![1]));
    processes.untie(0, 0);
    assert_eq!(tie(&mut processes, 2, heir.pid(), at(0)), 2, "by its own number");
    assert!(processes.living(pid).is_some(), "the heir is still known by the number");
}

#[test]
fn a_process_that_cannot_be_watched_is_not_tied_to() {
    let idle = Idle::start();
    let mut processes = Processes::default();
    let holder = Holder::open(idle.pid()).unwrap();
    let tied = processes.tie(0, holder, &demand(MemoryKind::Ordinary), |_, _| Err(Errno::NOSPC));
    assert_eq!(tied, Err(Errno::NOSPC));
    assert!(processes.tied_to(0).is_empty());
}
