//! A last look at the machine before each piece is faulted in.
//!
//! The ledger decided before anything was mapped; meanwhile a process that does not ask hostpool may have taken the
//! memory. Faulting in regardless would wake the OOM killer, which may take an innocent neighbour first. The figures
//! are always the real machine's, even below a fake host root: it is the real kernel that hands out the pages.

use crate::error::HostBufferFailure;
use crate::host::{AdmissionReading, HostReader, HostRoot, NodeMemory};
use crate::node_set::NodeSet;
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use crate::units::Bytes;

/// What stays free of the host's reserve: the kernel's watermarks and everyone's small change.
const MARGIN: Bytes = Bytes::mebibytes(128);
/// Page tables for ordinary pages take 1/512 of what they map; twice that is left for them.
const PAGE_TABLE_PART: u64 = 256;

/// The pieces of ordinary memory that all prefaults of this process are faulting in at the moment.
#[derive(Debug)]
pub(super) struct InFlight {
    margin: Bytes,
    bytes: Mutex<Bytes>,
    landed: Condvar,
}

/// What a prefault must leave alone.
#[derive(Clone, Debug)]
pub(super) enum Headroom {
    /// Hugepages: reserved by the mapping, ordinary memory is not touched.
    Reserved,
    /// Ordinary pages from these nodes alone, or from anywhere when there are none.
    Ordinary(NodeSet, Arc<InFlight>),
}

/// Leave to fault in a piece; given back when dropped.
#[derive(Debug)]
pub(super) struct Leave<'a>(Option<(&'a InFlight, Bytes)>);

impl InFlight {
    /// For a host that keeps `reserve` for itself. The ledger has promised everything but that, so the margin is never
    /// more: what the ledger granted can be faulted in.
    pub(super) fn beside(reserve: Bytes) -> Arc<Self> {
        Arc::new(Self { margin: MARGIN.min(reserve), bytes: Mutex::new(Bytes::ZERO), landed: Condvar::new() })
    }

    /// Near the limit a piece waits for those in flight to land, since they show in the figures only in part.
    fn enter(
        &self,
        nodes: &NodeSet,
        piece: Bytes,
        machine: impl Fn() -> Result<AdmissionReading, HostBufferFailure>,
    ) -> Result<Leave<'_>, HostBufferFailure> {
        let mut in_flight = lock(&self.bytes);
        loop {
            let wanted = in_flight.saturating_add(piece);
            let tables = Bytes::new(wanted.get() / PAGE_TABLE_PART);
            match admit(&machine()?, nodes, wanted.saturating_add(tables), self.margin) {
                Ok(()) => break,
                Err(refusal) if *in_flight == Bytes::ZERO => return Err(refusal),
                Err(_) => in_flight = wait(&self.landed, in_flight),
            }
        }
        *in_flight = in_flight.saturating_add(piece);
        Ok(Leave(Some((self, piece))))
    }

    fn land(&self, piece: Bytes) {
        let mut in_flight = lock(&self.bytes);
        *in_flight = in_flight.saturating_sub(piece);
        self.landed.notify_all();
    }
}

impl Headroom {
    /// Leave to fault in `piece` without taking the machine to its last pages.
    pub(super) fn admit(&self, piece: Bytes) -> Result<Leave<'_>, HostBufferFailure> {
        match self {
            Self::Reserved => Ok(Leave(None)),
            Self::Ordinary(nodes, in_flight) => in_flight.enter(nodes, piece, machine),
        }
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some((in_flight, piece)) = self.0 {
            in_flight.land(piece);
        }
    }
}

fn machine() -> Result<AdmissionReading, HostBufferFailure> {
    AdmissionReading::read(&mut HostReader::new(HostRoot::default())).map_err(|_| HostBufferFailure::System)
}

