//! What reservations ask of the kernel: the time, and which processes have died.

use std::os::fd::OwnedFd;
use std::time::{Instant, SystemTime};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::{self, Errno};

use super::holder::Holder;

/// What the bell is called in epoll; no reservation has this id.
const BELL: u64 = u64::MAX;
/// Deaths told of at a time.
const AT_A_TIME: usize = 64;

/// The monotonic clock.
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The clock on the wall, for people.
pub(super) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// What the watcher waits for: the deaths of processes, and a bell.
#[derive(Debug)]
pub(super) struct Signals {
    epoll: OwnedFd,
    bell: OwnedFd,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        Ok(Self { epoll, bell })
    }

    /// Tells of the holder's death as `id`, now if it is dead. Closing its pidfd ends that.
    pub(super) fn watch(&self, holder: &Holder, id: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, holder.pidfd(), epoll::EventData::new_u64(id), epoll::EventFlags::IN)
    }

    /// Ends a wait, this one or the next.
    pub(super) fn ring(&self) {
        let _ = io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Blocks until a process has died, the bell has rung or `deadline` has come (a signal may end it too). Answers the
    /// ids of the dead.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<Vec<u64>, Errno> {
        let timeout = deadline.and_then(|at| Timespec::try_from(at.saturating_duration_since(now())).ok());
        let mut events = Vec::<epoll::Event>::with_capacity(AT_A_TIME);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let _ = io::read(&self.bell, &mut [0; 8]);
        let ids = events.iter().map(|event| { event.data }.u64());
        Ok(ids.filter(|id| *id != BELL).collect())
    }
}
