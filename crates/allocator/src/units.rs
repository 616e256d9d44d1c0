//! Quantities with their unit in the type. Arithmetic is checked: it answers `None` rather than wrap.

use std::fmt;

/// The largest whole number a JSON client can hold exactly: 2^53 - 1. No size, slot or byte count goes above it.
pub const MAX_COUNT: u64 = (1 << 53) - 1;

/// A quantity of memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `bytes` as a quantity.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `mebibytes` x 2^20; for constants.
    #[must_use]
    pub const fn mebibytes(mebibytes: u32) -> Self {
        Self((mebibytes as u64) << 20)
    }

    /// The plain number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, or `None` above `u64::MAX`.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The product, or `None` above `u64::MAX`.
    #[must_use]
    pub fn checked_mul(self, factor: u64) -> Option<Self> {
        self.0.checked_mul(factor).map(Self)
    }

    /// The sum, `u64::MAX` at most.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, zero at least.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, `u64::MAX` at most.
    #[must_use]
    pub fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// How many whole `unit`s fit in it; 0 when `unit` is zero.
    #[must_use]
    pub fn whole_units(self, unit: Self) -> u64 {
        self.0.checked_div(unit.0).unwrap_or(0)
    }

    /// How many `unit`s it takes to hold it: the division rounded up; 0 when `unit` is zero.
    #[must_use]
    pub fn units_to_hold(self, unit: Self) -> u64 {
        if unit.0 == 0 { 0 } else { self.0.div_ceil(unit.0) }
    }

    /// The next multiple of `unit`, itself when it is one; `None` above `u64::MAX` or for a zero `unit`.
    #[must_use]
    pub fn round_up(self, unit: Self) -> Option<Self> {
        self.0.checked_next_multiple_of(unit.0).map(Self)
    }

    /// The multiple of `unit` at or below it; zero when `unit` is zero.
    #[must_use]
    pub fn round_down(self, unit: Self) -> Self {
        Self(self.whole_units(unit).saturating_mul(unit.0))
    }

    /// `fraction` of it, rounded down. For fractions in [0, 1].
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction in [0, 1] of at most 2^53 bytes: exact to the byte, never negative"
    )]
    pub fn fraction(self, fraction: f64) -> Self {
        Self((self.0 as f64 * fraction) as u64)
    }

    /// Gigabytes of 10^9 bytes with two decimals, as the documented sentences print them.
    #[must_use]
    pub fn gigabytes(self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "the sentence shows two decimals of a GB")]
        let bytes = self.0 as f64;
        format!("{:.2}", bytes / 1e9)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Self::saturating_add)
    }
}

/// The machine's ordinary page: 4 KiB on x86-64; 4, 16 or 64 KiB on arm64.
#[must_use]
pub fn base_page() -> Bytes {
    Bytes(u64::try_from(rustix::param::page_size()).unwrap_or(4096))
}

/// Where memory may come from: any NUMA node, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumaNode {
    /// No binding; spelled -1 outside.
    Any,
    /// Strictly this node.
    Node(u32),
}

impl NumaNode {
    /// The outside spelling: -1 is any, 0 and above a node; anything below -1 is `None`.
    #[must_use]
    pub fn from_spelling(node: i32) -> Option<Self> {
        match node {
            -1 => Some(Self::Any),
            _ => u32::try_from(node).ok().map(Self::Node),
        }
    }

    /// -1, or the node's number.
    #[must_use]
    pub fn spelling(self) -> i64 {
        self.id().map_or(-1, i64::from)
    }

    /// The node bound to, `None` for any.
    #[must_use]
    pub fn id(self) -> Option<u32> {
        match self {
            Self::Any => None,
            Self::Node(id) => Some(id),
        }
    }
}

impl fmt::Display for NumaNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spelling().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_keeps_multiples_and_refuses_to_wrap() {
        let page = Bytes::new(4096);
        assert_eq!(Bytes::new(4096).round_up(page), Some(page));
        assert_eq!(Bytes::new(4097).round_up(page), Some(Bytes::new(8192)));
        assert_eq!(Bytes::new(u64::MAX).round_up(page), None);
        assert_eq!(Bytes::new(1).round_up(Bytes::ZERO), None);
    }

    #[test]
    fn gigabytes_are_decimal_with_two_places() {
        assert_eq!(Bytes::new(176_710_000_000).gigabytes(), "176.71");
        assert_eq!(Bytes::new(0).gigabytes(), "0.00");
    }

    #[test]
    fn a_node_is_spelled_as_minus_one_or_its_number() {
        assert_eq!(NumaNode::from_spelling(-1), Some(NumaNode::Any));
        assert_eq!(NumaNode::from_spelling(3), Some(NumaNode::Node(3)));
        assert_eq!(NumaNode::from_spelling(-2), None);
        assert_eq!(NumaNode::Node(3).spelling(), 3);
    }
}
