//! Where changes go to be kept.

use std::fmt::Debug;
use std::sync::mpsc::Receiver;

use super::error::{NotSaved, SaveFailure};
use super::record::Change;

/// Keeps changes in the order in which they come.
pub trait Store: Debug + Send + Sync {
    /// Puts `changes` in line, all or none of them, behind all that came before. Does not block, so it may be called
    /// under the lock that made them; wait for the ticket without it.
    fn enqueue(&self, changes: Vec<Change>) -> Ticket;
}

/// The promise of an answer: whether changes are on disk.
#[derive(Debug)]
#[must_use = "wait for it before anybody is told, or say that nobody waits"]
pub struct Ticket(Option<Receiver<Result<(), NotSaved>>>);

impl Ticket {
    pub(crate) fn new(answer: Receiver<Result<(), NotSaved>>) -> Self {
        Self(Some(answer))
    }

    /// Nothing is to be written.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// Blocks until the changes are on disk.
    ///
    /// # Errors
    /// [`NotSaved`]; none of them is, then.
    pub fn wait(self) -> Result<(), NotSaved> {
        let Some(answer) = self.0 else { return Ok(()) };
        answer.recv().unwrap_or_else(|_| Err(writer_is_gone()))
    }

    /// Nobody is told of them: should they be lost, the next start finds out for itself.
    pub fn nobody_waits(self) {}
}

/// The writer ends only when its store is dropped, and then nobody is left to ask.
fn writer_is_gone() -> NotSaved {
    let detail = "the writer has ended".to_owned();
    NotSaved { path: std::path::PathBuf::new(), reason: SaveFailure::Io, detail }
}

/// A store that keeps nothing: everything ends with the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Store for Forgetful {
    fn enqueue(&self, _changes: Vec<Change>) -> Ticket {
        Ticket::nothing()
    }
}
