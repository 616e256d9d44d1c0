//! The decision itself: pure arithmetic over one reading of the host.

use super::account::{Account, BudgetTerms};
use super::demand::{Demand, MemoryKind};
use super::promises::Promises;
use crate::error::MemoryLimit;
use crate::host::{AdmissionReading, HugepagePool, NodeMemory};
use crate::node_set::NodeSet;
use crate::units::{Bytes, base_page};

/// What the ledger answers to a [`Demand`]: every figure is the one the decision used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The bytes asked for.
    pub requested: Bytes,
    /// What the demand would take.
    pub mapped: Bytes,
    /// What the tightest limit still has; never below zero.
    pub available: Bytes,
    /// The tightest limit. Of two equally tight ones the more specific.
    pub limited_by: MemoryLimit,
    /// Hugepages the demand takes; `None` on ordinary pages.
    pub hugepages_needed: Option<u64>,
    /// Hugepages free, unreserved and unpromised (on its nodes, for a bound demand); `None` on ordinary pages.
    pub hugepages_free: Option<u64>,
}

impl Quote {
    /// Equal fits, one byte more does not. A limit that ends inside a page holds that page, so that a request for exactly
    /// the limit fits although its mapping is rounded up.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.would_hold(self.requested, self.mapped)
    }

    /// Whether another size would fit by the same figures. What holds a size holds every smaller one.
    #[must_use]
    pub fn would_hold(&self, requested: Bytes, mapped: Bytes) -> bool {
        let fits_rounded = requested <= self.available && mapped <= self.whole_pages_available();
        mapped <= self.available || fits_rounded
    }

    /// The same figures, asked for another size: `demand` differs in its bytes alone.
    pub(crate) fn asked_for(self, demand: &Demand) -> Self {
        Self {
            requested: demand.requested,
            mapped: demand.mapped,
            hugepages_needed: demand.hugepages(),
            ..self
        }
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
    /// The budget "host": what all budgets hold together, and the cap on that.
    pub(super) whole: &'a Account,
    /// The budget asked; "host" itself, or a part of it.
    pub(super) account: &'a Account,
    pub(super) promises: &'a Promises,
    /// What was granted before is had again: only the node and the machine count.
    pub(super) restoring: bool,
}

