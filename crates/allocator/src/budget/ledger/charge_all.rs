//! Several charges in one decision: two callers that ask at once cannot each get a part and fail.

use super::{Ledger, Refusal, State};
use crate::budget::events::BudgetEventKind;
use crate::budget::{Demand, PendingCharge, Quote};
use crate::error::Error;
use crate::sync::{Arc, lock};

impl Ledger {
    /// Takes a charge for each of the demands that `size` answers, or none, and says why not. `question` has the budget,
    /// rank, kind and node that all of them share; its bytes play no part. `size` is given the figures of the decision
    /// while the lock is held: it must not block, nor ask this ledger. The charges are in the order of the demands.
    ///
    /// # Errors
    /// [`Refusal`], with the quote for all demands together when they do not fit; what `size` refuses. Nothing has
    /// changed then.
    pub fn charge_all(
        self: &Arc<Self>,
        question: &Demand,
        size: impl FnOnce(&Quote) -> Result<Vec<Demand>, Error>,
    ) -> Result<Vec<PendingCharge>, Refusal> {
        let mut state = lock(&self.state);
        let rank = state.account(&question.budget)?.rank(question.rank)?;
        let refuse = |state: &State, refusal: Refusal, demand: Demand| {
            self.tell_refused(state, &refusal, &Arc::new(demand));
            refusal
        };
        if let Err(refusal) = state.check_open(&question.budget) {
            return Err(refuse(&state, refusal, question.clone()));
        }
        let figures = state.quote(&self.look(&state)?, question)?;
        let demands = size(&figures)?;
        let together = question.sum_of(&demands);
        let quote = figures.clone().asked_for(&together);
        if !quote.fits() {
            return Err(refuse(&state, Refusal::Exceeded(quote), together));
        }
        let mut charge = |demand: Demand| {
            let quote = figures.clone().asked_for(&demand);
            let demand = Arc::new(demand);
            let id = state.enter(Arc::clone(&demand), rank);
            self.tell(&state, BudgetEventKind::Charged(quote), &demand);
            PendingCharge::new(Arc::clone(self), id, demand.mapped)
        };
        Ok(demands.into_iter().map(&mut charge).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Claimant, HOST_BUDGET, HostSource, MemoryKind};
    use crate::host::{AdmissionReading, HostError, MemInfo};
    use crate::node_set::NodeSet;
    use crate::units::Bytes;

    /// A host with a hundred pages and nothing else.
    struct Hundred;

    impl HostSource for Hundred {
        fn read(&self) -> Result<AdmissionReading, HostError> {
            let memory = MemInfo {
                mem_total_bytes: 100 * 4096,
                mem_available_bytes: 100 * 4096,
                available_is_estimated: false,
            };
            Ok(AdmissionReading { memory, cgroup: None, hugepages: Vec::new(), nodes: Vec::new() })
        }
    }

    fn demand(pages: u64) -> Demand {
        Demand {
            budget: HOST_BUDGET.to_owned(),
            rank: None,
            claimant: Claimant::HostBuffer(None),
            kind: MemoryKind::Ordinary,
            nodes: NodeSet::default(),
            requested: Bytes::new(pages * 4096 - 1),
            mapped: Bytes::new(pages * 4096),
        }
    }

    fn charged(ledger: &Ledger) -> u64 {
        ledger.budget(HOST_BUDGET).unwrap().unwrap().charged.get() / 4096
    }

    #[test]
    fn each_demand_has_a_charge_of_its_own_in_its_order() {
        let ledger = Ledger::new(Box::new(Hundred), Bytes::ZERO);
        let demands = || Ok(vec![demand(60), demand(40)]);
        let charges = ledger.charge_all(&demand(1), |_| demands()).unwrap();
        assert_eq!(charged(&ledger), 100);
        let mut kept = charges.into_iter().map(PendingCharge::keep);
        assert_eq!(kept.next().map(|first| first.mapped()), Some(Bytes::new(60 * 4096)));
        assert_eq!(charged(&ledger), 40, "the first was given back, the second is still held");
        drop(kept);
        assert_eq!(charged(&ledger), 0);
    }

    #[test]
    fn what_does_not_fit_together_takes_nothing_though_each_would_fit() {
        let ledger = Ledger::new(Box::new(Hundred), Bytes::ZERO);
        let refused = ledger.charge_all(&demand(1), |_| Ok(vec![demand(60), demand(41)]));
        let Err(Refusal::Exceeded(quote)) = refused else { panic!("expected a shortage") };
        assert_eq!((quote.mapped.get(), quote.available.get()), (101 * 4096, 100 * 4096));
        assert_eq!(quote.requested.get(), 101 * 4096 - 2);
        assert_eq!(charged(&ledger), 0);
    }

    #[test]
    fn the_size_is_chosen_by_the_figures_that_decide() {
        let ledger = Ledger::new(Box::new(Hundred), Bytes::ZERO);
        let half_of_what_is_left = |figures: &Quote| Ok(vec![demand(figures.available.get() / 4096 / 2)]);
        let _first = ledger.charge_all(&demand(1), half_of_what_is_left).unwrap();
        let _second = ledger.charge_all(&demand(1), half_of_what_is_left).unwrap();
        assert_eq!(charged(&ledger), 75);
    }

    #[test]
    fn a_size_that_is_refused_takes_nothing() {
        let ledger = Ledger::new(Box::new(Hundred), Bytes::ZERO);
        let refused = ledger.charge_all(&demand(1), |_| Err(Error::invalid("size", "is none")));
        assert!(matches!(refused, Err(Refusal::Other(Error::InvalidArgument { field: "size", .. }))));
        let unknown = Demand { budget: "nobody".to_owned(), ..demand(1) };
        let nowhere = ledger.charge_all(&unknown, |_| Ok(vec![demand(1)]));
        assert!(matches!(nowhere, Err(Refusal::Other(Error::NotFound { .. }))));
        assert_eq!(charged(&ledger), 0);
    }
}
