use super::super::ReservationState::OwnerDied;
use super::super::{ReservationSpec, kernel};
use super::bench::{Bench, SECOND, assert_does_not_outlive_what_it_says, for_ten_seconds, process, spec};
use crate::error::Error;
use crate::model_host::spawn;

#[test]
fn a_holder_that_dies_while_it_is_granted_keeps_nothing() {
    loom::model(|| {
        let bench = Bench::new();
        let killer = spawn(|| kernel::die(process()));
        let id = bench.reserve(ReservationSpec { pid: Some(process()), ..spec(2) }).id;
        killer.join().unwrap();
        assert_eq!(bench.outcome(id), OwnerDied);
    });
}

#[test]
fn time_that_passes_while_it_is_granted_is_not_slept_through() {
    loom::model(|| {
        let bench = Bench::new();
        let clock = spawn(|| kernel::pass(10 * SECOND));
        let granted = bench.reserve(for_ten_seconds());
        clock.join().unwrap();
        assert_does_not_outlive_what_it_says(&bench, &granted);
    });
}

#[test]
fn two_that_ask_for_the_same_memory_are_not_both_granted_it() {
    loom::model(|| {
        let bench = Bench::new();
        let other = {
            let bench = bench.clone();
            spawn(move || bench.reservations.reserve(spec(2)))
        };
        let both = [bench.reservations.reserve(spec(2)), other.join().unwrap()];
        let granted = both.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(granted, 1);
        assert!(both.iter().any(|answer| matches!(answer, Err(Error::BudgetExceeded(_)))));
    });
}

#[test]
fn memory_is_granted_anew_only_after_its_time_has_run_out() {
    loom::model(|| {
        let bench = Bench::new();
        let first = bench.reserve(for_ten_seconds()).id;
        let clock = spawn(|| kernel::pass(10 * SECOND));
        let second = bench.reservations.reserve(spec(2));
        if second.is_ok() {
            let ended: Vec<_> = bench.reservations.take_ended().iter().map(|ended| ended.id).collect();
            assert_eq!(ended, [first]);
        }
        clock.join().unwrap();
        kernel::settle();
        assert_eq!(bench.charged(), second.map_or(crate::Bytes::ZERO, |second| second.spec.demand.mapped));
    });
}
