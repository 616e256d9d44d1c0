//! One budget: what was asked for it, what size it was given, and what it holds.

use super::demand::{Demand, MemoryKind};
use crate::error::Error;
use crate::state::BudgetRecord;
use crate::units::{Bytes, MAX_COUNT};

/// More ranks than any job runs on one host.
pub const MAX_RANKS: u32 = 4096;

/// A budget as the ledger keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Account {
    /// What was asked for.
    pub(super) terms: BudgetTerms,
    /// The size it was given when it was made or changed; `None` for "host", whose size is the host's at each moment.
    pub(super) size: Option<Bytes>,
    /// Whether new charges are refused whatever the figures.
    pub(super) admission_closed: bool,
    /// How many live charges there are.
    pub(super) charges: u64,
    /// Held by live charges, of either kind.
    pub(super) charged: Bytes,
    /// The part of that on hugepages.
    pub(super) charged_hugepages: Bytes,
    /// All of it, by rank.
    pub(super) charged_by_rank: Vec<Bytes>,
}

/// What is asked for a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetTerms {
    /// The cap in bytes.
    pub requested: Option<Bytes>,
    /// A part in (0, 1]: for "host" of what the machine has in all, for a named budget of what the host could promise
    /// when it was made.
    pub fraction: Option<f64>,
    /// How many ranks share it, evenly.
    pub ranks: u32,
}

/// A change: outer `None` leaves a figure alone, inner `None` puts it back to its default.
#[derive(Clone, Copy, Debug, Default)]
pub struct BudgetChange {
    /// What the host keeps for itself; "host" only; back to the reserve the ledger was made with.
    pub reserve: Option<Option<Bytes>>,
    /// The cap; back to none.
    pub requested: Option<Option<Bytes>>,
    /// The fraction; back to none.
    pub fraction: Option<Option<f64>>,
    /// Whether to refuse new charges; back to no.
    pub admission_closed: Option<Option<bool>>,
}

/// A budget as its operator sees it: asked for, honoured now, held.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetReading {
    /// Its name.
    pub name: String,
    /// What the host keeps for itself; zero but for "host".
    pub reserve: Bytes,
    /// The cap asked for.
    pub requested: Option<Bytes>,
    /// The fraction asked for.
    pub fraction: Option<f64>,
    /// What the host can honour now, what is held already included; at most the size.
    pub effective: Bytes,
    /// Held by pools, buffers and reservations, on ordinary pages and hugepages.
    pub charged: Bytes,
    /// What a new charge on ordinary pages could still take.
    pub available: Bytes,
    /// The shares of its ranks, in order.
    pub rank_shares: Vec<RankShare>,
    /// Whether new charges are refused.
    pub admission_closed: bool,
    /// Whether more is held than can be honoured now: the cap was lowered, or others took the host's memory.
    pub over_budget: bool,
}

/// A rank's part of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankShare {
    /// Which rank, from 0.
    pub rank: u32,
    /// Its part of the budget's size.
    pub effective: Bytes,
    /// What it holds.
    pub charged: Bytes,
    /// What it could still take.
    pub available: Bytes,
}

impl BudgetTerms {
    fn of(record: &BudgetRecord) -> Self {
        let ranks = record.ranks.clamp(1, MAX_RANKS);
        Self { requested: record.requested, fraction: record.fraction, ranks }
    }

    /// Refuses byte counts above 2^53 - 1, fractions outside (0, 1], and no or too many ranks.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_bytes("requested_bytes", self.requested)?;
        check_fraction(self.fraction)?;
        if !(1..=MAX_RANKS).contains(&self.ranks) {
            return Err(Error::invalid("ranks", format!("must be 1 to {MAX_RANKS}, got {}", self.ranks)));
        }
        Ok(())
    }

    /// The fields in which `other` asks for something else, as the crate spells them.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let differs = [
            ("requested_bytes", self.requested != other.requested),
            ("fraction", self.fraction != other.fraction),
            ("ranks", self.ranks != other.ranks),
        ];
        differs.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
    }
}

impl BudgetChange {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_bytes("reserve_bytes", self.reserve.flatten())?;
        check_bytes("requested_bytes", self.requested.flatten())?;
        check_fraction(self.fraction.flatten())
    }

    pub(super) fn apply_to(&self, account: &mut Account) {
        account.terms.requested = self.requested.unwrap_or(account.terms.requested);
        account.terms.fraction = self.fraction.unwrap_or(account.terms.fraction);
        let closed = self.admission_closed.unwrap_or(Some(account.admission_closed));
        account.admission_closed = closed.unwrap_or_default();
    }

    /// Whether the budget's size is to be found anew.
    pub(super) fn resizes(&self) -> bool {
        self.requested.is_some() || self.fraction.is_some()
    }
}

impl Account {
    /// The budget "host": one rank, no size of its own.
    pub(super) fn host() -> Self {
        Self::new(BudgetTerms { requested: None, fraction: None, ranks: 1 }, None)
    }

