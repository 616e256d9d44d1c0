//! The events of budgets: the figures of each decision, and that they add up to what the ledger holds.

#![expect(clippy::unwrap_used, reason = "a panic here is how a test fails")]

use std::collections::BTreeMap;
use std::sync::Arc;

use hostpool_allocator::budget::{
    BudgetChange, BudgetEvent, BudgetEventKind, BudgetTerms, Budgets, Charge, ChargeEnd, Claimant, Demand,
    HOST_BUDGET, HostSource, Ledger, MemoryKind, PendingCharge, Refusal,
};
use hostpool_allocator::host::{AdmissionReading, HostError, MemInfo};
use hostpool_allocator::{Bytes, MemoryLimit, NodeSet};
use proptest::prelude::*;

const PAGE: u64 = 4096;

/// A host of 100 pages that never changes.
struct Host;

impl HostSource for Host {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        let memory = MemInfo {
            mem_total_bytes: 100 * PAGE,
            mem_available_bytes: 100 * PAGE,
            available_is_estimated: false,
        };
        Ok(AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() })
    }
}

/// "job-a" of 40 pages in two shares, and "job-b" of 80 pages: together more than the host has.
fn ledger() -> Arc<Ledger> {
    let ledger = Ledger::new(Box::new(Host), Bytes::ZERO);
    for (name, pages, ranks) in [("job-a", 40, 2), ("job-b", 80, 1)] {
        let requested = Some(Bytes::new(pages * PAGE));
        let _made = Budgets::unkept(Arc::clone(&ledger))
            .create(name, BudgetTerms { requested, fraction: None, ranks }, false, None)
            .unwrap();
    }
    ledger
}

fn demand(budget: &str, rank: Option<u32>, pages: u64) -> Demand {
    Demand {
        budget: budget.to_owned(),
        rank,
        claimant: Claimant::Pool(format!("{pages} pages")),
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: Bytes::new(pages * PAGE - 1),
        mapped: Bytes::new(pages * PAGE),
    }
}

fn charge(ledger: &Arc<Ledger>, demand: Demand) -> Result<Charge, Refusal> {
    ledger.charge(demand).map(PendingCharge::commit)
}

fn close(ledger: &Arc<Ledger>, budget: &str, closed: bool) {
    let change = BudgetChange { admission_closed: Some(Some(closed)), ..Default::default() };
    Budgets::unkept(Arc::clone(ledger)).update(budget, &change).unwrap();
}

fn all(ledger: &Ledger) -> Vec<BudgetEvent> {
    let read = ledger.events().after(0, usize::MAX, None);
    assert_eq!((read.missed, read.through), (0, ledger.events().latest()));
    read.events
}

fn last(ledger: &Ledger) -> BudgetEvent {
    all(ledger).pop().unwrap()
}

fn pages(bytes: Bytes) -> u64 {
    bytes.get() / PAGE
}

fn held(ledger: &Ledger, budget: &str) -> Bytes {
    ledger.budget(budget).unwrap().unwrap().charged
}

#[test]
fn a_grant_has_the_quote_it_was_granted_by_and_what_is_held_with_it() {
    let ledger = ledger();
    let other = charge(&ledger, demand("job-b", None, 30)).unwrap();
    let quote = ledger.quote(&demand("job-a", Some(1), 20)).unwrap();
    let _held = charge(&ledger, demand("job-a", Some(1), 20)).unwrap();
    let event = last(&ledger);
    assert_eq!(event.sequence, 2);
    assert_eq!(event.kind, BudgetEventKind::Charged(quote.clone()));
    assert_eq!((quote.limited_by, pages(quote.available)), (MemoryLimit::RankShare, 20));
    assert_eq!(*event.demand, demand("job-a", Some(1), 20));
    assert_eq!((pages(event.charged), pages(event.host_charged)), (20, 50));
    drop(other);
    let event = last(&ledger);
    assert_eq!((event.sequence, event.demand.budget.as_str()), (3, "job-b"));
    assert_eq!((pages(event.charged), pages(event.host_charged)), (0, 20));
}

#[test]
fn a_refusal_has_the_figures_that_the_caller_is_told() {
    let ledger = ledger();
    let cases = [
        (demand("job-a", Some(0), 21), MemoryLimit::RankShare, 20),
        (demand("job-b", None, 81), MemoryLimit::BudgetCap, 80),
        (demand(HOST_BUDGET, None, 101), MemoryLimit::HostMemory, 100),
    ];
    for (asked, limit, available) in cases {
        let Err(Refusal::Exceeded(told)) = charge(&ledger, asked.clone()) else {
            panic!("granted {asked:?}")
        };
        assert_eq!((told.limited_by, pages(told.available)), (limit, available));
        let event = last(&ledger);
        assert_eq!(event.kind, BudgetEventKind::Refused(told));
        assert_eq!(*event.demand, asked);
        assert_eq!((event.charged, event.host_charged), (Bytes::ZERO, Bytes::ZERO));
    }
}

#[test]
fn a_closed_budget_is_named_be_it_the_one_asked_or_host() {
    let ledger = ledger();
    for closed in ["job-b", HOST_BUDGET] {
        close(&ledger, closed, true);
        assert!(matches!(charge(&ledger, demand("job-b", None, 1)), Err(Refusal::AdmissionClosed(_))));
        assert_eq!(last(&ledger).kind, BudgetEventKind::AdmissionClosed(closed.to_owned()));
        close(&ledger, closed, false);
    }
}

