//! Where pages should come from, and how they should lie there.

use crate::node_set::NodeSet;
use crate::units::NumaNode;

/// Which NUMA nodes serve a mapping (set_mempolicy(2)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NumaPolicy {
    /// Whichever the kernel likes: the node of the thread that faults a page in.
    #[default]
    Any,
    /// These and no other. Never more is faulted in than they have.
    Bind(NodeSet),
    /// This one while it has memory, then others.
    Preferred(u32),
    /// A page of each in turn, and others when one of them is full; over all nodes that have memory when it names none.
    Interleave(NodeSet),
}

/// Whether ordinary pages should be transparent hugepages (madvise(2)); hugetlb backings have no use for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransparentHugepages {
    /// As the kernel is set up.
    #[default]
    Default,
    /// Wherever the kernel allows them. It may stall to make room for them.
    Always,
    /// Never.
    Never,
}

impl NumaPolicy {
    /// A strict bind to `node`, when it is one.
    #[must_use]
    pub fn bind(node: NumaNode) -> Self {
        node.id().map_or(Self::Any, |node| Self::Bind(NodeSet::from(NumaNode::Node(node))))
    }

    /// The nodes named.
    #[must_use]
    pub fn named(&self) -> NodeSet {
        match self {
            Self::Any => NodeSet::default(),
            Self::Preferred(node) => NodeSet::from(NumaNode::Node(*node)),
            Self::Bind(nodes) | Self::Interleave(nodes) => nodes.clone(),
        }
    }

    /// The nodes without which there is no memory; none when others may serve.
    #[must_use]
    pub fn strict(&self) -> NodeSet {
        match self {
            Self::Bind(nodes) => nodes.clone(),
            Self::Any | Self::Preferred(_) | Self::Interleave(_) => NodeSet::default(),
        }
    }

    /// With `nodes` where it names none and needs some.
    pub(super) fn over(self, nodes: impl FnOnce() -> NodeSet) -> Self {
        match self {
            Self::Interleave(named) if named.is_empty() => Self::Interleave(nodes()),
            named => named,
        }
    }
}
