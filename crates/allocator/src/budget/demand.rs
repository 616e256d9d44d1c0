//! A question to the ledger: may this much memory, of this kind, on these nodes, be promised?

use crate::node_set::NodeSet;
use crate::units::Bytes;

/// Which pages a charge takes. The two are never mixed: hugepages are outside MemAvailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// Ordinary pages, judged by MemAvailable and the memory cgroup.
    Ordinary,
    /// Hugepages of this size, judged by free - reserved of that size.
    Hugepages(Bytes),
}

/// Whom a charge is for: every event of it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// The pool of this name.
    Pool(String),
    /// A host buffer, which may have a name.
    HostBuffer(Option<String>),
    /// Memory that another process maps itself.
    Reservation {
        /// Who that is, for people.
        holder: String,
        /// The process whose death ends it.
        pid: Option<u32>,
    },
}

/// What a charge would take. `mapped` counts whole pages of the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The budget charged.
    pub budget: String,
    /// The rank whose share is charged.
    pub rank: Option<u32>,
    /// Whom it is for.
    pub claimant: Claimant,
    /// Ordinary pages or hugepages of a size.
    pub kind: MemoryKind,
    /// The nodes bound to: these and no other serve it. None: any may.
    pub nodes: NodeSet,
    /// The bytes asked for, before rounding.
    pub requested: Bytes,
    /// What the mappings take, each rounded up to whole pages.
    pub mapped: Bytes,
}

impl Demand {
    /// One demand like this one, with the bytes of `parts`.
    #[must_use]
    pub fn sum_of(&self, parts: &[Self]) -> Self {
        let sum = |bytes: fn(&Self) -> Bytes| parts.iter().map(bytes).sum();
        Self { requested: sum(|part| part.requested), mapped: sum(|part| part.mapped), ..self.clone() }
    }

    /// Hugepages it takes; `None` on ordinary pages.
    #[must_use]
    pub fn hugepages(&self) -> Option<u64> {
        match self.kind {
            MemoryKind::Ordinary => None,
            MemoryKind::Hugepages(size) => Some(self.mapped.units_to_hold(size)),
        }
    }
}
