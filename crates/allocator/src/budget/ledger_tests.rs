//! The ledger's rules, one by one.

use super::super::account::{BudgetChange, BudgetTerms, MAX_RANKS};
use super::super::budgets::Budgets;
use super::super::demand::Claimant;
use super::*;
use crate::error::MemoryLimit;
use crate::host::{HugepagePool, MemInfo, NodeMemInfo, NodeMemory};
use crate::node_set::NodeSet;
use crate::units::NumaNode;

const GIB: u64 = 1 << 30;
const HUGE: u64 = 2 << 20;

struct Fixed(AdmissionReading);

impl HostSource for Fixed {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        Ok(self.0.clone())
    }
}

/// A host with `available` bytes and nothing else.
fn machine(available: u64) -> AdmissionReading {
    let memory =
        MemInfo { mem_total_bytes: 100 * GIB, mem_available_bytes: available, available_is_estimated: false };
    AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() }
}

fn ledger_over(host: AdmissionReading, reserve: u64) -> Arc<Ledger> {
    Ledger::new(Box::new(Fixed(host)), Bytes::new(reserve))
}

fn ledger(available: u64, reserve: u64) -> Arc<Ledger> {
    ledger_over(machine(available), reserve)
}

fn hugepages(free_pages: u64, reserved_pages: u64) -> HugepagePool {
    let (size_bytes, total_pages) = (HUGE, free_pages);
    HugepagePool {
        size_bytes,
        total_pages,
        free_pages,
        reserved_pages,
        surplus_pages: 0,
        overcommit_pages: 0,
    }
}

/// A host with so many hugepages free on its nodes 0 and 1, of which so many are reserved.
fn two_nodes(free: [u64; 2], reserved: u64) -> Arc<Ledger> {
    let node = |(id, free)| NodeMemory {
        id,
        has_memory: true,
        mem: NodeMemInfo { mem_total_bytes: 0, mem_free_bytes: 0, file_bytes: 0 },
        hugepages: vec![hugepages(free, 0)],
    };
    let nodes = (0..).zip(free).map(node).collect();
    let hugepages = vec![hugepages(free.iter().sum(), reserved)];
    ledger_over(AdmissionReading { hugepages, nodes, ..machine(0) }, 0)
}

fn ordinary(bytes: u64) -> Demand {
    Demand {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant: Claimant::HostBuffer(None),
        kind: MemoryKind::Ordinary,
        nodes: NodeSet::default(),
        requested: Bytes::new(bytes),
        mapped: Bytes::new(bytes),
    }
}

fn refused(outcome: Result<PendingCharge, Refusal>) -> Quote {
    match outcome.err() {
        Some(Refusal::Exceeded(quote)) => quote,
        other => panic!("expected a shortage, got {other:?}"),
    }
}

#[test]
fn equal_to_what_is_available_fits_and_a_page_more_does_not() {
    let ledger = ledger(20 * GIB, 10 * GIB);
    let quote = refused(ledger.charge(ordinary(10 * GIB + 4096)));
    assert_eq!((quote.available.get(), quote.limited_by), (10 * GIB, MemoryLimit::HostMemory));
    assert!(ledger.charge(ordinary(10 * GIB)).is_ok());
}

#[test]
fn a_cap_that_ends_inside_a_page_holds_that_page() {
    let ledger = ledger(20 * GIB, 0);
    let cap = BudgetChange { requested: Some(Some(Bytes::new(1_000_000))), ..Default::default() };
    budgets(&ledger).update(HOST_BUDGET, &cap).unwrap();
    let asked = |requested| Demand { requested: Bytes::new(requested), ..ordinary(1_003_520) };
    assert_eq!(
        refused(ledger.charge(asked(1_000_001))).available.get(),
        1_000_000,
        "one byte more does not fit"
    );
    let charge = ledger.charge(asked(1_000_000)).unwrap();
    assert!(!ledger.budget(HOST_BUDGET).unwrap().unwrap().over_budget);
    assert_eq!(refused(ledger.charge(ordinary(4096))).limited_by, MemoryLimit::BudgetCap);
    drop(charge);
}

#[test]
fn what_is_promised_but_not_faulted_in_is_not_promised_again() {
    let ledger = ledger(20 * GIB, 0);
    let first = ledger.charge(ordinary(12 * GIB)).unwrap().commit();
    assert_eq!(refused(ledger.charge(ordinary(12 * GIB))).available.get(), 8 * GIB);
    first.add_resident(Bytes::new(12 * GIB));
    assert!(ledger.charge(ordinary(12 * GIB)).is_ok(), "the host's own figures show it from here on");
}

