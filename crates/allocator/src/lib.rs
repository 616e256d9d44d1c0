//! Page-aligned slot pools, the DeepSeek-V4 paged pool and the hugepage/NUMA host memory allocator behind hostpool.
//!
//! Arrows go one way: `bindings` (feature `napi`) → `pool` → `budget`, `memory` → `host`, `slots` → `units`, `error`.
//! Only `memory::sys` contains `unsafe`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hostpool runs on Linux only (x86-64 and arm64): it needs hugepages, memfd and NUMA system calls"
);

pub mod host;
pub mod slots;
