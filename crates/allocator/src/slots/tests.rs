use super::{MAX_PAGE_COUNT, MAX_SLOT_COUNT, PageRun, SlotAllocator, SlotError, SlotRange};

fn run(start_page: u32, page_count: u32) -> PageRun {
    PageRun { start_page, page_count }
}

fn range(start: u64, count: u64) -> SlotRange {
    SlotRange { start, count }
}

fn pool(page_count: u64, page_size: u64) -> SlotAllocator {
    SlotAllocator::new(page_count, page_size).unwrap()
}

/// A pool of one-slot pages, all taken but those in `free`.
fn pool_with_free(page_count: u64, free: &[SlotRange]) -> SlotAllocator {
    let mut slots = pool(page_count, 1);
    slots.allocate(page_count).unwrap();
    slots.free_ranges(free).unwrap();
    slots
}

fn double_free(slots: &[u64], count: u64) -> Result<u64, SlotError> {
    Err(SlotError::DoubleFree { slots: slots.to_vec(), count })
}

#[test]
fn a_new_pool_is_free_in_one_run() {
    let slots = pool(1000, 16);
    assert_eq!((slots.page_count(), slots.page_size(), slots.slot_count()), (1000, 16, 16_000));
    assert_eq!(
        (slots.free_pages(), slots.allocated_pages(), slots.largest_free_run_pages()),
        (1000, 0, 1000)
    );
}

#[test]
fn sizes_of_nothing_are_refused() {
    assert_eq!(SlotAllocator::new(4, 0).unwrap_err(), SlotError::ZeroPageSize);
    assert_eq!(SlotAllocator::new(0, 4).unwrap_err(), SlotError::ZeroPageCount);
}

#[test]
fn sizes_beyond_the_limits_are_refused() {
    let too_many = |page_count| SlotError::TooManyPages { page_count, max_page_count: MAX_PAGE_COUNT };
    assert_eq!(SlotAllocator::new(MAX_PAGE_COUNT + 1, 1).unwrap_err(), too_many(MAX_PAGE_COUNT + 1));
    assert_eq!(SlotAllocator::new(u64::MAX, u64::MAX).unwrap_err(), too_many(u64::MAX));
    for (page_count, page_size) in [(2, 1 << 52), (3, u64::MAX), (1, MAX_SLOT_COUNT + 1)] {
        let max_slot_count = MAX_SLOT_COUNT;
        let refusal = SlotError::TooManySlots { page_count, page_size, max_slot_count };
        assert_eq!(SlotAllocator::new(page_count, page_size).unwrap_err(), refusal);
    }
}

#[test]
fn the_largest_sizes_work() {
    let mut one_page = pool(1, MAX_SLOT_COUNT);
    assert_eq!(one_page.allocate_slots(MAX_SLOT_COUNT).unwrap(), [range(0, MAX_SLOT_COUNT)]);
    assert_eq!(one_page.free_ranges(&[range(0, MAX_SLOT_COUNT)]), Ok(MAX_SLOT_COUNT));
    let mut most_pages = pool(MAX_PAGE_COUNT, 2);
    assert_eq!(most_pages.allocate(MAX_PAGE_COUNT - 1).unwrap().len(), 1);
    assert_eq!(most_pages.allocate(1).unwrap(), [run((1 << 28) - 1, 1)]);
    most_pages.clear();
    assert_eq!(most_pages.largest_free_run_pages(), MAX_PAGE_COUNT);
}

#[test]
fn a_free_over_a_huge_free_pool_is_counted_not_listed() {
    let mut slots = pool(MAX_PAGE_COUNT, 2);
    let all = range(0, slots.slot_count());
    let first: Vec<u64> = (0..64).collect();
    assert_eq!(slots.free_ranges(&[all]), double_free(&first, all.count));
}

#[test]
fn page_given_back_first_is_the_only_one_left_to_take() {
    let mut slots = pool(4, 2);
    assert_eq!(slots.allocate_slots(6).unwrap(), [range(0, 6)]);
    assert_eq!(slots.free_slots(&[0, 1]), Ok(2));
    assert_eq!(slots.free_pages(), 2);
    assert_eq!(slots.allocate_slots(2).unwrap(), [range(0, 2)]);
    assert_eq!(slots.allocate_slots(2).unwrap(), [range(6, 2)]);
    assert_eq!((slots.free_pages(), slots.largest_free_run_pages()), (0, 0));
}

