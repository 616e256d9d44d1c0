//! A slot allocator as plain as can be, and a pair that runs it beside the real one.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic here is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};

use hostpool_allocator::slots::{MAX_NAMED_SLOTS, PageRun, SlotAllocator, SlotError, SlotRange};

/// One operation on both allocators.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Takes this many pages.
    Allocate(u64),
    /// Takes this many slots.
    AllocateSlots(u64),
    /// Gives back exactly these slots.
    FreeSlots(Vec<u64>),
    /// Gives back exactly these ranges.
    FreeRanges(Vec<SlotRange>),
    /// Gives back taken pages, perhaps spoiled.
    FreeTaken(FreeTaken),
    /// Frees everything.
    Clear,
}

/// A free of pages that are taken, picked and cut up by `seed`.
#[derive(Debug, Clone)]
pub(crate) struct FreeTaken {
    /// Decides pages, order and cuts.
    pub(crate) seed: u64,
    /// How many pages, as far as there are any.
    pub(crate) page_count: usize,
    /// Neighbours rather than scattered pages.
    pub(crate) in_a_row: bool,
    /// In random order rather than ascending.
    pub(crate) shuffled: bool,
    /// As ranges rather than slots.
    pub(crate) as_ranges: bool,
    /// Replaces one slot (index modulo the slots) by another.
    pub(crate) spoil: Option<(usize, u64)>,
}

/// The rules, by sets.
struct Model {
    free: BTreeSet<u64>,
    page_count: u64,
    page_size: u64,
}

impl Model {
    fn new(page_count: u64, page_size: u64) -> Self {
        Self { free: (0..page_count).collect(), page_count, page_size }
    }

    fn size(&self) -> u64 {
        self.page_count * self.page_size
    }

    /// The free runs as (length, start), by address.
    fn free_runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &page in &self.free {
            match runs.last_mut() {
                Some((len, start)) if *start + *len == page => *len += 1,
                _ => runs.push((1, page)),
            }
        }
        runs
    }

    fn largest(&self) -> u64 {
        self.free_runs().iter().map(|run| run.0).max().unwrap_or(0)
    }

    /// The fewest runs that can hold `pages`, whatever the policy.
    fn fewest_runs(&self, pages: u64) -> usize {
        let mut lens: Vec<u64> = self.free_runs().iter().map(|run| run.0).collect();
        lens.sort_unstable_by(|a, b| b.cmp(a));
        let held = lens.iter().scan(0, |held, len| Some(std::mem::replace(held, *held + len)));
        held.take_while(|&held| held < pages).count()
    }

    fn allocate(&mut self, pages: u64) -> Result<Vec<PageRun>, SlotError> {
        let free_pages = self.free.len() as u64;
        if pages > free_pages {
            let largest_free_run_pages = self.largest();
            return Err(SlotError::Exhausted { requested_pages: pages, free_pages, largest_free_run_pages });
        }
        let (mut rest, mut runs) = (pages, Vec::new());
        while rest > 0 {
            let largest = self.largest();
            let need = rest.min(largest);
            let start = self.free_runs().into_iter().find(|run| run.0 >= need).unwrap().1;
            self.free.retain(|page| !(start..start + need).contains(page));
            runs.push(page_run(start, need));
            rest -= need;
        }
        runs.sort_unstable();
        Ok(runs)
    }

    fn free(&mut self, ranges: &[SlotRange]) -> Result<u64, SlotError> {
        let (size, page_size) = (self.size(), self.page_size);
        let len: u128 = ranges.iter().map(|range| u128::from(range.count)).sum();
        if !len.is_multiple_of(page_size.into()) {
            return Err(SlotError::NotWholePages { len: u64::try_from(len).unwrap_or(u64::MAX), page_size });
        }
        for range in ranges.iter().filter(|range| range.count > 0) {
            if u128::from(range.start) + u128::from(range.count) > u128::from(size) {
                return Err(SlotError::OutOfRange { slot: range.start.max(size), size });
            }
        }
        let mut given = BTreeMap::new();
        for slot in ranges.iter().flat_map(|range| range.start..range.start + range.count) {
            *given.entry(slot).or_insert(0) += 1;
        }
        let is_free = |slot: u64| self.free.contains(&(slot / page_size));
        let bad: Vec<u64> =
            given.iter().filter(|(slot, times)| **times > 1 || is_free(**slot)).map(|g| *g.0).collect();
        if !bad.is_empty() {
            let slots = bad.iter().copied().take(MAX_NAMED_SLOTS).collect();
            return Err(SlotError::DoubleFree { slots, count: bad.len() as u64 });
        }
        let whole =
            |slot: u64| (0..page_size).all(|at| given.contains_key(&(slot / page_size * page_size + at)));
        if let Some(&slot) = given.keys().find(|slot| !whole(**slot)) {
            return Err(SlotError::OffPageBoundary { slot });
        }
        self.free.extend(given.keys().map(|slot| slot / page_size));
        Ok(given.len() as u64)
    }

    /// The slots of a [`FreeTaken`], before they are cut into ranges.
    fn pick(&self, wish: &FreeTaken) -> Vec<u64> {
        let mut random = Random(wish.seed);
        let mut pages: Vec<u64> = (0..self.page_count).filter(|page| !self.free.contains(page)).collect();
        if wish.in_a_row && !pages.is_empty() {
            pages.drain(..random.below(pages.len()));
        } else {
            random.shuffle(&mut pages);
        }
        pages.truncate(wish.page_count);
        pages.sort_unstable();
        let mut slots: Vec<u64> =
            pages.iter().flat_map(|page| page * self.page_size..(page + 1) * self.page_size).collect();
        if let (Some((index, slot)), false) = (wish.spoil, slots.is_empty()) {
            let index = index % slots.len();
            slots[index] = slot;
        }
        if wish.shuffled {
            random.shuffle(&mut slots);
        }
        slots
    }
}

