//! What has been promised and does not show in the host's own figures yet.

use std::collections::BTreeMap;

use super::demand::{Demand, MemoryKind};
use super::holders::Visible;
use crate::units::Bytes;

/// Sums over the live charges, kept as they come and go so that a decision never walks them.
///
/// Ordinary memory shows once it is faulted in: until then it is still inside MemAvailable and its node's MemFree.
/// Hugepages show in the machine's figures once they are mapped, since the kernel then counts them as reserved; but it
/// reserves for the whole machine, so a node's figures show them only once they are faulted in. What is bound to several
/// nodes may come from any of them, so it is promised on each in full.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    machine: Sums<MemoryKind>,
    nodes: Sums<(MemoryKind, u32)>,
    /// As `nodes` over all nodes, with what is bound to several of them once.
    bound: Sums<MemoryKind>,
}

/// How much of a charge shows in the host's own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// In those of the machine.
    pub(super) machine: Bytes,
    /// In those of the nodes it is bound to.
    pub(super) node: Bytes,
}

impl Promises {
    /// Promised of a kind, on whichever node.
    pub(super) fn of(&self, kind: MemoryKind) -> Bytes {
        self.machine.get(&kind)
    }

    /// Promised of a kind by charges bound to `node`.
    pub(super) fn on(&self, kind: MemoryKind, node: u32) -> Bytes {
        self.nodes.get(&(kind, node))
    }

    /// Promised of a kind by charges bound to any node.
    pub(super) fn bound(&self, kind: MemoryKind) -> Bytes {
        self.bound.get(&kind)
    }

    /// `demand` shows as `now` instead of `before`.
    pub(super) fn show(&mut self, demand: &Demand, before: Shown, now: Shown) {
        let hidden = |shown| demand.mapped.saturating_sub(shown);
        self.machine.replace(demand.kind, hidden(before.machine), hidden(now.machine));
        for node in demand.nodes.iter() {
            self.nodes.replace((demand.kind, node), hidden(before.node), hidden(now.node));
        }
        if !demand.nodes.is_empty() {
            self.bound.replace(demand.kind, hidden(before.node), hidden(now.node));
        }
    }

    /// What is promised beyond what holders have faulted in themselves.
    pub(super) fn without(&self, visible: &Visible) -> Self {
        let mut rest = self.clone();
        for ((kind, node), bytes) in visible {
            rest.machine.replace(*kind, *bytes, Bytes::ZERO);
            if let Some(node) = node.id() {
                rest.nodes.replace((*kind, node), *bytes, Bytes::ZERO);
                rest.bound.replace(*kind, *bytes, Bytes::ZERO);
            }
        }
        rest
    }

    /// `demand` is promised, and shows nowhere.
    pub(super) fn begin(&mut self, demand: &Demand) {
        self.show(demand, Shown::all(demand), Shown::default());
    }

    /// `demand`, which shows as `before`, is promised no longer.
    pub(super) fn end(&mut self, demand: &Demand, before: Shown) {
        self.show(demand, before, Shown::all(demand));
    }
}

impl Shown {
    /// All of it, everywhere.
    pub(super) fn all(demand: &Demand) -> Self {
        Self { machine: demand.mapped, node: demand.mapped }
    }

    /// So much of it is faulted in. What the machine's figures show of hugepages is not less than before: they are mapped.
    pub(super) fn faulted(self, demand: &Demand, bytes: Bytes) -> Self {
        let node = bytes.min(demand.mapped);
        match demand.kind {
            MemoryKind::Ordinary => Self { machine: node, node },
            MemoryKind::Hugepages(_) => Self { machine: self.machine.max(node), node },
        }
    }
}

#[derive(Clone, Debug)]
struct Sums<K>(BTreeMap<K, Bytes>);

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Sums<K> {
    fn get(&self, key: &K) -> Bytes {
        self.0.get(key).copied().unwrap_or_default()
    }

    fn replace(&mut self, key: K, before: Bytes, now: Bytes) {
        let sum = self.get(&key).saturating_add(now).saturating_sub(before);
        if sum == Bytes::ZERO {
            self.0.remove(&key);
        } else {
            self.0.insert(key, sum);
        }
    }
}
