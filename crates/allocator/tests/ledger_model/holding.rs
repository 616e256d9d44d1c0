//! Charges and reservations: asked for, faulted in, given back.

use std::time::Duration;

use hostpool_allocator::budget::{Charge, Claimant, Demand, MemoryKind, PendingCharge, Refusal};
use hostpool_allocator::reservation::{Reservation, ReservationSpec, ReservationState};
use hostpool_allocator::{Backing, Bytes, Error, MemoryLimit};

use super::model::Live;
use super::pair::Pair;
use super::step::{Ask, Touch};

pub(crate) enum Held {
    Pending(PendingCharge),
    Charged(Charge),
    Reserved(u64),
}

/// What came of a question.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Granted,
    Exceeded(MemoryLimit, u64),
    Closed(String),
    NoSuchBudget,
    NoSuchRank,
    Unreadable,
}

impl Held {
    pub(crate) fn reservation(&self) -> Option<u64> {
        if let Self::Reserved(id) = self { Some(*id) } else { None }
    }
}

impl Outcome {
    fn of_refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Exceeded(quote) => Self::Exceeded(quote.limited_by, quote.available.get()),
            Refusal::AdmissionClosed(budget) => Self::Closed(budget),
            Refusal::Other(error) => Self::of_error(error),
        }
    }

    fn of_error(error: Error) -> Self {
        match error {
            Error::BudgetExceeded(short) => Self::Exceeded(short.limited_by, short.available.get()),
            Error::BudgetAdmissionClosed { budget } => Self::Closed(budget),
            Error::NotFound { what: "budget", .. } => Self::NoSuchBudget,
            Error::InvalidArgument { field: "rank", .. } => Self::NoSuchRank,
            Error::HostUnreadable(_) => Self::Unreadable,
            other => panic!("{other}"),
        }
    }
}

impl Pair {
    pub(crate) fn charge(&mut self, ask: &Ask) {
        let expected = self.expected(ask);
        match self.ledger.charge(demand(ask)) {
            Ok(pending) => self.granted(&expected, ask, Held::Pending(pending)),
            Err(refusal) => assert_eq!(Outcome::of_refusal(refusal), expected, "{ask:?}"),
        }
    }

    pub(crate) fn reserve(&mut self, ask: &Ask) {
        let expected = self.expected(ask);
        let spec = ReservationSpec {
            bytes: Bytes::new(ask.requested()),
            demand: demand(ask),
            backing: Backing::Anonymous,
            holder: "engine".to_owned(),
            pid: None,
            ttl: None,
        };
        match self.reservations.reserve(spec) {
            Ok(held) => self.granted(&expected, ask, Held::Reserved(held.id)),
            Err(error) => assert_eq!(Outcome::of_error(error), expected, "{ask:?}"),
        }
    }

    fn granted(&mut self, expected: &Outcome, ask: &Ask, held: Held) {
        assert_eq!(&Outcome::Granted, expected, "{ask:?}");
        self.held.push(held);
        self.model.live.push(Live::of(ask.clone()));
        self.check_granted(ask);
    }

    /// What the model answers, once a quote has answered the same.
    fn expected(&self, ask: &Ask) -> Outcome {
        let expected = self.quote(ask);
        let Some(budget) = self.model.budget(ask.budget) else { return expected };
        match expected {
            Outcome::NoSuchRank => expected,
            _ if budget.closed => Outcome::Closed(ask.budget.to_owned()),
            _ if self.model.host.closed => Outcome::Closed("host".to_owned()),
            _ => expected,
        }
    }

    /// A quote answers as the model does, closed or not, and changes nothing.
    pub(crate) fn quote(&self, ask: &Ask) -> Outcome {
        let before = self.ledger.budgets().ok();
        let quote = self.ledger.quote(&demand(ask));
        assert_eq!(self.ledger.budgets().ok(), before);
        let outcome = match quote {
            Err(error) => Outcome::of_error(error),
            Ok(quote) => {
                let weather = self.model.weather.as_ref().unwrap();
                let answer = self.model.answer(weather, ask);
                assert_eq!((quote.requested.get(), quote.mapped.get()), (ask.requested(), ask.mapped()));
                assert_eq!(quote.hugepages_needed, ask.huge.map(|_| ask.pages));
                assert_eq!(quote.hugepages_free, answer.hugepages_free);
                assert_eq!(quote.fits(), answer.fits, "{quote:?} {answer:?}");
                assert_eq!((quote.limited_by, quote.available.get()), (answer.limited_by, answer.available));
                if quote.fits() {
                    Outcome::Granted
                } else {
                    Outcome::Exceeded(answer.limited_by, answer.available)
                }
            }
        };
        assert!(self.without_figures(ask).is_none_or(|expected| outcome == expected), "{ask:?} {outcome:?}");
        outcome
    }

