use super::super::ReservationState::{Committed, Expired, Held, OwnerDied, Released};
use super::super::{ReservationSpec, ReservationState, kernel};
use super::bench::{Bench, SECOND, assert_does_not_outlive_what_it_says, for_ten_seconds, process, told};
use crate::model_host::spawn;

#[test]
fn of_expiry_and_renewal_one_wins_and_the_answer_says_which() {
    loom::model(|| {
        let bench = Bench::new();
        let id = bench.reserve(for_ten_seconds()).id;
        let clock = spawn(|| kernel::pass(10 * SECOND));
        let answer = bench.reservations.renew(id, 20 * SECOND);
        clock.join().unwrap();
        let outcome = bench.outcome(id);
        match told(&answer) {
            Ok(state) => assert_eq!((state, outcome), (Held, Held)),
            Err(how) => assert_eq!((how, outcome), (Expired.told(), Expired)),
        }
    });
}

#[test]
fn a_time_that_is_shortened_runs_out_without_a_call() {
    loom::model(|| {
        let bench = Bench::new();
        let id = bench.reserve(for_ten_seconds()).id;
        let clock = spawn(|| kernel::pass(5 * SECOND));
        let renewed = bench.reservations.renew(id, 5 * SECOND).unwrap();
        clock.join().unwrap();
        assert_does_not_outlive_what_it_says(&bench, &renewed);
    });
}

#[test]
fn of_the_holders_death_a_release_and_expiry_one_ends_it_and_the_answer_says_which() {
    loom::model(|| {
        let bench = Bench::new();
        let id = bench.reserve(ReservationSpec { pid: Some(process()), ..for_ten_seconds() }).id;
        let killer = spawn(|| kernel::die(process()));
        let clock = spawn(|| kernel::pass(10 * SECOND));
        let answer = bench.reservations.release(id);
        for thread in [killer, clock] {
            thread.join().unwrap();
        }
        let again = bench.reservations.release(id);
        assert_eq!(told(&again), told(&answer), "a repeated call is answered as the first");
        let outcome = bench.outcome(id);
        assert!([Released, Expired, OwnerDied].contains(&outcome));
        let expected = if outcome == Released { Ok(Released) } else { Err(outcome.told()) };
        assert_eq!(told(&answer), expected);
    });
}

/// `end` runs beside a commit: either it comes later, or the commit is told of it.
fn commit_beside(end: impl FnOnce(&Bench, u64) + Send + 'static, state: ReservationState) {
    let bench = Bench::new();
    let id = bench.reserve(ReservationSpec { pid: Some(process()), ..for_ten_seconds() }).id;
    let other = {
        let bench = bench.clone();
        spawn(move || end(&bench, id))
    };
    let answer = bench.reservations.commit(id);
    other.join().unwrap();
    assert!([Ok(Committed), Err(state.told())].contains(&told(&answer)), "{answer:?}");
    assert_eq!(bench.outcome(id), state);
}

#[test]
fn a_commit_beside_an_end_is_before_it_or_told_of_it() {
    loom::model(|| commit_beside(|_, _| kernel::die(process()), OwnerDied));
    loom::model(|| commit_beside(|_, _| kernel::pass(10 * SECOND), Expired));
    loom::model(|| commit_beside(|bench, id| _ = bench.reservations.release(id).unwrap(), Released));
}

#[test]
fn two_that_release_at_once_are_answered_alike() {
    loom::model(|| {
        let bench = Bench::new();
        let id = bench.reserve(for_ten_seconds()).id;
        let other = {
            let bench = bench.clone();
            spawn(move || bench.reservations.release(id).unwrap())
        };
        let mine = bench.reservations.release(id).unwrap();
        assert_eq!(mine, other.join().unwrap());
        assert_eq!(bench.outcome(id), Released);
    });
}