#[test]
fn an_allocation_is_all_or_nothing() {
    let mut slots = pool_with_free(8, &[range(1, 1), range(3, 2)]);
    let refusal =
        |requested_pages| SlotError::Exhausted { requested_pages, free_pages: 3, largest_free_run_pages: 2 };
    assert_eq!(slots.allocate(4), Err(refusal(4)));
    assert_eq!(slots.allocate(u64::MAX), Err(refusal(u64::MAX)));
    assert_eq!((slots.free_pages(), slots.largest_free_run_pages()), (3, 2));
}

#[test]
fn no_pages_are_no_runs() {
    assert_eq!(pool(1, 1).allocate(0), Ok(vec![]));
    assert_eq!(pool(1, 8).allocate_slots(0), Ok(vec![]));
}

#[test]
fn slots_are_allocated_in_whole_pages() {
    let refusal = SlotError::NotWholePages { len: 3, page_size: 2 };
    assert_eq!(pool(4, 2).allocate_slots(3), Err(refusal));
}

#[test]
fn the_lowest_run_that_holds_the_request_is_used_not_the_longest() {
    let mut slots = pool_with_free(64, &[range(2, 2), range(10, 5), range(20, 9), range(40, 3)]);
    assert_eq!(slots.allocate(3).unwrap(), [run(10, 3)]);
    assert_eq!(slots.allocate(3).unwrap(), [run(20, 3)]);
}

#[test]
fn a_request_no_run_holds_takes_the_longest_runs_and_the_rest_from_the_lowest_that_holds_it() {
    let mut slots = pool_with_free(64, &[range(2, 2), range(10, 5), range(20, 9), range(40, 5)]);
    assert_eq!(slots.allocate(15).unwrap(), [run(2, 1), run(10, 5), run(20, 9)]);
    assert_eq!(slots.allocate(6).unwrap(), [run(3, 1), run(40, 5)]);
    assert_eq!(slots.free_pages(), 0);
}

#[test]
fn runs_are_found_across_words_leaves_and_summaries() {
    for (start, count) in [(60, 8), (500, 30), (500, 1100), (4090, 12), (32_760, 5000), (1, 65_535)] {
        let mut slots = pool_with_free(1 << 16, &[range(start, count)]);
        let first = u32::try_from(start).unwrap();
        assert_eq!(slots.largest_free_run_pages(), count);
        assert_eq!(slots.allocate(count).unwrap(), [run(first, u32::try_from(count).unwrap())]);
        assert_eq!(slots.largest_free_run_pages(), 0);
    }
}

#[test]
fn pages_beyond_the_pool_are_never_handed_out() {
    for page_count in [1, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 40_000] {
        let mut slots = pool(page_count, 1);
        slots.allocate(page_count - 1).unwrap();
        assert_eq!(slots.largest_free_run_pages(), 1);
        slots.allocate(1).unwrap();
        assert!(matches!(slots.allocate(1), Err(SlotError::Exhausted { free_pages: 0, .. })));
        slots.clear();
        assert_eq!((slots.free_pages(), slots.largest_free_run_pages()), (page_count, page_count));
    }
}

#[test]
fn a_checkerboard_hands_out_its_lowest_pages() {
    let even: Vec<_> = (0..5000).map(|page| range(2 * page, 1)).collect();
    let mut slots = pool_with_free(10_000, &even);
    let lowest: Vec<_> = (0..256).map(|page| run(2 * page, 1)).collect();
    assert_eq!(slots.allocate(256).unwrap(), lowest);
}

#[test]
fn freeing_nothing_is_no_error() {
    let mut slots = pool(2, 2);
    assert_eq!(slots.free_slots(&[]), Ok(0));
    assert_eq!(slots.free_ranges(&[]), Ok(0));
    assert_eq!(slots.free_ranges(&[range(7, 0), range(u64::MAX, 0)]), Ok(0));
}

#[test]
fn free_checks_the_count_first() {
    let refusal = Err(SlotError::NotWholePages { len: 3, page_size: 2 });
    assert_eq!(pool(2, 2).free_slots(&[99, 99, 0]), refusal);
    assert_eq!(pool(2, 2).free_ranges(&[range(99, 2), range(0, 1)]), refusal);
}

#[test]
fn free_checks_the_range_before_double_frees() {
    let outside = |slot| Err(SlotError::OutOfRange { slot, size: 4 });
    assert_eq!(pool(2, 2).free_slots(&[0, 0, 9, 4]), outside(9));
    assert_eq!(pool(2, 2).free_slots(&[u64::MAX, 4]), outside(u64::MAX));
    assert_eq!(pool(2, 2).free_ranges(&[range(0, 2), range(3, 4)]), outside(4));
    assert_eq!(pool(2, 2).free_ranges(&[range(7, 2), range(4, 2)]), outside(7));
}

