//! Memory pressure (Documentation/accounting/psi.rst).

use std::io;

use super::error::{HostError, ParseError, quote};
use super::root::HostReader;
use super::text::lines;

/// Share of the last ten seconds that was lost waiting for memory, in percent (0 to 100).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPressure {
    /// At least one task waited.
    pub some_avg10: f64,
    /// All tasks that could have run waited at once.
    pub full_avg10: f64,
}

impl MemoryPressure {
    /// `None` where the kernel has no pressure figures: no file, or one that it refuses to read because pressure
    /// tracking is off (`psi=0`).
    pub(super) fn read(reader: &mut HostReader) -> Result<Option<Self>, HostError> {
        match reader.read(&["proc/pressure/memory"], parse_pressure) {
            Err(HostError::Io { source, .. }) if is_off(&source) => Ok(None),
            answer => answer,
        }
    }
}

fn is_off(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL))
}

/// Reads the text of `/proc/pressure/memory`: `some avg10=0.00 avg60=… total=…`, then the same for `full`.
///
/// # Errors
/// [`ParseError::MissingField`] without one of the two, [`ParseError::NotANumber`] for a figure that is not a plain
/// decimal from 0 to 100.
pub fn parse_pressure(text: &str) -> Result<MemoryPressure, ParseError> {
    Ok(MemoryPressure { some_avg10: avg10(text, "some")?, full_avg10: avg10(text, "full")? })
}

fn avg10(text: &str, kind: &'static str) -> Result<f64, ParseError> {
    let words = lines(text).map(|line| line.split(' ')).find_map(|mut words| {
        let first = words.next();
        (first == Some(kind)).then_some(words)
    });
    let share = words.and_then(|mut words| words.find_map(|word| word.strip_prefix("avg10=")));
    parse_percent(share.ok_or(ParseError::MissingField { field: kind })?)
}

/// `f64`'s own parser also takes `inf`, `NaN`, signs and exponents, which the kernel never writes.
fn parse_percent(text: &str) -> Result<f64, ParseError> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = text.parse::<f64>().ok().filter(|percent| is_plain && *percent <= 100.0);
    value.ok_or_else(|| ParseError::NotANumber { text: quote(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shares_are_read() {
        let text = "some avg10=1.53 avg60=0.87 avg300=0.02 total=4\nfull avg10=0.25 avg60=0.00 total=1\n";
        assert_eq!(parse_pressure(text), Ok(MemoryPressure { some_avg10: 1.53, full_avg10: 0.25 }));
    }

    #[test]
    fn a_missing_share_is_named() {
        let text = "some avg10=0.00\n";
        assert_eq!(parse_pressure(text), Err(ParseError::MissingField { field: "full" }));
        assert_eq!(parse_pressure("something avg10=1\n"), Err(ParseError::MissingField { field: "some" }));
    }

    #[test]
    fn only_plain_percentages_are_taken() {
        for value in ["NaN", "inf", "-1", "+1", "1e1", "100.01", "", ".", "1.2.3"] {
            let text = format!("some avg10={value}\nfull avg10=0.00\n");
            assert!(matches!(parse_pressure(&text), Err(ParseError::NotANumber { .. })), "{value}");
        }
    }

    #[test]
    fn switched_off_is_told_from_broken() {
        assert!(is_off(&io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
        assert!(is_off(&io::Error::from_raw_os_error(libc::EINVAL)));
        assert!(!is_off(&io::Error::from_raw_os_error(libc::EACCES)));
    }
}
