//! Memory that another process maps itself, counted in the ledger so that nobody else is promised it.
//!
//! A reservation lives until it is released, its time runs out, or the process it is tied to dies. [`Reservations`] is the
//! table; a thread of its own watches clocks and processes.

mod holder;
mod processes;
mod record;
mod table;
mod watch;

pub use record::{Reservation, ReservationSpec, ReservationState};
pub use table::Reservations;
