//! Hugepage pools, of the machine and of each node (Documentation/admin-guide/mm/hugetlbpage.rst).

use super::error::{HostError, ParseError, quote};
use super::root::HostReader;
use super::text::{parse_count, parse_kib};

const SYSTEM_FOLDER: &str = "sys/kernel/mm/hugepages";

/// The pages of one size, on the machine or on one node. All counts are pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HugepagePool {
    /// Bytes of one page.
    pub size_bytes: u64,
    /// `nr_hugepages`: all pages there are, surplus ones included.
    pub total_pages: u64,
    /// `free_hugepages`: not in use. Those that a mapping has reserved but not touched still count here.
    pub free_pages: u64,
    /// `resv_hugepages`: promised to mappings that have not touched them. The kernel keeps no such figure for a node,
    /// so there it is 0, and what the machine's pool has reserved may be taken from any node.
    pub reserved_pages: u64,
    /// `surplus_hugepages`: beyond the configured count, given back to the system when freed.
    pub surplus_pages: u64,
    /// `nr_overcommit_hugepages`: how many surplus pages the kernel may try to make; 0 for a node, which has none.
    /// Not part of [`Self::usable_pages`]: nobody promises that they can be made.
    pub overcommit_pages: u64,
}

impl HugepagePool {
    /// `free - reserved`: what a new mapping can count on. Never below 0.
    #[must_use]
    pub fn usable_pages(&self) -> u64 {
        self.free_pages.saturating_sub(self.reserved_pages)
    }

    /// [`Self::usable_pages`] in bytes; at most `u64::MAX`.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.usable_pages().saturating_mul(self.size_bytes)
    }

    /// The machine's pools of every size it has, ascending. Empty where the kernel has no hugepages.
    pub(crate) fn read_system(reader: &mut HostReader) -> Result<Vec<Self>, HostError> {
        let mut pools = Vec::new();
        for size_bytes in read_sizes(reader)? {
            pools.extend(Self::read_system_size(reader, size_bytes)?);
        }
        Ok(pools)
    }

    fn read_system_size(reader: &mut HostReader, size_bytes: u64) -> Result<Option<Self>, HostError> {
        let folder = size_folder(SYSTEM_FOLDER, size_bytes);
        let Some(mut pool) = Self::read_folder(reader, &folder, size_bytes, true)? else {
            return Ok(None);
        };
        let overcommit = reader.read(&[&folder, "nr_overcommit_hugepages"], parse_count)?;
        pool.overcommit_pages = overcommit.unwrap_or(0);
        Ok(Some(pool))
    }

    /// A node's pools, for those of `sizes_bytes` that it has; `node_folder` is below the root.
    pub(super) fn read_node(
        reader: &mut HostReader,
        node_folder: &str,
        sizes_bytes: impl Iterator<Item = u64>,
    ) -> Result<Vec<Self>, HostError> {
        let parent = format!("{node_folder}/hugepages");
        let mut pools = Vec::new();
        for size_bytes in sizes_bytes {
            let folder = size_folder(&parent, size_bytes);
            pools.extend(Self::read_folder(reader, &folder, size_bytes, false)?);
        }
        Ok(pools)
    }

    /// `None` without `nr_hugepages`. Free, reserved and surplus pages are among the total, so that where it is 0 (the
    /// usual machine) they are not read.
    ///
    /// Reserved is read before free: a page touched in between leaves both, so the difference can only come out too
    /// small, never too large.
    fn read_folder(
        reader: &mut HostReader,
        folder: &str,
        size_bytes: u64,
        has_reserved: bool,
    ) -> Result<Option<Self>, HostError> {
        let Some(total_pages) = reader.read(&[folder, "nr_hugepages"], parse_count)? else {
            return Ok(None);
        };
        let mut pool = Self::empty(size_bytes);
        if total_pages > 0 {
            pool.total_pages = total_pages;
            if has_reserved {
                pool.reserved_pages = reader.read(&[folder, "resv_hugepages"], parse_count)?.unwrap_or(0);
            }
            pool.free_pages = reader.require(&[folder, "free_hugepages"], parse_count)?;
            pool.surplus_pages = reader.read(&[folder, "surplus_hugepages"], parse_count)?.unwrap_or(0);
        }
        Ok(Some(pool))
    }

    fn empty(size_bytes: u64) -> Self {
        Self {
            size_bytes,
            total_pages: 0,
            free_pages: 0,
            reserved_pages: 0,
            surplus_pages: 0,
            overcommit_pages: 0,
        }
    }
}

/// The sizes the machine knows, ascending. Other names in the folder are passed over.
fn read_sizes(reader: &mut HostReader) -> Result<Vec<u64>, HostError> {
    let mut sizes_bytes = Vec::new();
    for name in reader.names(&[SYSTEM_FOLDER])? {
        if name.starts_with("hugepages-") {
            sizes_bytes.push(parse_hugepage_dir_name(&name).map_err(|source| reader.malformed(source))?);
        }
    }
    sizes_bytes.sort_unstable();
    sizes_bytes.dedup();
    Ok(sizes_bytes)
}

fn size_folder(parent: &str, size_bytes: u64) -> String {
    format!("{parent}/hugepages-{}kB", size_bytes / 1024)
}

/// The page size in bytes that a folder's name such as `hugepages-2048kB` stands for. Never 0.
///
/// # Errors
/// [`ParseError::MissingField`] without the prefix, [`ParseError::NotKib`] without `kB`, [`ParseError::NotANumber`],
/// [`ParseError::TooLarge`] from 2^64 bytes.
pub fn parse_hugepage_dir_name(text: &str) -> Result<u64, ParseError> {
    let size = text.strip_prefix("hugepages-").ok_or(ParseError::MissingField { field: "hugepages-" })?;
    match parse_kib(size)? {
        0 => Err(ParseError::NotKib { text: quote(size) }),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_name_holds_the_size() {
        assert_eq!(parse_hugepage_dir_name("hugepages-2048kB"), Ok(2 << 20));
        assert_eq!(parse_hugepage_dir_name("hugepages-1048576kB"), Ok(1 << 30));
        for name in ["", "hugepages-", "hugepages-0kB", "hugepages-2M", "2048kB", "hugepages--1kB"] {
            assert!(parse_hugepage_dir_name(name).is_err(), "{name:?}");
        }
        let absurd = format!("hugepages-1{}kB", "0".repeat(30));
        assert!(matches!(parse_hugepage_dir_name(&absurd), Err(ParseError::TooLarge { .. })));
    }

    #[test]
    fn reserved_pages_are_not_usable() {
        let mut pool = HugepagePool {
            total_pages: 64,
            free_pages: 60,
            reserved_pages: 12,
            ..HugepagePool::empty(2 << 20)
        };
        assert_eq!((pool.usable_pages(), pool.usable_bytes()), (48, 48 << 21));
        pool.reserved_pages = 61;
        assert_eq!((pool.usable_pages(), pool.usable_bytes()), (0, 0));
        pool.free_pages = u64::MAX;
        assert_eq!(pool.usable_bytes(), u64::MAX);
    }
}
