//! The largest number that something holds for.

/// The largest number up to `most` that `holds` says yes to; 0 when there is none from 1 on. `holds` must say yes to every
/// number from 1 on that is below one it says yes to. Asks it at most 64 times.
pub(super) fn largest(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut unknown) = (0, most);
    while yes < unknown {
        let middle = yes + (unknown - yes).div_ceil(2);
        if holds(middle) {
            yes = middle;
        } else {
            unknown = middle - 1;
        }
    }
    yes
}

#[cfg(test)]
mod tests {
    use super::largest;
    use proptest::prelude::*;

    #[test]
    fn the_ends_are_found() {
        assert_eq!(largest(0, |_| true), 0);
        assert_eq!(largest(9, |_| true), 9);
        assert_eq!(largest(9, |_| false), 0);
        assert_eq!(largest(u64::MAX, |_| true), u64::MAX);
        assert_eq!(largest(u64::MAX, |n| n <= 1), 1);
    }

    proptest! {
        #[test]
        fn a_limit_between_is_found(most: u64, limit: u64) {
            prop_assert_eq!(largest(most, |n| n <= limit), limit.min(most));
        }
    }
}
