//! Pools and buffers on real memory: made, written, read back, given back; refused with a type, leaving nothing.
//!
//! Needs root for hugepages and cgroups; what a machine lacks is said and passed over.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic here is how a test fails"
)]

#[path = "memory/cgroup.rs"]
mod cgroup;
#[path = "memory/groups.rs"]
mod groups;
#[path = "memory/largest_group.rs"]
mod largest_group;
#[path = "memory/machine.rs"]
mod machine;
#[path = "memory/placement.rs"]
mod placement;
#[path = "memory/refusals.rs"]
mod refusals;
#[path = "memory/round_trip.rs"]
mod round_trip;
#[path = "memory/wishes.rs"]
mod wishes;
