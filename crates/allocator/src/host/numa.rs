//! NUMA nodes (Documentation/ABI/stable/sysfs-devices-node).

use super::error::{HostError, ParseError, quote};
use super::hugepages::HugepagePool;
use super::id_list::{IdList, parse_id_list};
use super::root::HostReader;
use super::text::{add, kib_field, lines, parse_digits};

const NODE_FOLDER: &str = "sys/devices/system/node";

/// The figures of a node's `meminfo`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeMemInfo {
    /// `MemTotal`; 0 for a node that has only CPUs.
    pub mem_total_bytes: u64,
    /// `MemFree`. A node has no `MemAvailable`.
    pub mem_free_bytes: u64,
    /// `Active(file) + Inactive(file)`: page cache the kernel can drop; 0 where the kernel does not say.
    pub file_bytes: u64,
}

/// What a decision about one node needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMemory {
    /// The kernel's number for the node. Numbers may have gaps.
    pub id: u32,
    /// Memory can be bound to it: mbind(2) to an online node without memory fails with `EINVAL`.
    pub has_memory: bool,
    /// Its memory.
    pub mem: NodeMemInfo,
    /// Its hugepages, of each size the machine has, ascending. Reserved is always 0 here.
    pub hugepages: Vec<HugepagePool>,
}

impl NodeMemory {
    /// The online nodes, ascending; none on a kernel without NUMA. A node whose folder is gone is passed over.
    /// `system` are the machine's pools, whose sizes are looked for.
    pub(super) fn read_all(reader: &mut HostReader, system: &[HugepagePool]) -> Result<Vec<Self>, HostError> {
        let Some(online) = reader.read(&[NODE_FOLDER, "online"], parse_id_list)? else {
            return Ok(Vec::new());
        };
        let with_memory = reader.read(&[NODE_FOLDER, "has_memory"], parse_id_list)?;
        let mut nodes = Vec::new();
        for id in online.iter() {
            nodes.extend(Self::read(reader, id, with_memory.as_ref(), system)?);
        }
        Ok(nodes)
    }

    /// `with_memory` is the kernel's list (since Linux 3.8); without it a node has memory when its total is above 0.
    fn read(
        reader: &mut HostReader,
        id: u32,
        with_memory: Option<&IdList>,
        system: &[HugepagePool],
    ) -> Result<Option<Self>, HostError> {
        let folder = node_folder(id);
        let Some(mem) = reader.read(&[&folder, "meminfo"], parse_node_meminfo)? else {
            return if reader.exists(&[&folder]) { Err(missing_meminfo(reader)) } else { Ok(None) };
        };
        let has_memory = with_memory.map_or(mem.mem_total_bytes > 0, |list| list.contains(id));
        let sizes_bytes = system.iter().map(|pool| pool.size_bytes);
        let hugepages = HugepagePool::read_node(reader, &folder, sizes_bytes)?;
        Ok(Some(Self { id, has_memory, mem, hugepages }))
    }

    /// Ordinary memory that a strict bind can still take: free plus droppable page cache, less 1/64 of the node. A bind
    /// that runs into the node's watermarks wakes the OOM killer, so it has to stop short of them.
    #[must_use]
    pub fn bindable_bytes(&self) -> u64 {
        let takeable = self.mem.mem_free_bytes.saturating_add(self.mem.file_bytes);
        takeable.saturating_sub(self.mem.mem_total_bytes / 64)
    }

    /// The node's pages of one size.
    #[must_use]
    pub fn hugepage_pool(&self, size_bytes: u64) -> Option<&HugepagePool> {
        self.hugepages.iter().find(|pool| pool.size_bytes == size_bytes)
    }
}

/// A node and where it sits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaNode {
    /// Its memory and hugepages.
    pub memory: NodeMemory,
    /// Its CPUs; none for a node that has only memory.
    pub cpus: IdList,
    /// Relative cost of reaching each online node, itself (10) included, in ascending order of their numbers: the
    /// position is not the number where numbers have gaps. Empty where the kernel does not say.
    pub distances: Vec<u32>,
}

