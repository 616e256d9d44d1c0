//! One bit a page over the whole pool, in leaves of 512.

use std::ops::Range;

use super::error::SlotError;
use super::leaf::{self, Found, LEAF_PAGES, LEAF_SHIFT, Leaf};
use super::range::PageRun;
use super::summary::Summary;

/// The pages of a pool, 1 = taken. The bits after the last page are taken for good, so no search ends there.
#[derive(Debug)]
pub(super) struct Bitmap {
    leaves: Vec<Leaf>,
    page_count: u32,
}

/// The leaves a run touches, by index, each with the pages meant, counted from the start of that leaf.
fn pieces(run: PageRun) -> impl Iterator<Item = (usize, Range<u32>)> {
    let (start, end) = (run.start_page, run.end_page());
    (start >> LEAF_SHIFT..end.div_ceil(LEAF_PAGES)).map(move |index| {
        let base = index << LEAF_SHIFT;
        (index as usize, start.saturating_sub(base)..end.saturating_sub(base).min(LEAF_PAGES))
    })
}

impl Bitmap {
    /// All free. The memory is asked for first (the error) and then taken as zero pages the kernel has not touched.
    ///
    /// std has no fallible zeroed allocation yet; between the question and the taking another thread could win.
    pub(super) fn new(page_count: u32) -> Result<Self, SlotError> {
        let leaf_count = page_count.div_ceil(LEAF_PAGES) as usize;
        Vec::<Leaf>::new()
            .try_reserve_exact(leaf_count)
            .map_err(|_| SlotError::BookkeepingUnavailable { page_count: page_count.into() })?;
        let mut bitmap = Self { leaves: vec![[0; 8]; leaf_count], page_count };
        bitmap.close_tail();
        Ok(bitmap)
    }

    fn close_tail(&mut self) {
        let used = self.page_count % LEAF_PAGES;
        if let Some(last) = self.leaves.last_mut().filter(|_| used > 0) {
            leaf::fill(last, used..LEAF_PAGES, true);
        }
    }

    /// Frees every page. Reads the summaries of all leaves, but writes only leaves that have a taken page.
    pub(super) fn clear(&mut self, summaries: &[Summary]) {
        for (leaf, summary) in self.leaves.iter_mut().zip(summaries) {
            if summary.longest < LEAF_PAGES {
                *leaf = [0; 8];
            }
        }
        self.close_tail();
    }

    /// Pages in the pool.
    pub(super) fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Marks the pages of `run` as taken or free, a word at a time.
    pub(super) fn fill(&mut self, run: PageRun, taken: bool) {
        for (index, range) in pieces(run) {
            if let Some(leaf) = self.leaves.get_mut(index) {
                leaf::fill(leaf, range, taken);
            }
        }
    }

    /// Whether every page of `run` is taken, a word at a time.
    pub(super) fn is_taken(&self, run: PageRun) -> bool {
        pieces(run)
            .all(|(index, range)| self.leaves.get(index).is_some_and(|leaf| leaf::is_taken(leaf, range)))
    }

    /// How many pages of `run` are free, a word at a time.
    pub(super) fn count_free(&self, run: PageRun) -> u32 {
        pieces(run).filter_map(|(index, range)| Some(leaf::count_free(self.leaves.get(index)?, range))).sum()
    }

    /// The free runs of leaf `index`; none for a leaf that does not exist.
    pub(super) fn summarize(&self, index: usize) -> Summary {
        self.leaves.get(index).map_or(Summary::FULL, leaf::summarize)
    }

    /// Searches the leaf of page `from` from there up; see [`leaf::find`].
    pub(super) fn find(&self, from: u32, need: u32, open: u32) -> Found {
        let index = from >> LEAF_SHIFT;
        match self.leaves.get(index as usize) {
            Some(leaf) => leaf::find(leaf, index << LEAF_SHIFT, from, need, open),
            None => Found::Open(0),
        }
    }
}
