//! The kernel of the models: a clock that they move, processes that they end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;

use super::holder::Holder;
use crate::sync::{Condvar, Mutex, lock, process_wide, wait};

process_wide! {
    static MACHINE: Machine = Machine { state: Mutex::new(State::default()), changed: Condvar::new() };
}

struct Machine {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    since_start: Duration,
    rung: bool,
    /// The process of each id.
    watched: BTreeMap<u64, u32>,
    dead: BTreeSet<u32>,
    /// The watcher waits: until a deadline, or without one.
    waits: Option<Option<Instant>>,
}

/// Time passes.
pub(super) fn pass(time: Duration) {
    lock(&MACHINE.state).since_start += time;
    MACHINE.changed.notify_all();
}

/// The process dies.
pub(super) fn die(pid: u32) {
    lock(&MACHINE.state).dead.insert(pid);
    MACHINE.changed.notify_all();
}

/// Blocks until the watcher has nothing to do any more.
pub(super) fn settle() {
    let mut state = lock(&MACHINE.state);
    while !state.is_settled() {
        state = wait(&MACHINE.changed, state);
    }
}

pub(super) fn now() -> Instant {
    start() + lock(&MACHINE.state).since_start
}

pub(super) fn wall_clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + lock(&MACHINE.state).since_start
}

fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

#[derive(Debug)]
pub(super) struct Signals;

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn watch(&self, holder: &Holder, id: u64) -> Result<(), Errno> {
        rustix::io::fcntl_getfd(holder.pidfd())?;
        lock(&MACHINE.state).watched.insert(id, holder.pid());
        MACHINE.changed.notify_all();
        Ok(())
    }

    pub(super) fn ring(&self) {
        lock(&MACHINE.state).rung = true;
        MACHINE.changed.notify_all();
    }

    /// Tells of each death once: harder on its caller than epoll, which repeats it until the pidfd is closed.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<Vec<u64>, Errno> {
        let mut state = lock(&MACHINE.state);
        loop {
            let (died, rung) = (state.take_died(), std::mem::take(&mut state.rung));
            if rung || state.is_due(deadline) || !died.is_empty() {
                state.waits = None;
                return Ok(died);
            }
            state.waits = Some(deadline);
            MACHINE.changed.notify_all();
            state = wait(&MACHINE.changed, state);
        }
    }
}

impl State {
    fn is_due(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|deadline| deadline <= start() + self.since_start)
    }

    /// Nothing would end the wait.
    fn is_settled(&self) -> bool {
        let is_alive = |pid| !self.dead.contains(pid);
        let waits = self.waits.is_some_and(|deadline| !self.is_due(deadline));
        waits && !self.rung && self.watched.values().all(is_alive)
    }

    fn take_died(&mut self) -> Vec<u64> {
        let is_dead = |(_, pid): &(&u64, &u32)| self.dead.contains(pid);
        let died: Vec<u64> = self.watched.iter().filter(is_dead).map(|(id, _)| *id).collect();
        died.iter().for_each(|id| _ = self.watched.remove(id));
        died
    }
}
