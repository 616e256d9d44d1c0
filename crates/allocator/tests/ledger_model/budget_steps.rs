//! Budgets: made, changed, removed.

use hostpool_allocator::budget::{BudgetChange, BudgetTerms};
use hostpool_allocator::{Bytes, Error, MAX_COUNT};

use super::budget::Budget;
use super::model::is_in;
use super::pair::{Pair, reading};
use super::step::{Change, Terms};

impl Pair {
    pub(crate) fn create(&mut self, name: &'static str, terms: Terms) {
        let made = self.budgets.create(name, budget_terms(terms), false, None);
        if let Some(field) = wrong_term(terms) {
            return assert_invalid(&made, field);
        }
        let Some(weather) = self.model.weather.clone() else { return assert_unreadable(&made) };
        if let Some(budget) = self.model.budget(name) {
            let expected = differences(budget, terms);
            let Err(Error::NameTaken { differs, .. }) = made else { panic!("{made:?}") };
            assert_eq!(differs, expected);
            let found = self.budgets.create(name, budget_terms(terms), true, None);
            assert_eq!(found.is_ok(), differs.is_empty());
            return found
                .iter()
                .for_each(|found| assert_eq!(reading(found), self.model.reading(&weather, name)));
        }
        let size = self.model.size_of(&weather, terms.requested, terms.fraction, 0);
        self.model.named.insert(name, Budget::of(terms, size));
        assert_eq!(reading(&made.unwrap()), self.model.reading(&weather, name));
    }

    pub(crate) fn update(&mut self, name: &'static str, change: &Change) {
        let updated = self.budgets.update(name, &budget_change(change));
        if let Some(field) = wrong_change(change) {
            return assert_invalid(&updated, field);
        }
        if self.model.budget(name).is_none() {
            return assert_not_found(&updated);
        }
        if name != "host" && change.reserve.is_some() {
            return assert_invalid(&updated, "reserve_bytes");
        }
        let Some(weather) = self.model.weather.clone() else { return assert_unreadable(&updated) };
        if name == "host" {
            self.model.reserve = change
                .reserve
                .map_or(self.model.reserve, |reserve| reserve.unwrap_or(super::model::DEFAULT_RESERVE));
            self.model.host.change(change);
        } else {
            self.update_named(name, change);
        }
        assert_eq!(reading(&updated.unwrap()), self.model.reading(&weather, name));
    }

    fn update_named(&mut self, name: &'static str, change: &Change) {
        let mut budget = self.model.named[name].clone();
        budget.change(change);
        if change.requested.is_some() || change.fraction.is_some() {
            let (weather, held) = (self.model.weather.as_ref().unwrap(), self.model.charged_to(name));
            budget.size = Some(self.model.size_of(weather, budget.requested, budget.fraction, held));
        }
        self.model.named.insert(name, budget);
    }

    pub(crate) fn delete(&mut self, name: &'static str) {
        let deleted = self.budgets.delete(name, Vec::new());
        if name == "host" {
            return assert_invalid(&deleted, "name");
        }
        if self.model.budget(name).is_none() {
            return assert_not_found(&deleted);
        }
        let expected = self.model.live.iter().filter(|live| is_in(live, name)).count();
        if expected > 0 {
            let Err(Error::InUse { holders, .. }) = deleted else { panic!("{deleted:?}") };
            return assert_eq!(usize::try_from(holders).unwrap(), expected);
        }
        let Some(weather) = &self.model.weather else { return assert_unreadable(&deleted) };
        assert_eq!(reading(&deleted.unwrap()), self.model.reading(weather, name));
        self.model.named.remove(name);
    }
}

fn budget_terms(terms: Terms) -> BudgetTerms {
    BudgetTerms {
        requested: terms.requested.map(Bytes::new),
        fraction: terms.fraction.map(sixty_fourths),
        ranks: terms.ranks,
    }
}

fn budget_change(change: &Change) -> BudgetChange {
    let bytes = |value: Option<Option<u64>>| value.map(|value| value.map(Bytes::new));
    BudgetChange {
        reserve: bytes(change.reserve),
        requested: bytes(change.requested),
        fraction: change.fraction.map(|part| part.map(sixty_fourths)),
        admission_closed: change.closed,
    }
}

#[expect(clippy::cast_precision_loss, reason = "64ths are exact")]
fn sixty_fourths(part: u64) -> f64 {
    part as f64 / 64.0
}

/// The first field that no budget has, in the order in which they are looked at.
fn wrong_term(terms: Terms) -> Option<&'static str> {
    let wrong_ranks = !(1..=4096).contains(&terms.ranks);
    wrong_bytes(terms.requested)
        .then_some("requested_bytes")
        .or(wrong_fraction(terms.fraction).then_some("fraction"))
        .or(wrong_ranks.then_some("ranks"))
}

fn wrong_change(change: &Change) -> Option<&'static str> {
    wrong_bytes(change.reserve.flatten())
        .then_some("reserve_bytes")
        .or(wrong_bytes(change.requested.flatten()).then_some("requested_bytes"))
        .or(wrong_fraction(change.fraction.flatten()).then_some("fraction"))
}

fn wrong_bytes(bytes: Option<u64>) -> bool {
    bytes.is_some_and(|bytes| bytes > MAX_COUNT)
}

fn wrong_fraction(part: Option<u64>) -> bool {
    part.is_some_and(|part| !(1..=64).contains(&part))
}

fn differences(budget: &Budget, terms: Terms) -> Vec<&'static str> {
    let mut differences = Vec::new();
    if budget.requested != terms.requested {
        differences.push("requested_bytes");
    }
    if budget.fraction != terms.fraction {
        differences.push("fraction");
    }
    if budget.ranks != terms.ranks {
        differences.push("ranks");
    }
    differences
}

fn assert_invalid<T: std::fmt::Debug>(outcome: &Result<T, Error>, expected: &str) {
    let Err(Error::InvalidArgument { field, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(*field, expected);
}

fn assert_not_found<T: std::fmt::Debug>(outcome: &Result<T, Error>) {
    assert!(matches!(outcome, Err(Error::NotFound { what: "budget", .. })), "{outcome:?}");
}

fn assert_unreadable<T: std::fmt::Debug>(outcome: &Result<T, Error>) {
    assert!(matches!(outcome, Err(Error::HostUnreadable(_))), "{outcome:?}");
}
