//! What outlives the process: budgets, reservations, the specifications of pools and buffers, and answers to repeat.
//!
//! [`Store`] is what the rest of the crate knows: changes are put in line under the lock that made them, and waited for
//! without it, so that their order on disk is their order in memory. [`StateFile`] is the store on disk, an SQLite
//! database of one file; [`Forgetful`] keeps nothing.

mod clock;
mod error;
mod file;
mod folder;
mod load;
mod migrations;
mod place;
mod record;
mod rows;
mod store;
mod writer;

pub use clock::{boot_id, instant_at, since_boot};
pub use error::{NotSaved, SaveFailure, StateError};
pub use file::{FILE_NAME, StateFile};
pub use load::Saved;
pub use record::{
    AnswerRecord, BudgetRecord, Change, EntryKind, EntryRecord, ProcessRecord, ReservationRecord,
    ReservationState,
};
pub use store::{Forgetful, Store, Ticket};

#[cfg(test)]
mod tests;
