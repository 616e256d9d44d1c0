//! Memory that another process maps itself, counted in the ledger so that nobody else is promised it.
//!
//! A reservation lives until it is released, its time runs out, or the process it is tied to dies. [`Reservations`] is the
//! table; a thread of its own watches clocks and processes.

mod holder;
mod keeping;
#[cfg_attr(loom, path = "kernel_model.rs")]
mod kernel;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
mod processes;
mod record;
mod refusal;
mod reservations;
mod restore;
mod table;
mod watch;

#[cfg(fuzzing)]
pub use holder::parse_process;
pub use record::{Reservation, ReservationSpec};
pub use reservations::Reservations;
pub use restore::KeptReservations;

pub use crate::state::ReservationState;
