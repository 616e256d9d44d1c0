//! Memory as JS sees it: the wish, the outcome, the progress.

use napi_derive::napi;

use super::number::{js, js_bytes};
use crate::backing;
use crate::memory::{self, HostMemory, OnHugepageShortage as CoreOnShortage};
use crate::units::NumaNode;

/// The four kinds of mapping.
#[napi(string_enum)]
pub enum Backing {
    /// Private anonymous memory.
    Anonymous,
    /// Private anonymous hugepages.
    AnonymousHugetlb,
    /// A memfd.
    AnonymousShm,
    /// A memfd on hugepages.
    AnonymousShmHugetlb,
}

impl From<backing::Backing> for Backing {
    fn from(backing: backing::Backing) -> Self {
        match backing {
            backing::Backing::Anonymous => Self::Anonymous,
            backing::Backing::AnonymousHugetlb => Self::AnonymousHugetlb,
            backing::Backing::AnonymousShm => Self::AnonymousShm,
            backing::Backing::AnonymousShmHugetlb => Self::AnonymousShmHugetlb,
        }
    }
}

impl From<Backing> for backing::Backing {
    fn from(backing: Backing) -> Self {
        match backing {
            Backing::Anonymous => Self::Anonymous,
            Backing::AnonymousHugetlb => Self::AnonymousHugetlb,
            Backing::AnonymousShm => Self::AnonymousShm,
            Backing::AnonymousShmHugetlb => Self::AnonymousShmHugetlb,
        }
    }
}

/// What to do when there are not enough hugepages.
#[napi(string_enum)]
pub enum OnHugepageShortage {
    /// Refuse.
    Fail,
    /// Take ordinary pages and say so.
    FallBack,
}

impl From<OnHugepageShortage> for CoreOnShortage {
    fn from(wish: OnHugepageShortage) -> Self {
        match wish {
            OnHugepageShortage::Fail => Self::Fail,
            OnHugepageShortage::FallBack => Self::FallBack,
        }
    }
}

/// How NUMA nodes are meant.
#[napi(string_enum)]
pub enum NumaPolicy {
    /// These and no other.
    Bind,
    /// This one first.
    Preferred,
    /// A page of each in turn.
    Interleave,
}

impl NumaPolicy {
    fn of(policy: &memory::NumaPolicy) -> Self {
        match policy {
            memory::NumaPolicy::Any | memory::NumaPolicy::Bind(_) => Self::Bind,
            memory::NumaPolicy::Preferred(_) => Self::Preferred,
            memory::NumaPolicy::Interleave(_) => Self::Interleave,
        }
    }
}

/// What is wished of transparent hugepages.
#[napi(string_enum)]
pub enum TransparentHugepages {
    /// As the kernel is set up.
    Default,
    /// Wherever the kernel allows them.
    Always,
    /// Never.
    Never,
}

impl From<TransparentHugepages> for memory::TransparentHugepages {
    fn from(wish: TransparentHugepages) -> Self {
        match wish {
            TransparentHugepages::Default => Self::Default,
            TransparentHugepages::Always => Self::Always,
            TransparentHugepages::Never => Self::Never,
        }
    }
}

impl From<memory::TransparentHugepages> for TransparentHugepages {
    fn from(wish: memory::TransparentHugepages) -> Self {
        match wish {
            memory::TransparentHugepages::Default => Self::Default,
            memory::TransparentHugepages::Always => Self::Always,
            memory::TransparentHugepages::Never => Self::Never,
        }
    }
}

/// Bytes on one node.
#[napi(object)]
pub struct NodeBytes {
    /// The node.
    pub node: u32,
    /// Bytes there.
    pub bytes: f64,
}

/// The wish and the outcome, apart.
#[napi(object)]
pub struct MemoryPlacement {
    /// The backing wished.
    pub requested_backing: Backing,
    /// The backing got.
    pub actual_backing: Backing,
    /// Whether the two differ.
    pub fell_back: bool,
    /// The size of the hugepages behind it.
    pub hugepage_size: Option<f64>,
    /// Every mapping starts at a multiple of this many bytes.
    pub alignment: f64,
    /// Bytes the mappings take.
    pub mapped_bytes: f64,
    /// How many mappings.
    pub mappings: u32,
    /// The node asked for; -1 for any, and for several.
    pub numa_node: f64,
    /// How the nodes are meant.
    pub numa_policy: NumaPolicy,
    /// The nodes, as the kernel was told.
    pub numa_nodes: Vec<u32>,
    /// What was wished of transparent hugepages.
    pub transparent_hugepages: TransparentHugepages,
    /// Bytes on transparent hugepages; asked of the kernel once everything is faulted in.
    pub transparent_hugepage_bytes: Option<f64>,
    /// Whether it is never swapped out.
    pub locked: bool,
    /// Asked of the kernel once everything is faulted in.
    pub bytes_by_node: Option<Vec<NodeBytes>>,
}

/// How far a prefault is.
#[napi(object)]
pub struct PrefaultProgress {
    /// Bytes faulted in.
    pub resident_bytes: f64,
    /// Bytes mapped.
    pub total_bytes: f64,
    /// Whether all of it was faulted in.
    pub done: bool,
    /// The rate so far.
    pub bytes_per_second: Option<f64>,
    /// Threads at work.
    pub threads: u32,
}

pub(super) fn js_node(node: NumaNode) -> f64 {
    node.id().map_or(-1.0, f64::from)
}

pub(super) fn placement(memory: &HostMemory) -> MemoryPlacement {
    let placement = memory.placement();
    let nodes = memory
        .bytes_by_node()
        .map(|nodes| nodes.iter().map(|at| NodeBytes { node: at.node, bytes: js_bytes(at.bytes) }).collect());
    MemoryPlacement {
        requested_backing: placement.requested_backing.into(),
        actual_backing: placement.actual_backing.into(),
        fell_back: placement.fell_back(),
        hugepage_size: placement.hugepage_size.map(js_bytes),
        alignment: js_bytes(placement.alignment),
        mapped_bytes: js_bytes(placement.mapped),
        mappings: placement.mappings,
        numa_node: js_node(placement.numa.named().single()),
        numa_policy: NumaPolicy::of(&placement.numa),
        numa_nodes: placement.numa.named().iter().collect(),
        transparent_hugepages: placement.transparent_hugepages.into(),
        transparent_hugepage_bytes: memory.transparent_huge_bytes().map(js_bytes),
        locked: placement.locked,
        bytes_by_node: nodes,
    }
}

pub(super) fn progress(memory: &HostMemory) -> PrefaultProgress {
    let progress = memory.progress();
    PrefaultProgress {
        resident_bytes: js_bytes(progress.resident),
        total_bytes: js_bytes(progress.total),
        done: progress.done,
        bytes_per_second: progress.bytes_per_second.map(|rate| js(rate.get())),
        threads: progress.threads,
    }
}
