//! `/proc/meminfo`: how much memory the machine has, and how much of it a new user could get.

use super::error::{HostError, ParseError};
use super::root::HostReader;
use super::text::{add, kib_field, lines};

/// The two figures of `/proc/meminfo` that decide, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemInfo {
    /// `MemTotal`: usable RAM. Hugepage pools are part of it.
    pub mem_total_bytes: u64,
    /// `MemAvailable`: what can be had without swapping. Hugepage pools are not part of it.
    pub mem_available_bytes: u64,
    /// The kernel gave no `MemAvailable`, so it was worked out from other lines.
    pub available_is_estimated: bool,
}

impl MemInfo {
    pub(super) fn read(reader: &mut HostReader) -> Result<Self, HostError> {
        reader.require(&["proc/meminfo"], parse_meminfo)
    }
}

/// Reads the text of `/proc/meminfo` (Documentation/filesystems/proc.rst, "meminfo").
///
/// `MemAvailable` came with Linux 3.14 and some containers' meminfo lacks it. Then `MemFree + Buffers + Cached - Shmem`
/// stands in (tmpfs pages are counted in `Cached` but cannot be dropped), at most `MemTotal`; of these only `MemFree`
/// must be present.
///
/// # Errors
/// [`ParseError::MissingField`] without `MemTotal`, or without both `MemAvailable` and `MemFree`;
/// [`ParseError::NotKib`], [`ParseError::NotANumber`] or [`ParseError::TooLarge`] for a line that is used.
pub fn parse_meminfo(text: &str) -> Result<MemInfo, ParseError> {
    let field = |key| kib_field(lines(text), key);
    let mem_total_bytes = field("MemTotal")?.ok_or(ParseError::MissingField { field: "MemTotal" })?;
    let told = field("MemAvailable")?;
    let mem_available_bytes = match told {
        Some(bytes) => bytes,
        None => estimate_available(text)?.min(mem_total_bytes),
    };
    Ok(MemInfo { mem_total_bytes, mem_available_bytes, available_is_estimated: told.is_none() })
}

fn estimate_available(text: &str) -> Result<u64, ParseError> {
    let field = |key| kib_field(lines(text), key);
    let free = field("MemFree")?.ok_or(ParseError::MissingField { field: "MemAvailable" })?;
    let cached = add(field("Buffers")?.unwrap_or(0), field("Cached")?.unwrap_or(0))?;
    add(free, cached.saturating_sub(field("Shmem")?.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_figure_is_used_where_it_is_given() {
        let text = "MemTotal:  100 kB\nMemFree:  10 kB\nMemAvailable:  60 kB \nHugePages_Total:  3\n";
        let expected =
            MemInfo { mem_total_bytes: 102_400, mem_available_bytes: 61_440, available_is_estimated: false };
        assert_eq!(parse_meminfo(text), Ok(expected));
    }

    #[test]
    fn without_it_droppable_cache_counts_but_tmpfs_does_not() {
        let text = "MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 5 kB\nCached: 40 kB\nShmem: 15 kB\n";
        let info = parse_meminfo(text).unwrap();
        assert_eq!((info.mem_available_bytes, info.available_is_estimated), (40 * 1024, true));
    }

    #[test]
    fn the_estimate_never_passes_the_total() {
        let info = parse_meminfo("MemTotal: 10 kB\nMemFree: 9 kB\nCached: 9 kB\n").unwrap();
        assert_eq!(info.mem_available_bytes, 10 * 1024);
    }

    #[test]
    fn a_missing_field_is_named() {
        assert_eq!(parse_meminfo(""), Err(ParseError::MissingField { field: "MemTotal" }));
        assert_eq!(
            parse_meminfo("MemTotal: 1 kB\n"),
            Err(ParseError::MissingField { field: "MemAvailable" })
        );
    }

    #[test]
    fn absurd_figures_are_errors_not_panics() {
        let absurd = format!("MemTotal: 1{} kB\n", "0".repeat(30));
        assert!(matches!(parse_meminfo(&absurd), Err(ParseError::TooLarge { .. })));
        let sum = "MemTotal: 1 kB\nMemFree: 18014398509481983 kB\nCached: 1 kB\n";
        assert!(matches!(parse_meminfo(sum), Err(ParseError::TooLarge { .. })));
        for text in ["MemTotal: -1 kB", "MemTotal: kB", "MemTotal: 1", "MemTotal:", "MemTotal: 1 kB\r\n"] {
            assert!(parse_meminfo(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_malformed_line_that_is_not_used_does_no_harm() {
        assert!(parse_meminfo("junk\nFuture: ?\nMemTotal: 1 kB\nMemAvailable: 1 kB\nMemFree: x\n").is_ok());
    }
}
