//! Why there is no memory, before a pool or a buffer puts its own sentence to it.

use crate::backing::Backing;
use crate::budget::Quote;
use crate::error::{Error, HostBufferAllocationFailed, HostBufferFailure, MemoryLimit};
use crate::units::{MAX_COUNT, NumaNode};

/// Why there is no memory. The callers put their own sentence to it.
#[derive(Debug)]
pub enum AllocationError {
    /// The ledger refused: it does not fit.
    Shortage(Shortage),
    /// The budget of that name takes no new charges.
    AdmissionClosed(String),
    /// The host or the kernel cannot make it.
    Failed(Box<HostBufferAllocationFailed>),
    /// Another error: an unknown budget, a bad argument, an unreadable host.
    Other(Error),
}

/// A refusal of the ledger, with what a caller needs to tell of it.
#[derive(Debug)]
pub struct Shortage {
    /// The figures of the decision.
    pub quote: Quote,
    /// The backing that was asked for last: the wished one, or the one fallen back to.
    pub backing: Backing,
    /// Nodes that memory can be bound to.
    pub online_nodes: Vec<u32>,
}

impl From<Error> for AllocationError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Box<HostBufferAllocationFailed>> for AllocationError {
    fn from(failure: Box<HostBufferAllocationFailed>) -> Self {
        Self::Failed(failure)
    }
}

impl AllocationError {
    /// A wish this host does not know, as a question that maps nothing tells it: an argument to change.
    pub(super) fn into_argument(self) -> Error {
        let failure = match self {
            Self::Failed(failure) => failure,
            Self::Other(error) => return error,
            Self::Shortage(shortage) => {
                return Error::invalid("memory", format!("takes {}", shortage.quote.mapped));
            }
            Self::AdmissionClosed(budget) => return Error::BudgetAdmissionClosed { budget },
        };
        match failure.reason {
            HostBufferFailure::NumaNodeOffline => Error::invalid(
                if failure.numa_nodes.single() == NumaNode::Any {
                    "memory.numa_nodes"
                } else {
                    "memory.numa_node"
                },
                format!("must be -1 or one of {:?}", failure.online_numa_nodes),
            ),
            HostBufferFailure::HugepageSizeUnsupported => {
                Error::invalid("memory.hugepage_size", "must be a size that the kernel has a pool of")
            }
            HostBufferFailure::MemlockLimit => {
                Error::invalid("memory.lock_memory", "must be false: this process may not lock that much")
            }
            _ => Error::invalid(
                "memory",
                format!("makes mappings of more than {MAX_COUNT} bytes when rounded up to whole pages"),
            ),
        }
    }
}

/// Whether more, or other, hugepages would have met the wish.
pub(super) fn is_hugepage_shortage(error: &AllocationError) -> bool {
    match error {
        AllocationError::Shortage(shortage) => is_hugepage_limit(shortage.quote.limited_by),
        AllocationError::Failed(failure) => matches!(
            failure.reason,
            HostBufferFailure::HugepagesExhausted | HostBufferFailure::HugepageSizeUnsupported
        ),
        AllocationError::AdmissionClosed(_) | AllocationError::Other(_) => false,
    }
}

pub(super) fn is_hugepage_limit(limit: MemoryLimit) -> bool {
    matches!(limit, MemoryLimit::Hugepages | MemoryLimit::NumaNode)
}