impl Figures<'_> {
    /// The answer to `demand` of `rank`.
    pub(super) fn quote(&self, demand: &Demand, rank: usize) -> Quote {
        let (limited_by, available) = self.tightest(demand, rank);
        let hugepages_free = match demand.kind {
            MemoryKind::Ordinary => None,
            MemoryKind::Hugepages(size) => Some(self.hugepages_free(size, &demand.nodes)),
        };
        Quote {
            requested: demand.requested,
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

    /// What all budgets together may hold: the smaller of the bytes asked for "host" and the fraction of what the
    /// machine (or its cgroup) has in all; `None` when neither is set.
    pub(super) fn host_cap(&self) -> Option<Bytes> {
        let BudgetTerms { requested, fraction, .. } = self.whole.terms;
        [requested, fraction.map(|fraction| self.fraction_of_total(fraction))].into_iter().flatten().min()
    }

    /// What the budget asked may hold: its size, or for "host" its cap.
    pub(super) fn cap(&self) -> Option<Bytes> {
        self.account.size.or_else(|| self.host_cap())
    }

    /// What the host has for a new charge on ordinary pages, in whichever budget, and which limit that was.
    pub(super) fn host_available(&self) -> (MemoryLimit, Bytes) {
        let machine = self.ordinary();
        self.under_host_cap().map_or(machine, |cap| if machine.1 < cap.1 { machine } else { cap })
    }

    fn under_host_cap(&self) -> Option<(MemoryLimit, Bytes)> {
        self.host_cap().map(|cap| (MemoryLimit::BudgetCap, cap.saturating_sub(self.whole.charged)))
    }

    /// The limits that apply, the most specific first, so that it names an equal tie: the rank's share, the budget's
    /// size, the cap on all budgets, the node, the machine.
    fn tightest(&self, demand: &Demand, rank: usize) -> (MemoryLimit, Bytes) {
        let left = |limit, has: Option<Bytes>, held| has.map(|has: Bytes| (limit, has.saturating_sub(held)));
        let shared = self.account.terms.ranks > 1;
        let share = self.account.share(rank).filter(|_| shared);
        let share = left(MemoryLimit::RankShare, share, self.account.charged_to(rank));
        let size = left(MemoryLimit::BudgetCap, self.account.size, self.account.charged);
        let nodes = (!demand.nodes.is_empty())
            .then(|| (MemoryLimit::NumaNode, self.on_nodes(demand.kind, &demand.nodes)));
        let machine = match demand.kind {
            MemoryKind::Ordinary => self.ordinary(),
            MemoryKind::Hugepages(size) => {
                (MemoryLimit::Hugepages, size.saturating_mul(self.hugepages_on_machine(size)))
            }
        };
        let budgets = [share, size, self.under_host_cap()].into_iter().filter(|_| !self.restoring);
        let specific_first = budgets.chain([nodes, Some(machine)]);
        specific_first.flatten().fold(None, tighter).unwrap_or(machine)
    }

    fn on_nodes(&self, kind: MemoryKind, nodes: &NodeSet) -> Bytes {
        match kind {
            MemoryKind::Ordinary => nodes.iter().map(|node| self.ordinary_on(node)).sum(),
            MemoryKind::Hugepages(size) => size.saturating_mul(self.hugepages_on(size, nodes)),
        }
    }

    fn ordinary_on(&self, node: u32) -> Bytes {
        let bindable = self.host.node(node).map_or(0, NodeMemory::bindable_bytes);
        Bytes::new(bindable).saturating_sub(self.promises.on(MemoryKind::Ordinary, node))
    }

    /// Pages of `size` that a new mapping could still take, on `nodes` when there are any.
    fn hugepages_free(&self, size: Bytes, nodes: &NodeSet) -> u64 {
        let machine = self.hugepages_on_machine(size);
        if nodes.is_empty() { machine } else { machine.min(self.hugepages_on(size, nodes)) }
    }

    fn hugepages_on_machine(&self, size: Bytes) -> u64 {
        let promised = self.promises.of(MemoryKind::Hugepages(size)).whole_units(size);
        let usable = self.host.hugepage_pool(size.get()).map_or(0, HugepagePool::usable_pages);
        usable.saturating_sub(promised)
    }

    /// What the nodes have free, less what is promised there, less the reservations of others that the other nodes cannot
    /// serve: the kernel reserves for the whole machine and says of no page where it will come from.
    fn hugepages_on(&self, size: Bytes, nodes: &NodeSet) -> u64 {
        let kind = MemoryKind::Hugepages(size);
        let free_on = |node: &NodeMemory| node.hugepage_pool(size.get()).map_or(0, |pool| pool.free_pages);
        let elsewhere = self.host.nodes.iter().filter(|other| !nodes.contains(other.id)).map(free_on);
        let elsewhere = elsewhere.fold(0, u64::saturating_add);
        let reserved = self.host.hugepage_pool(size.get()).map_or(0, |pool| pool.reserved_pages);
        let of_others = reserved.saturating_sub(self.promises.bound(kind).whole_units(size));
        let unpromised = |node| {
            let promised = self.promises.on(kind, node).whole_units(size);
            self.host.node(node).map_or(0, free_on).saturating_sub(promised)
        };
        let free = nodes.iter().map(unpromised).fold(0, u64::saturating_add);
        free.saturating_sub(of_others.saturating_sub(elsewhere))
    }

    fn less_promised(&self, bytes: Bytes) -> Bytes {
        bytes.saturating_sub(self.reserve).saturating_sub(self.promises.of(MemoryKind::Ordinary))
    }

    fn fraction_of_total(&self, fraction: f64) -> Bytes {
        let limit = self.host.cgroup.as_ref().map_or(u64::MAX, |cgroup| cgroup.limit_bytes);
        Bytes::new(self.host.memory.mem_total_bytes.min(limit)).fraction(fraction)
    }
}

fn tighter(best: Option<(MemoryLimit, Bytes)>, next: (MemoryLimit, Bytes)) -> Option<(MemoryLimit, Bytes)> {
    match best {
        Some(best) if best.1 <= next.1 => Some(best),
        _ => Some(next),
    }
}
