//! The kernel refuses each system call of an operation in turn, with each errno it may have: a typed error comes of it, or a
//! success that tells what is missing, and nothing is left behind.

mod footprint;
#[path = "../../tests/support/hugepages.rs"]
mod hugepages;
mod operation;
pub(crate) mod own_process;
mod refusal;

use crate::backing::Backing;
use crate::errno::Errno;
use crate::error::Error;
use crate::host::HostRoot;
use crate::memory::gate::Call;
use crate::memory::gate::script::{self, Refusal};
use crate::memory::{HostMemoryAllocator, MemoryWish, NumaPolicy, OnHugepageShortage, TransparentHugepages};
use crate::node_set::NodeSet;
use crate::pool::Layout;
use crate::units::Bytes;
use footprint::{Footprint, settle, threads};
use hugepages::Hugepages;
use operation::{Operation, Outcome, buffer, group, pool};
use own_process::in_its_own_process;
use refusal::{Due, due, plausible};

const LAYOUTS: [Layout; 3] = [Layout::LayerFirst, Layout::PageFirst, Layout::PageFirstDirect];
const ORDINARY: [Backing; 2] = [Backing::Anonymous, Backing::AnonymousShm];
const HUGETLB: [Backing; 2] = [Backing::AnonymousHugetlb, Backing::AnonymousShmHugetlb];
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Has every call of the operation refused in turn, with every errno, and looks at what came of it and what is left.
fn refuse_each_call(operation: &Operation) {
    refuse_calls(operation, |call, _| plausible(call).to_vec());
}

/// The same with one errno a call: the next of those it may have.
fn refuse_each_call_once(operation: &Operation) {
    refuse_calls(operation, |call, at| plausible(call).iter().copied().cycle().skip(at).take(1).collect());
}

fn refuse_calls(operation: &Operation, errnos: impl Fn(Call, usize) -> Vec<i32>) {
    warm_up(operation);
    let (_, calls) = run(operation, None);
    for (at, call) in calls.iter().copied().enumerate() {
        let faulted = calls.iter().take(at).any(|call| *call == Call::Madvise(libc::MADV_POPULATE_WRITE));
        for errno in errnos(call, at).into_iter().map(Errno::new) {
            let refusal = Refusal { number: at + 1, errno, and_later: false };
            let told = format!("{refusal:?}, {call:?} of {calls:?}, {}", operation.name);
            check(&run(operation, Some(refusal)).0, errno, due(call, errno, &operation.wish, faulted), &told);
        }
        run_out(operation, at + 1);
    }
    println!("{}: {} calls refused", operation.name, calls.len());
}

/// From that call on the kernel has no memory for anything: what is tried instead fails as well.
fn run_out(operation: &Operation, number: usize) {
    let errno = Errno::new(libc::ENOMEM);
    let (outcome, _) = run(operation, Some(Refusal { number, errno, and_later: true }));
    match outcome {
        Err(Error::HostBufferAllocationFailed(failure)) => assert_eq!(failure.errno, Some(errno)),
        // Only what tells of the memory, or gives it back, was still to come.
        Ok(outcome) => assert!(!outcome.fell_back, "call {number}, {}", operation.name),
        Err(other) => panic!("call {number}, {}: {other:?}", operation.name),
    }
}

/// What the process takes once and keeps, as a thread's stack, it takes now.
fn warm_up(operation: &Operation) {
    let threads = threads();
    (operation.perform)(&allocator()).unwrap();
    settle(|| self::threads() == threads);
}

/// Performs it on an allocator of its own, which keeps a history of what it did, and looks at what is left.
fn run(operation: &Operation, refused: Option<Refusal>) -> (Result<Outcome, Error>, Vec<Call>) {
    let allocator = allocator();
    let before = Footprint::now(&allocator);
    let (outcome, calls) = script::run(refused, || (operation.perform)(&allocator));
    before.assert_unchanged(&allocator, &format!("{refused:?} of {} calls, {}", calls.len(), operation.name));
    (outcome, calls)
}

fn allocator() -> HostMemoryAllocator {
    HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO).unwrap()
}

