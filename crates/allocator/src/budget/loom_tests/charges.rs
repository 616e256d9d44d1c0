use super::super::charge::Charge;
use super::*;
use crate::model_host::{Held, ModelHost, hugepages, ordinary, spawn};
use crate::sync::Arc;

/// Takes two pages if it can, faults them in one by one, unmaps them and gives them back.
fn come_and_go(host: &ModelHost, ledger: &Arc<Ledger>, held: &Held) {
    let Ok(pending) = ledger.charge(ordinary(2)) else { return };
    held.take(2);
    let charge = pending.commit();
    for _ in 0..2 {
        host.fault_in(1);
        charge.add_resident(pages(1));
    }
    held.give_back(2);
    host.unmap(2);
    drop(charge);
}

#[test]
fn memory_is_counted_somewhere_at_every_moment_from_its_grant_to_its_return() {
    loom::model(|| {
        let (host, held) = (ModelHost::new(3, 0), Held::of(3));
        let ledger = host.ledger();
        let other = {
            let (host, ledger, held) = (host.clone(), Arc::clone(&ledger), held.clone());
            spawn(move || come_and_go(&host, &ledger, &held))
        };
        come_and_go(&host, &ledger, &held);
        other.join().unwrap();
        assert_nothing_is_held(&ledger, 3);
    });
}

#[test]
fn three_at_once_are_never_granted_more_than_the_host_has() {
    loom::model(|| {
        let (host, held) = (ModelHost::new(3, 0), Held::of(3));
        let ledger = host.ledger();
        let ask = move |pages: u64, ledger: &Arc<Ledger>, held: &Held| {
            let Ok(charge) = ledger.charge(ordinary(pages)) else { return };
            held.take(pages);
            held.give_back(pages);
            drop(charge);
        };
        let others = [1, 2].map(|pages| {
            let (ledger, held) = (Arc::clone(&ledger), held.clone());
            spawn(move || ask(pages, &ledger, &held))
        });
        ask(2, &ledger, &held);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_nothing_is_held(&ledger, 3);
    });
}

#[test]
fn hugepages_are_promised_until_the_kernel_shows_them_as_reserved() {
    loom::model(|| {
        let (host, held) = (ModelHost::new(0, 3), Held::of(3));
        let ledger = host.ledger();
        let come_and_go = |host: &ModelHost, ledger: &Arc<Ledger>, held: &Held| {
            let Ok(pending) = ledger.charge(hugepages(2)) else { return };
            held.take(2);
            host.map_hugepages(2);
            let charge = pending.commit();
            held.give_back(2);
            host.unmap_hugepages(2);
            drop(charge);
        };
        let other = {
            let (host, ledger, held) = (host.clone(), Arc::clone(&ledger), held.clone());
            spawn(move || come_and_go(&host, &ledger, &held))
        };
        come_and_go(&host, &ledger, &held);
        other.join().unwrap();
        assert_eq!(ledger.quote(&hugepages(1)).unwrap().hugepages_free, Some(3));
        assert_nothing_is_held(&ledger, 0);
    });
}

#[test]
fn a_quote_changes_nothing_and_never_sees_a_charge_in_part() {
    loom::model(|| {
        let host = ModelHost::new(4, 0);
        let ledger = host.ledger();
        let other = {
            let ledger = Arc::clone(&ledger);
            spawn(move || {
                let first = ledger.charge(ordinary(1)).unwrap().commit();
                let second = ledger.charge(ordinary(3)).unwrap();
                drop(first);
                drop(second);
            })
        };
        for _ in 0..2 {
            let reading = ledger.budget(HOST_BUDGET).unwrap().unwrap();
            let all = reading.charged.saturating_add(reading.available);
            assert_eq!((all, reading.charged), (pages(4), reading.rank_shares[0].charged));
        }
        other.join().unwrap();
        assert_nothing_is_held(&ledger, 4);
    });
}

#[test]
fn what_two_fault_in_of_one_charge_adds_up() {
    loom::model(|| {
        let host = ModelHost::new(3, 0);
        let ledger = host.ledger();
        let charge = Arc::new(ledger.charge(ordinary(2)).unwrap().commit());
        let fault_in = |host: &ModelHost, charge: &Charge| {
            host.fault_in(1);
            charge.add_resident(pages(1));
        };
        let other = {
            let (host, charge) = (host.clone(), Arc::clone(&charge));
            spawn(move || fault_in(&host, &charge))
        };
        fault_in(&host, &charge);
        assert!(ledger.quote(&ordinary(1)).unwrap().available <= pages(1), "two of three are held");
        other.join().unwrap();
        assert_eq!(ledger.quote(&ordinary(1)).unwrap().available, pages(1));
    });
}