#[test]
fn dropping_a_pending_charge_rolls_it_back() {
    let ledger = ledger(20 * GIB, 0);
    drop(ledger.charge(ordinary(20 * GIB)).unwrap());
    assert!(ledger.charge(ordinary(20 * GIB)).is_ok());
}

#[test]
fn lowering_the_cap_below_what_is_held_frees_nothing_and_shows_it() {
    let ledger = ledger(20 * GIB, 0);
    let _charge = ledger.charge(ordinary(8 * GIB)).unwrap();
    let cap = BudgetChange { requested: Some(Some(Bytes::new(4 * GIB))), ..Default::default() };
    let budget = budgets(&ledger).update(HOST_BUDGET, &cap).unwrap();
    assert_eq!((budget.charged.get(), budget.effective.get()), (8 * GIB, 4 * GIB));
    assert!(budget.over_budget);
    assert_eq!(budget.available, Bytes::ZERO);
}

#[test]
fn a_fraction_is_of_what_the_machine_has_in_all() {
    let ledger = ledger(90 * GIB, 0);
    let half = BudgetChange { fraction: Some(Some(0.5)), ..Default::default() };
    assert_eq!(budgets(&ledger).update(HOST_BUDGET, &half).unwrap().effective.get(), 50 * GIB);
    for bad in [0.0, -0.5, 1.1, f64::NAN, f64::INFINITY] {
        let change = BudgetChange { fraction: Some(Some(bad)), ..Default::default() };
        assert!(matches!(
            budgets(&ledger).update(HOST_BUDGET, &change),
            Err(Error::InvalidArgument { field: "fraction", .. })
        ));
    }
    assert_eq!(ledger.budget(HOST_BUDGET).unwrap().unwrap().fraction, Some(0.5));
}

#[test]
fn a_closed_budget_refuses_whatever_the_figures() {
    let ledger = ledger(20 * GIB, 0);
    let close = BudgetChange { admission_closed: Some(Some(true)), ..Default::default() };
    budgets(&ledger).update(HOST_BUDGET, &close).unwrap();
    assert!(matches!(ledger.charge(ordinary(4096)), Err(Refusal::AdmissionClosed(_))));
    assert!(ledger.quote(&ordinary(4096)).unwrap().fits(), "a quote tells of the figures alone");
}

#[test]
fn null_puts_a_figure_back_to_its_default() {
    let ledger = ledger(20 * GIB, GIB);
    let change = BudgetChange {
        reserve: Some(Some(Bytes::ZERO)),
        requested: Some(Some(Bytes::new(GIB))),
        ..Default::default()
    };
    assert_eq!(budgets(&ledger).update(HOST_BUDGET, &change).unwrap().reserve, Bytes::ZERO);
    let back = BudgetChange { reserve: Some(None), requested: Some(None), ..Default::default() };
    let budget = budgets(&ledger).update(HOST_BUDGET, &back).unwrap();
    assert_eq!((budget.reserve.get(), budget.requested), (GIB, None));
}

#[test]
fn an_unknown_budget_and_a_rank_it_does_not_have_are_named() {
    let ledger = ledger(20 * GIB, 0);
    let unknown = Demand { budget: "job-a".to_owned(), ..ordinary(4096) };
    assert!(matches!(ledger.quote(&unknown), Err(Error::NotFound { what: "budget", .. })));
    let second = Demand { rank: Some(1), ..ordinary(4096) };
    assert!(matches!(ledger.quote(&second), Err(Error::InvalidArgument { field: "rank", .. })));
    assert!(ledger.quote(&Demand { rank: Some(0), ..ordinary(4096) }).is_ok());
}

fn terms(requested: Option<u64>, ranks: u32) -> BudgetTerms {
    BudgetTerms { requested: requested.map(Bytes::new), fraction: None, ranks }
}

fn of(budget: &str, rank: u32, bytes: u64) -> Demand {
    Demand { budget: budget.to_owned(), rank: Some(rank), ..ordinary(bytes) }
}

fn budgets(ledger: &Arc<Ledger>) -> Budgets {
    Budgets::unkept(Arc::clone(ledger))
}

fn make(ledger: &Arc<Ledger>, name: &str, terms: BudgetTerms) -> Result<BudgetReading, Error> {
    budgets(ledger).create(name, terms, false, None)
}