    /// What there is to say before any figure is looked at.
    fn without_figures(&self, ask: &Ask) -> Option<Outcome> {
        let Some(budget) = self.model.budget(ask.budget) else { return Some(Outcome::NoSuchBudget) };
        if ask.rank.map_or(budget.ranks > 1, |rank| rank >= budget.ranks) {
            return Some(Outcome::NoSuchRank);
        }
        self.model.weather.is_none().then_some(Outcome::Unreadable)
    }

    pub(crate) fn touch(&mut self, at: usize, touch: Touch) {
        match touch {
            Touch::Commit => self.commit(at),
            Touch::Keep => _ = self.replace_pending(at, PendingCharge::keep),
            Touch::AddResident(pages) => self.add_resident(at, pages),
            Touch::SetResident(pages) => self.set_resident(at, pages),
            Touch::Renew => self.renew(at),
            Touch::Release => self.release(at),
        }
    }

    fn commit(&mut self, at: usize) {
        if let Held::Reserved(id) = self.held[at] {
            let committed = self.reservations.commit(id).unwrap();
            let live = &mut self.model.live[at];
            live.set_resident(live.bytes());
            assert_eq!(
                (committed.state, committed.resident.get()),
                (ReservationState::Committed, live.bytes())
            );
        } else if self.replace_pending(at, PendingCharge::commit) {
            self.model.live[at].mapped = true;
        }
    }

    /// Answers whether a charge was pending there.
    fn replace_pending(&mut self, at: usize, by: impl FnOnce(PendingCharge) -> Charge) -> bool {
        let held = self.held.swap_remove(at);
        let (held, was_pending) = match held {
            Held::Pending(pending) => (Held::Charged(by(pending)), true),
            other => (other, false),
        };
        self.held.push(held);
        let last = self.held.len() - 1;
        self.held.swap(at, last);
        was_pending
    }

    fn add_resident(&mut self, at: usize, pages: u64) {
        if let Held::Charged(charge) = &self.held[at] {
            let live = &mut self.model.live[at];
            charge.add_resident(Bytes::new(pages * live.ask.page()));
            live.set_resident(live.resident + pages * live.ask.page());
        }
    }

    fn set_resident(&mut self, at: usize, pages: u64) {
        if let Held::Charged(charge) = &self.held[at] {
            let live = &mut self.model.live[at];
            charge.set_resident(Bytes::new(pages * live.ask.page()));
            live.set_resident(pages * live.ask.page());
        }
    }

    fn renew(&mut self, at: usize) {
        if let Held::Reserved(id) = self.held[at] {
            let renewed = self.reservations.renew(id, Duration::from_secs(365 * 24 * 3600)).unwrap();
            assert!(renewed.expires_at > Some(renewed.created_at));
        }
    }

    pub(crate) fn release(&mut self, at: usize) {
        self.model.live.swap_remove(at);
        if let Held::Reserved(id) = self.held.swap_remove(at) {
            let released = self.reservations.release(id).unwrap();
            assert_eq!((released.state, released.resident), (ReservationState::Released, Bytes::ZERO));
            self.check_is_over(id, &released);
        }
    }

    /// From here on it is answered as ended, and nothing more is given back.
    fn check_is_over(&self, id: u64, released: &Reservation) {
        assert_eq!(&self.reservations.release(id).unwrap(), released);
        assert!(matches!(self.reservations.commit(id), Err(Error::LeaseExpired { .. })));
        let ended: Vec<_> = self.reservations.take_ended().iter().map(|ended| ended.id).collect();
        assert_eq!(ended, [id]);
    }
}

fn demand(ask: &Ask) -> Demand {
    Demand {
        budget: ask.budget.to_owned(),
        rank: ask.rank,
        claimant: Claimant::HostBuffer(None),
        kind: ask.huge.map_or(MemoryKind::Ordinary, |_| MemoryKind::Hugepages(Bytes::new(ask.page()))),
        nodes: ask.nodes.iter().copied().collect(),
        requested: Bytes::new(ask.requested()),
        mapped: Bytes::new(ask.mapped()),
    }
}
