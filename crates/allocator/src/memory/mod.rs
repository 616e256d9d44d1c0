//! The host memory allocator: four backings, a hugepage size, a NUMA node, prefault; every refusal typed.
//!
//! [`HostMemoryAllocator::allocate`] charges the ledger, maps and binds; [`HostMemory::prefault`] faults in, and
//! [`HostMemory::close`] (or dropping it) unmaps and gives the charge back, in that order.

mod allocation_error;
mod allocator;
mod attempt;
mod buffer;
pub(crate) mod gate;
mod headroom;
mod host_memory;
mod ladder;
mod landing;
mod leftovers;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
mod memlock;
mod numa;
mod pieces;
mod policy;
mod prefault;
mod probe;
mod progress;
mod quota;
mod request;
mod sys;
mod tally;
mod wishes;

pub use allocation_error::{AllocationError, Shortage};
pub use allocator::{HostMemoryAllocator, Rehearsed, RequestGroup};
pub use buffer::{HostBuffer, HostBufferSpec};
pub use host_memory::{HostMemory, Placement};
pub use leftovers::unreturned_bytes;
pub use numa::NodeBytes;
pub use policy::{NumaPolicy, TransparentHugepages};
pub(crate) use prefault::usable_cpus;
pub use probe::{Granted, Limit, Probes};
pub use progress::PrefaultProgress;
pub use request::{MemoryRequest, MemoryWish, OnHugepageShortage};
