//! Closing, prefaulting, reading and counting of mapped memory, in every order of their steps.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use super::headroom::InFlight;
use super::host_memory::{Held, HostMemory, Placement};
use super::policy::NumaPolicy;
use super::quota::Quota;
use super::request::{MemoryRequest, MemoryWish};
use super::sys::{Region, sealed_memfd};
use super::tally::Tally;
use crate::backing::Backing;
use crate::budget::{Claimant, HOST_BUDGET, Ledger};
use crate::error::{Error, HostBufferFailure};
use crate::model_host::{ModelHost, ordinary, pages, spawn};
use crate::sync::Arc;
use crate::sync::thread::JoinHandle;
use crate::units::{Bytes, base_page};

/// Mapped memory, the ledger it is charged to, and the file that knows how much of it is faulted in.
struct Bench {
    ledger: Arc<Ledger>,
    memory: Arc<HostMemory>,
    file: File,
}

/// Twice the pages that are mapped, so that one counted twice shows; and all that the host has.
const CHARGED: u64 = 4;

/// Two pages of a memfd, each a mapping of its own. They pass for hugepages, whose prefault asks
/// nothing of the machine.
fn memory() -> Bench {
    mapped(Some)
}

/// The same, whose tally has no file to ask.
fn private_memory() -> Bench {
    mapped(|_| None)
}

fn mapped(seen_by_tally: fn(File) -> Option<File>) -> Bench {
    let ledger = ModelHost::new(CHARGED, 0).ledger();
    let page = base_page();
    let length = usize::try_from(page.get()).unwrap();
    let file = sealed_memfd(pages(2).get(), None).unwrap();
    let region = |at: u64| Region::of_file(&file, at * page.get(), length, None).unwrap();
    let regions = vec![region(0), region(1)];
    let wish = MemoryWish { hugepage_size: page, ..MemoryWish::of(Backing::AnonymousShmHugetlb) };
    let request = MemoryRequest {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant: Claimant::HostBuffer(None),
        mapping_bytes: page,
        mapping_count: 2,
        wish: wish.clone(),
    };
    let placement = Placement {
        requested_backing: wish.backing,
        actual_backing: wish.backing,
        hugepage_size: Some(page),
        alignment: page,
        mapped: pages(2),
        mappings: 2,
        numa: NumaPolicy::Any,
        transparent_hugepages: wish.transparent_hugepages,
        locked: false,
    };
    let held = Held {
        regions,
        tally: Tally::of(
            seen_by_tally(file.try_clone().unwrap()),
            ledger.charge(ordinary(CHARGED)).unwrap().commit(),
        ),
        permit: Quota::up_to(2, 1).take(2, 1).unwrap(),
        in_flight: InFlight::beside(Bytes::ZERO),
    };
    let memory = Arc::new(HostMemory::new(request, Vec::new(), placement, held));
    Bench { ledger, memory, file }
}

impl Bench {
    fn charged(&self) -> Bytes {
        self.ledger.budget(HOST_BUDGET).unwrap().unwrap().charged
    }

    /// What the ledger takes to be faulted in: the host's own figures do not change here.
    fn counted(&self) -> Bytes {
        self.ledger.quote(&ordinary(1)).unwrap().available
    }

    fn assert_no_more_is_counted_than_is_faulted_in(&self) {
        let counted = self.counted();
        let faulted_in = Bytes::new(self.file.metadata().unwrap().blocks() * 512);
        assert!(counted <= faulted_in, "{counted} counted of {faulted_in}");
    }

    fn prefault(&self) -> JoinHandle<Result<(), Error>> {
        let memory = Arc::clone(&self.memory);
        spawn(move || memory.prefault_with(1))
    }
}

fn is_cancelled(answer: &Result<(), Error>) -> bool {
    let Err(Error::HostBufferAllocationFailed(failure)) = answer else { return false };
    failure.reason == HostBufferFailure::Cancelled
}

#[test]
fn of_those_that_close_it_during_a_prefault_one_gives_it_back() {
    loom::model(|| {
        let bench = memory();
        let prefaulting = bench.prefault();
        let closing = {
            let memory = Arc::clone(&bench.memory);
            spawn(move || memory.close())
        };
        let given_back = bench.memory.close();
        assert_eq!(bench.charged(), Bytes::ZERO, "whoever closed it, it is given back by now");
        let given_back = given_back.saturating_add(closing.join().unwrap());
        let prefault = prefaulting.join().unwrap();
        assert!(prefault.is_ok() || is_cancelled(&prefault), "{prefault:?}");
        assert!(given_back == pages(CHARGED) || (given_back == Bytes::ZERO && is_cancelled(&prefault)));
        assert_eq!(bench.memory.progress().done, prefault.is_ok());
    });
}

#[test]
fn a_failed_prefault_has_given_everything_back() {
    loom::model(|| {
        let bench = memory();
        let cancelling = {
            let memory = Arc::clone(&bench.memory);
            spawn(move || memory.cancel())
        };
        let prefault = bench.memory.prefault_with(1);
        assert_eq!(bench.charged(), if prefault.is_ok() { pages(CHARGED) } else { Bytes::ZERO });
        cancelling.join().unwrap();
    });
}

#[test]
fn what_counts_as_faulted_in_is_so_whoever_reads_meanwhile_and_all_of_it_in_the_end() {
    loom::model(|| {
        let bench = memory();
        let prefaulting = bench.prefault();
        bench.memory.read(0, 0, &mut [0; 8]).unwrap();
        bench.assert_no_more_is_counted_than_is_faulted_in();
        prefaulting.join().unwrap().unwrap();
        assert_eq!(bench.counted(), pages(2));
    });
}

#[test]
fn two_prefaults_at_once_count_no_page_twice() {
    loom::model(|| {
        let bench = private_memory();
        let prefaulting = bench.prefault();
        bench.memory.prefault_with(1).unwrap();
        prefaulting.join().unwrap().unwrap();
        assert_eq!(bench.counted(), pages(2));
    });
}

#[test]
fn of_two_that_take_the_last_mappings_one_gets_them() {
    loom::model(|| {
        let quota = Quota::up_to(3, 1);
        let other = {
            let quota = Arc::clone(&quota);
            spawn(move || quota.take(2, 0).ok())
        };
        let mine = quota.take(2, 1).ok();
        let other = other.join().unwrap();
        assert_eq!([&mine, &other].into_iter().flatten().count(), 1);
        drop((mine, other));
        assert!(quota.take(3, 1).is_ok(), "all of it is given back");
    });
}
