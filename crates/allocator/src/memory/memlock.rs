//! How much this process may still lock into memory (mlock2(2)).

use super::probe::Limit;
use crate::host::{CAP_IPC_LOCK, ProcessStatus};
use crate::units::Bytes;

/// RLIMIT_MEMLOCK less what is locked; `None` without a limit, and where the kernel does not say, so that mlock2(2) itself
/// has the last word.
pub(super) fn lockable() -> Option<Bytes> {
    let limit = Limit::of_locked_memory().soft?;
    let status = ProcessStatus::of_this_thread().ok().filter(|status| status.capabilities.is_some())?;
    let locked = status.locked_bytes.unwrap_or(0);
    (!status.has_capability(CAP_IPC_LOCK)).then(|| Bytes::new(limit.saturating_sub(locked)))
}
