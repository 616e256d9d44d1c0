//! What the running kernel lets this process do with memory: asked by doing it, on a page at most.

use rustix::process::{PidfdFlags, Resource, Rlimit, getpid, getrlimit, pidfd_open};

use super::sys::{Mode, Region, sealed_memfd};
use crate::errno::Errno;
use crate::node_set::NodeSet;
use crate::units::{Bytes, NumaNode, base_page};

/// Whether something is granted, or why not.
pub type Granted = Result<(), Errno>;

/// What was tried. Nothing of it is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Faulting a page in by MADV_POPULATE_WRITE (Linux 5.14).
    pub populate: Granted,
    /// Binding a page to the node that it may be on (mbind(2)).
    pub bind: Granted,
    /// Asking which node a page is on (get_mempolicy(2)).
    pub placement: Granted,
    /// Making a sealed memfd.
    pub memfd: Granted,
    /// Making a memfd on hugepages of each size asked about; no page of it is taken.
    pub hugepage_sizes: Vec<(Bytes, Granted)>,
    /// Watching a process by a pidfd.
    pub pidfd: Granted,
    /// Locking one page.
    pub lock: Granted,
    /// Locking more than RLIMIT_MEMLOCK, which CAP_IPC_LOCK of the machine allows; no page of it is faulted in. Also
    /// where there is no limit.
    pub lock_beyond_limit: Granted,
}

/// What getrlimit(2) says; `None` stands for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What holds.
    pub soft: Option<u64>,
    /// What it can be raised to.
    pub hard: Option<u64>,
}

impl Limit {
    /// RLIMIT_MEMLOCK, in bytes.
    #[must_use]
    pub fn of_locked_memory() -> Self {
        Self::of(Resource::Memlock)
    }

    /// RLIMIT_NOFILE.
    #[must_use]
    pub fn of_descriptors() -> Self {
        Self::of(Resource::Nofile)
    }

    fn of(resource: Resource) -> Self {
        let Rlimit { current, maximum } = getrlimit(resource);
        Self { soft: current, hard: maximum }
    }
}

impl Probes {
    /// Tries all of it. `node` is one that memory may be on, for where the kernel does not say; blocks for a dozen
    /// system calls.
    #[must_use]
    pub fn run(hugepage_sizes: &[Bytes], node: u32) -> Self {
        let (populate, placement, bind, lock) = with_page(|page| {
            let populate = page.populate(0..page.length());
            let placement = page.node_at(0);
            let node = NumaNode::Node(placement.unwrap_or(node));
            let bind = page.place(Mode::Bind, &NodeSet::from(node));
            (populate, placement.map(drop), bind, page.lock_on_fault())
        });
        Self {
            populate,
            bind,
            placement,
            memfd: sealed_memfd(0, None).map(drop),
            hugepage_sizes: hugepage_sizes.iter().map(|size| (*size, hugepage_memfd(*size))).collect(),
            pidfd: pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(of_rustix),
            lock,
            lock_beyond_limit: lock_beyond(Limit::of_locked_memory().soft),
        }
    }
}

/// What `tried` says of a page of its own; without one, the same reason four times.
fn with_page(
    tried: impl FnOnce(&Region) -> (Granted, Granted, Granted, Granted),
) -> (Granted, Granted, Granted, Granted) {
    match Region::anonymous(page_length(), None) {
        Ok(page) => tried(&page),
        Err(errno) => (Err(errno), Err(errno), Err(errno), Err(errno)),
    }
}

fn hugepage_memfd(size: Bytes) -> Granted {
    sealed_memfd(0, Some(size)).map(drop)
}

fn lock_beyond(limit: Option<u64>) -> Granted {
    let Some(limit) = limit else { return Ok(()) };
    let beyond = usize::try_from(limit).ok().and_then(|limit| limit.checked_add(page_length()));
    Region::anonymous(beyond.ok_or(Errno::new(libc::ENOMEM))?, None)?.lock_on_fault()
}

fn page_length() -> usize {
    usize::try_from(base_page().get()).unwrap_or(4096)
}

fn of_rustix(errno: rustix::io::Errno) -> Errno {
    Errno::new(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_no_kernel_has_is_refused_with_its_errno() {
        let size = Bytes::new(1 << 13);
        let probes = Probes::run(&[size], 0);
        let errno = probes.hugepage_sizes.first().and_then(|(_, granted)| granted.err());
        assert!(matches!(errno.map(Errno::name).as_deref(), Some("ENODEV" | "EINVAL")), "{errno:?}");
    }

    #[test]
    fn beyond_an_absurd_limit_nothing_can_be_locked() {
        assert_eq!(lock_beyond(Some(u64::MAX)), Err(Errno::new(libc::ENOMEM)));
        assert_eq!(lock_beyond(None), Ok(()));
    }
}
