//! A set of NUMA nodes.

use crate::units::NumaNode;

/// NUMA nodes by number: ascending, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSet(Vec<u32>);

impl NodeSet {
    /// Whether no node is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nodes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// The nodes, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// Whether `node` is in it.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0.binary_search(&node).is_ok()
    }

    /// The node, when it is one; [`NumaNode::Any`] when it is none or several.
    #[must_use]
    pub fn single(&self) -> NumaNode {
        match *self.0 {
            [node] => NumaNode::Node(node),
            _ => NumaNode::Any,
        }
    }
}

impl FromIterator<u32> for NodeSet {
    fn from_iter<I: IntoIterator<Item = u32>>(nodes: I) -> Self {
        let mut nodes: Vec<u32> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self(nodes)
    }
}

impl From<NumaNode> for NodeSet {
    /// The node; none for [`NumaNode::Any`].
    fn from(node: NumaNode) -> Self {
        node.id().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_ascending_and_each_is_there_once() {
        let nodes: NodeSet = [3, 0, 3, 1].into_iter().collect();
        assert_eq!(nodes.as_slice(), [0, 1, 3]);
        assert!(nodes.contains(3) && !nodes.contains(2));
    }

    #[test]
    fn one_node_is_a_node_and_several_are_none() {
        assert_eq!(NodeSet::from(NumaNode::Node(7)).single(), NumaNode::Node(7));
        assert_eq!(NodeSet::from(NumaNode::Any), NodeSet::default());
        assert_eq!([0, 1].into_iter().collect::<NodeSet>().single(), NumaNode::Any);
    }
}
