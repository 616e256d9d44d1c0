//! A budget of the model, and what its operator should read of it.

use super::model::{Model, is_in};
use super::step::{Change, Terms};
use super::weather::{Weather, page};

/// The fraction is in 64ths.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub(crate) requested: Option<u64>,
    pub(crate) fraction: Option<u64>,
    pub(crate) ranks: u32,
    /// `None` for "host".
    pub(crate) size: Option<u64>,
    pub(crate) closed: bool,
}

/// What is read of a budget; figures in bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) reserve: u64,
    pub(crate) requested: Option<u64>,
    pub(crate) fraction: Option<f64>,
    pub(crate) effective: u64,
    pub(crate) charged: u64,
    pub(crate) available: u64,
    /// Effective, charged, available.
    pub(crate) ranks: Vec<[u64; 3]>,
    pub(crate) closed: bool,
    pub(crate) over: bool,
}

impl Budget {
    pub(crate) fn host() -> Self {
        Self { requested: None, fraction: None, ranks: 1, size: None, closed: false }
    }

    pub(crate) fn of(terms: Terms, size: u64) -> Self {
        let Terms { requested, fraction, ranks } = terms;
        Self { requested, fraction, ranks, size: Some(size), closed: false }
    }

    /// The rank's part of the size: the remainder goes to the lowest.
    pub(crate) fn share(&self, rank: usize) -> u64 {
        let (size, ranks) = (self.size.unwrap(), u64::from(self.ranks));
        let gets_one_more = u64::try_from(rank).unwrap() < size % ranks;
        size / ranks + u64::from(gets_one_more)
    }

    pub(crate) fn change(&mut self, change: &Change) {
        self.requested = change.requested.unwrap_or(self.requested);
        self.fraction = change.fraction.unwrap_or(self.fraction);
        self.closed = change.closed.map_or(self.closed, |closed| closed == Some(true));
    }
}

impl Model {
    /// What the host can promise to ordinary memory, whichever budget asks.
    pub(crate) fn promisable(&self, weather: &Weather) -> u64 {
        self.left_of_host_cap(weather).unwrap_or(u64::MAX).min(self.ordinary(weather).1)
    }

    /// The size of a budget of these terms that holds `held` already.
    pub(crate) fn size_of(
        &self,
        weather: &Weather,
        requested: Option<u64>,
        fraction: Option<u64>,
        held: u64,
    ) -> u64 {
        let all = self.promisable(weather) + held;
        let part = fraction.map(|part| all * part / 64);
        requested.into_iter().chain(part).min().unwrap_or(all)
    }

    pub(crate) fn reading(&self, weather: &Weather, name: &str) -> Reading {
        let budget = self.budget(name).unwrap();
        let charged = self.charged_to(name);
        let cap = budget.size.or(self.host_cap(weather)).unwrap_or(u64::MAX);
        let effective = self.honoured(weather, name).min(cap);
        let available = self.promisable(weather).min(cap.saturating_sub(charged));
        let rank = |rank| {
            let share = if name == "host" { effective } else { budget.share(rank) };
            let charged = self.charged_to_rank(name, rank);
            [share, charged, available.min(share.saturating_sub(charged))]
        };
        Reading {
            name: name.to_owned(),
            reserve: if name == "host" { self.reserve } else { 0 },
            requested: budget.requested,
            #[expect(clippy::cast_precision_loss, reason = "64ths are exact")]
            fraction: budget.fraction.map(|part| part as f64 / 64.0),
            effective,
            charged,
            available,
            ranks: (0..usize::try_from(budget.ranks).unwrap()).map(rank).collect(),
            closed: budget.closed,
            over: charged > effective.div_ceil(page()) * page(),
        }
    }

    /// What the budget holds and could still get, less what the host lacks. Hugepages that are held are there anyhow.
    fn honoured(&self, weather: &Weather, name: &str) -> u64 {
        let held = |huge| self.charged(|live| is_in(live, name) && live.ask.huge.is_some() == huge);
        let lacking = u64::try_from(-self.balance(weather)).unwrap_or(0);
        (held(false) + self.promisable(weather)).saturating_sub(lacking) + held(true)
    }
}
