//! The free runs of a stretch of pages in three numbers.

/// Free pages at the start, in the longest run, and at the end of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) start: u32,
    pub(super) longest: u32,
    pub(super) end: u32,
}

impl Summary {
    /// Nothing free; also what a missing stretch counts as.
    pub(super) const FULL: Self = Self { start: 0, longest: 0, end: 0 };

    /// The summary of stretches side by side, each of `child_pages` pages.
    pub(super) fn join(children: &[Self], child_pages: u32) -> Self {
        let (mut start, mut longest, mut end, mut broken) = (0, 0, 0, false);
        for child in children {
            longest = child.longest.max(longest).max(end + child.start);
            if !broken {
                start += child.start;
            }
            let whole = child.start == child_pages;
            broken |= !whole;
            end = if whole { end + child_pages } else { child.end };
        }
        Self { start, longest, end }
    }
}
