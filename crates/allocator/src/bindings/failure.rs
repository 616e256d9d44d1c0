//! Refusals as values: one tagged union, whose `kind` is closed.

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::number::{js, js_bytes, js_time};
use crate::error::{self, BudgetExceeded, Error, HostBufferAllocationFailed, InsufficientHostMemory};
use crate::state;

/// Which bound a request for memory met.
#[napi(string_enum)]
pub enum MemoryLimit {
    /// MemAvailable less the reserve and what is promised.
    HostMemory,
    /// The tightest memory cgroup, less the same.
    Cgroup,
    /// Free and unreserved hugepages of the wished size.
    Hugepages,
    /// What the wished NUMA node has.
    NumaNode,
    /// The budget's cap.
    BudgetCap,
    /// The rank's share.
    RankShare,
}

impl From<error::MemoryLimit> for MemoryLimit {
    fn from(limit: error::MemoryLimit) -> Self {
        match limit {
            error::MemoryLimit::HostMemory => Self::HostMemory,
            error::MemoryLimit::Cgroup => Self::Cgroup,
            error::MemoryLimit::Hugepages => Self::Hugepages,
            error::MemoryLimit::NumaNode => Self::NumaNode,
            error::MemoryLimit::BudgetCap => Self::BudgetCap,
            error::MemoryLimit::RankShare => Self::RankShare,
        }
    }
}

/// Why the host memory allocator failed.
#[napi(string_enum)]
pub enum HostBufferFailure {
    /// Fewer free hugepages of that size than the mapping takes.
    HugepagesExhausted,
    /// The kernel has no pool of that size.
    HugepageSizeUnsupported,
    /// The node is not online or has no memory.
    NumaNodeOffline,
    /// The kernel refused the bind.
    NumaBindDenied,
    /// The node has less free memory than asked.
    NumaNodeExhausted,
    /// The host has less than asked.
    HostMemoryExhausted,
    /// The memory cgroup has less than asked.
    CgroupLimit,
    /// This process may not lock that much.
    MemlockLimit,
    /// The kernel refused to hand out the pages.
    PrefaultFailed,
    /// The rounded size is above 2^53 - 1.
    SizeOverflow,
    /// Freed while it was being made.
    Cancelled,
    /// Another system call failed.
    System,
}

impl From<error::HostBufferFailure> for HostBufferFailure {
    fn from(reason: error::HostBufferFailure) -> Self {
        match reason {
            error::HostBufferFailure::HugepagesExhausted => Self::HugepagesExhausted,
            error::HostBufferFailure::HugepageSizeUnsupported => Self::HugepageSizeUnsupported,
            error::HostBufferFailure::NumaNodeOffline => Self::NumaNodeOffline,
            error::HostBufferFailure::NumaBindDenied => Self::NumaBindDenied,
            error::HostBufferFailure::NumaNodeExhausted => Self::NumaNodeExhausted,
            error::HostBufferFailure::HostMemoryExhausted => Self::HostMemoryExhausted,
            error::HostBufferFailure::CgroupLimit => Self::CgroupLimit,
            error::HostBufferFailure::MemlockLimit => Self::MemlockLimit,
            error::HostBufferFailure::PrefaultFailed => Self::PrefaultFailed,
            error::HostBufferFailure::SizeOverflow => Self::SizeOverflow,
            error::HostBufferFailure::Cancelled => Self::Cancelled,
            error::HostBufferFailure::System => Self::System,
        }
    }
}

/// What kept a change from the disk.
#[napi(string_enum)]
pub enum SaveFailure {
    /// No space is left, or a quota is reached.
    DiskFull,
    /// The file or its file system has become read-only.
    ReadOnly,
    /// Reading or writing failed.
    Io,
}

impl From<state::SaveFailure> for SaveFailure {
    fn from(reason: state::SaveFailure) -> Self {
        match reason {
            state::SaveFailure::DiskFull => Self::DiskFull,
            state::SaveFailure::ReadOnly => Self::ReadOnly,
            state::SaveFailure::Io => Self::Io,
        }
    }
}