#[test]
fn a_charge_ends_once_and_for_the_reason_given() {
    let ledger = ledger();
    for end in [ChargeEnd::Released, ChargeEnd::Expired, ChargeEnd::OwnerDied] {
        charge(&ledger, demand("job-b", None, 1)).unwrap().end(end);
        assert_eq!(last(&ledger).kind, BudgetEventKind::Ended(end));
    }
    drop(ledger.charge(demand("job-b", None, 1)).unwrap());
    assert_eq!(last(&ledger).kind, BudgetEventKind::Ended(ChargeEnd::Released), "a roll-back too");
    assert_eq!(ledger.events().latest(), 8);
}

#[test]
fn a_question_is_no_event_and_neither_is_a_budget_or_rank_that_is_not_there() {
    let ledger = ledger();
    ledger.quote(&demand("job-b", None, 200)).unwrap();
    for unknown in [demand("nobody", None, 1), demand("job-a", None, 1), demand("job-a", Some(2), 1)] {
        assert!(matches!(charge(&ledger, unknown), Err(Refusal::Other(_))));
    }
    let held = charge(&ledger, demand("job-b", None, 2)).unwrap();
    held.set_resident(Bytes::new(PAGE));
    assert_eq!(ledger.events().latest(), 1, "faulting in is none either");
}

/// What the events say is held, checked at each of them against the sums that it carries.
fn replay(events: &[BudgetEvent]) -> BTreeMap<String, u64> {
    let mut held = BTreeMap::<String, u64>::new();
    for (event, sequence) in events.iter().zip(1..) {
        assert_eq!(event.sequence, sequence);
        let budget = held.entry(event.demand.budget.clone()).or_default();
        match event.kind {
            BudgetEventKind::Charged(_) => *budget += event.demand.mapped.get(),
            BudgetEventKind::Ended(_) => *budget -= event.demand.mapped.get(),
            BudgetEventKind::Refused(_) | BudgetEventKind::AdmissionClosed(_) => {}
        }
        assert_eq!(
            event.charged.get(),
            if event.demand.budget == HOST_BUDGET { held.values().sum() } else { *budget }
        );
        assert_eq!(event.host_charged.get(), held.values().sum::<u64>());
    }
    held
}

fn check_against_ledger(ledger: &Ledger) {
    let held_by_name = replay(&all(ledger));
    for name in ["job-a", "job-b"] {
        assert_eq!(held(ledger, name).get(), held_by_name.get(name).copied().unwrap_or_default());
    }
    assert_eq!(held(ledger, HOST_BUDGET).get(), held_by_name.values().sum::<u64>());
}

#[derive(Clone, Debug)]
enum Step {
    Charge { budget: &'static str, rank: Option<u32>, pages: u64 },
    End(usize, ChargeEnd),
    Close(&'static str, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let budget = || prop::sample::select(vec![HOST_BUDGET, "job-a", "job-b"]);
    let end = prop::sample::select(vec![ChargeEnd::Released, ChargeEnd::Expired, ChargeEnd::OwnerDied]);
    prop_oneof![
        6 => (budget(), 0..2_u32, 1..40_u64).prop_map(|(budget, rank, pages)| {
            Step::Charge { budget, rank: (budget == "job-a").then_some(rank), pages }
        }),
        4 => (any::<usize>(), end).prop_map(|(which, end)| Step::End(which, end)),
        1 => (budget(), any::<bool>()).prop_map(|(budget, closed)| Step::Close(budget, closed)),
    ]
}

proptest! {
    #[test]
    fn the_events_add_up_to_what_the_ledger_holds(steps in prop::collection::vec(step(), 1..100)) {
        let (ledger, mut held) = (ledger(), Vec::new());
        for step in steps {
            match step {
                Step::Charge { budget, rank, pages } => held.extend(charge(&ledger, demand(budget, rank, pages))),
                Step::End(which, end) if !held.is_empty() => held.swap_remove(which % held.len()).end(end),
                Step::End(..) => {}
                Step::Close(budget, closed) => close(&ledger, budget, closed),
            }
            check_against_ledger(&ledger);
        }
        drop(held);
        check_against_ledger(&ledger);
    }
}

#[test]
fn events_of_many_threads_stand_in_the_order_of_the_decisions() {
    let ledger = ledger();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for pages in 1..60 {
                    let rank = (thread % 2 == 0).then_some(thread / 2 % 2);
                    let budget = if rank.is_some() { "job-a" } else { "job-b" };
                    drop(charge(ledger, demand(budget, rank, pages)));
                }
            });
        }
    });
    check_against_ledger(&ledger);
    assert_eq!(held(&ledger, HOST_BUDGET), Bytes::ZERO);
}

#[test]
fn what_is_given_back_after_a_budget_was_made_anew_is_counted_to_it_alone() {
    let ledger = ledger();
    drop(charge(&ledger, demand("job-b", None, 5)).unwrap());
    Budgets::unkept(Arc::clone(&ledger)).delete("job-b", Vec::new()).unwrap();
    let terms = BudgetTerms { requested: None, fraction: None, ranks: 1 };
    let _made = Budgets::unkept(Arc::clone(&ledger)).create("job-b", terms, false, None).unwrap();
    let _held = charge(&ledger, demand("job-b", None, 7)).unwrap();
    check_against_ledger(&ledger);
}
