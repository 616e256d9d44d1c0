//! What hostpool refuses: one closed set, exact fields, and the sentence that clients already match on.

use crate::backing::Backing;
use crate::errno::Errno;
use crate::host::HostError;
use crate::node_set::NodeSet;
use crate::state::NotSaved;
use crate::units::Bytes;

/// Which bound a request for memory met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLimit {
    /// MemAvailable less the reserve and what is promised but not yet faulted in.
    HostMemory,
    /// The tightest memory cgroup, less the same.
    Cgroup,
    /// Hugepages of the wished size that are free and not reserved.
    Hugepages,
    /// What the wished NUMA node has.
    NumaNode,
    /// The budget's cap.
    BudgetCap,
    /// The rank's share of its budget.
    RankShare,
}

/// Why the host memory allocator failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostBufferFailure {
    /// Fewer free hugepages of that size than the mapping takes.
    HugepagesExhausted,
    /// The kernel has no pool of that hugepage size.
    HugepageSizeUnsupported,
    /// The node is not online or has no memory.
    NumaNodeOffline,
    /// The kernel refused the bind (EPERM under a seccomp profile, EINVAL outside the cpuset).
    NumaBindDenied,
    /// The node has less free memory than asked.
    NumaNodeExhausted,
    /// The host has less than asked.
    HostMemoryExhausted,
    /// The memory cgroup has less than asked.
    CgroupLimit,
    /// This process may not lock that much (RLIMIT_MEMLOCK), and has no CAP_IPC_LOCK.
    MemlockLimit,
    /// The kernel refused to hand out the pages.
    PrefaultFailed,
    /// The size, rounded up to whole pages, is above 2^53 - 1.
    SizeOverflow,
    /// The buffer or pool was freed while it was being made.
    Cancelled,
    /// Another system call failed; see the errno.
    System,
}

/// A V4 pool that does not fit; every figure is the one the decision used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsufficientHostMemory {
    /// The pool's name.
    pub pool_name: String,
    /// layer_num x num_host_pages x item_bytes.
    pub requested: Bytes,
    /// What the mappings would take, each rounded up to its page or hugepage.
    pub mapped: Bytes,
    /// What the tightest limit still has.
    pub available: Bytes,
    /// The largest num_host_pages that fits with everything else unchanged.
    pub max_num_host_pages: u64,
    /// The limit that refused.
    pub limited_by: MemoryLimit,
    /// The budget asked.
    pub budget: String,
    /// The rank asked for, if any.
    pub rank: Option<u32>,
}

/// A host buffer (or the memory of a pool) that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBufferAllocationFailed {
    /// Why.
    pub reason: HostBufferFailure,
    /// The bytes asked for.
    pub requested: Bytes,
    /// What the mappings would take.
    pub mapped: Bytes,
    /// The backing wished.
    pub requested_backing: Backing,
    /// The hugepage size wished; `None` for ordinary backings.
    pub hugepage_size: Option<Bytes>,
    /// The nodes wished.
    pub numa_nodes: NodeSet,
    /// What the kernel said, where a system call failed.
    pub errno: Option<Errno>,
    /// Hugepages the mappings take; `None` for ordinary backings.
    pub hugepages_needed: Option<u64>,
    /// Hugepages that were free and unpromised at the decision.
    pub hugepages_free: Option<u64>,
    /// Nodes that memory can be bound to.
    pub online_numa_nodes: Vec<u32>,
}

/// A charge that a cap or a rank's share refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// The argument that asked for the bytes.
    pub field: &'static str,
    /// The budget asked.
    pub budget: String,
    /// What the charge would take: mapped bytes.
    pub requested: Bytes,
    /// What the tightest limit still has.
    pub available: Bytes,
    /// The limit that refused.
    pub limited_by: MemoryLimit,
    /// The rank asked for, if any.
    pub rank: Option<u32>,
}

