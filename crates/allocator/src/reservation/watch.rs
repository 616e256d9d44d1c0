//! The thread that notices what nobody calls about: time running out, processes dying.

use rustix::io::Errno;

use super::holder::Holder;
use super::kernel::{self, Signals};
use super::table::Table;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, lock};

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    signals: Arc<Signals>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(table: Arc<Mutex<Table>>) -> std::io::Result<Self> {
        let (signals, stop) = (Arc::new(Signals::new()?), Arc::new(AtomicBool::new(false)));
        let eyes = Eyes { signals: Arc::clone(&signals), stop: Arc::clone(&stop), table };
        let thread = thread::Builder::new().name("hostpool-watch".to_owned()).spawn(move || eyes.watch())?;
        Ok(Self { signals, stop, thread: Some(thread) })
    }

    /// Watches the process that [`Table::owner_died`] knows by `number`. Closing its pidfd ends that.
    pub(super) fn add(&self, holder: &Holder, number: u64) -> Result<(), Errno> {
        self.signals.watch(holder, number)
    }

    /// Looks at the clock anew.
    pub(super) fn wake(&self) {
        self.signals.ring();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread looks at.
struct Eyes {
    signals: Arc<Signals>,
    stop: Arc<AtomicBool>,
    table: Arc<Mutex<Table>>,
}

impl Eyes {
    fn watch(&self) {
        while !self.stop.load(Ordering::Acquire) {
            let deadline = lock(&self.table).next_deadline();
            let Ok(died) = self.signals.wait(deadline) else { return };
            self.act(&died);
        }
    }

    fn act(&self, died: &[u64]) {
        let mut table = lock(&self.table);
        for number in died {
            table.owner_died(*number);
        }
        table.expire_due(kernel::now());
    }
}
