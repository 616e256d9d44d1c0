//! What became of charges: the latest decisions and ends, in order, with the figures they used.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::charge::ChargeEnd;
use super::demand::Demand;
use super::ledger::Refusal;
use super::quote::Quote;
use crate::sync::{Arc, Mutex, lock};
use crate::units::Bytes;

/// Events that are kept, the oldest go first: a few MiB with names of usual length.
const KEPT: usize = 10_000;

/// A charge that was granted, refused or given back.
#[derive(Clone, Debug)]
pub struct BudgetEvent {
    /// 1, 2, 3, … in the order in which the ledger decided, over all budgets.
    pub sequence: u64,
    /// When, by the wall clock.
    pub at: SystemTime,
    /// What became of it.
    pub kind: BudgetEventKind,
    /// What was asked or given back, and for whom.
    pub demand: Arc<Demand>,
    /// What its budget holds after the event.
    pub charged: Bytes,
    /// What all budgets hold after the event.
    pub host_charged: Bytes,
}

/// What became of a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetEventKind {
    /// Granted, by this quote.
    Charged(Quote),
    /// Given back.
    Ended(ChargeEnd),
    /// Refused, by this quote.
    Refused(Quote),
    /// Refused whatever the figures: the budget of this name, the one asked or "host", takes no new charges.
    AdmissionClosed(String),
}

impl BudgetEventKind {
    /// `None` for what was no decision: an unknown budget or rank, an unreadable host.
    pub(super) fn of(refusal: &Refusal) -> Option<Self> {
        match refusal {
            Refusal::Exceeded(quote) => Some(Self::Refused(quote.clone())),
            Refusal::AdmissionClosed(budget) => Some(Self::AdmissionClosed(budget.clone())),
            Refusal::Other(_) => None,
        }
    }
}

/// The latest 10,000 events. Written under the ledger's lock, read under its own: a reader never waits for a decision
/// that reads the host.
#[derive(Debug, Default)]
pub struct BudgetEvents(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    latest: u64,
    kept: VecDeque<BudgetEvent>,
}

/// What [`BudgetEvents::after`] found.
#[derive(Clone, Debug)]
pub struct EventsRead {
    /// In order.
    pub events: Vec<BudgetEvent>,
    /// How many are kept no longer, of whichever budget.
    pub missed: u64,
    /// The event to read on after.
    pub through: u64,
}

impl BudgetEvents {
    /// The sequence number of the latest event; 0 before the first.
    #[must_use]
    pub fn latest(&self) -> u64 {
        lock(&self.0).latest
    }

    /// The events after number `sequence`, those charged to `budget` alone when it is named; at most `limit` of them, the
    /// oldest first. Blocks for microseconds: it looks at what is kept and at nothing else.
    #[must_use]
    pub fn after(&self, sequence: u64, limit: usize, budget: Option<&str>) -> EventsRead {
        lock(&self.0).after(sequence, limit, budget)
    }

    pub(super) fn push(
        &self,
        kind: BudgetEventKind,
        demand: &Arc<Demand>,
        charged: Bytes,
        host_charged: Bytes,
    ) {
        let mut ring = lock(&self.0);
        ring.latest += 1;
        let (sequence, at, demand) = (ring.latest, SystemTime::now(), Arc::clone(demand));
        if ring.kept.len() == KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back(BudgetEvent { sequence, at, kind, demand, charged, host_charged });
    }
}

impl Ring {
    fn after(&self, sequence: u64, limit: usize, budget: Option<&str>) -> EventsRead {
        let gone = self.kept.front().map_or(self.latest, |oldest| oldest.sequence - 1);
        let (missed, mut through) = (gone.saturating_sub(sequence), sequence.max(gone));
        let seen = usize::try_from(through - gone).unwrap_or(usize::MAX);
        let mut events = Vec::new();
        for event in self.kept.iter().skip(seen) {
            if events.len() == limit {
                break;
            }
            through = event.sequence;
            if budget.is_none_or(|budget| budget == event.demand.budget) {
                events.push(event.clone());
            }
        }
        EventsRead { events, missed, through }
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