/// A node keeps a margin of its own ([`NodeMemory::bindable_bytes`]), the same that the ledger keeps.
fn admit(
    machine: &AdmissionReading,
    nodes: &NodeSet,
    bytes: Bytes,
    margin: Bytes,
) -> Result<(), HostBufferFailure> {
    let cgroup = machine.cgroup.as_ref().map_or(u64::MAX, |cgroup| cgroup.available_bytes);
    let with_margin = bytes.saturating_add(margin);
    if Bytes::new(machine.memory.mem_available_bytes) < with_margin {
        return Err(HostBufferFailure::HostMemoryExhausted);
    }
    if Bytes::new(cgroup) < with_margin {
        return Err(HostBufferFailure::CgroupLimit);
    }
    let on_node = |node| machine.node(node).map_or(0, NodeMemory::bindable_bytes);
    let on_nodes = nodes.iter().map(on_node).fold(0, u64::saturating_add);
    if !nodes.is_empty() && Bytes::new(on_nodes) < bytes {
        return Err(HostBufferFailure::NumaNodeExhausted);
    }
    Ok(())
}

#[cfg(loom)]
#[cfg(test)]
mod loom_tests {
    use super::*;
    use crate::budget::HostSource;
    use crate::model_host::{Held, ModelHost, pages, spawn};

    /// Faults in two pages of a machine that has four, page tables included, with never more than three held.
    fn fault_in(in_flight: &InFlight, host: &ModelHost, held: &Held) {
        let machine = || host.read().map_err(|_| HostBufferFailure::System);
        let leave = in_flight.enter(&NodeSet::default(), pages(2), machine).unwrap();
        held.take(2);
        held.give_back(2);
        drop(leave);
    }

    #[test]
    fn pieces_near_the_limit_take_turns_and_none_is_forgotten() {
        loom::model(|| {
            let (in_flight, host) = (InFlight::beside(Bytes::ZERO), ModelHost::new(4, 0));
            let held = Held::of(3);
            let others = [(); 2].map(|()| {
                let (in_flight, host, held) = (Arc::clone(&in_flight), host.clone(), held.clone());
                spawn(move || fault_in(&in_flight, &host, &held))
            });
            fault_in(&in_flight, &host, &held);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(*lock(&in_flight.bytes), Bytes::ZERO);
        });
    }
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
        let (any, node_0) = (&NodeSet::default(), &NodeSet::from_iter([0]));
        let refusal = |machine, node| admit(&machine, node, Bytes::new(8), Bytes::new(2)).err();
        assert_eq!(refusal(machine(10, 10, 0), any), None, "equal is enough, and the node is not asked");
        assert_eq!(refusal(machine(9, 10, 10), any), Some(HostBufferFailure::HostMemoryExhausted));
        assert_eq!(refusal(machine(10, 9, 10), any), Some(HostBufferFailure::CgroupLimit));
        assert_eq!(refusal(machine(10, 10, 8), node_0), None, "the node's margin is in its figure already");
        assert_eq!(refusal(machine(10, 10, 7), node_0), Some(HostBufferFailure::NumaNodeExhausted));
        assert_eq!(
            refusal(machine(10, 10, 10), &NodeSet::from_iter([7])),
            Some(HostBufferFailure::NumaNodeExhausted)
        );
    }

    #[test]
    fn reserved_hugepages_need_no_look() {
        assert!(Headroom::Reserved.admit(Bytes::new(u64::MAX)).is_ok());
    }

    #[test]
    fn the_margin_is_never_more_than_the_reserve() {
        assert_eq!(InFlight::beside(Bytes::ZERO).margin, Bytes::ZERO);
        assert_eq!(InFlight::beside(Bytes::mebibytes(10 << 10)).margin, MARGIN);
    }

    #[test]
    fn a_piece_that_has_landed_is_in_flight_no_more() {
        let in_flight = InFlight::beside(Bytes::ZERO);
        let headroom = Headroom::Ordinary(NodeSet::default(), Arc::clone(&in_flight));
        let leave = headroom.admit(Bytes::new(4096)).unwrap();
        assert_eq!(*lock(&in_flight.bytes), Bytes::new(4096));
        drop(leave);
        assert_eq!(*lock(&in_flight.bytes), Bytes::ZERO);
        assert!(headroom.admit(Bytes::new(1 << 60)).is_err());
        assert_eq!(*lock(&in_flight.bytes), Bytes::ZERO);
    }
}
