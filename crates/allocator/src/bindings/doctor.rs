//! What the host can do, for JS.

use napi_derive::napi;

use super::allocator::HostAllocator;
use super::failure::{Failure, failure};
use super::memory::Backing;
use super::number::{js, js_bytes};
use super::off_loop::off_loop;
use super::specs::{HostBufferSpec, V4PagedPoolSpec};
use crate::doctor::{self, Wanted};
use crate::error::Error;
use crate::host::{CAP_IPC_LOCK, CAP_SYS_NICE, HostRoot, IdList};
use crate::memory::{Granted, Limit};

/// What the kernel is set to. Undefined where it has no such setting.
#[napi(object)]
pub struct KernelSettings {
    /// kernel.osrelease.
    pub release: Option<String>,
    /// vm.max_map_count.
    pub max_map_count: Option<f64>,
    /// vm.overcommit_memory.
    pub overcommit_memory: Option<f64>,
    /// vm.memfd_noexec.
    pub memfd_noexec: Option<f64>,
    /// kernel.numa_balancing.
    pub numa_balancing: Option<f64>,
    /// transparent_hugepage/enabled.
    pub transparent_hugepages: Option<String>,
    /// transparent_hugepage/shmem_enabled.
    pub transparent_shmem: Option<String>,
    /// CommitLimit.
    pub commit_limit: Option<f64>,
    /// Committed_AS.
    pub committed: Option<f64>,
    /// SwapTotal.
    pub swap_total: Option<f64>,
    /// SwapFree.
    pub swap_free: Option<f64>,
}

/// What was tried: the errno's name where it was refused, undefined where it was granted.
#[napi(object)]
pub struct ProbeRefusals {
    /// Faulting in by MADV_POPULATE_WRITE.
    pub populate: Option<String>,
    /// mbind.
    pub bind: Option<String>,
    /// get_mempolicy.
    pub placement: Option<String>,
    /// memfd_create.
    pub memfd: Option<String>,
    /// pidfd_open.
    pub pidfd: Option<String>,
    /// mlock2 of one page.
    pub lock: Option<String>,
    /// mlock2 of more than RLIMIT_MEMLOCK.
    pub lock_beyond_limit: Option<String>,
}

/// A size of hugepages.
#[napi(object)]
pub struct HugepageSize {
    /// Bytes of a page.
    pub size: f64,
    /// Pages the kernel may try to make on demand.
    pub overcommit: f64,
    /// Why no memfd can be made on them; undefined where one can.
    pub refused: Option<String>,
}

/// What getrlimit says; undefined stands for no limit.
#[napi(object)]
pub struct ProcessLimit {
    /// What holds.
    pub soft: Option<f64>,
    /// What it can be raised to.
    pub hard: Option<f64>,
}

/// What this process may do.
#[napi(object)]
pub struct ProcessRights {
    /// The user it acts as.
    pub effective_uid: Option<f64>,
    /// Whether CAP_IPC_LOCK is in effect.
    pub may_lock: bool,
    /// Whether CAP_SYS_NICE is in effect.
    pub may_nice: bool,
    /// Whether a seccomp filter is.
    pub filtered: bool,
    /// RLIMIT_MEMLOCK, in bytes.
    pub locked_memory: ProcessLimit,
    /// Bytes that it has locked.
    pub locked_bytes: Option<f64>,
    /// RLIMIT_NOFILE.
    pub descriptors: ProcessLimit,
    /// Nodes its cpuset allows, as a list: 0-3,8.
    pub nodes_allowed: Option<String>,
    /// Their numbers.
    pub node_ids_allowed: Option<Vec<u32>>,
    /// CPUs it allows, as a list.
    pub cpus_allowed: Option<String>,
}

/// Facts of the host and of this process that no decision needs.
#[napi(object)]
pub struct HostFacts {
    /// What the kernel is set to.
    pub settings: KernelSettings,
    /// Sizes of hugepages, ascending.
    pub hugepages: Vec<HugepageSize>,
    /// What this process may do.
    pub process: ProcessRights,
    /// What was tried.
    pub refused: ProbeRefusals,
    /// Why files that are there cannot be used.
    pub unreadable: Vec<String>,
}

/// One thing that was or would be made: exactly one of the two.
#[napi(object)]
pub struct WantedMemory {
    /// A V4 paged pool.
    pub pool: Option<V4PagedPoolSpec>,
    /// A host buffer.
    pub buffer: Option<HostBufferSpec>,
}

/// What a wish would come to.
#[napi(object)]
pub struct WishOutcome {
    /// The backing that it would get; undefined when it is refused.
    pub backing: Option<Backing>,
    /// Why it is refused.
    pub failure: Option<Failure>,
}

