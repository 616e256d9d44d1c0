//! Page-aligned slot pools, the DeepSeek-V4 paged pool and the hugepage/NUMA host memory allocator behind hostpool.
//!
//! Arrows go one way: `bindings` (feature `napi`) → `pool` → `budget`, `memory` → `host`, `slots` → `units`, `error`.
//! Only `memory::sys` contains `unsafe`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hostpool runs on Linux only (x86-64 and arm64): it needs hugepages, memfd and NUMA system calls"
);

mod backing;
#[cfg(feature = "napi")]
mod bindings;
pub mod budget;
mod errno;
mod error;
pub mod host;
pub mod memory;
pub mod pool;
pub mod reservation;
pub mod slots;
mod sync;
mod units;

pub use backing::Backing;
pub use errno::Errno;
pub use error::{
    BudgetExceeded, Error, HostBufferAllocationFailed, HostBufferFailure, InsufficientHostMemory, MemoryLimit,
};
pub use units::{Bytes, MAX_COUNT, NumaNode};