fn check(outcome: &Result<Outcome, Error>, errno: Errno, due: Due, told: &str) {
    match (outcome, due) {
        (Ok(outcome), Due::Success { landed }) => {
            assert_eq!(*outcome, Outcome { fell_back: false, landed }, "{told}");
        }
        (Ok(outcome), Due::FallBack) => assert!(outcome.fell_back, "{told}"),
        (Err(Error::HostBufferAllocationFailed(failure)), Due::Failure(reason)) => {
            assert_eq!((failure.reason, failure.errno), (reason, Some(errno)), "{told}");
        }
        other => panic!("{told}: {other:?}"),
    }
}

#[test]
fn a_refused_call_of_a_buffer_leaves_nothing() {
    in_its_own_process(module_path!(), "a_refused_call_of_a_buffer_leaves_nothing", || {
        for backing in ORDINARY {
            refuse_each_call(&buffer(MemoryWish::of(backing), 60 * KIB, 1));
        }
    });
}

#[test]
fn a_refused_call_of_a_wish_for_nodes_pages_or_locking_leaves_nothing() {
    in_its_own_process(
        module_path!(),
        "a_refused_call_of_a_wish_for_nodes_pages_or_locking_leaves_nothing",
        || {
            for backing in ORDINARY {
                let wish = MemoryWish { lock: true, ..MemoryWish::of(backing) };
                for numa in [
                    NumaPolicy::Bind(NodeSet::from_iter([0])),
                    NumaPolicy::Preferred(0),
                    NumaPolicy::Interleave(NodeSet::default()),
                ] {
                    refuse_each_call(&buffer(MemoryWish { numa, ..wish.clone() }, 12 * KIB, 1));
                }
                for transparent_hugepages in [TransparentHugepages::Always, TransparentHugepages::Never] {
                    refuse_each_call(&buffer(
                        MemoryWish { transparent_hugepages, ..wish.clone() },
                        12 * KIB,
                        1,
                    ));
                }
            }
        },
    );
}

#[test]
fn a_refused_call_of_a_pool_leaves_nothing() {
    in_its_own_process(module_path!(), "a_refused_call_of_a_pool_leaves_nothing", || {
        for backing in ORDINARY {
            for layout in LAYOUTS {
                refuse_each_call(&pool(backing, layout));
            }
        }
    });
}

#[test]
fn a_refused_call_of_a_group_of_pools_leaves_nothing() {
    in_its_own_process(module_path!(), "a_refused_call_of_a_group_of_pools_leaves_nothing", || {
        for backing in ORDINARY {
            refuse_each_call(&group(MemoryWish::of(backing)));
        }
    });
}

#[test]
fn a_refused_call_for_hugepages_leaves_nothing() {
    in_its_own_process(module_path!(), "a_refused_call_for_hugepages_leaves_nothing", || {
        let Some(_pages) = Hugepages::set_up(2048, 8) else { return };
        for backing in HUGETLB {
            for layout in LAYOUTS {
                refuse_each_call(&pool(backing, layout));
            }
            let bound = NumaPolicy::Bind(NodeSet::from_iter([0]));
            refuse_each_call(&buffer(MemoryWish { numa: bound, ..MemoryWish::of(backing) }, 8 * MIB, 1));
        }
    });
}

#[test]
fn a_refused_call_for_hugepages_falls_back_where_the_wish_allows_that() {
    in_its_own_process(
        module_path!(),
        "a_refused_call_for_hugepages_falls_back_where_the_wish_allows_that",
        || {
            let Some(_pages) = Hugepages::set_up(2048, 8) else { return };
            for backing in HUGETLB {
                let on_hugepage_shortage = OnHugepageShortage::FallBack;
                let wish = MemoryWish { on_hugepage_shortage, ..MemoryWish::of(backing) };
                refuse_each_call(&buffer(wish.clone(), 4 * MIB, 1));
                refuse_each_call(&group(wish));
            }
        },
    );
}

#[test]
fn a_refused_call_of_one_of_two_threads_stops_both() {
    in_its_own_process(module_path!(), "a_refused_call_of_one_of_two_threads_stops_both", || {
        let Some(_pages) = Hugepages::set_up(2048, 65) else { return };
        for backing in HUGETLB {
            refuse_each_call_once(&buffer(MemoryWish::of(backing), 130 * MIB, 2));
        }
    });
}
