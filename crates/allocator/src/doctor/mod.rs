//! What this host can do for hostpool, and whether that is enough: facts, no advice.
//!
//! [`HostFacts`] asks the kernel and this process; [`rehearse`] goes through what a start would make, without making it.
//! Neither leaves anything behind.

mod facts;
mod rehearsal;

pub use facts::{HostFacts, HugepageSize};
pub use rehearsal::{Wanted, rehearse};
