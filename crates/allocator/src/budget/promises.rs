//! What has been promised and does not show in the host's own figures yet.

use std::collections::BTreeMap;

use super::demand::{Demand, MemoryKind};
use crate::units::{Bytes, NumaNode};

/// Sums over the live charges, kept as they come and go so that a decision never walks them.
#[derive(Debug, Default)]
pub(super) struct Promises {
    /// Ordinary bytes charged but not yet resident: still inside MemAvailable.
    unfaulted: Bytes,
    /// The part of `unfaulted` bound to a node.
    unfaulted_by_node: BTreeMap<u32, Bytes>,
    /// Hugepages charged but not yet mapped: the kernel does not count them as reserved yet.
    unmapped_hugepages: BTreeMap<(Bytes, NumaNode), u64>,
}

impl Promises {
    pub(super) fn unfaulted(&self) -> Bytes {
        self.unfaulted
    }

    pub(super) fn unfaulted_on(&self, node: u32) -> Bytes {
        self.unfaulted_by_node.get(&node).copied().unwrap_or_default()
    }

    /// Unmapped hugepages of `size`, on whichever node.
    pub(super) fn unmapped_hugepages(&self, size: Bytes) -> u64 {
        let of_size = (size, NumaNode::Any)..=(size, NumaNode::Node(u32::MAX));
        self.unmapped_hugepages.range(of_size).map(|(_, pages)| pages).sum()
    }

    pub(super) fn unmapped_hugepages_on(&self, size: Bytes, node: u32) -> u64 {
        self.unmapped_hugepages.get(&(size, NumaNode::Node(node))).copied().unwrap_or_default()
    }

    /// A charge begins: all of it is promised, none of it visible.
    pub(super) fn begin(&mut self, demand: &Demand) {
        match demand.kind {
            MemoryKind::Ordinary => self.add_unfaulted(demand.node, demand.mapped),
            MemoryKind::Hugepages(size) => {
                *self.unmapped_hugepages.entry((size, demand.node)).or_default() +=
                    demand.hugepages().unwrap_or_default();
            }
        }
    }

    /// The hugepages of a charge are mapped: from here on the kernel counts them as reserved.
    pub(super) fn mapped(&mut self, demand: &Demand) {
        if let MemoryKind::Hugepages(size) = demand.kind {
            let key = (size, demand.node);
            let left = self.unmapped_hugepages_of(key).saturating_sub(demand.hugepages().unwrap_or_default());
            set_or_remove(&mut self.unmapped_hugepages, key, left);
        }
    }

    /// `bytes` of ordinary memory became visible to the host, or are no longer promised.
    pub(super) fn remove_unfaulted(&mut self, node: NumaNode, bytes: Bytes) {
        self.unfaulted = self.unfaulted.saturating_sub(bytes);
        if let Some(node) = node.id() {
            let left = self.unfaulted_on(node).saturating_sub(bytes);
            set_or_remove(&mut self.unfaulted_by_node, node, left);
        }
    }

    /// `bytes` of ordinary memory are promised and not visible.
    fn add_unfaulted(&mut self, node: NumaNode, bytes: Bytes) {
        self.unfaulted = self.unfaulted.saturating_add(bytes);
        if let Some(node) = node.id() {
            let sum = self.unfaulted_by_node.entry(node).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    fn unmapped_hugepages_of(&self, key: (Bytes, NumaNode)) -> u64 {
        self.unmapped_hugepages.get(&key).copied().unwrap_or_default()
    }
}

fn set_or_remove<K: Ord, V: Default + PartialEq>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    if value == V::default() {
        map.remove(&key);
    } else {
        map.insert(key, value);
    }
}
