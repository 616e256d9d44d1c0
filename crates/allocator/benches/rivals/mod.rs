//! The slot allocator and its rivals behind one face.

use hostpool_allocator::slots::{SlotAllocator, SlotRange};

const PAGE_SIZE: u64 = 64;

/// A pool that takes pages and gives back what it took last.
pub(crate) trait Pages {
    /// Takes pages that are known to be free; returns in how many runs.
    fn take(&mut self, page_count: u32) -> usize;
    /// Gives back the last take.
    fn give_back(&mut self);
}

/// The slot allocator through the doors the pools use: slots, every check on.
pub(crate) struct Ours {
    slots: SlotAllocator,
    taken: Vec<SlotRange>,
}

impl Ours {
    pub(crate) fn new(pool_pages: u32, free: &[u32]) -> Self {
        let slots = SlotAllocator::new(pool_pages.into(), PAGE_SIZE);
        let mut ours =
            Self { slots: slots.unwrap_or_else(|error| unreachable!("{error}")), taken: Vec::new() };
        ours.take(pool_pages);
        let range = |&page| SlotRange { start: u64::from(page) * PAGE_SIZE, count: PAGE_SIZE };
        ours.taken = free.iter().map(range).collect();
        ours.give_back();
        ours
    }
}

impl Pages for Ours {
    fn take(&mut self, page_count: u32) -> usize {
        let ranges = self.slots.allocate_slots(u64::from(page_count) * PAGE_SIZE);
        self.taken = ranges.unwrap_or_else(|error| unreachable!("{error}"));
        self.taken.len()
    }

    fn give_back(&mut self) {
        let freed = self.slots.free_ranges(&self.taken);
        assert!(freed.is_ok(), "{freed:?}");
    }
}

/// A stack of free pages: the last one back is the next one out. Checks nothing, keeps nothing together.
pub(crate) struct FreeList {
    free: Vec<u32>,
    taken: Vec<u32>,
}

impl FreeList {
    pub(crate) fn new(free: &[u32]) -> Self {
        Self { free: free.iter().rev().copied().collect(), taken: Vec::new() }
    }
}

impl Pages for FreeList {
    fn take(&mut self, page_count: u32) -> usize {
        for _ in 0..page_count {
            self.taken.extend(self.free.pop());
        }
        runs(&self.taken)
    }

    fn give_back(&mut self) {
        while let Some(page) = self.taken.pop() {
            self.free.push(page);
        }
    }
}

/// A bit a page and a scan from the bottom: the first run that fits, else the lowest free pages. Checks nothing.
pub(crate) struct Bits {
    free: Vec<u64>,
    pool_pages: u32,
    taken: Vec<u32>,
}

impl Bits {
    pub(crate) fn new(pool_pages: u32, free: &[u32]) -> Self {
        let words = vec![0; pool_pages.div_ceil(u64::BITS) as usize];
        let mut bits = Self { free: words, pool_pages, taken: free.to_vec() };
        bits.give_back();
        bits
    }

    fn flip(&mut self, page: u32) {
        if let Some(word) = self.free.get_mut((page / u64::BITS) as usize) {
            *word ^= 1 << (page % u64::BITS);
        }
    }

    /// The first page at `from` or above that is free (or taken), a word at a time, at most `end`.
    fn next(&self, from: u32, end: u32, free: bool) -> u32 {
        let flip = if free { 0 } else { u64::MAX };
        let first = from / u64::BITS;
        let mut mask = u64::MAX << (from % u64::BITS);
        let words = self.free.get(first as usize..end.div_ceil(u64::BITS) as usize).unwrap_or_default();
        for (index, word) in (first..).zip(words) {
            let bits = (word ^ flip) & mask;
            if bits != 0 {
                return end.min(index * u64::BITS + bits.trailing_zeros());
            }
            mask = u64::MAX;
        }
        end
    }

    fn next_free(&self, from: u32) -> u32 {
        self.next(from, self.pool_pages, true)
    }

    fn first_fit(&self, page_count: u32) -> Option<u32> {
        let mut start = self.next_free(0);
        while start + page_count <= self.pool_pages {
            let end = self.next(start, start + page_count, false);
            if end == start + page_count {
                return Some(start);
            }
            start = self.next_free(end);
        }
        None
    }
}

impl Pages for Bits {
    fn take(&mut self, page_count: u32) -> usize {
        if let Some(start) = self.first_fit(page_count) {
            self.taken.extend(start..start + page_count);
        } else {
            let pages = std::iter::successors(Some(self.next_free(0)), |page| Some(self.next_free(page + 1)));
            let pages: Vec<u32> = pages.take(page_count as usize).collect();
            self.taken.extend(pages);
        }
        for at in 0..self.taken.len() {
            self.taken.get(at).copied().into_iter().for_each(|page| self.flip(page));
        }
        runs(&self.taken)
    }

    fn give_back(&mut self) {
        while let Some(page) = self.taken.pop() {
            self.flip(page);
        }
    }
}

fn runs(pages: &[u32]) -> usize {
    let breaks = pages.windows(2).filter(|pair| !matches!(pair, [low, high] if low + 1 == *high)).count();
    breaks + usize::from(!pages.is_empty())
}