impl NumaNode {
    pub(super) fn read(reader: &mut HostReader, memory: NodeMemory) -> Result<Self, HostError> {
        let folder = node_folder(memory.id);
        let cpus = reader.read(&[&folder, "cpulist"], parse_id_list)?.unwrap_or_default();
        let distances = reader.read(&[&folder, "distance"], parse_distances)?.unwrap_or_default();
        Ok(Self { memory, cpus, distances })
    }
}

fn node_folder(id: u32) -> String {
    format!("{NODE_FOLDER}/node{id}")
}

/// The error for a node that is there without the one file every node has; call right after asking for its folder.
fn missing_meminfo(reader: &HostReader) -> HostError {
    HostError::Missing { path: reader.last_path().join("meminfo") }
}

/// Reads the text of a node's `meminfo`: lines `Node <id> <Key>: <n> kB`. Which node it is, the caller knows.
///
/// # Errors
/// [`ParseError::MissingField`] without `MemTotal` or `MemFree`; [`ParseError::NotKib`], [`ParseError::NotANumber`] or
/// [`ParseError::TooLarge`] for a line that is used, or the sum of file pages.
pub fn parse_node_meminfo(text: &str) -> Result<NodeMemInfo, ParseError> {
    let field = |key| kib_field(lines(text).filter_map(strip_node), key);
    let require = |key| field(key)?.ok_or(ParseError::MissingField { field: key });
    Ok(NodeMemInfo {
        mem_total_bytes: require("MemTotal")?,
        mem_free_bytes: require("MemFree")?,
        file_bytes: add(field("Active(file)")?.unwrap_or(0), field("Inactive(file)")?.unwrap_or(0))?,
    })
}

fn strip_node(line: &str) -> Option<&str> {
    let (id, rest) = line.strip_prefix("Node ")?.split_once(' ')?;
    parse_digits(id).ok().map(|_| rest)
}

/// Reads the text of a node's `distance`: numbers separated by blanks.
///
/// # Errors
/// [`ParseError::NotANumber`], or [`ParseError::TooLarge`] from 2^31 (the answer's type is a 32-bit integer; real
/// distances end at 255).
pub fn parse_distances(text: &str) -> Result<Vec<u32>, ParseError> {
    let words = text.split([' ', '\t', '\n']).filter(|word| !word.is_empty());
    words.map(parse_distance).collect()
}

fn parse_distance(word: &str) -> Result<u32, ParseError> {
    let distance = i32::try_from(parse_digits(word)?).ok().and_then(|value| u32::try_from(value).ok());
    distance.ok_or_else(|| ParseError::TooLarge { text: quote(word) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_meminfo_carries_the_node_in_each_line() {
        let text = "Node 1 MemTotal:  8 kB\nNode 1 MemFree:  4 kB\nNode 1 Active(file): 1 kB\n\
                    Node 1 Inactive(file): 2 kB\nNode 1 HugePages_Total:  0\n";
        let expected = NodeMemInfo { mem_total_bytes: 8192, mem_free_bytes: 4096, file_bytes: 3072 };
        assert_eq!(parse_node_meminfo(text), Ok(expected));
    }

    #[test]
    fn file_pages_are_zero_where_the_kernel_does_not_say() {
        let info = parse_node_meminfo("Node 0 MemTotal: 0 kB\nNode 0 MemFree: 0 kB\n").unwrap();
        assert_eq!(info.file_bytes, 0);
    }

    #[test]
    fn a_nodes_meminfo_without_its_fields_is_refused() {
        for text in ["", "MemTotal: 1 kB\nMemFree: 1 kB\n", "Node x MemTotal: 1 kB\n", "Node 0\n", "Node \n"]
        {
            assert_eq!(
                parse_node_meminfo(text),
                Err(ParseError::MissingField { field: "MemTotal" }),
                "{text:?}"
            );
        }
        let absurd = format!("Node 0 MemTotal: 1{} kB\n", "0".repeat(30));
        assert!(matches!(parse_node_meminfo(&absurd), Err(ParseError::TooLarge { .. })));
    }

    #[test]
    fn distances_are_numbers_between_blanks() {
        assert_eq!(parse_distances("10 21\n"), Ok(vec![10, 21]));
        assert_eq!(parse_distances("\n"), Ok(vec![]));
        assert!(matches!(parse_distances("10 x"), Err(ParseError::NotANumber { .. })));
        assert!(matches!(parse_distances("2147483648"), Err(ParseError::TooLarge { .. })));
    }
}
