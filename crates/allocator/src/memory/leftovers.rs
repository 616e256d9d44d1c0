//! Address space that the kernel would not take back yet: in a process that has as many mappings as it may have
//! (vm.max_map_count), the middle of one cannot be unmapped. Its pages are given back already; the addresses follow as soon
//! as a mapping beside it is gone, or any other.

use super::sys::Region;
use crate::sync::{Mutex, lock, process_wide};
use crate::units::Bytes;

process_wide! {
    static LEFT: Mutex<Vec<Region>> = Mutex::new(Vec::new());
}

/// Addresses that no memory is behind any more, and that could not be unmapped yet.
#[must_use]
pub fn unreturned_bytes() -> Bytes {
    let bytes: usize = lock(&LEFT).iter().map(Region::length).sum();
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

pub(super) fn keep(region: Region) {
    lock(&LEFT).push(region);
}

/// Tries to unmap what is left: again after each success, which may have been beside another.
pub(super) fn unmap() {
    let mut left = lock(&LEFT);
    let mut before = usize::MAX;
    while left.len() < before {
        before = left.len();
        left.retain_mut(|region| !region.is_unmapped_now());
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure_tests::own_process::in_its_own_process;
    use crate::memory::sys::sealed_memfd;

    const MIB: usize = 1 << 20;
    const PAGE: usize = 4096;
    /// More than there can be by default; a larger vm.max_map_count is not filled up.
    const MOST_MAPPINGS: usize = 70_000;

    fn neighbours() -> [Region; 3] {
        [(); 3].map(|()| {
            let region = Region::anonymous(16 * MIB, None).unwrap();
            region.populate(0..16 * MIB).unwrap();
            region
        })
    }

    /// Mappings that do not merge, until the kernel grants no more.
    fn fill_up() -> Option<Vec<Region>> {
        let file = sealed_memfd(1 << 12, None).unwrap();
        let mut mappings = Vec::with_capacity(MOST_MAPPINGS);
        while mappings.len() < MOST_MAPPINGS {
            let Ok(mapping) = Region::of_file(&file, 0, PAGE, None) else { return Some(mappings) };
            mappings.push(mapping);
        }
        println!("SKIPPED: vm.max_map_count is above {MOST_MAPPINGS} here");
        None
    }

    fn resident_pages() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn what_cannot_be_unmapped_yet_has_no_pages_and_is_unmapped_later() {
        in_its_own_process(
            module_path!(),
            "what_cannot_be_unmapped_yet_has_no_pages_and_is_unmapped_later",
            || {
                let [above, middle, below] = neighbours();
                let Some(mut mappings) = fill_up() else { return };
                let resident = resident_pages();
                drop(middle);
                assert_eq!(unreturned_bytes(), Bytes::mebibytes(16));
                assert!(resident - resident_pages() > 12 * MIB / PAGE);
                mappings.truncate(mappings.len() - 8);
                assert_eq!(unreturned_bytes(), Bytes::ZERO);
                drop((above, below));
                drop(mappings);
            },
        );
    }

    #[test]
    fn the_last_of_merged_neighbours_takes_the_others_with_it() {
        in_its_own_process(module_path!(), "the_last_of_merged_neighbours_takes_the_others_with_it", || {
            let [above, middle, below] = neighbours();
            let Some(mappings) = fill_up() else { return };
            drop(middle);
            assert_eq!(unreturned_bytes(), Bytes::mebibytes(16));
            drop(below);
            assert_eq!(unreturned_bytes(), Bytes::ZERO);
            drop(above);
            drop(mappings);
        });
    }
}
