//! A last look at the machine before each piece is faulted in.
//!
//! The ledger decided before anything was mapped; meanwhile a process that does not ask hostpool may have taken the
//! memory. Faulting in regardless would wake the OOM killer, which may take an innocent neighbour first. The figures
//! are always the real machine's, even below a fake host root: it is the real kernel that hands out the pages.

use crate::error::HostBufferFailure;
use crate::host::{AdmissionReading, HostReader, HostRoot, NodeMemory};
use crate::units::{Bytes, NumaNode};

/// What stays free beyond the piece itself: the kernel's watermarks and everyone's small change.
const MARGIN: Bytes = Bytes::mebibytes(128);

/// What a prefault must leave alone.
#[derive(Clone, Debug)]
pub(super) enum Headroom {
    /// Hugepages: reserved by the mapping, ordinary memory is not touched.
    Reserved,
    /// Ordinary pages from the node, or from anywhere.
    Ordinary(NumaNode),
}

impl Headroom {
    /// Whether `bytes` more can be faulted in without taking the machine to its last pages.
    pub(super) fn admit(&self, bytes: Bytes) -> Result<(), HostBufferFailure> {
        match self {
            Self::Reserved => Ok(()),
            Self::Ordinary(node) => {
                let machine = AdmissionReading::read(&mut HostReader::new(HostRoot::default()))
                    .map_err(|_| HostBufferFailure::System)?;
                admit(&machine, *node, bytes.saturating_add(MARGIN))
            }
        }
    }
}

fn admit(machine: &AdmissionReading, node: NumaNode, bytes: Bytes) -> Result<(), HostBufferFailure> {
    let cgroup = machine.cgroup.as_ref().map_or(u64::MAX, |cgroup| cgroup.available_bytes);
    if Bytes::new(machine.memory.mem_available_bytes) < bytes {
        return Err(HostBufferFailure::HostMemoryExhausted);
    }
    if Bytes::new(cgroup) < bytes {
        return Err(HostBufferFailure::CgroupLimit);
    }
    let on_node = |node| machine.node(node).map_or(0, NodeMemory::bindable_bytes);
    if node.id().is_some_and(|node| Bytes::new(on_node(node)) < bytes) {
        return Err(HostBufferFailure::NumaNodeExhausted);
    }
    Ok(())
}
