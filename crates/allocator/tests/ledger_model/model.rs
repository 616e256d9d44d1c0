//! What a ledger is, as plain as can be.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::step::Ask;
use super::weather::Weather;

/// Bytes kept for the host unless told otherwise.
pub(crate) const DEFAULT_RESERVE: u64 = 40_000;

pub(crate) struct Model {
    /// `None`: it cannot be read.
    pub(crate) weather: Option<Weather>,
    pub(crate) reserve: u64,
    pub(crate) host: Budget,
    pub(crate) named: BTreeMap<&'static str, Budget>,
    pub(crate) live: Vec<Live>,
}

/// A live charge.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) ask: Ask,
    /// Bytes that are faulted in.
    pub(crate) resident: u64,
    /// The most that ever were.
    pub(crate) most_resident: u64,
    /// Its mapping is made: the kernel has reserved its hugepages.
    pub(crate) mapped: bool,
}

impl Live {
    pub(crate) fn of(ask: Ask) -> Self {
        Self { ask, resident: 0, most_resident: 0, mapped: false }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ask.mapped()
    }

    pub(crate) fn rank(&self) -> usize {
        self.ask.rank.map_or(0, |rank| usize::try_from(rank).unwrap())
    }

    pub(crate) fn set_resident(&mut self, bytes: u64) {
        self.resident = bytes.min(self.bytes());
        self.most_resident = self.most_resident.max(self.resident);
    }

    /// Bytes that the machine's own figures do not show. Hugepages show once they are mapped.
    pub(crate) fn hidden(&self) -> u64 {
        match self.ask.huge {
            None => self.bytes() - self.resident,
            Some(_) if self.mapped => 0,
            Some(_) => self.bytes() - self.most_resident,
        }
    }

    /// Bytes that the node's own figures do not show.
    pub(crate) fn hidden_on_node(&self) -> u64 {
        self.bytes() - self.resident
    }
}

impl Model {
    pub(crate) fn new(weather: Weather) -> Self {
        Self {
            weather: Some(weather),
            reserve: DEFAULT_RESERVE,
            host: Budget::host(),
            named: BTreeMap::new(),
            live: Vec::new(),
        }
    }

    pub(crate) fn budget(&self, name: &str) -> Option<&Budget> {
        if name == "host" { Some(&self.host) } else { self.named.get(name) }
    }

    /// Bytes charged by those that `of` picks.
    pub(crate) fn charged(&self, of: impl Fn(&Live) -> bool) -> u64 {
        self.live.iter().filter(|live| of(live)).map(Live::bytes).sum()
    }

    /// Charged to the budget: "host" holds what all hold.
    pub(crate) fn charged_to(&self, name: &str) -> u64 {
        self.charged(|live| is_in(live, name))
    }

    pub(crate) fn charged_to_rank(&self, name: &str, rank: usize) -> u64 {
        self.charged(|live| is_in(live, name) && (name == "host" || live.rank() == rank))
    }
}

pub(crate) fn is_in(live: &Live, name: &str) -> bool {
    name == "host" || live.ask.budget == name
}
