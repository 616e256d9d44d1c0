//! What the machine has: memory, cgroup limits, hugepages, NUMA nodes, pressure.
//!
//! Every `parse_*` function is pure, takes one file's text, and answers with a value or a [`ParseError`]: it never
//! panics, whatever the text. Reads go through a [`HostReader`], below a [`HostRoot`] that tests point at a folder.
//! Nothing here writes, allocates memory for others, or uses `unsafe`.
//!
//! Two snapshots: [`HostReading`] is everything, for the `host` query; [`AdmissionReading`] is what a decision needs
//! and is cheap enough to take under the ledger's lock. Neither is atomic: the kernel offers no such read.

mod cgroup;
mod cgroup_path;
mod error;
mod hugepages;
mod id_list;
mod meminfo;
mod numa;
mod pressure;
mod reading;
mod root;
mod settings;
mod status;
mod text;

pub use cgroup::{
    CgroupMemory, CgroupVersion, parse_memory_limit, parse_reclaimable_v1, parse_reclaimable_v2,
};
pub use cgroup_path::{CgroupPath, SelfCgroup, parse_self_cgroup};
pub use error::{HostError, ParseError};
pub use hugepages::{HugepagePool, parse_hugepage_dir_name};
pub use id_list::{IdList, parse_id_list};
pub use meminfo::{MemInfo, parse_meminfo};
pub use numa::{NodeMemInfo, NodeMemory, NumaNode, parse_distances, parse_node_meminfo};
pub use pressure::{MemoryPressure, parse_pressure};
pub use reading::{AdmissionReading, HostReading, parse_hostname};
pub use root::{HostReader, HostRoot};
pub use settings::{Commit, KernelSettings, parse_choice, parse_commit};
pub use status::{CAP_IPC_LOCK, CAP_SYS_NICE, ProcessStatus, parse_status};
pub use text::parse_count;
