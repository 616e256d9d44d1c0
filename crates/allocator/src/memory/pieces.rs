//! Memory cut into pieces that several threads take in turn.

use std::ops::Range;

use super::sys::Region;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::units::Bytes;

/// What a thread takes at a time: large enough that a look at the machine a piece does not show, small enough to stop and
/// to report often.
const PIECE: usize = 64 << 20;

/// The pieces of several mappings of the same length, handed out once each: a part of a long mapping, or several short
/// mappings whole.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    regions: &'a [Region],
    cut: Cut,
    next: AtomicUsize,
    stopped: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    /// So many pieces of so many bytes (the last may be shorter) in each region.
    Within { pieces: usize, bytes: usize },
    /// So many whole regions a piece.
    Whole { regions: usize },
}

/// Parts of regions that belong to one piece.
pub(super) struct Piece<'a> {
    pub(super) regions: &'a [Region],
    /// The part of each of them.
    pub(super) range: Range<usize>,
}

impl<'a> Pieces<'a> {
    /// Of regions that consist of pages of `page` bytes.
    pub(super) fn of(regions: &'a [Region], page: Bytes) -> Self {
        let length = regions.first().map_or(0, Region::length);
        let bytes = PIECE.max(usize::try_from(page.get()).unwrap_or(PIECE));
        let cut = if length >= bytes {
            Cut::Within { pieces: length.div_ceil(bytes), bytes }
        } else {
            Cut::Whole { regions: bytes.checked_div(length).unwrap_or(1) }
        };
        Self { regions, cut, next: AtomicUsize::new(0), stopped: AtomicBool::new(false) }
    }

    /// The next piece; `None` when all are taken, or after [`stop`](Self::stop).
    pub(super) fn take(&self) -> Option<Piece<'a>> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let length = self.regions.first()?.length();
        match self.cut {
            Cut::Within { pieces, bytes } => {
                let (at, start) =
                    (index.checked_div(pieces)?, index.checked_rem(pieces)?.checked_mul(bytes)?);
                let regions = self.regions.get(at..at.checked_add(1)?)?;
                Some(Piece { regions, range: start..length.min(start.saturating_add(bytes)) })
            }
            Cut::Whole { regions } => {
                let first = index.checked_mul(regions)?;
                let last = first.saturating_add(regions).min(self.regions.len());
                let regions = self.regions.get(first..last).filter(|regions| !regions.is_empty())?;
                Some(Piece { regions, range: 0..length })
            }
        }
    }

    /// Hands out nothing any more.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

impl Piece<'_> {
    /// Bytes of it, in all its regions.
    pub(super) fn bytes(&self) -> Bytes {
        let each = Bytes::new(u64::try_from(self.range.len()).unwrap_or(u64::MAX));
        each.saturating_mul(u64::try_from(self.regions.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes::new(4096);

    fn regions(count: usize, length: usize) -> Vec<Region> {
        (0..count).map(|_| Region::anonymous(length, None).unwrap()).collect()
    }

    fn taken(regions: &[Region]) -> Vec<(usize, Range<usize>)> {
        let pieces = Pieces::of(regions, PAGE);
        std::iter::from_fn(|| pieces.take()).map(|piece| (piece.regions.len(), piece.range)).collect()
    }

    #[test]
    fn a_long_mapping_is_cut_and_its_last_piece_is_the_rest() {
        let length = PIECE + 4096;
        let each = [(1, 0..PIECE), (1, PIECE..length)];
        assert_eq!(taken(&regions(2, length)), [each.clone(), each].concat());
    }

    #[test]
    fn short_mappings_are_taken_together() {
        assert_eq!(taken(&regions(5, PIECE / 2)), [(2, 0..PIECE / 2), (2, 0..PIECE / 2), (1, 0..PIECE / 2)]);
        assert_eq!(taken(&[]), []);
    }

    #[test]
    fn nothing_is_handed_out_after_a_stop() {
        let regions = regions(3, PIECE);
        let pieces = Pieces::of(&regions, PAGE);
        assert_eq!(pieces.take().unwrap().bytes().get(), 64 << 20);
        pieces.stop();
        assert!(pieces.take().is_none());
    }
}
