//! Where pages landed: asked of the kernel, not assumed.

use std::collections::BTreeMap;

use super::sys::Region;
use crate::units::Bytes;

/// Larger memory is sampled at this many pages, one in each of as many even stretches; smaller memory is asked page by page.
const MAX_SAMPLES: usize = 4096;

/// Bytes on one NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBytes {
    /// The node.
    pub node: u32,
    /// Bytes there.
    pub bytes: Bytes,
}

/// Which nodes hold `regions`, whose pages must all be there (asking faults in those that are not). Adds up to what
/// is mapped. `None` where the kernel does not tell: a seccomp profile without CAP_SYS_NICE, or no NUMA support.
pub(super) fn bytes_by_node(regions: &[Region], page: Bytes) -> Option<Vec<NodeBytes>> {
    let page = usize::try_from(page.get()).ok()?;
    let pages: usize = regions.iter().map(|region| region.length() / page).sum();
    let step = pages.div_ceil(MAX_SAMPLES).max(1);
    let mut samples = BTreeMap::<u32, u64>::new();
    for (nth, start) in (0..pages).step_by(step).enumerate() {
        let index = pages.min(start.saturating_add(step)).saturating_sub(1).min(start + spread(nth, step));
        *samples.entry(node_of(regions, page, index)?).or_default() += 1;
    }
    let total = u64::try_from(pages.checked_mul(page)?).ok()?;
    Some(shares(&samples, total))
}

/// Which page of the `nth` stretch of `step` pages is asked: another one in each, or pages that take turns between nodes
/// would all be found on one.
fn spread(nth: usize, step: usize) -> usize {
    /// 2^32 divided by the golden ratio: multiples of it are spread evenly.
    const GOLDEN: usize = 0x9E37_79B9;
    (nth.wrapping_mul(GOLDEN) >> 16) % step
}

/// The node of the `index`-th page of all regions, which have the same length.
fn node_of(regions: &[Region], page: usize, index: usize) -> Option<u32> {
    let per_region = regions.first()?.length() / page;
    let region = regions.get(index.checked_div(per_region)?)?;
    region.node_at(index.checked_rem(per_region)?.checked_mul(page)?).ok()
}

/// `total` split like the samples; what rounding leaves goes to the last node.
fn shares(samples: &BTreeMap<u32, u64>, total: u64) -> Vec<NodeBytes> {
    let count: u128 = samples.values().map(|seen| u128::from(*seen)).sum();
    let mut seen_so_far = 0_u128;
    let mut given = 0;
    samples
        .iter()
        .map(|(node, seen)| {
            seen_so_far += u128::from(*seen);
            let up_to = u64::try_from(u128::from(total) * seen_so_far / count.max(1)).unwrap_or(total);
            let bytes = Bytes::new(up_to - given);
            given = up_to;
            NodeBytes { node: *node, bytes }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_total() {
        let shares = shares(&BTreeMap::from([(0, 1), (1, 2)]), 100);
        assert_eq!(
            shares,
            [NodeBytes { node: 0, bytes: Bytes::new(33) }, NodeBytes { node: 1, bytes: Bytes::new(67) }]
        );
    }

    #[test]
    fn samples_are_spread_over_pages_that_take_turns() {
        let odd = (0..MAX_SAMPLES).filter(|nth| (nth * 64 + spread(*nth, 64)) % 2 == 1).count();
        assert!((MAX_SAMPLES * 45 / 100..MAX_SAMPLES * 55 / 100).contains(&odd), "{odd}");
    }

    #[test]
    fn no_samples_are_no_shares() {
        assert_eq!(shares(&BTreeMap::new(), 0), []);
    }
}
