//! The summaries over a bitmap, eight to one, up to a root; and the search through them.

use super::bitmap::Bitmap;
use super::error::SlotError;
use super::leaf::{Found, LEAF_PAGES, LEAF_SHIFT};
use super::range::PageRun;
use super::summary::Summary;

/// log2 of how many summaries one above gathers.
const FAN_SHIFT: u32 = 3;
const FAN: usize = 1 << FAN_SHIFT;

/// Level 0 has a summary per leaf, the last level one root. About 0.22 bits a page.
#[derive(Debug)]
pub(super) struct Tree {
    levels: Vec<Vec<Summary>>,
}

/// log2 of the pages under one summary of `level`.
fn shift(level: usize) -> u32 {
    level.try_into().map_or(LEAF_SHIFT, |level: u32| LEAF_SHIFT + level * FAN_SHIFT)
}

/// Recomputes the summaries over `runs` (ascending), each once; returns whether any changed.
fn refresh_level(
    nodes: &mut [Summary],
    shift: u32,
    runs: &[PageRun],
    summarize: impl Fn(usize) -> Summary,
) -> bool {
    let (mut next, mut changed) = (0, false);
    for run in runs {
        let last = (run.end_page().saturating_sub(1) >> shift) as usize;
        let first = (run.start_page >> shift) as usize;
        for index in first.max(next)..=last {
            if let Some(node) = nodes.get_mut(index) {
                let fresh = summarize(index);
                changed |= *node != fresh;
                *node = fresh;
            }
        }
        next = last + 1;
    }
    changed
}

/// The summaries below `index`, at most [`FAN`].
fn children(below: &[Summary], index: usize) -> &[Summary] {
    let first = (index * FAN).min(below.len());
    below.get(first..below.len().min(first + FAN)).unwrap_or_default()
}

impl Tree {
    /// The tree over `bitmap`, in time proportional to the pool; the error if there is no memory for it.
    pub(super) fn new(bitmap: &Bitmap) -> Result<Self, SlotError> {
        let unavailable = |_| SlotError::BookkeepingUnavailable { page_count: bitmap.page_count().into() };
        let mut levels = Vec::new();
        let mut node_count = bitmap.page_count().div_ceil(LEAF_PAGES) as usize;
        loop {
            let mut nodes = Vec::new();
            nodes.try_reserve_exact(node_count).map_err(unavailable)?;
            nodes.resize(node_count, Summary::FULL);
            levels.push(nodes);
            if node_count <= 1 {
                break;
            }
            node_count = node_count.div_ceil(FAN);
        }
        let mut tree = Self { levels };
        tree.reset(bitmap.page_count());
        Ok(tree)
    }

    /// Makes every summary that of a free pool.
    pub(super) fn reset(&mut self, page_count: u32) {
        for (level, nodes) in self.levels.iter_mut().enumerate() {
            for (index, node) in (0u32..).zip(nodes) {
                let pages = page_count.saturating_sub(index << shift(level)).min(1 << shift(level));
                let end = if pages == 1 << shift(level) { pages } else { 0 };
                *node = Summary { start: pages, longest: pages, end };
            }
        }
    }

    /// A summary per leaf.
    pub(super) fn leaves(&self) -> &[Summary] {
        self.levels.first().map_or(&[], Vec::as_slice)
    }

    /// Pages in the longest free run: the root says.
    pub(super) fn longest(&self) -> u32 {
        self.levels.last().and_then(|root| root.first()).map_or(0, |root| root.longest)
    }

    /// Brings the summaries over `runs` (ascending) up to date with `bitmap`; stops where none changes.
    pub(super) fn refresh(&mut self, bitmap: &Bitmap, runs: &[PageRun]) {
        let mut levels = self.levels.iter_mut();
        let Some(mut below) = levels.next() else { return };
        let mut changed = refresh_level(below, LEAF_SHIFT, runs, |index| bitmap.summarize(index));
        for (level, nodes) in (1..).zip(levels) {
            if !changed {
                return;
            }
            let child_pages = 1 << shift(level - 1);
            changed = refresh_level(nodes, shift(level), runs, |index| {
                Summary::join(children(below, index), child_pages)
            });
            below = nodes;
        }
    }

    /// The lowest free run of `need` pages (at least one) that starts at page `from` or above.
    ///
    /// Only summaries of stretches wholly at or above `from` are read: those below may be out of date.
    pub(super) fn find(&self, bitmap: &Bitmap, from: u32, need: u32) -> Option<u32> {
        let (mut page, mut open, mut level) = (from, 0, 0);
        if page % LEAF_PAGES != 0 {
            match bitmap.find(page, need, open) {
                Found::At(start) => return Some(start),
                Found::Open(free) => open = free,
            }
            page = page.next_multiple_of(LEAF_PAGES);
        }
        while page < bitmap.page_count() {
            level = self.highest_level_at(page, level);
            loop {
                let node = self.levels.get(level)?.get((page >> shift(level)) as usize)?;
                if open + node.start >= need {
                    return Some(page.saturating_sub(open));
                }
                if node.longest < need {
                    let pages = 1 << shift(level);
                    open = if node.start == pages { open + pages } else { node.end };
                    page += pages;
                    break;
                }
                let Some(down) = level.checked_sub(1) else {
                    return match bitmap.find(page, need, open) {
                        Found::At(start) => Some(start),
                        Found::Open(_) => None,
                    };
                };
                level = down;
            }
        }
        None
    }

    /// The highest level at or above `level` whose stretch begins at `page`.
    fn highest_level_at(&self, page: u32, mut level: usize) -> usize {
        while level + 1 < self.levels.len() && page.trailing_zeros() >= shift(level + 1) {
            level += 1;
        }
        level
    }
}
