//! The Node addon (feature `napi`): conversion, no decision.
//!
//! Expected refusals cross as [`failure::Failure`] values; a thrown exception is a bug. Byte and slot counts cross as
//! JS numbers, checked at the border. Raw addresses never cross. What maps, faults in or unmaps runs on a thread of
//! its own and answers through a promise; slot operations are synchronous.

mod allocator;
mod budget;
mod budget_events;
mod doctor;
mod failure;
mod host;
mod host_buffer;
mod logical_pool;
mod memory;
mod nodes;
mod number;
mod off_loop;
mod paged_pool;
mod pool_group;
mod reservations;
mod slots;
mod specs;
mod state;
