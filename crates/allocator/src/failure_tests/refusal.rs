//! What the kernel may say to each call, and what has to come of it.

use crate::errno::Errno;
use crate::error::HostBufferFailure;
use crate::memory::gate::Call;
use crate::memory::{MemoryWish, OnHugepageShortage};

/// What has to come of a refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The operation goes on without it.
    Success {
        /// And it can tell on which nodes it is.
        landed: bool,
    },
    /// It succeeds on ordinary pages and says so.
    FallBack,
    /// HOST_BUFFER_ALLOCATION_FAILED for that reason, with the errno.
    Failure(HostBufferFailure),
}

/// The errnos that the manual, or the kernel's source, has for a call.
pub(super) fn plausible(call: Call) -> &'static [i32] {
    match call {
        Call::Mmap => &[libc::ENOMEM, libc::EAGAIN, libc::EINVAL, libc::EPERM, libc::ENODEV, libc::ENFILE],
        Call::Munmap => &[libc::ENOMEM, libc::EINVAL],
        Call::Madvise(libc::MADV_POPULATE_WRITE) => &[
            libc::ENOMEM,
            libc::EFAULT,
            libc::EHWPOISON,
            libc::EINTR,
            libc::EAGAIN,
            libc::EINVAL,
            libc::EPERM,
        ],
        Call::Madvise(_) => &[libc::ENOMEM, libc::EINVAL, libc::EAGAIN, libc::EPERM],
        Call::Mbind => &[libc::EPERM, libc::EINVAL, libc::ENOMEM, libc::EIO, libc::EFAULT, libc::ENOSYS],
        Call::GetMempolicy => &[libc::EPERM, libc::EINVAL, libc::EFAULT, libc::ENOSYS],
        Call::Mlock2 => &[libc::EPERM, libc::ENOMEM, libc::EAGAIN, libc::EINVAL, libc::ENOSYS],
        Call::PagemapScan => &[libc::ENOTTY, libc::EFAULT, libc::EINTR, libc::ENOMEM, libc::EPERM],
        Call::MemfdCreate => {
            &[libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOSPC, libc::ENODEV, libc::EINVAL, libc::EPERM]
        }
        Call::Ftruncate => &[libc::ENOMEM, libc::ENOSPC, libc::EINTR, libc::EFBIG, libc::EINVAL, libc::EPERM],
        Call::AddSeals => &[libc::EPERM, libc::EINVAL, libc::EBUSY],
        Call::Clone => &[libc::EAGAIN, libc::ENOMEM, libc::EPERM],
    }
}

/// What has to come of `errno` from a call for memory of that wish, whose pages were `faulted` in before or not.
pub(super) fn due(call: Call, errno: Errno, wish: &MemoryWish, faulted: bool) -> Due {
    let success = Due::Success { landed: call != Call::GetMempolicy };
    match (call, errno.code()) {
        (Call::Madvise(libc::MADV_POPULATE_WRITE), libc::EINTR | libc::EAGAIN) => success,
        (Call::Madvise(libc::MADV_POPULATE_WRITE), _) => Due::Failure(HostBufferFailure::PrefaultFailed),
        (Call::Madvise(libc::MADV_HUGEPAGE | libc::MADV_NOHUGEPAGE), libc::EINVAL) => success,
        (Call::Madvise(libc::MADV_HUGEPAGE | libc::MADV_NOHUGEPAGE), _) => {
            Due::Failure(HostBufferFailure::System)
        }
        (Call::Munmap | Call::Clone | Call::PagemapScan, _) => success,
        (Call::GetMempolicy, _) if faulted => success,
        (Call::Mbind | Call::GetMempolicy, _) => Due::Failure(HostBufferFailure::NumaBindDenied),
        (Call::Mlock2, libc::EPERM | libc::ENOMEM) => Due::Failure(HostBufferFailure::MemlockLimit),
        (Call::Mlock2, _) => Due::Failure(HostBufferFailure::System),
        (Call::Mmap | Call::Madvise(_) | Call::MemfdCreate | Call::Ftruncate | Call::AddSeals, code) => {
            of_mapping(code, wish)
        }
    }
}

/// What has to come of a mapping that cannot be made.
fn of_mapping(code: i32, wish: &MemoryWish) -> Due {
    let reason = mapping_failure(code, wish.backing.is_hugetlb());
    let short = [HostBufferFailure::HugepagesExhausted, HostBufferFailure::HugepageSizeUnsupported];
    if short.contains(&reason) && wish.on_hugepage_shortage == OnHugepageShortage::FallBack {
        Due::FallBack
    } else {
        Due::Failure(reason)
    }
}

fn mapping_failure(code: i32, hugetlb: bool) -> HostBufferFailure {
    match code {
        libc::ENOMEM | libc::ENOSPC if hugetlb => HostBufferFailure::HugepagesExhausted,
        libc::EINVAL | libc::ENODEV if hugetlb => HostBufferFailure::HugepageSizeUnsupported,
        libc::ENOMEM => HostBufferFailure::HostMemoryExhausted,
        _ => HostBufferFailure::System,
    }
}
