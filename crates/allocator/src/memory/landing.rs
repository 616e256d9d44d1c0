//! Where the pages landed, and on what kind of page: asked of the kernel once they are all there.

use std::fs::File;

use super::numa::{NodeBytes, bytes_by_node};
use super::sys::Region;
use crate::units::Bytes;

/// The kernel walks the page tables of so much at a time; other threads that map memory wait meanwhile.
const WINDOW: usize = 1 << 30;

/// What the kernel says of memory that is faulted in. Each part is `None` where it does not tell.
#[derive(Debug)]
pub(super) struct Landing {
    /// Bytes on each node.
    pub(super) nodes: Option<Vec<NodeBytes>>,
    /// Bytes of ordinary backings that are on transparent hugepages.
    pub(super) transparent_huge: Option<Bytes>,
}

impl Landing {
    /// Of regions whose pages, of `page` bytes, are all there.
    pub(super) fn of(regions: &[Region], page: Bytes, hugetlb: bool) -> Self {
        let transparent_huge = if hugetlb { None } else { huge_bytes(regions) };
        Self { nodes: bytes_by_node(regions, page), transparent_huge }
    }
}

fn huge_bytes(regions: &[Region]) -> Option<Bytes> {
    let pagemap = File::open("/proc/self/pagemap").ok()?;
    let mut bytes = 0;
    for region in regions {
        for start in (0..region.length()).step_by(WINDOW) {
            let end = region.length().min(start.saturating_add(WINDOW));
            bytes += region.huge_bytes(&pagemap, start..end).ok()?;
        }
    }
    u64::try_from(bytes).ok().map(Bytes::new)
}
