use super::*;
use crate::error::Error;
use crate::model_host::{ModelHost, ordinary, spawn};
use crate::sync::Arc;

const JOB: &str = "job";

fn terms(cap: u64) -> BudgetTerms {
    BudgetTerms { requested: Some(pages(cap)), fraction: None, ranks: 1 }
}

/// A host of four pages and the budget "job" of two.
fn ledger_with_job() -> Arc<Ledger> {
    let ledger = ModelHost::new(4, 0).ledger();
    Budgets::unkept(Arc::clone(&ledger)).create(JOB, terms(2), false, None).unwrap();
    ledger
}

fn of_job(count: u64) -> Demand {
    Demand { budget: JOB.to_owned(), ..ordinary(count) }
}

fn is_unknown(outcome: &Result<PendingCharge, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::Other(Error::NotFound { .. })))
}

#[test]
fn a_charge_never_stands_on_a_deleted_budget() {
    loom::model(|| {
        let ledger = ledger_with_job();
        let deleting = {
            let ledger = Arc::clone(&ledger);
            spawn(move || Budgets::unkept(ledger).delete(JOB, Vec::new()))
        };
        let charge = ledger.charge(of_job(2));
        match deleting.join().unwrap() {
            Ok(_) => assert!(is_unknown(&charge)),
            Err(error) => {
                assert!(matches!(error, Error::InUse { holders: 1, .. }), "{error}");
                assert_eq!(ledger.budget(JOB).unwrap().unwrap().charged, charge.unwrap().commit().mapped());
            }
        }
        assert_nothing_is_held(&ledger, 4);
    });
}

#[test]
fn a_budget_of_the_same_name_starts_with_nothing_whoever_lets_go_meanwhile() {
    loom::model(|| {
        let ledger = ledger_with_job();
        let first = ledger.charge(of_job(2)).unwrap().commit();
        let letting_go = spawn(move || drop(first));
        let budgets = Budgets::unkept(Arc::clone(&ledger));
        let renewed = budgets.delete(JOB, Vec::new()).is_ok();
        let made = budgets.create(JOB, terms(2), false, None).is_ok();
        assert_eq!(made, renewed);
        letting_go.join().unwrap();
        let second = ledger.charge(of_job(2)).unwrap();
        assert_eq!(ledger.budget(JOB).unwrap().unwrap().charged, pages(2));
        drop(second);
        assert_nothing_is_held(&ledger, 4);
    });
}

#[test]
fn a_charge_and_a_lowered_cap_agree_on_who_came_first() {
    loom::model(|| {
        let ledger = ledger_with_job();
        let lowering = {
            let ledger = Arc::clone(&ledger);
            let change = BudgetChange { requested: Some(Some(pages(1))), ..BudgetChange::default() };
            spawn(move || Budgets::unkept(ledger).update(JOB, &change).unwrap())
        };
        let charge = ledger.charge(of_job(2)).ok();
        let lowered = lowering.join().unwrap();
        let held = if charge.is_some() { pages(2) } else { Bytes::ZERO };
        assert_eq!((lowered.charged, lowered.over_budget), (held, charge.is_some()));
        assert_eq!(ledger.budget(JOB).unwrap().unwrap(), lowered);
        drop(charge);
        assert_nothing_is_held(&ledger, 4);
    });
}

#[test]
fn nothing_is_granted_once_admission_is_closed() {
    loom::model(|| {
        let ledger = ledger_with_job();
        let closing = {
            let ledger = Arc::clone(&ledger);
            let change = BudgetChange { admission_closed: Some(Some(true)), ..BudgetChange::default() };
            spawn(move || Budgets::unkept(ledger).update(JOB, &change).unwrap())
        };
        let charge = ledger.charge(of_job(1));
        let closed = closing.join().unwrap();
        match &charge {
            Ok(_) => assert_eq!(closed.charged, pages(1)),
            Err(Refusal::AdmissionClosed(name)) => {
                assert_eq!((name.as_str(), closed.charged), (JOB, Bytes::ZERO));
            }
            Err(other) => panic!("{other:?}"),
        }
        drop(charge);
        assert_nothing_is_held(&ledger, 4);
    });
}

#[test]
fn of_two_that_make_a_budget_one_makes_it_and_the_other_is_told() {
    loom::model(|| {
        let ledger = ModelHost::new(4, 0).ledger();
        let budgets = Arc::new(Budgets::unkept(Arc::clone(&ledger)));
        let other = {
            let budgets = Arc::clone(&budgets);
            spawn(move || budgets.create(JOB, terms(1), false, None))
        };
        let mine = budgets.create(JOB, terms(3), false, None);
        let (made, refused) = match (mine, other.join().unwrap()) {
            (Ok(made), Err(refused)) | (Err(refused), Ok(made)) => (made, refused),
            both => panic!("{both:?}"),
        };
        let Error::NameTaken { differs, .. } = refused else { panic!("{refused}") };
        assert_eq!(differs, ["requested_bytes"]);
        assert_eq!(ledger.budget(JOB).unwrap().unwrap(), made);
    });
}