#[test]
fn eight_ranks_get_an_eighth_each_whenever_they_come() {
    let ledger = ledger(90 * GIB, 10 * GIB);
    let budget = make(&ledger, "job-a", terms(None, 8)).unwrap();
    assert_eq!((budget.effective.get(), budget.reserve), (80 * GIB, Bytes::ZERO));
    let held: Vec<_> = (0..8).map(|rank| ledger.charge(of("job-a", rank, 10 * GIB)).unwrap()).collect();
    let quote = refused(ledger.charge(of("job-a", 0, 4096)));
    assert_eq!((quote.limited_by, quote.available), (MemoryLimit::RankShare, Bytes::ZERO));
    drop(held);
    assert_eq!(ledger.budget("job-a").unwrap().unwrap().charged, Bytes::ZERO);
    assert_eq!(ledger.budget(HOST_BUDGET).unwrap().unwrap().charged, Bytes::ZERO);
}

#[test]
fn budgets_overlap_only_within_what_the_host_has() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(Some(15 * GIB), 1)).unwrap();
    make(&ledger, "b", terms(Some(15 * GIB), 1)).unwrap();
    let _a = ledger.charge(of("a", 0, 15 * GIB)).unwrap();
    let quote = refused(ledger.charge(of("b", 0, 15 * GIB)));
    assert_eq!((quote.limited_by, quote.available.get()), (MemoryLimit::HostMemory, 5 * GIB));
    let budget = ledger.budget("b").unwrap().unwrap();
    assert_eq!((budget.requested.map(Bytes::get), budget.effective.get()), (Some(15 * GIB), 5 * GIB));
}

#[test]
fn a_budget_without_a_cap_keeps_the_size_it_was_made_with() {
    let ledger = ledger(20 * GIB, 0);
    let first = ledger.charge(ordinary(5 * GIB)).unwrap();
    make(&ledger, "a", terms(None, 1)).unwrap();
    drop(first);
    let quote = refused(ledger.charge(of("a", 0, 16 * GIB)));
    assert_eq!((quote.limited_by, quote.available.get()), (MemoryLimit::BudgetCap, 15 * GIB));
}

#[test]
fn the_host_cap_bounds_every_budget() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(Some(15 * GIB), 1)).unwrap();
    let cap = BudgetChange { requested: Some(Some(Bytes::new(4 * GIB))), ..Default::default() };
    budgets(&ledger).update(HOST_BUDGET, &cap).unwrap();
    let quote = refused(ledger.charge(of("a", 0, 5 * GIB)));
    assert_eq!((quote.limited_by, quote.available.get()), (MemoryLimit::BudgetCap, 4 * GIB));
}

#[test]
fn making_a_budget_twice_finds_the_first_and_says_what_differs() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(Some(GIB), 2)).unwrap();
    let Err(Error::NameTaken { name, differs, .. }) = make(&ledger, "a", terms(Some(2 * GIB), 2)) else {
        panic!("it exists")
    };
    assert_eq!((name.as_str(), differs), ("a", vec!["requested_bytes"]));
    let found = budgets(&ledger).create("a", terms(Some(GIB), 2), true, None).unwrap();
    assert_eq!(found.requested.map(Bytes::get), Some(GIB));
    for ranks in [0, MAX_RANKS + 1] {
        let outcome = make(&ledger, "b", terms(None, ranks));
        assert!(matches!(outcome, Err(Error::InvalidArgument { field: "ranks", .. })));
    }
    assert_eq!(
        ledger.budgets().unwrap().iter().map(|budget| &budget.name).collect::<Vec<_>>(),
        ["host", "a"]
    );
}

#[test]
fn a_new_cap_divides_anew_and_a_lower_one_frees_nothing() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(Some(8 * GIB), 2)).unwrap();
    let _held = ledger.charge(of("a", 0, 4 * GIB)).unwrap();
    let lower = BudgetChange { requested: Some(Some(Bytes::new(2 * GIB))), ..Default::default() };
    let budget = budgets(&ledger).update("a", &lower).unwrap();
    assert!(budget.over_budget);
    assert_eq!(budget.rank_shares.iter().map(|share| share.effective.get()).collect::<Vec<_>>(), [GIB, GIB]);
    assert_eq!(refused(ledger.charge(of("a", 1, 4096))).limited_by, MemoryLimit::BudgetCap);
    let none = BudgetChange { requested: Some(None), ..Default::default() };
    assert_eq!(budgets(&ledger).update("a", &none).unwrap().effective.get(), 20 * GIB);
}

