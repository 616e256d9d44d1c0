//! The memory limit of this process's control groups, v1 and v2.

use super::cgroup_path::{CgroupPath, parse_self_cgroup};
use super::error::{HostError, ParseError};
use super::root::HostReader;
use super::text::{add, lines, parse_count, parse_digits};

/// From here on a limit is none. v1 spells "unlimited" as the largest page-aligned number below 2^63.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// Which of the kernel's two control group interfaces a group is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupVersion {
    /// Documentation/admin-guide/cgroup-v1/memory.rst.
    V1,
    /// Documentation/admin-guide/cgroup-v2.rst, "Memory".
    V2,
}

impl CgroupVersion {
    /// 1 or 2.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// One group that limits this process's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupMemory {
    /// The interface it was read from.
    pub version: CgroupVersion,
    /// The group below its hierarchy's mount, with leading slash; `/` in a container is the container's own group.
    pub path: String,
    /// The most it may hold. Never "unlimited": such groups are passed over.
    pub limit_bytes: u64,
    /// What it holds now, page cache included.
    pub usage_bytes: u64,
    /// Page cache the kernel can drop: part of `usage_bytes`, never more.
    pub reclaimable_bytes: u64,
    /// `limit - usage + reclaimable`, from 0 to the limit.
    pub available_bytes: u64,
}

impl CgroupMemory {
    /// The group with the least available among this process's groups and their ancestors in both hierarchies; of
    /// equals the deepest, v1 before v2. `None` where no group has a limit.
    pub(super) fn read(reader: &mut HostReader) -> Result<Option<Self>, HostError> {
        let groups = reader.read(&["proc/self/cgroup"], parse_self_cgroup)?.unwrap_or_default();
        let mut found = Vec::new();
        if let Some(path) = &groups.memory_v1 {
            V1.read_levels(reader, path, &mut found)?;
        }
        if let Some(path) = &groups.unified {
            unified(reader).read_levels(reader, path, &mut found)?;
        }
        Ok(found.into_iter().min_by_key(|group| group.available_bytes))
    }

    fn new(
        version: CgroupVersion,
        level: &str,
        limit_bytes: u64,
        usage_bytes: u64,
        cache_bytes: u64,
    ) -> Self {
        let reclaimable_bytes = cache_bytes.min(usage_bytes);
        Self {
            version,
            path: format!("/{level}"),
            limit_bytes,
            usage_bytes,
            reclaimable_bytes,
            available_bytes: limit_bytes.saturating_sub(usage_bytes - reclaimable_bytes),
        }
    }
}

/// Where a hierarchy is mounted and how it names its files.
struct Hierarchy {
    version: CgroupVersion,
    mount: &'static str,
    limit_file: &'static str,
    usage_file: &'static str,
    parse_reclaimable: fn(&str) -> Result<u64, ParseError>,
}

const V1: Hierarchy = Hierarchy {
    version: CgroupVersion::V1,
    mount: "sys/fs/cgroup/memory",
    limit_file: "memory.limit_in_bytes",
    usage_file: "memory.usage_in_bytes",
    parse_reclaimable: parse_reclaimable_v1,
};

const V2: Hierarchy = Hierarchy {
    version: CgroupVersion::V2,
    mount: "sys/fs/cgroup",
    limit_file: "memory.max",
    usage_file: "memory.current",
    parse_reclaimable: parse_reclaimable_v2,
};

const V2_HYBRID: Hierarchy = Hierarchy { mount: "sys/fs/cgroup/unified", ..V2 };

/// Where v2 is mounted. A group may itself be called `unified`, so a v2 mount at the top (it alone has
/// `cgroup.controllers` there) comes first.
fn unified(reader: &mut HostReader) -> Hierarchy {
    let hybrid = reader.exists(&[V2_HYBRID.mount]) && !reader.exists(&[V2.mount, "cgroup.controllers"]);
    if hybrid { V2_HYBRID } else { V2 }
}

impl Hierarchy {
    fn read_levels(
        &self,
        reader: &mut HostReader,
        path: &CgroupPath,
        found: &mut Vec<CgroupMemory>,
    ) -> Result<(), HostError> {
        for level in path.levels() {
            found.extend(self.read_level(reader, level)?);
        }
        Ok(())
    }

