//! What a wish asks of mappings beyond their pages: nodes, transparent hugepages, locking. All of it before the first
//! fault, which is when the kernel goes by it.

use super::policy::{NumaPolicy, TransparentHugepages};
use super::request::MemoryWish;
use super::sys::{Mode, Region};
use crate::backing::Backing;
use crate::errno::Errno;
use crate::error::HostBufferFailure;
use crate::node_set::NodeSet;

/// A wish that the kernel refused, and what it said.
pub(super) type Refused = (HostBufferFailure, Errno);

/// Asks it of every mapping. `policy` is the wish's, its nodes named.
pub(super) fn apply(
    wish: &MemoryWish,
    policy: &NumaPolicy,
    backing: Backing,
    regions: &[Region],
) -> Result<(), Refused> {
    for region in regions {
        place(region, policy).map_err(|errno| (HostBufferFailure::NumaBindDenied, errno))?;
        if !backing.is_hugetlb() {
            use_hugepages(region, wish.transparent_hugepages)
                .map_err(|errno| (HostBufferFailure::System, errno))?;
        }
        if locks(wish, backing) {
            region.lock_on_fault().map_err(|errno| (lock_refusal(errno), errno))?;
        }
    }
    Ok(())
}

/// Whether pages have to be locked to stay: hugepages of a hugetlb pool are never swapped out (hugetlbpage.rst).
pub(super) fn locks(wish: &MemoryWish, backing: Backing) -> bool {
    wish.lock && !backing.is_hugetlb()
}

fn place(region: &Region, policy: &NumaPolicy) -> Result<(), Errno> {
    let over = |mode, nodes: &NodeSet| if nodes.is_empty() { Ok(()) } else { region.place(mode, nodes) };
    match policy {
        NumaPolicy::Any => Ok(()),
        NumaPolicy::Bind(nodes) => over(Mode::Bind, nodes),
        NumaPolicy::Preferred(_) => over(Mode::Preferred, &policy.named()),
        NumaPolicy::Interleave(nodes) => over(Mode::Interleave, nodes),
    }
}

/// A kernel without transparent hugepages answers EINVAL: there are none then, which the placement tells.
fn use_hugepages(region: &Region, wish: TransparentHugepages) -> Result<(), Errno> {
    let advised = match wish {
        TransparentHugepages::Default => Ok(()),
        TransparentHugepages::Always => region.use_transparent_hugepages(true),
        TransparentHugepages::Never => region.use_transparent_hugepages(false),
    };
    advised.or_else(|errno| if errno.code() == libc::EINVAL { Ok(()) } else { Err(errno) })
}

/// mlock2(2): EPERM and ENOMEM tell of RLIMIT_MEMLOCK. (ENOMEM also tells of a hole in the range, which a mapping of our
/// own does not have, and of too many mappings, below which the quota stays.)
fn lock_refusal(errno: Errno) -> HostBufferFailure {
    match errno.code() {
        libc::EPERM | libc::ENOMEM => HostBufferFailure::MemlockLimit,
        _ => HostBufferFailure::System,
    }
}
