//! NUMA nodes as JS names them: one, several, and how they are meant.

use super::memory::NumaPolicy;
use super::number::small;
use crate::error::Error;
use crate::memory;
use crate::node_set::NodeSet;
use crate::units::NumaNode;

/// No list of nodes is longer: Linux has no more (CONFIG_NODES_SHIFT).
const MAX_NODES: usize = 1024;

/// What `numaNode`, `numaPolicy` and `numaNodes` come to together.
pub(super) fn numa(
    one: f64,
    policy: Option<NumaPolicy>,
    several: Option<Vec<f64>>,
) -> Result<memory::NumaPolicy, Error> {
    let nodes = nodes(one, several)?;
    Ok(match policy.unwrap_or(NumaPolicy::Bind) {
        NumaPolicy::Bind if nodes.is_empty() => memory::NumaPolicy::Any,
        NumaPolicy::Bind => memory::NumaPolicy::Bind(nodes),
        NumaPolicy::Interleave => memory::NumaPolicy::Interleave(nodes),
        NumaPolicy::Preferred => match nodes.single() {
            NumaNode::Node(node) => memory::NumaPolicy::Preferred(node),
            NumaNode::Any => {
                return Err(Error::invalid("memory.numa_policy", "PREFERRED takes one node: set numaNode"));
            }
        },
    })
}

fn nodes(one: f64, several: Option<Vec<f64>>) -> Result<NodeSet, Error> {
    let one = node(one)?;
    let Some(several) = several else { return Ok(NodeSet::from(one)) };
    let refused = |reason: &str| Err(Error::invalid("memory.numa_nodes", reason));
    match (one, several.len()) {
        (NumaNode::Node(_), _) => refused("must be left out when numaNode names a node"),
        (NumaNode::Any, 0) => refused("must name a node, or be left out"),
        (NumaNode::Any, 1..=MAX_NODES) => several
            .into_iter()
            .map(|node| small("memory.numa_nodes", node, i32::MAX.unsigned_abs()))
            .collect(),
        (NumaNode::Any, _) => refused("must not be more than 1024 nodes"),
    }
}

fn node(node: f64) -> Result<NumaNode, Error> {
    if node == -1.0 {
        return Ok(NumaNode::Any);
    }
    let known = small("memory.numa_node", node, i32::MAX.unsigned_abs());
    known.map(NumaNode::Node).map_err(|_| {
        Error::invalid("memory.numa_node", format!("must be -1 for any node, or a node's number, got {node}"))
    })
}
