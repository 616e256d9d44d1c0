//! Page-granular slot bookkeeping: which pages of a pool are taken, and where the next ones come from.
//!
//! Numbers only: no memory is mapped, nothing blocks, nothing is locked. A page is one bit (1 = taken, so that a
//! fresh pool is untouched zero memory), and every 512 pages have a summary of their free runs, gathered eight at a
//! time into one root. A search reads the summaries from the root down; a change rewrites only those above it. The
//! summaries are those of Go's page allocator (`runtime/mpagealloc.go`); the policy and the checks are ours.

mod allocator;
mod bitmap;
mod error;
mod leaf;
mod range;
mod release;
mod summary;
mod tree;

#[cfg(test)]
mod tests;

pub use allocator::SlotAllocator;
pub use error::SlotError;
pub use range::{PageRun, SlotRange};

/// The most pages one allocator keeps: 2^28. Its bookkeeping is then about 39 MiB, nearly all of it untouched.
pub const MAX_PAGE_COUNT: u64 = 1 << 28;

/// The most slots one allocator numbers: 2^53 - 1, the largest integer JavaScript holds exactly.
pub const MAX_SLOT_COUNT: u64 = (1 << 53) - 1;

/// How many offending slots [`SlotError::DoubleFree`] names; the rest are only counted.
pub const MAX_NAMED_SLOTS: usize = 64;
