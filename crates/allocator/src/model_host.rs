//! What the models of shared locks stand on: a host of a few pages, and threads.

use crate::budget::{Claimant, Demand, HOST_BUDGET, HostSource, Ledger, MemoryKind};
use crate::host::{AdmissionReading, HostError, HugepagePool, MemInfo};
use crate::node_set::NodeSet;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, lock};
use crate::units::{Bytes, base_page};

/// The only hugepage size.
pub(crate) const HUGE: Bytes = Bytes::mebibytes(2);

/// A host whose figures change as memory is mapped and faulted in. All of it counts pages.
#[derive(Clone)]
pub(crate) struct ModelHost(Arc<Mutex<Figures>>);

struct Figures {
    available: u64,
    free_hugepages: u64,
    reserved_hugepages: u64,
}

impl ModelHost {
    pub(crate) fn new(available: u64, free_hugepages: u64) -> Self {
        Self(Arc::new(Mutex::new(Figures { available, free_hugepages, reserved_hugepages: 0 })))
    }

    /// A ledger over it that keeps nothing for the host.
    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        Ledger::new(Box::new(self.clone()), Bytes::ZERO)
    }

    pub(crate) fn fault_in(&self, pages: u64) {
        lock(&self.0).available -= pages;
    }

    pub(crate) fn unmap(&self, pages: u64) {
        lock(&self.0).available += pages;
    }

    pub(crate) fn map_hugepages(&self, pages: u64) {
        lock(&self.0).reserved_hugepages += pages;
    }

    pub(crate) fn unmap_hugepages(&self, pages: u64) {
        lock(&self.0).reserved_hugepages -= pages;
    }
}

impl HostSource for ModelHost {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        let figures = lock(&self.0);
        let memory = MemInfo {
            mem_total_bytes: pages(1000).get(),
            mem_available_bytes: pages(figures.available).get(),
            available_is_estimated: false,
        };
        let hugepages = HugepagePool {
            size_bytes: HUGE.get(),
            total_pages: figures.free_hugepages,
            free_pages: figures.free_hugepages,
            reserved_pages: figures.reserved_hugepages,
            surplus_pages: 0,
            overcommit_pages: 0,
        };
        Ok(AdmissionReading { memory, cgroup: None, hugepages: vec![hugepages], nodes: Vec::new() })
    }
}

/// So many ordinary pages.
pub(crate) fn pages(count: u64) -> Bytes {
    base_page().saturating_mul(count)
}

/// So many ordinary pages of the budget "host".
pub(crate) fn ordinary(count: u64) -> Demand {
    let bytes = pages(count);
    Demand {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant: Claimant::HostBuffer(None),
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: bytes,
        mapped: bytes,
    }
}

/// So many hugepages of the budget "host".
pub(crate) fn hugepages(count: u64) -> Demand {
    let bytes = HUGE.saturating_mul(count);
    Demand { kind: MemoryKind::Hugepages(HUGE), requested: bytes, mapped: bytes, ..ordinary(0) }
}

/// Pages that are held at the moment, of so many.
#[derive(Clone)]
pub(crate) struct Held(Arc<AtomicU64>, u64);

impl Held {
    pub(crate) fn of(total: u64) -> Self {
        Self(Arc::new(AtomicU64::new(0)), total)
    }

    /// Just granted.
    pub(crate) fn take(&self, pages: u64) {
        let before = self.0.fetch_add(pages, Ordering::SeqCst);
        assert!(before + pages <= self.1, "{pages} granted beside {before} of {}", self.1);
    }

    /// About to be given back.
    pub(crate) fn give_back(&self, pages: u64) {
        self.0.fetch_sub(pages, Ordering::SeqCst);
    }
}

/// A thread with room for what a failing test prints.
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::Builder::new().stack_size(1 << 15).spawn(work).unwrap()
}
