//! The real ledger beside its model.

use std::sync::{Arc, Mutex};

use hostpool_allocator::Bytes;
use hostpool_allocator::budget::{BudgetReading, Budgets, Ledger, RankShare};
use hostpool_allocator::reservation::Reservations;

use super::budget::Reading;
use super::holding::Held;
use super::model::{DEFAULT_RESERVE, Model, is_in};
use super::step::{Ask, NAMES, Step};
use super::weather::{HUGE, TestHost, Weather};

pub(crate) struct Pair {
    host: TestHost,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) budgets: Budgets,
    pub(crate) reservations: Reservations,
    pub(crate) model: Model,
    /// What is held for each live charge of the model.
    pub(crate) held: Vec<Held>,
}

impl Pair {
    pub(crate) fn new(weather: Weather) -> Self {
        let host = TestHost(Arc::new(Mutex::new(None)));
        host.set(Some(&weather));
        let ledger = Ledger::new(Box::new(host.clone()), Bytes::new(DEFAULT_RESERVE));
        let reservations = Reservations::new(Arc::clone(&ledger)).unwrap();
        let budgets = Budgets::unkept(Arc::clone(&ledger));
        Self { host, ledger, budgets, reservations, model: Model::new(weather), held: Vec::new() }
    }

    pub(crate) fn apply(&mut self, step: Step) {
        match step {
            Step::Charge(ask) => self.charge(&self.meant(ask)),
            Step::Reserve(ask) => self.reserve(&self.meant(ask)),
            Step::Touch(_, _) if self.held.is_empty() => {}
            Step::Touch(which, touch) => self.touch(which % self.held.len(), touch),
            Step::Weather(weather) => self.set_weather(weather),
            Step::Create { name, terms } => self.create(name, terms),
            Step::Update { name, change } => self.update(name, &change),
            Step::Delete(name) => self.delete(name),
        }
    }

    fn meant(&self, ask: Ask) -> Ask {
        let ranks = self.model.budget(ask.budget).map_or(1, |budget| budget.ranks);
        ask.of_ranks(ranks)
    }

    fn set_weather(&mut self, weather: Option<Weather>) {
        self.host.set(weather.as_ref());
        self.model.weather = weather;
    }

    /// Every figure of every budget is the model's, and adds up.
    pub(crate) fn check(&self) {
        let Some(weather) = &self.model.weather else {
            assert!(self.ledger.budgets().is_err());
            return;
        };
        let budgets = self.ledger.budgets().unwrap();
        let names: Vec<&str> = std::iter::once("host").chain(self.model.named.keys().copied()).collect();
        let expected: Vec<_> = names.iter().map(|name| self.model.reading(weather, name)).collect();
        assert_eq!(budgets.iter().map(reading).collect::<Vec<_>>(), expected);
        for budget in &budgets {
            let by_rank: Bytes = budget.rank_shares.iter().map(|share| share.charged).sum();
            assert_eq!(by_rank, budget.charged);
            assert_eq!(self.ledger.budget(&budget.name).unwrap().as_ref(), Some(budget));
        }
        let of_named: Bytes = budgets[1..].iter().map(|budget| budget.charged).sum();
        let of_host = self.model.charged(|live| live.ask.budget == "host");
        assert_eq!(budgets[0].charged.get(), of_named.get() + of_host);
        self.check_reservations();
    }

    fn check_reservations(&self) {
        let live = self.held.iter().zip(&self.model.live);
        let mut expected: Vec<_> =
            live.filter_map(|(held, live)| Some((held.reservation()?, live.resident))).collect();
        expected.sort_unstable();
        let listed = self.reservations.list();
        let listed: Vec<_> = listed.iter().map(|live| (live.id, live.resident.get())).collect();
        assert_eq!(listed, expected);
    }

    /// After the last release nothing is charged or promised, of any kind, on any node, in any budget.
    pub(crate) fn release_everything(mut self) {
        while !self.held.is_empty() {
            self.release(self.held.len() - 1);
        }
        let calm = self.model.weather.clone().unwrap_or_else(|| Weather {
            total: 1 << 30,
            available: 1 << 30,
            cgroup: None,
            hugepages: [(100, 0); HUGE.len()],
            nodes: Vec::new(),
        });
        self.set_weather(Some(calm));
        self.check();
        assert!(self.ledger.budgets().unwrap().iter().all(|budget| budget.charged == Bytes::ZERO));
        for budget in std::iter::once("host").chain(NAMES) {
            for huge in [None, Some(0), Some(1)] {
                for nodes in [&[][..], &[0], &[1], &[0, 1]] {
                    self.quote(&Ask {
                        budget,
                        rank: Some(0),
                        rank_as_is: true,
                        huge,
                        nodes,
                        pages: 1,
                        slack: 0,
                    });
                }
            }
        }
        for name in self.model.named.keys() {
            assert!(self.budgets.delete(name, Vec::new()).is_ok(), "nothing holds it back");
        }
    }

    /// What was just granted is within what the budget and its rank may hold.
    pub(crate) fn check_granted(&self, ask: &Ask) {
        let weather = self.model.weather.as_ref().unwrap();
        for name in ["host", ask.budget] {
            let budget = self.ledger.budget(name).unwrap().unwrap();
            let cap = self.model.budget(name).unwrap().size.or(self.model.host_cap(weather));
            assert!(is_within(budget.charged.get(), cap.unwrap_or(u64::MAX)), "{budget:?}");
            // Hugepages are granted by their own figures, also while the host lacks ordinary memory.
            if ask.huge.is_none() || self.model.balance(weather) >= 0 {
                assert!(is_within(budget.charged.get(), budget.effective.get()), "{budget:?}");
                assert!(!budget.over_budget);
            }
        }
        let budget = self.ledger.budget(ask.budget).unwrap().unwrap();
        let rank = usize::try_from(ask.rank.unwrap_or(0)).unwrap();
        if ask.budget != "host" {
            let share = &budget.rank_shares[rank];
            assert!(is_within(share.charged.get(), share.effective.get()), "{budget:?}");
        }
        assert!(self.model.live.iter().any(|live| is_in(live, ask.budget)));
    }
}

/// A limit that ends inside a page holds that page.
fn is_within(charged: u64, limit: u64) -> bool {
    charged <= limit.checked_next_multiple_of(super::weather::page()).unwrap_or(limit)
}

pub(crate) fn reading(budget: &BudgetReading) -> Reading {
    let rank = |share: &RankShare| [share.effective, share.charged, share.available].map(Bytes::get);
    Reading {
        name: budget.name.clone(),
        reserve: budget.reserve.get(),
        requested: budget.requested.map(Bytes::get),
        fraction: budget.fraction,
        effective: budget.effective.get(),
        charged: budget.charged.get(),
        available: budget.available.get(),
        ranks: budget.rank_shares.iter().map(rank).collect(),
        closed: budget.admission_closed,
        over: budget.over_budget,
    }
}
