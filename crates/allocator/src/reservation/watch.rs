//! The thread that notices what nobody calls about: time running out, processes dying.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::{self, Errno};

use super::table::Table;
use crate::sync::lock;

/// What the eventfd is called in epoll; no process has this number.
const WAKE: u64 = u64::MAX;

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    epoll: Arc<OwnedFd>,
    wake: Arc<OwnedFd>,
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(table: Arc<Mutex<Table>>) -> std::io::Result<Self> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(&*epoll, &*wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let eyes =
            Eyes { epoll: Arc::clone(&epoll), wake: Arc::clone(&wake), stop: Arc::clone(&stop), table };
        let thread = thread::Builder::new().name("hostpool-watch".to_owned()).spawn(move || eyes.watch())?;
        Ok(Self { epoll, wake, stop, thread: Some(thread) })
    }

    /// Watches the process that [`Table::owner_died`] knows by `number`. Closing its pidfd ends that.
    pub(super) fn add(&self, pidfd: impl AsFd, number: u64) -> Result<(), Errno> {
        epoll::add(&*self.epoll, pidfd, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    }

    /// Looks at the clock anew.
    pub(super) fn wake(&self) {
        let _ = io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread looks at.
struct Eyes {
    epoll: Arc<OwnedFd>,
    wake: Arc<OwnedFd>,
    stop: Arc<std::sync::atomic::AtomicBool>,
    table: Arc<Mutex<Table>>,
}

impl Eyes {
    fn watch(&self) {
        let mut events = Vec::with_capacity(64);
        while !self.stop.load(std::sync::atomic::Ordering::Acquire) {
            events.clear();
            let timeout = self.until_next_deadline();
            let waited =
                epoll::wait(&*self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref());
            if waited.is_err_and(|errno| errno != Errno::INTR) {
                return;
            }
            self.act(&events);
        }
    }

    fn until_next_deadline(&self) -> Option<Timespec> {
        let deadline = lock(&self.table).next_deadline()?;
        Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()
    }

    fn act(&self, events: &[epoll::Event]) {
        let _ = io::read(&*self.wake, &mut [0; 8]);
        let mut table = lock(&self.table);
        for event in events {
            let number = { event.data }.u64();
            if number != WAKE {
                table.owner_died(number);
            }
        }
        table.expire_due(Instant::now());
    }
}