    pub(super) fn new(terms: BudgetTerms, size: Option<Bytes>) -> Self {
        let ranks = usize::try_from(terms.ranks).unwrap_or(1);
        let charged_by_rank = vec![Bytes::ZERO; ranks];
        let (charged, charged_hugepages) = (Bytes::ZERO, Bytes::ZERO);
        Self { terms, size, admission_closed: false, charges: 0, charged, charged_hugepages, charged_by_rank }
    }

    /// As it was kept, holding nothing yet.
    pub(super) fn of(record: &BudgetRecord) -> Self {
        let mut account = Self::new(BudgetTerms::of(record), record.size);
        account.follow(record);
        account
    }

    /// Is what the record says; what it holds stays.
    pub(super) fn follow(&mut self, record: &BudgetRecord) {
        let ranks = self.terms.ranks;
        self.terms = BudgetTerms { ranks, ..BudgetTerms::of(record) };
        self.size = record.size;
        self.admission_closed = record.admission_closed;
    }

    /// What is kept of it.
    pub(super) fn record(&self, name: &str, reserve: Option<Bytes>) -> BudgetRecord {
        let BudgetTerms { requested, fraction, ranks } = self.terms;
        let (name, size, admission_closed) = (name.to_owned(), self.size, self.admission_closed);
        BudgetRecord { name, reserve, requested, fraction, ranks, size, admission_closed }
    }

    /// The rank that a charge is for: the one named, or the only one.
    pub(super) fn rank(&self, named: Option<u32>) -> Result<usize, Error> {
        let ranks = self.terms.ranks;
        match named {
            None if ranks == 1 => Ok(0),
            None => Err(Error::invalid(
                "rank",
                format!("must be given: the budget is split between {ranks} ranks"),
            )),
            Some(rank) if rank < ranks => Ok(usize::try_from(rank).unwrap_or(0)),
            Some(rank) => {
                Err(Error::invalid("rank", format!("must be below the budget's ranks ({ranks}), got {rank}")))
            }
        }
    }

    /// The size divided by the ranks, the remainder to the lowest; `None` for "host".
    pub(super) fn share(&self, rank: usize) -> Option<Bytes> {
        let (size, ranks) = (self.size?.get(), u64::from(self.terms.ranks));
        let remainder = u64::try_from(rank).ok()? < size.checked_rem(ranks)?;
        Some(Bytes::new(size.checked_div(ranks)? + u64::from(remainder)))
    }

    pub(super) fn charged_to(&self, rank: usize) -> Bytes {
        self.charged_by_rank.get(rank).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, rank: usize, demand: &Demand) {
        self.charges = self.charges.saturating_add(1);
        self.change(rank, demand, |held| held.saturating_add(demand.mapped));
    }

    pub(super) fn subtract(&mut self, rank: usize, demand: &Demand) {
        self.charges = self.charges.saturating_sub(1);
        self.change(rank, demand, |held| held.saturating_sub(demand.mapped));
    }

    fn change(&mut self, rank: usize, demand: &Demand, change: impl Fn(Bytes) -> Bytes) {
        self.charged = change(self.charged);
        if demand.kind != MemoryKind::Ordinary {
            self.charged_hugepages = change(self.charged_hugepages);
        }
        if let Some(charged) = self.charged_by_rank.get_mut(rank) {
            *charged = change(*charged);
        }
    }
}

fn check_bytes(field: &'static str, bytes: Option<Bytes>) -> Result<(), Error> {
    match bytes {
        Some(bytes) if bytes.get() > MAX_COUNT => {
            Err(Error::invalid(field, format!("must be at most {MAX_COUNT} bytes, got {}", bytes.get())))
        }
        _ => Ok(()),
    }
}

fn check_fraction(fraction: Option<f64>) -> Result<(), Error> {
    match fraction {
        Some(fraction) if !(fraction > 0.0 && fraction <= 1.0) => {
            Err(Error::invalid("fraction", format!("must be above 0 and at most 1, got {fraction:?}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remainder_of_a_split_goes_to_the_lowest_ranks() {
        let account =
            Account::new(BudgetTerms { requested: None, fraction: None, ranks: 3 }, Some(Bytes::new(11)));
        let shares: Vec<u64> = (0..3).map(|rank| account.share(rank).unwrap().get()).collect();
        assert_eq!(shares, [4, 4, 3]);
    }

    #[test]
    fn a_budget_of_many_ranks_needs_to_know_which() {
        let many =
            Account::new(BudgetTerms { requested: None, fraction: None, ranks: 2 }, Some(Bytes::new(8)));
        assert!(matches!(many.rank(None), Err(Error::InvalidArgument { field: "rank", .. })));
        assert!(matches!(many.rank(Some(2)), Err(Error::InvalidArgument { field: "rank", .. })));
        assert_eq!(many.rank(Some(1)).unwrap(), 1);
        assert_eq!(Account::host().rank(None).unwrap(), 0);
    }
}
