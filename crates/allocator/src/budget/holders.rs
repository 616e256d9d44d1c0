//! Those who fault in what they were granted themselves.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::demand::MemoryKind;
use crate::units::{Bytes, NumaNode};

/// What of charges shows in the host's own figures without the ledger having been told: by kind, and the node bound to.
pub(crate) type Visible = BTreeMap<(MemoryKind, NumaNode), Bytes>;

/// Knows what processes have faulted in of what they were granted.
///
/// They may drop that again at any time, to fault it in anew: it is promised to them. So a decision counts on it only
/// together with the reading of the host that shows it.
pub(crate) trait Holders: Debug + Send + Sync {
    /// Calls `read` once and answers what is faulted in both before and after it; `None`, and no call, where nobody
    /// holds such a charge. Called under the ledger's lock: it must not wait for anything that waits for that.
    fn visible_during(&self, read: &mut dyn FnMut()) -> Option<Visible>;
}