/// What the core refuses. `message` is the documented sentence; the other fields are the figures of the decision.
#[napi(discriminant = "kind")]
pub enum Failure {
    /// Fields as in the contract.
    LogicalPoolSizeNotPageAligned {
        message: String,
        size: f64,
        page_size: f64,
        aligned_down: f64,
        aligned_up: f64,
    },
    /// Fields as in the contract.
    LogicalPoolAllocationNotPageAligned {
        message: String,
        need_size: f64,
        page_size: f64,
        aligned_down: f64,
        aligned_up: f64,
    },
    /// Fields as in the contract.
    LogicalPoolFreeNotPageAligned { message: String, length: f64, page_size: f64 },
    /// Fields as in the contract.
    InsufficientHostMemory {
        message: String,
        pool_name: String,
        requested_bytes: f64,
        mapped_bytes: f64,
        available_bytes: f64,
        shortfall_bytes: f64,
        max_num_host_pages: f64,
        limited_by: MemoryLimit,
        budget: String,
        rank: Option<u32>,
    },
    /// Fields as in the contract.
    HostBufferAllocationFailed {
        message: String,
        reason: HostBufferFailure,
        nbytes: f64,
        mapped_bytes: f64,
        requested_backing: super::memory::Backing,
        hugepage_size: Option<f64>,
        numa_node: f64,
        numa_nodes: Vec<u32>,
        errno: Option<i32>,
        errno_name: Option<String>,
        hugepages_needed: Option<f64>,
        hugepages_free: Option<f64>,
        online_numa_nodes: Vec<u32>,
    },
    /// Fields as in the contract.
    PoolExhausted { message: String, need_size: f64, available_slots: f64 },
    /// Fields as in the contract.
    DoubleFree { message: String, slots: Vec<f64>, count: f64 },
    /// Fields as in the contract.
    SlotOutOfRange { message: String, slot: f64, size: f64 },
    /// Fields as in the contract; `field` is the argument that asked for the bytes.
    BudgetExceeded {
        message: String,
        field: String,
        budget: String,
        requested_bytes: f64,
        available_bytes: f64,
        limited_by: MemoryLimit,
        rank: Option<u32>,
    },
    /// Fields as in the contract.
    BudgetAdmissionClosed { message: String, budget: String },
    /// Fields as in the contract; `differs` in the spelling of the contract.
    NameTaken { message: String, name: String, differs: Vec<String> },
    /// Fields as in the contract.
    InUse { message: String, attachments: f64 },
    /// `id` is the addon's number; `how` ends a sentence about it; `expired_at` in milliseconds since 1970.
    LeaseExpired { message: String, id: String, how: String, expired_at: f64 },
    /// Fields as in the contract.
    NotFound { message: String, id: String },
    /// A change that is not on disk; `detail` is what the system said.
    StateNotSaved { message: String, reason: SaveFailure, path: String, detail: String },
    /// `field` in the spelling of the contract: `pageSize`, `memory.numaNode`.
    InvalidArgument { message: String, field: String },
}

/// Carries a core result over the border. Methods spell this type out: behind an alias the macro that exports them does
/// not see the `Result`, and would hand an error over as if it were a value.
pub(super) fn outcome<T, U>(
    result: Result<T, Error>,
    convert: impl FnOnce(T) -> U,
) -> napi::Result<Either<U, Failure>> {
    match result {
        Ok(value) => Ok(Either::A(convert(value))),
        Err(error) => failure(error).map(Either::B),
    }
}