/// The real allocator and its model, always in the same state.
pub(crate) struct Pair {
    real: SlotAllocator,
    model: Model,
}

impl Pair {
    /// Both free.
    pub(crate) fn new(page_count: u64, page_size: u64) -> Self {
        Self {
            real: SlotAllocator::new(page_count, page_size).unwrap(),
            model: Model::new(page_count, page_size),
        }
    }

    /// Runs `step` on both; panics where they differ in the answer or in the state they are left in.
    pub(crate) fn apply(&mut self, step: &Step) {
        match step {
            Step::Allocate(pages) => self.allocate(*pages),
            Step::AllocateSlots(slots) => self.allocate_slots(*slots),
            Step::FreeSlots(slots) => self.free_slots(slots),
            Step::FreeRanges(ranges) => self.free_ranges(ranges),
            Step::FreeTaken(wish) => {
                let slots = self.model.pick(wish);
                match wish.as_ranges {
                    true => self.free_ranges(&cut(&slots, wish.seed)),
                    false => self.free_slots(&slots),
                }
            }
            Step::Clear => {
                self.real.clear();
                self.model = Model::new(self.model.page_count, self.model.page_size);
            }
        }
        self.check();
    }

    fn allocate(&mut self, pages: u64) {
        let fewest = self.model.fewest_runs(pages);
        let answer = self.real.allocate(pages);
        assert_eq!(answer, self.model.allocate(pages));
        assert!(answer.is_err() || answer.is_ok_and(|runs| runs.len() == fewest));
    }

    fn allocate_slots(&mut self, slots: u64) {
        let page_size = self.model.page_size;
        let answer = self.real.allocate_slots(slots);
        if !slots.is_multiple_of(page_size) {
            assert_eq!(answer, Err(SlotError::NotWholePages { len: slots, page_size }));
            return;
        }
        let runs = self.model.allocate(slots / page_size);
        let ranges = runs.map(|runs| runs.into_iter().map(|run| self.real.slots_of(run)).collect());
        assert_eq!(answer, ranges);
    }

    fn free_slots(&mut self, slots: &[u64]) {
        let ranges: Vec<_> = slots.iter().map(|&start| SlotRange { start, count: 1 }).collect();
        assert_eq!(self.real.free_slots(slots), self.model.free(&ranges));
    }

    fn free_ranges(&mut self, ranges: &[SlotRange]) {
        assert_eq!(self.real.free_ranges(ranges), self.model.free(ranges));
    }

    fn check(&self) {
        let (real, model) = (&self.real, &self.model);
        let free = model.free.len() as u64;
        assert_eq!((real.free_pages(), real.allocated_pages()), (free, model.page_count - free));
        assert_eq!(real.largest_free_run_pages(), model.largest());
        for slot in (0..model.size()).step_by(usize::try_from(model.page_size).unwrap()) {
            assert_eq!(
                real.is_allocated(slot),
                !model.free.contains(&(slot / model.page_size)),
                "slot {slot}"
            );
        }
    }
}

fn page_run(start: u64, count: u64) -> PageRun {
    PageRun { start_page: u32::try_from(start).unwrap(), page_count: u32::try_from(count).unwrap() }
}

/// `slots` as ranges of neighbours, some cut in two, some empty ones between.
fn cut(slots: &[u64], seed: u64) -> Vec<SlotRange> {
    let mut random = Random(!seed);
    let mut ranges: Vec<SlotRange> = Vec::new();
    for &slot in slots {
        match ranges.last_mut() {
            Some(last) if last.start.checked_add(last.count) == Some(slot) && random.below(8) > 0 => {
                last.count += 1;
            }
            _ => ranges.push(SlotRange { start: slot, count: u64::from(random.below(8) > 0) }),
        }
        if ranges.last().is_some_and(|last| last.count == 0) {
            ranges.push(SlotRange { start: slot, count: 1 });
        }
    }
    ranges
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn shuffle(&mut self, items: &mut [u64]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
