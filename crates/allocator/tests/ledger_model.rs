//! The ledger against a model that keeps every charge in a list and adds up from the start at each question.
//!
//! Budgets with ranks, ordinary memory and hugepages of two sizes, bound to nodes or not, charges and reservations, on a
//! host that changes at any moment. After each step every answer and every figure is the model's.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic here is how a test fails"
)]

#[path = "ledger_model/budget.rs"]
mod budget;
#[path = "ledger_model/budget_steps.rs"]
mod budget_steps;
#[path = "ledger_model/holding.rs"]
mod holding;
#[path = "ledger_model/limits.rs"]
mod limits;
#[path = "ledger_model/model.rs"]
mod model;
#[path = "ledger_model/pair.rs"]
mod pair;
#[path = "ledger_model/step.rs"]
mod step;
#[path = "ledger_model/weather.rs"]
mod weather;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_grants_what_the_model_grants_and_gives_everything_back(
        start in weather::weather(),
        steps in step::steps(),
    ) {
        let mut pair = pair::Pair::new(start);
        for step in steps {
            pair.apply(step);
            pair.check();
        }
        pair.release_everything();
    }
}
