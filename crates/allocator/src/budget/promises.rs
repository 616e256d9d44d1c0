//! What has been promised and does not show in the host's own figures yet.

use std::collections::BTreeMap;

use super::demand::MemoryKind;
use crate::units::{Bytes, NumaNode};

/// Sums over the live charges by kind and node, kept as they come and go so that a decision never walks them.
///
/// Ordinary memory is promised until it is faulted in: until then it is still inside MemAvailable. Hugepages are
/// promised until they are mapped: from then on the kernel counts them as reserved.
#[derive(Debug, Default)]
pub(super) struct Promises(BTreeMap<(MemoryKind, NumaNode), Bytes>);

impl Promises {
    /// Promised of a kind, on whichever node.
    pub(super) fn of(&self, kind: MemoryKind) -> Bytes {
        let of_kind = (kind, NumaNode::Any)..=(kind, NumaNode::Node(u32::MAX));
        self.0.range(of_kind).map(|(_, bytes)| *bytes).sum()
    }

    /// Promised of a kind by charges bound to `node`.
    pub(super) fn on(&self, kind: MemoryKind, node: u32) -> Bytes {
        self.0.get(&(kind, NumaNode::Node(node))).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, kind: MemoryKind, node: NumaNode, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            let sum = self.0.entry((kind, node)).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    pub(super) fn subtract(&mut self, kind: MemoryKind, node: NumaNode, bytes: Bytes) {
        let Some(sum) = self.0.get_mut(&(kind, node)) else { return };
        *sum = sum.saturating_sub(bytes);
        if *sum == Bytes::ZERO {
            self.0.remove(&(kind, node));
        }
    }
}
