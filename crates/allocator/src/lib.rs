//! Page-aligned slot pools, the DeepSeek-V4 paged pool and the hugepage/NUMA host memory allocator behind hostpool.
//!
//! Arrows go one way: `bindings` (feature `napi`) → `doctor` → `pool`, `reservation` → `memory` → `budget` → `host`, `state`;
//! `slots` is below `pool`; everything stands on `units` and `error`. Only `memory::sys` contains `unsafe`.
//!
//! ```
//! use hostpool_allocator::host::HostRoot;
//! use hostpool_allocator::memory::{HostBuffer, HostBufferSpec, HostMemoryAllocator, MemoryWish};
//! use hostpool_allocator::{Backing, Bytes};
//!
//! # fn main() -> Result<(), hostpool_allocator::Error> {
//! let allocator = HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO)?;
//! let memory = MemoryWish::of(Backing::AnonymousShm);
//! let spec = HostBufferSpec { name: None, bytes: Bytes::mebibytes(8), memory, budget: "host".to_owned(), rank: None };
//! let buffer = HostBuffer::allocate(&allocator, spec)?;
//! buffer.memory().prefault()?;
//! assert!(buffer.memory().progress().done);
//! # Ok(())
//! # }
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hostpool runs on Linux only (x86-64 and arm64): it needs hugepages, memfd and NUMA system calls"
);

mod backing;
#[cfg(feature = "napi")]
mod bindings;
pub mod budget;
pub mod doctor;
mod errno;
mod error;
#[cfg(not(loom))]
#[cfg(test)]
mod failure_tests;
pub mod host;
pub mod memory;
#[cfg(loom)]
#[cfg(test)]
mod model_host;
mod node_set;
pub mod pool;
pub mod reservation;
pub mod slots;
pub mod state;
mod sync;
mod units;

pub use backing::Backing;
pub use errno::Errno;
pub use error::{
    BudgetExceeded, Error, HostBufferAllocationFailed, HostBufferFailure, InsufficientHostMemory, MemoryLimit,
};
pub use node_set::NodeSet;
pub use units::{Bytes, MAX_COUNT, NumaNode, base_page};
