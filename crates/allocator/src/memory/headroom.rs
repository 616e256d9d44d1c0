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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{CgroupMemory, CgroupVersion, MemInfo, NodeMemInfo, NodeMemory};

    /// A machine with so many bytes available, in its cgroup and free on node 0.
    fn machine(available: u64, in_cgroup: u64, on_node: u64) -> AdmissionReading {
        let cgroup = CgroupMemory {
            version: CgroupVersion::V2,
            path: "/job".to_owned(),
            limit_bytes: in_cgroup,
            usage_bytes: 0,
            reclaimable_bytes: 0,
            available_bytes: in_cgroup,
        };
        let mem = NodeMemInfo { mem_total_bytes: 0, mem_free_bytes: on_node, file_bytes: 0 };
        AdmissionReading {
            memory: MemInfo {
                mem_total_bytes: 100,
                mem_available_bytes: available,
                available_is_estimated: false,
            },
            cgroup: Some(cgroup),
            hugepages: Vec::new(),
            nodes: vec![NodeMemory { id: 0, has_memory: true, mem, hugepages: Vec::new() }],
        }
    }

    #[test]
    fn each_limit_refuses_by_its_own_name() {
        let (any, node_0) = (NumaNode::Any, NumaNode::Node(0));
        let bytes = Bytes::new(10);
        assert_eq!(
            admit(&machine(10, 10, 0), any, bytes),
            Ok(()),
            "equal is enough, and the node is not asked"
        );
        assert_eq!(admit(&machine(9, 10, 10), any, bytes), Err(HostBufferFailure::HostMemoryExhausted));
        assert_eq!(admit(&machine(10, 9, 10), any, bytes), Err(HostBufferFailure::CgroupLimit));
        assert_eq!(admit(&machine(10, 10, 9), node_0, bytes), Err(HostBufferFailure::NumaNodeExhausted));
        assert_eq!(
            admit(&machine(10, 10, 10), NumaNode::Node(7), bytes),
            Err(HostBufferFailure::NumaNodeExhausted)
        );
    }

    #[test]
    fn reserved_hugepages_need_no_look() {
        assert_eq!(Headroom::Reserved.admit(Bytes::new(u64::MAX)), Ok(()));
    }
}