#[napi]
impl HostAllocator {
    /// Facts of the host below a root and of this process. Never fails: what does is a fact.
    #[napi]
    pub async fn gather_facts(host_root: String) -> napi::Result<HostFacts> {
        Ok(js_facts(off_loop(move || doctor::HostFacts::gather(&HostRoot::new(host_root))).await?))
    }

    /// What having all that was kept again would come to, in this order, and more after it. For an allocator of its own:
    /// others would be told of charges that are none. Nothing is mapped.
    #[napi]
    pub async fn rehearse(
        &self,
        kept: Vec<WantedMemory>,
        more: Vec<WantedMemory>,
    ) -> napi::Result<Vec<WishOutcome>> {
        let allocator = self.core();
        let rehearse = move || {
            let checked = |wanted: Vec<WantedMemory>| wanted.into_iter().map(WantedMemory::check);
            doctor::rehearse(&allocator, checked(kept), checked(more))
        };
        let outcomes = off_loop(rehearse).await?;
        outcomes.into_iter().map(wish_outcome).collect()
    }

    /// What it would come to now, beside all that is there. Nothing is charged.
    #[napi]
    pub async fn check(&self, wanted: WantedMemory) -> napi::Result<WishOutcome> {
        let allocator = self.core();
        let check = move || wanted.check().and_then(|wanted| wanted.check(&allocator));
        wish_outcome(off_loop(check).await?)
    }
}

impl WantedMemory {
    fn check(self) -> Result<Wanted, Error> {
        match (self.pool, self.buffer) {
            (Some(pool), None) => Ok(Wanted::Pool(pool.check()?)),
            (None, Some(buffer)) => Ok(Wanted::Buffer(buffer.check()?)),
            _ => Err(Error::invalid("wanted", "must be a pool or a buffer")),
        }
    }
}

fn wish_outcome(outcome: Result<crate::Backing, Error>) -> napi::Result<WishOutcome> {
    match outcome {
        Ok(backing) => Ok(WishOutcome { backing: Some(backing.into()), failure: None }),
        Err(error) => Ok(WishOutcome { backing: None, failure: Some(failure(error)?) }),
    }
}

fn js_facts(facts: doctor::HostFacts) -> HostFacts {
    let doctor::HostFacts { settings, placed, process, probes, .. } = facts;
    let process = ProcessRights {
        effective_uid: process.effective_uid.map(js),
        may_lock: process.has_capability(CAP_IPC_LOCK),
        may_nice: process.has_capability(CAP_SYS_NICE),
        filtered: process.seccomp.is_some_and(|mode| mode > 0),
        locked_memory: js_limit(facts.locked_memory),
        locked_bytes: process.locked_bytes.map(js),
        descriptors: js_limit(facts.descriptors),
        node_ids_allowed: placed.nodes_allowed.as_ref().map(|nodes| nodes.iter().collect()),
        nodes_allowed: placed.nodes_allowed.as_ref().map(IdList::to_string),
        cpus_allowed: placed.cpus_allowed.as_ref().map(IdList::to_string),
    };
    HostFacts {
        settings: js_settings(settings),
        hugepages: facts.hugepages.iter().map(js_hugepage_size).collect(),
        process,
        refused: ProbeRefusals {
            populate: js_refusal(probes.populate),
            bind: js_refusal(probes.bind),
            placement: js_refusal(probes.placement),
            memfd: js_refusal(probes.memfd),
            pidfd: js_refusal(probes.pidfd),
            lock: js_refusal(probes.lock),
            lock_beyond_limit: js_refusal(probes.lock_beyond_limit),
        },
        unreadable: facts.unreadable.iter().map(ToString::to_string).collect(),
    }
}

fn js_settings(settings: crate::host::KernelSettings) -> KernelSettings {
    KernelSettings {
        release: settings.release,
        max_map_count: settings.max_map_count.map(js),
        overcommit_memory: settings.overcommit_memory.map(js),
        memfd_noexec: settings.memfd_noexec.map(js),
        numa_balancing: settings.numa_balancing.map(js),
        transparent_hugepages: settings.transparent_hugepages,
        transparent_shmem: settings.transparent_shmem,
        commit_limit: settings.commit.limit_bytes.map(js),
        committed: settings.commit.committed_bytes.map(js),
        swap_total: settings.commit.swap_total_bytes.map(js),
        swap_free: settings.commit.swap_free_bytes.map(js),
    }
}

fn js_hugepage_size(size: &doctor::HugepageSize) -> HugepageSize {
    HugepageSize {
        size: js_bytes(size.size),
        overcommit: js(size.overcommit_pages),
        refused: js_refusal(size.granted),
    }
}

fn js_limit(limit: Limit) -> ProcessLimit {
    ProcessLimit { soft: limit.soft.map(js), hard: limit.hard.map(js) }
}

fn js_refusal(granted: Granted) -> Option<String> {
    granted.err().map(crate::Errno::name)
}