#[test]
fn range_arithmetic_does_not_overflow() {
    let outside = |slot| Err(SlotError::OutOfRange { slot, size: 4 });
    assert_eq!(pool(2, 2).free_ranges(&[range(u64::MAX, 2)]), outside(u64::MAX));
    assert_eq!(pool(2, 2).free_ranges(&[range(2, u64::MAX - 1)]), outside(4));
    assert_eq!(pool(2, 2).free_ranges(&[range(0, u64::MAX), range(0, u64::MAX)]), outside(4));
    let refusal = SlotError::NotWholePages { len: u64::MAX, page_size: 2 };
    assert_eq!(pool(2, 2).free_ranges(&[range(0, u64::MAX), range(0, 2)]), Err(refusal));
}

#[test]
fn slots_given_twice_are_a_double_free() {
    let mut slots = pool(2, 2);
    slots.allocate(2).unwrap();
    assert_eq!(slots.free_slots(&[0, 0]), double_free(&[0], 1));
    assert_eq!(slots.free_slots(&[0, 0, 0, 0]), double_free(&[0], 1));
    assert_eq!(slots.free_ranges(&[range(0, 3), range(1, 3)]), double_free(&[1, 2], 2));
    assert_eq!(slots.free_ranges(&[range(0, 4), range(3, 1), range(1, 1)]), double_free(&[1, 3], 2));
    assert_eq!(slots.allocated_pages(), 2);
}

#[test]
fn slots_not_taken_are_a_double_free_even_off_a_boundary() {
    let mut slots = pool(4, 2);
    slots.allocate(1).unwrap();
    assert_eq!(slots.free_slots(&[1, 2]), double_free(&[2], 1));
    assert_eq!(slots.free_slots(&[3, 1, 5, 1]), double_free(&[1, 3, 5], 3));
    assert_eq!(slots.free_ranges(&[range(1, 4), range(4, 2)]), double_free(&[2, 3, 4, 5], 4));
}

#[test]
fn a_double_free_names_the_64_lowest_slots_and_counts_all() {
    let mut slots = pool(100, 2);
    slots.allocate(10).unwrap();
    let lowest: Vec<u64> = [3, 4].into_iter().chain(20..82).collect();
    let refusal = slots.free_ranges(&[range(20, 180), range(0, 8), range(3, 2)]);
    assert_eq!(refusal, double_free(&lowest, 182));
}

#[test]
fn a_page_given_in_part_is_off_the_page_boundary() {
    let mut slots = pool(4, 2);
    slots.allocate(4).unwrap();
    let off = |slot| Err(SlotError::OffPageBoundary { slot });
    assert_eq!(slots.free_slots(&[1, 2]), off(1));
    assert_eq!(slots.free_slots(&[0, 1, 2, 5]), off(2));
    assert_eq!(slots.free_ranges(&[range(0, 5), range(7, 1)]), off(4));
    assert_eq!(slots.allocated_pages(), 4);
}

#[test]
fn slots_may_come_in_any_order() {
    let mut slots = pool(4, 2);
    slots.allocate(4).unwrap();
    assert_eq!(slots.free_slots(&[1, 0]), Ok(2));
    assert_eq!(slots.free_slots(&[7, 4, 6, 5]), Ok(4));
    assert_eq!((slots.free_pages(), slots.largest_free_run_pages()), (3, 2));
    slots.allocate(3).unwrap();
    assert_eq!(slots.free_ranges(&[range(3, 5), range(0, 0), range(0, 3)]), Ok(8));
    assert_eq!(slots.largest_free_run_pages(), 4);
}

#[test]
fn free_after_clear_is_refused() {
    let mut slots = pool(4, 2);
    slots.allocate_slots(6).unwrap();
    slots.clear();
    assert_eq!(slots.free_slots(&[0, 1]), double_free(&[0, 1], 2));
    assert_eq!((slots.free_pages(), slots.largest_free_run_pages()), (4, 4));
}

#[test]
fn is_allocated_answers_by_slot() {
    let mut slots = pool(4, 2);
    slots.allocate(1).unwrap();
    let answers = [0, 1, 2, 8, u64::MAX].map(|slot| slots.is_allocated(slot));
    assert_eq!(answers, [true, true, false, false, false]);
}

#[test]
fn the_double_free_sentence_is_the_documented_one() {
    let sentence = double_free(&[0, 7], 2).unwrap_err().to_string();
    assert_eq!(sentence, "Double-free detected: slots not currently allocated: [0, 7].");
}
