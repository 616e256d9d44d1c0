//! The decision itself: pure arithmetic over one reading of the host.

use super::account::BudgetState;
use super::demand::{Demand, MemoryKind};
use super::promises::Promises;
use crate::error::MemoryLimit;
use crate::host::{AdmissionReading, HugepagePool, NodeMemory};
use crate::memory::base_page;
use crate::units::Bytes;

/// What the ledger answers to a [`Demand`]: every figure is the one the decision used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// What the demand would take.
    pub mapped: Bytes,
    /// What the tightest limit still has; never below zero.
    pub available: Bytes,
    /// The tightest limit. Of two equally tight ones the more specific.
    pub limited_by: MemoryLimit,
    /// Hugepages the demand takes; `None` on ordinary pages.
    pub hugepages_needed: Option<u64>,
    /// Hugepages free, unreserved and unpromised (on the node, for a bound demand); `None` on ordinary pages.
    pub hugepages_free: Option<u64>,
}

impl Quote {
    /// Equal fits. A limit that ends inside a page holds that page, so that a request for exactly the limit fits.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.mapped <= self.whole_pages_available()
    }

    /// `available` in whole ordinary pages, rounded up.
    #[must_use]
    pub fn whole_pages_available(&self) -> Bytes {
        self.available.round_up(base_page()).unwrap_or(self.available)
    }
}

/// Everything a decision looks at, read under the ledger's lock.
pub(super) struct Figures<'a> {
    pub(super) host: &'a AdmissionReading,
    pub(super) reserve: Bytes,
    pub(super) budget: &'a BudgetState,
    pub(super) promises: &'a Promises,
}

impl Figures<'_> {
    /// The answer to `demand`.
    pub(super) fn quote(&self, demand: &Demand) -> Quote {
        let (limited_by, available) = self.tightest(demand);
        let hugepages_free = match demand.kind {
            MemoryKind::Ordinary => None,
            MemoryKind::Hugepages(size) => Some(self.hugepages_free(size, demand.node.id())),
        };
        Quote {
            mapped: demand.mapped,
            available,
            limited_by,
            hugepages_needed: demand.hugepages(),
            hugepages_free,
        }
    }

    /// min(MemAvailable, cgroup headroom) - reserve - unfaulted, and which of the two it was.
    pub(super) fn ordinary(&self) -> (MemoryLimit, Bytes) {
        let host = Bytes::new(self.host.memory.mem_available_bytes);
        let cgroup = self.host.cgroup.as_ref().map(|cgroup| Bytes::new(cgroup.available_bytes));
        match cgroup {
            Some(cgroup) if cgroup < host => (MemoryLimit::Cgroup, self.less_promised(cgroup)),
            _ => (MemoryLimit::HostMemory, self.less_promised(host)),
        }
    }

    /// What the budget's cap is now: the smaller of the bytes asked for and the fraction of what the machine (or its
    /// cgroup) has in all; `None` when neither is set.
    pub(super) fn cap(&self) -> Option<Bytes> {
        let fraction = self.budget.fraction.map(|fraction| self.fraction_of_total(fraction));
        [self.budget.cap, fraction].into_iter().flatten().min()
    }

    /// The limits that apply, the most specific first, so that it names an equal tie.
    fn tightest(&self, demand: &Demand) -> (MemoryLimit, Bytes) {
        let cap = self.cap().map(|cap| (MemoryLimit::BudgetCap, cap.saturating_sub(self.budget.charged)));
        let node = demand.node.id().map(|node| (MemoryLimit::NumaNode, self.on_node(demand.kind, node)));
        let machine = match demand.kind {
            MemoryKind::Ordinary => self.ordinary(),
            MemoryKind::Hugepages(size) => {
                (MemoryLimit::Hugepages, size.saturating_mul(self.hugepages_free(size, None)))
            }
        };
        let specific_first = [cap, node].into_iter().flatten();
        specific_first
            .fold(None, tighter)
            .map_or(machine, |tightest| if machine.1 < tightest.1 { machine } else { tightest })
    }

    fn on_node(&self, kind: MemoryKind, node: u32) -> Bytes {
        match kind {
            MemoryKind::Ordinary => self.ordinary_on(node),
            MemoryKind::Hugepages(size) => size.saturating_mul(self.hugepages_free(size, Some(node))),
        }
    }

    fn ordinary_on(&self, node: u32) -> Bytes {
        let bindable = self.host.node(node).map_or(0, NodeMemory::bindable_bytes);
        Bytes::new(bindable).saturating_sub(self.promises.unfaulted_on(node))
    }

    /// Pages of `size` that a new mapping could still take, on `node` when given: free - reserved (the kernel reserves
    /// for the whole machine only) less what is promised and not yet mapped.
    fn hugepages_free(&self, size: Bytes, node: Option<u32>) -> u64 {
        let machine = self.host.hugepage_pool(size.get());
        let machine = machine.map_or(0, HugepagePool::usable_pages);
        let machine = machine.saturating_sub(self.promises.unmapped_hugepages(size));
        let Some(node) = node else { return machine };
        let pool = self.host.node(node).and_then(|node| node.hugepage_pool(size.get()));
        let free = pool.map_or(0, |pool| pool.free_pages);
        machine.min(free.saturating_sub(self.promises.unmapped_hugepages_on(size, node)))
    }

    fn less_promised(&self, bytes: Bytes) -> Bytes {
        bytes.saturating_sub(self.reserve).saturating_sub(self.promises.unfaulted())
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction in (0, 1] of at most 2^53 bytes: exact to the byte, never negative"
    )]
    fn fraction_of_total(&self, fraction: f64) -> Bytes {
        let limit = self.host.cgroup.as_ref().map_or(u64::MAX, |cgroup| cgroup.limit_bytes);
        Bytes::new((self.host.memory.mem_total_bytes.min(limit) as f64 * fraction) as u64)
    }
}

fn tighter(best: Option<(MemoryLimit, Bytes)>, next: (MemoryLimit, Bytes)) -> Option<(MemoryLimit, Bytes)> {
    match best {
        Some(best) if best.1 <= next.1 => Some(best),
        _ => Some(next),
    }
}
