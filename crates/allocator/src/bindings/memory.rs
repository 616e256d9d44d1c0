//! Memory as JS sees it: the wish, the outcome, the progress.

use napi_derive::napi;

use super::number::{js, js_bytes};
use crate::backing;
use crate::memory::{HostMemory, OnHugepageShortage as CoreOnShortage};
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
    /// The node bound to; -1 for any.
    pub numa_node: f64,
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
        numa_node: js_node(placement.node),
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
