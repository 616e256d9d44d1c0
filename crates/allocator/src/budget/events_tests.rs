//! The ring: order, what is gone, and where to read on.

use super::super::{Claimant, MemoryKind};
use super::*;
use crate::node_set::NodeSet;

fn demand(budget: &str) -> Arc<Demand> {
    Arc::new(Demand {
        budget: budget.to_owned(),
        rank: None,
        claimant: Claimant::HostBuffer(None),
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: Bytes::new(1),
        mapped: Bytes::new(4096),
    })
}

/// So many events, charged to "a" and "b" in turn, the odd ones to "a".
fn events(count: usize) -> BudgetEvents {
    let (events, budgets) = (BudgetEvents::default(), [demand("a"), demand("b")]);
    for budget in budgets.iter().cycle().take(count) {
        let kind = BudgetEventKind::Ended(ChargeEnd::Released);
        events.push(kind, budget, Bytes::ZERO, Bytes::ZERO);
    }
    events
}

fn sequences(read: &EventsRead) -> Vec<u64> {
    read.events.iter().map(|event| event.sequence).collect()
}

#[test]
fn before_the_first_there_is_nothing_and_nothing_missed() {
    let events = BudgetEvents::default();
    assert_eq!(events.latest(), 0);
    let read = events.after(0, 10, None);
    assert_eq!((sequences(&read), read.missed, read.through), (vec![], 0, 0));
}

#[test]
fn each_is_read_once_in_order_however_small_the_portions() {
    let events = events(7);
    let mut after = 0;
    let mut seen = Vec::new();
    while after < events.latest() {
        let read = events.after(after, 3, None);
        assert!(read.events.len() <= 3 && read.missed == 0);
        seen.extend(sequences(&read));
        after = read.through;
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
    let read = events.after(7, 3, None);
    assert_eq!((sequences(&read), read.missed, read.through), (vec![], 0, 7));
}

#[test]
fn a_budget_sees_its_own_alone_and_reads_past_the_others() {
    let events = events(7);
    let read = events.after(1, 2, Some("a"));
    assert_eq!((sequences(&read), read.through), (vec![3, 5], 5));
    let read = events.after(5, 2, Some("b"));
    assert_eq!((sequences(&read), read.through), (vec![6], 7));
    let read = events.after(0, 2, Some("nobody"));
    assert_eq!((sequences(&read), read.through), (vec![], 7));
}

#[test]
fn what_has_left_the_ring_is_counted_once() {
    let (kept, missed) = (u64::try_from(KEPT).unwrap(), 5);
    let events = events(KEPT + 5);
    let read = events.after(0, 2, None);
    assert_eq!((sequences(&read), read.missed, read.through), (vec![6, 7], missed, 7));
    assert_eq!(events.after(7, 2, None).missed, 0);
    let all = events.after(0, usize::MAX, None);
    assert_eq!((all.events.len(), all.through), (KEPT, kept + missed));
    let none = events.after(0, 2, Some("nobody"));
    assert_eq!(
        (none.missed, none.through),
        (missed, kept + missed),
        "also when none of those left is asked for"
    );
}

#[test]
fn a_number_that_is_yet_to_come_misses_nothing() {
    let read = events(3).after(100, 10, None);
    assert_eq!((sequences(&read), read.missed, read.through), (vec![], 0, 100));
}
