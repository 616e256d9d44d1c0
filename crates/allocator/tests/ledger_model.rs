//! The ledger against a model that keeps every charge in a list and adds up from the start at each question.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic here is how a test fails"
)]

use std::sync::{Arc, Mutex};

use hostpool_allocator::budget::{
    BudgetChange, Charge, Claimant, Demand, HOST_BUDGET, HostSource, Ledger, MemoryKind, PendingCharge,
    Refusal,
};
use hostpool_allocator::host::{AdmissionReading, HostError, HugepagePool, MemInfo, NodeMemInfo, NodeMemory};
use hostpool_allocator::{Bytes, MemoryLimit, NumaNode};
use proptest::prelude::*;

const PAGE: u64 = 4096;
const HUGE: u64 = 2 << 20;
const NODES: u32 = 2;

/// A host whose figures the test sets.
#[derive(Clone)]
struct TestHost(Arc<Mutex<AdmissionReading>>);

impl HostSource for TestHost {
    fn read(&self) -> Result<AdmissionReading, HostError> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// What the host says, in ordinary pages and hugepages: free to change at any moment.
#[derive(Clone, Copy, Debug)]
struct Weather {
    available: u64,
    node_free: [u64; NODES as usize],
    huge_free: u64,
    huge_reserved: u64,
    node_huge_free: [u64; NODES as usize],
}

fn reading(weather: &Weather) -> AdmissionReading {
    let pool = |free_pages, reserved_pages| HugepagePool {
        size_bytes: HUGE,
        total_pages: 64,
        free_pages,
        reserved_pages,
        surplus_pages: 0,
        overcommit_pages: 0,
    };
    let node = |id: u32| NodeMemory {
        id,
        has_memory: true,
        mem: NodeMemInfo {
            mem_total_bytes: 0,
            mem_free_bytes: weather.node_free[id as usize] * PAGE,
            file_bytes: 0,
        },
        hugepages: vec![pool(weather.node_huge_free[id as usize], 0)],
    };
    AdmissionReading {
        memory: MemInfo {
            mem_total_bytes: 1000 * PAGE,
            mem_available_bytes: weather.available * PAGE,
            available_is_estimated: false,
        },
        cgroup: None,
        hugepages: vec![pool(weather.huge_free, weather.huge_reserved)],
        nodes: (0..NODES).map(node).collect(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// `slack`: how many bytes less than those pages are asked for.
    Charge {
        huge: bool,
        node: Option<u32>,
        pages: u64,
        slack: u64,
    },
    Commit(usize),
    AddResident {
        which: usize,
        pages: u64,
    },
    Release(usize),
    Weather(Weather),
    Budget {
        reserve: Option<Option<u64>>,
        cap: Option<Option<u64>>,
        closed: Option<bool>,
    },
}

/// A live charge as the model sees it.
#[derive(Clone, Copy, Debug)]
struct Live {
    huge: bool,
    node: Option<u32>,
    bytes: u64,
    resident: u64,
    committed: bool,
}

impl Live {
    /// Bytes that the node's own figures do not show.
    fn hidden_on_node(&self) -> u64 {
        self.bytes - self.resident
    }
}

enum Held {
    Pending(PendingCharge),
    Committed(Charge),
}

struct Model {
    weather: Weather,
    default_reserve: u64,
    reserve: u64,
    cap: Option<u64>,
    closed: bool,
    live: Vec<Live>,
}

impl Model {
    fn unfaulted(&self, on: impl Fn(Option<u32>) -> bool) -> u64 {
        let ordinary = self.live.iter().filter(|live| !live.huge && on(live.node));
        ordinary.map(|live| live.bytes - live.resident).sum()
    }

    fn unmapped_pages(&self) -> u64 {
        self.live.iter().filter(|live| live.huge && !live.committed).map(|live| live.bytes / HUGE).sum()
    }

    /// Hugepages that a charge bound to `node` could take: those free there, less those promised there and not faulted
    /// in, less what others have reserved and the other node cannot serve.
    fn huge_on_node(&self, node: u32) -> u64 {
        let hidden = |on: Option<u32>| -> u64 {
            let bound = self.live.iter().filter(|live| live.huge && live.node.is_some());
            bound
                .filter(|live| on.is_none() || live.node == on)
                .map(|live| live.hidden_on_node() / HUGE)
                .sum()
        };
        let of_others = self.weather.huge_reserved.saturating_sub(hidden(None));
        let elsewhere = self.weather.node_huge_free[1 - node as usize];
        let free = self.weather.node_huge_free[node as usize].saturating_sub(hidden(Some(node)));
        free.saturating_sub(of_others.saturating_sub(elsewhere))
    }

    fn charged(&self) -> u64 {
        self.live.iter().map(|live| live.bytes).sum()
    }

    /// Every limit that applies, the most specific first.
    fn limits(&self, huge: bool, node: Option<u32>) -> Vec<(MemoryLimit, u64)> {
        let mut limits = Vec::new();
        if let Some(cap) = self.cap {
            limits.push((MemoryLimit::BudgetCap, cap.saturating_sub(self.charged())));
        }
        let usable = self.weather.huge_free.saturating_sub(self.weather.huge_reserved);
        let usable = usable.saturating_sub(self.unmapped_pages());
        if let Some(node) = node {
            let at = node as usize;
            let bytes = if huge {
                self.huge_on_node(node) * HUGE
            } else {
                (self.weather.node_free[at] * PAGE).saturating_sub(self.unfaulted(|on| on == Some(node)))
            };
            limits.push((MemoryLimit::NumaNode, bytes));
        }
        if huge {
            limits.push((MemoryLimit::Hugepages, usable * HUGE));
        } else {
            let available = (self.weather.available * PAGE).saturating_sub(self.reserve);
            limits.push((MemoryLimit::HostMemory, available.saturating_sub(self.unfaulted(|_| true))));
        }
        limits
    }

    /// The tightest limit and what it leaves.
    fn tightest(&self, huge: bool, node: Option<u32>) -> (MemoryLimit, u64) {
        let limits = self.limits(huge, node);
        let least = limits.iter().map(|(_, bytes)| *bytes).min().unwrap();
        *limits.iter().find(|(_, bytes)| *bytes == least).unwrap()
    }
}

fn demand(huge: bool, node: Option<u32>, bytes: u64) -> Demand {
    Demand {
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        claimant: Claimant::HostBuffer(None),
        kind: if huge { MemoryKind::Hugepages(Bytes::new(HUGE)) } else { MemoryKind::Ordinary },
        node: node.map_or(NumaNode::Any, NumaNode::Node),
        requested: Bytes::new(bytes),
        mapped: Bytes::new(bytes),
    }
}

fn weather() -> impl Strategy<Value = Weather> {
    (0..300_u64, [0..200_u64, 0..200], 0..40_u64, 0..20_u64, [0..20_u64, 0..20]).prop_map(
        |(available, node_free, huge_free, huge_reserved, node_huge_free)| Weather {
            available,
            node_free,
            huge_free,
            huge_reserved,
            node_huge_free,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let charge = (any::<bool>(), prop::option::of(0..NODES), 1..40_u64, 0..PAGE);
    // A reserve and a cap in odd bytes: the edge inside a page is part of the rule.
    let bytes = || prop::option::of(prop::option::of(0..200 * PAGE));
    prop_oneof![
        6 => charge.prop_map(|(huge, node, pages, slack)| Step::Charge { huge, node, pages, slack }),
        3 => any::<usize>().prop_map(Step::Commit),
        3 => (any::<usize>(), 1..40_u64).prop_map(|(which, pages)| Step::AddResident { which, pages }),
        4 => any::<usize>().prop_map(Step::Release),
        2 => weather().prop_map(Step::Weather),
        1 => (bytes(), bytes(), prop::option::of(any::<bool>()))
            .prop_map(|(reserve, cap, closed)| Step::Budget { reserve, cap, closed }),
    ]
}

fn check_charge(
    model: &mut Model,
    ledger: &Arc<Ledger>,
    held: &mut Vec<Held>,
    huge: bool,
    node: Option<u32>,
    pages: u64,
    slack: u64,
) {
    let bytes = pages * if huge { HUGE } else { PAGE };
    let (limit, available) = model.tightest(huge, node);
    let requested = bytes - slack;
    let fits = bytes <= available || (requested <= available && bytes <= available.next_multiple_of(PAGE));
    let asked = Demand { requested: Bytes::new(requested), ..demand(huge, node, bytes) };
    match ledger.charge(asked) {
        Ok(charge) => {
            assert!(fits && !model.closed, "granted {bytes} of {available}");
            held.push(Held::Pending(charge));
            model.live.push(Live { huge, node, bytes, resident: 0, committed: false });
        }
        Err(Refusal::AdmissionClosed(_)) => assert!(model.closed),
        Err(Refusal::Exceeded(quote)) => {
            assert!(!fits && !model.closed, "refused {bytes} of {available}");
            assert_eq!((quote.limited_by, quote.available.get()), (limit, available));
            assert_eq!(quote.hugepages_needed, huge.then_some(pages));
        }
        Err(Refusal::Other(error)) => panic!("{error}"),
    }
}

fn run(steps: Vec<Step>, start: Weather) {
    let host = TestHost(Arc::new(Mutex::new(reading(&start))));
    let default_reserve = 10 * PAGE;
    let ledger = Ledger::new(Box::new(host.clone()), Bytes::new(default_reserve));
    let mut held: Vec<Held> = Vec::new();
    let mut model = Model {
        weather: start,
        default_reserve,
        reserve: default_reserve,
        cap: None,
        closed: false,
        live: Vec::new(),
    };
    for step in steps {
        apply(&step, &mut model, &ledger, &host, &mut held);
        let budget = ledger.budget(HOST_BUDGET).unwrap().unwrap();
        assert_eq!(budget.charged.get(), model.charged());
        assert_eq!(budget.requested.map(Bytes::get), model.cap);
        assert!(budget.available <= budget.effective);
        assert!(budget.effective.get() <= model.cap.unwrap_or(u64::MAX));
    }
    drop(held);
    let quote = ledger.quote(&demand(false, None, PAGE)).unwrap();
    model.live.clear();
    assert_eq!(quote.available.get(), model.tightest(false, None).1);
    assert_eq!(ledger.budget(HOST_BUDGET).unwrap().unwrap().charged, Bytes::ZERO);
    let quote = ledger.quote(&demand(true, Some(1), HUGE)).unwrap();
    assert_eq!((quote.limited_by, quote.available.get()), model.tightest(true, Some(1)));
}

fn apply(step: &Step, model: &mut Model, ledger: &Arc<Ledger>, host: &TestHost, held: &mut Vec<Held>) {
    match *step {
        Step::Charge { huge, node, pages, slack } => {
            check_charge(model, ledger, held, huge, node, pages, slack);
        }
        Step::Commit(which) if !held.is_empty() => {
            let at = which % held.len();
            let committed = match held.swap_remove(at) {
                Held::Pending(pending) => pending.commit(),
                Held::Committed(charge) => charge,
            };
            held.push(Held::Committed(committed));
            let mut live = model.live.swap_remove(at);
            live.committed = true;
            model.live.push(live);
        }
        Step::AddResident { which, pages } if !held.is_empty() => {
            let at = which % held.len();
            if let Held::Committed(charge) = &held[at] {
                let live = &mut model.live[at];
                let bytes = pages * if live.huge { HUGE } else { PAGE };
                charge.add_resident(Bytes::new(bytes));
                live.resident = (live.resident + bytes).min(live.bytes);
            }
        }
        Step::Release(which) if !held.is_empty() => {
            let at = which % held.len();
            held.swap_remove(at);
            model.live.swap_remove(at);
        }
        Step::Weather(weather) => {
            model.weather = weather;
            *host.0.lock().unwrap() = reading(&weather);
        }
        Step::Budget { reserve, cap, closed } => set_budget(model, ledger, reserve, cap, closed),
        Step::Commit(_) | Step::AddResident { .. } | Step::Release(_) => {}
    }
}

fn set_budget(
    model: &mut Model,
    ledger: &Ledger,
    reserve: Option<Option<u64>>,
    cap: Option<Option<u64>>,
    closed: Option<bool>,
) {
    let bytes = |value: Option<Option<u64>>| value.map(|value| value.map(Bytes::new));
    let change = BudgetChange {
        reserve: bytes(reserve),
        requested: bytes(cap),
        fraction: None,
        admission_closed: closed.map(Some),
    };
    ledger.update_budget(HOST_BUDGET, &change).unwrap();
    if let Some(reserve) = reserve {
        model.reserve = reserve.unwrap_or(model.default_reserve);
    }
    model.cap = cap.unwrap_or(model.cap);
    model.closed = closed.unwrap_or(model.closed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_ledger_grants_what_the_model_grants_and_gives_everything_back(
        steps in prop::collection::vec(step(), 1..120),
        start in weather(),
    ) {
        run(steps, start);
    }
}
