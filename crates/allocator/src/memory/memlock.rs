//! How much this process may still lock into memory (mlock2(2)).

use rustix::process::{Resource, getrlimit};

use crate::host::{HostReader, HostRoot, MemoryLocks};
use crate::units::Bytes;

/// RLIMIT_MEMLOCK less what is locked; `None` without a limit, and where the kernel does not say, so that mlock2(2) itself
/// has the last word.
pub(super) fn lockable() -> Option<Bytes> {
    let limit = getrlimit(Resource::Memlock).current?;
    let locks = MemoryLocks::read(&mut HostReader::new(HostRoot::default())).ok()?;
    (!locks.is_unlimited).then(|| Bytes::new(limit.saturating_sub(locks.locked_bytes)))
}
