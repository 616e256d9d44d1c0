//! The kernel's list format: `0-3,8` (Documentation/admin-guide/cputopology.rst, `%*pbl`).

use std::fmt;

use super::error::{ParseError, quote};
use super::text::parse_digits;

/// The largest id a list may name. Kernels are built for at most 8192 CPUs and 1024 nodes; a list that names more is
/// not one, and walking it would take for ever.
const MAX_ID: u64 = 65_535;

/// Ids of CPUs or nodes: ascending ranges that neither overlap nor touch. Shown in the kernel's own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdList {
    ranges: Vec<(u32, u32)>,
}

impl IdList {
    /// The ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(first, last)| first..=last)
    }

    /// Whether `id` is in the list.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&id))
    }

    /// Whether the list names nothing, as for the CPUs of a node that has only memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Sorts the ranges and joins those that overlap or touch.
    fn from_ranges(mut unsorted: Vec<(u32, u32)>) -> Self {
        unsorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (first, last) in unsorted {
            match ranges.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }
}

impl FromIterator<u32> for IdList {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        Self::from_ranges(ids.into_iter().map(|id| (id, id)).collect())
    }
}

impl fmt::Display for IdList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.ranges.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            write!(f, "{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

/// Reads a list such as `/sys/devices/system/node/online` or a node's `cpulist`. An empty text is an empty list;
/// order and overlaps do not matter.
///
/// # Errors
/// [`ParseError::NotARange`] for a range that runs backwards, [`ParseError::NotANumber`] for any other shape (strides
/// such as `0-31:1/2` are an input form the kernel never prints), [`ParseError::TooLarge`] for an id above 65535.
pub fn parse_id_list(text: &str) -> Result<IdList, ParseError> {
    let text = text.trim_end_matches([' ', '\t', '\n']);
    if text.is_empty() {
        return Ok(IdList::default());
    }
    let ranges: Result<Vec<_>, _> = text.split(',').map(parse_range).collect();
    ranges.map(IdList::from_ranges)
}

fn parse_range(text: &str) -> Result<(u32, u32), ParseError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (parse_id(first)?, parse_id(last)?);
    if first > last {
        return Err(ParseError::NotARange { text: quote(text) });
    }
    Ok((first, last))
}

fn parse_id(text: &str) -> Result<u32, ParseError> {
    let id = parse_digits(text)?;
    let too_large = || ParseError::TooLarge { text: quote(text) };
    u32::try_from(id).ok().filter(|_| id <= MAX_ID).ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(text: &str) -> Vec<u32> {
        parse_id_list(text).unwrap().iter().collect()
    }

    #[test]
    fn lists_hold_ids_and_ranges() {
        assert_eq!(ids("0\n"), [0]);
        assert_eq!(ids("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(ids("8,0-2,1-3\n"), [0, 1, 2, 3, 8]);
        assert!(parse_id_list("\n").unwrap().is_empty());
    }

    #[test]
    fn touching_ranges_are_shown_as_one() {
        assert_eq!(parse_id_list("0-1,2,4-5").unwrap().to_string(), "0-2,4-5");
    }

    #[test]
    fn other_shapes_are_refused() {
        for text in
            ["-", "1-", "-1", "3-1", "0,,1", "0,", "a", "0-31:1/2", "1 2", "0-1-2", "65536", "0-4294967295"]
        {
            assert!(parse_id_list(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_list_reads_back_as_itself(set in prop::collection::btree_set(0_u32..300, 0..60)) {
            let list: IdList = set.iter().copied().collect();
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
            prop_assert!(set.iter().all(|&id| list.contains(id)));
            prop_assert_eq!(parse_id_list(&list.to_string()), Ok(list));
        }

        #[test]
        fn any_text_is_a_list_or_an_error(text in "[0-9,\\- \n]{0,40}") {
            if let Ok(list) = parse_id_list(&text) {
                prop_assert_eq!(parse_id_list(&list.to_string()), Ok(list));
            }
        }
    }
}