/// The failure that `error` is, unless the host could not be read.
pub(super) fn failure(error: Error) -> napi::Result<Failure> {
    let message = error.to_string();
    Ok(match error {
        Error::LogicalPoolSizeNotPageAligned { size, page_size } => {
            let (aligned_down, aligned_up) = aligned(size, page_size);
            let (size, page_size) = (js(size), js(page_size));
            Failure::LogicalPoolSizeNotPageAligned { message, size, page_size, aligned_down, aligned_up }
        }
        Error::LogicalPoolAllocationNotPageAligned { need_size, page_size } => {
            let (aligned_down, aligned_up) = aligned(need_size, page_size);
            let (need_size, page_size) = (js(need_size), js(page_size));
            Failure::LogicalPoolAllocationNotPageAligned {
                message,
                need_size,
                page_size,
                aligned_down,
                aligned_up,
            }
        }
        Error::LogicalPoolFreeNotPageAligned { length, page_size } => {
            Failure::LogicalPoolFreeNotPageAligned { message, length: js(length), page_size: js(page_size) }
        }
        Error::InsufficientHostMemory(short) => insufficient(message, *short),
        Error::HostBufferAllocationFailed(failed) => allocation_failed(message, *failed),
        Error::PoolExhausted { need_size, available_slots } => {
            Failure::PoolExhausted { message, need_size: js(need_size), available_slots: js(available_slots) }
        }
        Error::DoubleFree { slots, count } => {
            Failure::DoubleFree { message, slots: slots.into_iter().map(js).collect(), count: js(count) }
        }
        Error::SlotOutOfRange { slot, size } => {
            Failure::SlotOutOfRange { message, slot: js(slot), size: js(size) }
        }
        Error::BudgetExceeded(exceeded) => budget_exceeded(message, *exceeded),
        Error::BudgetAdmissionClosed { budget } => Failure::BudgetAdmissionClosed { message, budget },
        Error::NameTaken { what: _, name, differs } => {
            let differs = differs.into_iter().map(contract_spelling).collect();
            Failure::NameTaken { message, name, differs }
        }
        Error::InUse { holders, .. } => Failure::InUse { message, attachments: js(holders) },
        Error::LeaseExpired { id, how, ended_at } => {
            let (id, how) = (id.to_string(), how.to_owned());
            Failure::LeaseExpired { message, id, how, expired_at: js_time(ended_at) }
        }
        Error::StateNotSaved(not_saved) => Failure::StateNotSaved {
            message,
            reason: not_saved.reason.into(),
            path: not_saved.path.display().to_string(),
            detail: not_saved.detail,
        },
        Error::NotFound { what: _, id } => Failure::NotFound { message, id },
        Error::InvalidArgument { field, .. } => {
            Failure::InvalidArgument { message: contract_spelling(&message), field: contract_spelling(field) }
        }
        Error::InvalidMember { list, index, field, .. } => {
            let field = contract_spelling(&format!("{list}[{index}].{field}"));
            Failure::InvalidArgument { message: contract_spelling(&message), field }
        }
        Error::HostUnreadable(_) => return Err(napi::Error::from_reason(message)),
    })
}

fn insufficient(message: String, short: InsufficientHostMemory) -> Failure {
    Failure::InsufficientHostMemory {
        message,
        pool_name: short.pool_name,
        requested_bytes: js_bytes(short.requested),
        mapped_bytes: js_bytes(short.mapped),
        available_bytes: js_bytes(short.available),
        shortfall_bytes: js_bytes(short.mapped.saturating_sub(short.available)),
        max_num_host_pages: js(short.max_num_host_pages),
        limited_by: short.limited_by.into(),
        budget: short.budget,
        rank: short.rank,
    }
}

fn allocation_failed(message: String, failed: HostBufferAllocationFailed) -> Failure {
    Failure::HostBufferAllocationFailed {
        message,
        reason: failed.reason.into(),
        nbytes: js_bytes(failed.requested),
        mapped_bytes: js_bytes(failed.mapped),
        requested_backing: failed.requested_backing.into(),
        hugepage_size: failed.hugepage_size.map(js_bytes),
        numa_node: super::memory::js_node(failed.numa_nodes.single()),
        numa_nodes: failed.numa_nodes.iter().collect(),
        errno: failed.errno.map(crate::Errno::code),
        errno_name: failed.errno.map(crate::Errno::name),
        hugepages_needed: failed.hugepages_needed.map(js),
        hugepages_free: failed.hugepages_free.map(js),
        online_numa_nodes: failed.online_numa_nodes,
    }
}

fn budget_exceeded(message: String, exceeded: BudgetExceeded) -> Failure {
    Failure::BudgetExceeded {
        message,
        field: contract_spelling(exceeded.field),
        budget: exceeded.budget,
        requested_bytes: js_bytes(exceeded.requested),
        available_bytes: js_bytes(exceeded.available),
        limited_by: exceeded.limited_by.into(),
        rank: exceeded.rank,
    }
}

/// The multiples of `page_size` next to `size`. Neither is zero here.
fn aligned(size: u64, page_size: u64) -> (f64, f64) {
    let down = size - size % page_size.max(1);
    (js(down), js(down.saturating_add(page_size)))
}

/// Names of arguments as the contract spells them: `memory.numa_node` is `memory.numaNode`.
fn contract_spelling(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut capital = false;
    for letter in text.chars() {
        match letter {
            '_' => capital = true,
            _ if capital => {
                spelled.push(letter.to_ascii_uppercase());
                capital = false;
            }
            _ => spelled.push(letter),
        }
    }
    spelled
}