/// Everything the crate refuses. `Display` is the documented sentence; nobody needs to match on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A logical pool whose size is not a multiple of its page size.
    #[error("LogicalHostPool size must be page-aligned, got size={size}, page_size={page_size}")]
    LogicalPoolSizeNotPageAligned {
        /// Slots asked for.
        size: u64,
        /// Slots a page.
        page_size: u64,
    },
    /// A logical allocation that is not a multiple of the page size.
    #[error(
        "LogicalHostPool allocation must be page-aligned, got need_size={need_size}, page_size={page_size}"
    )]
    LogicalPoolAllocationNotPageAligned {
        /// Slots asked for.
        need_size: u64,
        /// Slots a page.
        page_size: u64,
    },
    /// A logical free of a number of slots that is not a multiple of the page size.
    #[error("LogicalHostPool free must be page-aligned, got len(indices)={length}, page_size={page_size}")]
    LogicalPoolFreeNotPageAligned {
        /// Slots given.
        length: u64,
        /// Slots a page.
        page_size: u64,
    },
    /// A V4 pool that does not fit.
    #[error("Not enough host memory for V4 paged pool {}. Requesting {} GB but only have {} GB free.",
        .0.pool_name, .0.requested.gigabytes(), .0.available.gigabytes())]
    InsufficientHostMemory(Box<InsufficientHostMemory>),
    /// Memory that could not be made.
    #[error("UMBPHostMemAllocator.alloc({} bytes) failed (requested_backing=UMBPHostBufferBacking.{:?}, numa_node={}).",
        .0.requested.get(), .0.requested_backing, .0.numa_nodes.single())]
    HostBufferAllocationFailed(#[source] Box<HostBufferAllocationFailed>),
    /// Not enough free slots now.
    #[error("Not enough free slots: need {need_size}, but only {available_slots} are free.")]
    PoolExhausted {
        /// Slots needed, in whole pages.
        need_size: u64,
        /// Slots free.
        available_slots: u64,
    },
    /// A free of slots that are not allocated, or named twice.
    #[error("Double-free detected: slots not currently allocated: {slots:?}.")]
    DoubleFree {
        /// The first 64 offenders, ascending.
        slots: Vec<u64>,
        /// All offenders.
        count: u64,
    },
    /// A slot the pool does not have.
    #[error("Slot {slot} is out of range: the pool has slots 0 to {}.", .size.saturating_sub(1))]
    SlotOutOfRange {
        /// The first offender.
        slot: u64,
        /// Slots of the pool.
        size: u64,
    },
    /// A charge that a cap or share refused.
    #[error("Budget {} exceeded: requesting {} but only {} available.", .0.budget, .0.requested, .0.available)]
    BudgetExceeded(Box<BudgetExceeded>),
    /// A budget that takes no new charges.
    #[error("Budget {budget} is closed to new charges.")]
    BudgetAdmissionClosed {
        /// The budget asked.
        budget: String,
    },
    /// Something named that does not exist.
    #[error("There is no {what} {id:?}.")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// The name or id given.
        id: String,
    },
    /// A live thing of that name exists already.
    #[error("A {what} named {name:?} exists already{}.", differing(.differs))]
    NameTaken {
        /// What has that name.
        what: &'static str,
        /// The name.
        name: String,
        /// The fields in which it differs from what was asked for, as the crate spells them.
        differs: Vec<&'static str>,
    },
    /// A reservation that has ended.
    #[error("Reservation {id} has ended: it {how}.")]
    LeaseExpired {
        /// The reservation.
        id: u64,
        /// What ended it: expired, was released, lost its process.
        how: &'static str,
        /// When.
        ended_at: std::time::SystemTime,
    },
    /// Something that still holds memory or is held.
    #[error("The {what} {id} is in use by {holders} {}.", if *.holders == 1 { "holder" } else { "holders" })]
    InUse {
        /// What is in use.
        what: &'static str,
        /// Its name or id.
        id: String,
        /// How many hold it.
        holders: u64,
    },
    /// A change that is not on disk, and so was not made.
    #[error(transparent)]
    StateNotSaved(#[from] NotSaved),
    /// An argument no answer exists for.
    #[error("{field} {reason}")]
    InvalidArgument {
        /// The argument, as the crate spells it: `page_size`, `memory.numa_node`.
        field: &'static str,
        /// What it must be, as the end of a sentence.
        reason: String,
    },
    /// As `InvalidArgument`, of one member of a list.
    #[error("{list}[{index}].{field} {reason}")]
    InvalidMember {
        /// The list, as the crate spells it.
        list: &'static str,
        /// Which of its members, from 0.
        index: usize,
        /// The argument: `item_bytes`.
        field: &'static str,
        /// What it must be, as the end of a sentence.
        reason: String,
    },
    /// The host's own files could not be read: nothing can be decided.
    #[error("the host's figures cannot be read: {0}")]
    HostUnreadable(#[from] HostError),
}

fn differing(fields: &[&str]) -> String {
    if fields.is_empty() { String::new() } else { format!(" with another {}", fields.join(", ")) }
}

impl Error {
    /// `field` must be `reason`.
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidArgument { field, reason: reason.into() }
    }

    /// An argument that was refused, as that of a member of `list`; any other error stays as it is.
    pub(crate) fn of_member(self, list: &'static str, index: usize) -> Self {
        match self {
            Self::InvalidArgument { field, reason } => Self::InvalidMember { list, index, field, reason },
            other => other,
        }
    }
}

impl std::fmt::Display for HostBufferAllocationFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.reason)
    }
}

impl std::error::Error for HostBufferAllocationFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errno.as_ref().map(|errno| errno as &(dyn std::error::Error + 'static))
    }
}