#[test]
fn a_budget_goes_when_it_holds_nothing_and_host_never() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(None, 1)).unwrap();
    let held = ledger.charge(of("a", 0, GIB)).unwrap();
    assert!(matches!(budgets(&ledger).delete("a", Vec::new()), Err(Error::InUse { holders: 1, .. })));
    drop(held);
    assert_eq!(budgets(&ledger).delete("a", Vec::new()).unwrap().name, "a");
    assert!(matches!(budgets(&ledger).delete("a", Vec::new()), Err(Error::NotFound { .. })));
    assert!(matches!(
        budgets(&ledger).delete(HOST_BUDGET, Vec::new()),
        Err(Error::InvalidArgument { field: "name", .. })
    ));
}

#[test]
fn what_is_restored_is_held_back_by_the_host_and_by_no_budget() {
    let ledger = ledger(20 * GIB, 0);
    make(&ledger, "a", terms(Some(GIB), 2)).unwrap();
    let change = BudgetChange {
        requested: Some(Some(Bytes::new(GIB))),
        admission_closed: Some(Some(true)),
        ..Default::default()
    };
    budgets(&ledger).update(HOST_BUDGET, &change).unwrap();
    assert!(matches!(ledger.charge(of("a", 0, 1)), Err(Refusal::AdmissionClosed(_))));
    ledger.set_restoring(true);
    let _held = ledger.charge(of("a", 0, 15 * GIB)).unwrap();
    assert_eq!(refused(ledger.charge(of("a", 0, 6 * GIB))).limited_by, MemoryLimit::HostMemory);
    ledger.set_restoring(false);
    assert!(matches!(ledger.charge(of("a", 0, 1)), Err(Refusal::AdmissionClosed(_))));
    assert!(ledger.budget("a").unwrap().unwrap().over_budget);
}

#[test]
fn threads_that_charge_at_once_never_get_more_than_there_is() {
    let ledger = ledger(64 * 4096, 0);
    let granted: usize = std::thread::scope(|scope| {
        let worker =
            || (0..32).filter_map(|_| ledger.charge(ordinary(4096)).ok()).collect::<Vec<PendingCharge>>();
        let workers: Vec<_> = (0..8).map(|_| scope.spawn(worker)).collect();
        // All are kept until the last is counted.
        let kept: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
        kept.iter().map(Vec::len).sum()
    });
    assert_eq!(granted, 64);
}

#[test]
fn hugepages_bound_to_a_node_stay_promised_there_until_they_are_faulted_in() {
    // Eight pages of a charge bound to node 0 are mapped: reserved for the machine, still free on the node.
    let ledger = two_nodes([10, 10], 8);
    let bound = |pages: u64| Demand {
        kind: MemoryKind::Hugepages(Bytes::new(HUGE)),
        nodes: NodeSet::from(NumaNode::Node(0)),
        ..ordinary(pages * HUGE)
    };
    let first = ledger.charge(bound(8)).unwrap().commit();
    let quote = refused(ledger.charge(bound(8)));
    assert_eq!((quote.limited_by, quote.hugepages_free), (MemoryLimit::NumaNode, Some(2)));
    first.add_resident(Bytes::new(8 * HUGE));
    let after = ledger.quote(&bound(8)).unwrap();
    assert_eq!(after.hugepages_free, Some(10), "from here on the node's own figure shows it");
}

#[test]
fn reservations_of_others_that_no_other_node_can_serve_are_kept_on_the_node() {
    let ledger = two_nodes([10, 2], 6);
    let kind = MemoryKind::Hugepages(Bytes::new(HUGE));
    let demand = Demand { kind, nodes: NodeSet::from(NumaNode::Node(0)), ..ordinary(HUGE) };
    assert_eq!(
        ledger.quote(&demand).unwrap().hugepages_free,
        Some(6),
        "10 free, 6 reserved of which node 1 serves 2"
    );
}

#[test]
fn hugepages_that_are_held_do_not_make_a_budget_look_over() {
    let hugepages = vec![hugepages(10, 0)];
    let ledger = ledger_over(AdmissionReading { hugepages, ..machine(8 * GIB) }, 10 * GIB);
    let held = Demand { kind: MemoryKind::Hugepages(Bytes::new(HUGE)), ..ordinary(HUGE) };
    let _charge = ledger.charge(held).unwrap().commit();
    let budget = ledger.budget(HOST_BUDGET).unwrap().unwrap();
    assert_eq!((budget.charged.get(), budget.effective.get(), budget.over_budget), (HUGE, HUGE, false));
}