    /// `None` for a level that is not there or has no limit. In a container the path is often the host's while the
    /// mount shows only the container's own group: then all levels but the root are not there.
    fn read_level(&self, reader: &mut HostReader, level: &str) -> Result<Option<CgroupMemory>, HostError> {
        let limit = reader.read(&[self.mount, level, self.limit_file], parse_memory_limit)?;
        let Some(limit) = limit.flatten() else {
            return Ok(None);
        };
        let usage = reader.require(&[self.mount, level, self.usage_file], parse_count)?;
        let cache = reader.read(&[self.mount, level, "memory.stat"], self.parse_reclaimable)?;
        Ok(Some(CgroupMemory::new(self.version, level, limit, usage, cache.unwrap_or(0))))
    }
}

/// Reads `memory.max` (v2) or `memory.limit_in_bytes` (v1), in bytes. `None` is no limit: `max`, or 2^62 and above.
///
/// # Errors
/// As [`parse_count`].
pub fn parse_memory_limit(text: &str) -> Result<Option<u64>, ParseError> {
    if text.trim_end_matches([' ', '\t', '\n']) == "max" {
        return Ok(None);
    }
    parse_count(text).map(|bytes| Some(bytes).filter(|bytes| *bytes < UNLIMITED_BYTES))
}

/// Droppable page cache of a v1 group and its descendants in bytes: `total_inactive_file + total_active_file` of its
/// `memory.stat` (cgroup-v1/memory.rst, section 5.2). The lines without `total_` leave the descendants out, although
/// they are charged to the group. A missing line counts as 0.
///
/// # Errors
/// [`ParseError::NotANumber`] or [`ParseError::TooLarge`] for a line that is used, or the sum.
pub fn parse_reclaimable_v1(text: &str) -> Result<u64, ParseError> {
    add(stat_field(text, "total_inactive_file")?, stat_field(text, "total_active_file")?)
}

/// Droppable page cache of a v2 group and its descendants in bytes: `inactive_file + active_file` of its `memory.stat`
/// (cgroup-v2.rst, "memory.stat"). `file` would count tmpfs too, which cannot be dropped. A missing line counts as 0.
///
/// # Errors
/// [`ParseError::NotANumber`] or [`ParseError::TooLarge`] for a line that is used, or the sum.
pub fn parse_reclaimable_v2(text: &str) -> Result<u64, ParseError> {
    add(stat_field(text, "inactive_file")?, stat_field(text, "active_file")?)
}

fn stat_field(text: &str, key: &str) -> Result<u64, ParseError> {
    let value = lines(text).find_map(|line| line.split_once(' ').filter(|(name, _)| *name == key));
    value.map_or(Ok(0), |(_, digits)| parse_digits(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available(limit: u64, usage: u64, cache: u64) -> (u64, u64) {
        let group = CgroupMemory::new(CgroupVersion::V2, "a", limit, usage, cache);
        (group.reclaimable_bytes, group.available_bytes)
    }

    #[test]
    fn unlimited_is_spelt_max_or_as_a_huge_number() {
        assert_eq!(parse_memory_limit("max\n"), Ok(None));
        assert_eq!(parse_memory_limit("9223372036854771712\n"), Ok(None));
        assert_eq!(parse_memory_limit("4611686018427387904"), Ok(None));
        assert_eq!(parse_memory_limit("4611686018427387903"), Ok(Some((1 << 62) - 1)));
        assert_eq!(parse_memory_limit("0\n"), Ok(Some(0)));
        assert!(parse_memory_limit("-1\n").is_err());
        assert!(parse_memory_limit("maximum").is_err());
    }

    #[test]
    fn each_version_reads_its_own_hierarchical_counters() {
        let v1 = "inactive_file 5\nactive_file 5\ntotal_inactive_file 10\ntotal_active_file 20 \n";
        assert_eq!(parse_reclaimable_v1(v1), Ok(30));
        assert_eq!(parse_reclaimable_v2("anon 1\nfile 99\ninactive_file 3\nactive_file 4\n"), Ok(7));
        assert_eq!(parse_reclaimable_v1("inactive_file 5\n"), Ok(0));
    }

    #[test]
    fn a_malformed_counter_is_an_error_only_where_it_is_used() {
        assert!(parse_reclaimable_v2("inactive_file x\n").is_err());
        assert!(parse_reclaimable_v2("active_file 18446744073709551615\ninactive_file 1\n").is_err());
        assert_eq!(parse_reclaimable_v2("junk\nanon x\n"), Ok(0));
    }

    #[test]
    fn available_stays_between_zero_and_the_limit() {
        assert_eq!(available(100, 60, 10), (10, 50));
        assert_eq!(available(100, 150, 20), (20, 0), "above its limit");
        assert_eq!(available(100, 150, 120), (120, 70));
        assert_eq!(available(100, 10, 500), (10, 100), "cache is part of usage");
        assert_eq!(available(0, u64::MAX, u64::MAX), (u64::MAX, 0));
    }
}
