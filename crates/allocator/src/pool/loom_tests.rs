//! The slots of one pool, and the books of all pools, in every order of their callers' steps.

use super::slot_pool::{SizeFields, SlotPool};
use crate::error::Error;
use crate::model_host::spawn;
use crate::slots::{MAX_PAGE_COUNT, SlotRange};
use crate::sync::Arc;

/// Four pages of two slots.
fn pool() -> Arc<SlotPool> {
    Arc::new(new_pool(4).unwrap())
}

fn new_pool(pages: u64) -> Result<SlotPool, Error> {
    SlotPool::new(pages, 2, SizeFields { count: "size", page_size: "page_size" })
}

fn free(pool: &SlotPool, slots: &[u64]) -> Result<u64, Error> {
    pool.free_slots(slots, |_, _, field| Error::invalid(field, ""))
}

fn slots_of(ranges: Vec<SlotRange>) -> Vec<u64> {
    ranges.into_iter().flat_map(|range| range.start..range.start + range.count).collect()
}

#[test]
fn two_at_once_get_different_slots_and_the_figures_are_of_one_moment() {
    loom::model(|| {
        let pool = pool();
        let other = {
            let pool = Arc::clone(&pool);
            spawn(move || slots_of(pool.allocate(4).unwrap()))
        };
        let mut mine = slots_of(pool.allocate(4).unwrap());
        let stats = pool.stats();
        assert_eq!((stats.size, stats.page_count), (8, 4));
        assert_eq!(stats.available_slots + stats.allocated_slots, stats.size);
        assert_eq!(stats.largest_free_run_pages, stats.available_slots / 2);
        mine.extend(other.join().unwrap());
        mine.sort_unstable();
        assert_eq!(mine, (0..8).collect::<Vec<_>>());
    });
}

#[test]
fn of_two_that_free_the_same_slots_one_is_told() {
    loom::model(|| {
        let pool = pool();
        let slots = slots_of(pool.allocate(2).unwrap());
        let other = {
            let (pool, slots) = (Arc::clone(&pool), slots.clone());
            spawn(move || free(&pool, &slots))
        };
        let both = [free(&pool, &slots), other.join().unwrap()];
        assert_eq!(both.iter().filter(|answer| matches!(answer, Ok(2))).count(), 1);
        assert_eq!(both.iter().filter(|answer| matches!(answer, Err(Error::DoubleFree { .. }))).count(), 1);
        assert_eq!(pool.stats().available_slots, 8);
    });
}

#[test]
fn a_pool_that_is_closed_meanwhile_has_all_its_slots_or_none() {
    loom::model(|| {
        let pool = pool();
        let closing = {
            let pool = Arc::clone(&pool);
            spawn(move || pool.close())
        };
        let stats = pool.stats();
        assert!([(8, 4, 8), (0, 0, 0)].contains(&(stats.size, stats.page_count, stats.available_slots)));
        match pool.allocate(8) {
            Ok(ranges) => assert_eq!(slots_of(ranges).len(), 8),
            Err(error) => {
                assert!(matches!(error, Error::PoolExhausted { available_slots: 0, .. }), "{error}");
            }
        }
        closing.join().unwrap();
        assert_eq!(pool.stats().size, 0);
    });
}

#[test]
fn two_at_once_never_book_more_pages_than_a_process_may() {
    loom::model(|| {
        let _most = [(); 3].map(|()| new_pool(MAX_PAGE_COUNT).unwrap());
        let other = spawn(|| new_pool(MAX_PAGE_COUNT).ok());
        let mine = new_pool(MAX_PAGE_COUNT).ok();
        let other = other.join().unwrap();
        assert_eq!([&mine, &other].into_iter().flatten().count(), 1);
        drop((mine, other));
        assert!(new_pool(MAX_PAGE_COUNT).is_ok(), "what is dropped gives its books back");
    });
}
