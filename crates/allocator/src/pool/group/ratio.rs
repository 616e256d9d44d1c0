//! How many pages a pool of a group has for each page of its anchor.

use crate::slots::MAX_PAGE_COUNT;

/// The smallest ratio; one this small makes a single page already.
const LEAST: f64 = 1e-9;

/// A ratio above 0, whole or not, kept as the decimal it is written as: 0.07 of 100 pages is 7, where the product of the
/// floating-point numbers is a little more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesPerAnchorPage {
    /// At most 2^28 and 17 digits.
    numerator: u128,
    /// A power of ten, at most 10^26.
    denominator: u128,
}

impl PagesPerAnchorPage {
    /// One page for each page of the anchor.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The shortest decimal that reads back as `ratio`; `None` below 10^-9, above 2^28, and for what is no number.
    #[must_use]
    pub fn from_decimal(ratio: f64) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "2^28 is exact")]
        let most = MAX_PAGE_COUNT as f64;
        if !(LEAST..=most).contains(&ratio) {
            return None;
        }
        let text = ratio.to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let numerator = format!("{whole}{decimals}").parse().ok()?;
        let denominator = 10_u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        Some(Self { numerator, denominator })
    }

    /// `anchor_pages` times the ratio, rounded up; `None` above `u64::MAX`.
    #[must_use]
    pub fn pages(self, anchor_pages: u64) -> Option<u64> {
        let product = u128::from(anchor_pages).checked_mul(self.numerator)?;
        u64::try_from(product.div_ceil(self.denominator)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(ratio: f64, anchor_pages: u64) -> u64 {
        PagesPerAnchorPage::from_decimal(ratio).unwrap().pages(anchor_pages).unwrap()
    }

    #[test]
    fn a_ratio_means_the_decimal_it_is_written_as() {
        assert_eq!(pages(0.07, 100), 7, "the product of the doubles is 7.000000000000001");
        assert_eq!(pages(0.1, 30), 3);
        assert_eq!(pages(0.1, 31), 4);
        assert_eq!(pages(1.5, 3), 5);
        assert_eq!(pages(1.0 / 3.0, 3), 1);
        assert_eq!(pages(1e-9, 1), 1);
        assert_eq!(pages(0.000_000_001_234_567_890_123_456, MAX_PAGE_COUNT), 1);
    }

    #[test]
    fn what_is_no_ratio_is_refused() {
        for ratio in [0.0, -0.0, -1.0, 1e-10, f64::MIN_POSITIVE, 268_435_457.0, f64::INFINITY, f64::NAN] {
            assert_eq!(PagesPerAnchorPage::from_decimal(ratio), None, "{ratio}");
        }
    }

    proptest! {
        #[test]
        fn whole_ratios_are_exact(ratio in 1..=1_u32 << 28, anchor_pages in 0..=MAX_PAGE_COUNT) {
            prop_assert_eq!(pages(f64::from(ratio), anchor_pages), u64::from(ratio) * anchor_pages);
        }

        #[test]
        fn hundredths_are_exact(hundredths in 1..1_000_000_u32, anchor_pages in 0..=MAX_PAGE_COUNT) {
            let ratio = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            prop_assert_eq!(pages(ratio, anchor_pages), (u64::from(hundredths) * anchor_pages).div_ceil(100));
        }

        #[test]
        fn more_anchor_pages_never_need_fewer(ratio in 1e-9..1e8_f64, anchor_pages in 1..MAX_PAGE_COUNT) {
            prop_assert!(pages(ratio, anchor_pages) >= 1);
            prop_assert!(pages(ratio, anchor_pages) <= pages(ratio, anchor_pages + 1));
        }
    }
}
