//! The few shapes kernel text files share: lines, counts, `Key: 12 kB`.

use super::error::{ParseError, quote};

/// `kB` in kernel files means 1024 bytes (Documentation/filesystems/proc.rst, "meminfo").
const KIB: u64 = 1024;

/// The lines of a file without trailing blanks, empty ones left out. A carriage return is not a blank.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(trim_blanks).filter(|line| !line.is_empty())
}

fn trim_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

/// A file that holds one number, such as `nr_hugepages` or `memory.current`: decimal digits, then blanks.
///
/// # Errors
/// [`ParseError::NotANumber`] for anything but digits (signs too), [`ParseError::TooLarge`] from 2^64.
pub fn parse_count(text: &str) -> Result<u64, ParseError> {
    parse_digits(text.trim_end_matches([' ', '\t', '\n']))
}

/// Decimal digits and nothing else.
pub(super) fn parse_digits(text: &str) -> Result<u64, ParseError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::NotANumber { text: quote(text) });
    }
    text.parse().map_err(|_| ParseError::TooLarge { text: quote(text) })
}

/// The bytes of `<digits>kB`, blanks before the unit allowed. Refuses from 2^64 bytes.
pub(super) fn parse_kib(text: &str) -> Result<u64, ParseError> {
    let Some(digits) = text.strip_suffix("kB") else {
        return Err(ParseError::NotKib { text: quote(text) });
    };
    let kib = parse_digits(trim_blanks(digits))?;
    kib.checked_mul(KIB).ok_or_else(|| ParseError::TooLarge { text: quote(text) })
}

/// The bytes of the first line `<key>: <digits> kB`, or `None` where no line has that key. Other lines may be anything.
pub(super) fn kib_field<'a>(
    mut lines: impl Iterator<Item = &'a str>,
    key: &str,
) -> Result<Option<u64>, ParseError> {
    let value = lines.find_map(|line| line.split_once(':').filter(|(name, _)| *name == key));
    value.map(|(_, size)| parse_kib(size.trim_start_matches([' ', '\t']))).transpose()
}

/// `left + right`, or [`ParseError::TooLarge`] naming the right one.
pub(super) fn add(left: u64, right: u64) -> Result<u64, ParseError> {
    left.checked_add(right).ok_or_else(|| ParseError::TooLarge { text: right.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_digits_and_trailing_blanks() {
        assert_eq!(parse_count("12\n"), Ok(12));
        assert_eq!(parse_count("0 \t\n"), Ok(0));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn a_count_refuses_signs_words_carriage_returns_and_overflow() {
        for text in ["", "\n", "+1", "-1", "max", "1 2", "1\r\n", "0x10", "١"] {
            assert!(matches!(parse_count(text), Err(ParseError::NotANumber { .. })), "{text:?}");
        }
        assert!(matches!(parse_count("18446744073709551616"), Err(ParseError::TooLarge { .. })));
    }

    #[test]
    fn a_size_is_in_units_of_1024_bytes() {
        assert_eq!(parse_kib("3 kB"), Ok(3072));
        assert_eq!(parse_kib("2048kB"), Ok(2 << 20));
        assert!(matches!(parse_kib("3 MB"), Err(ParseError::NotKib { .. })));
        assert!(matches!(parse_kib("18014398509481984 kB"), Err(ParseError::TooLarge { .. })));
    }

    #[test]
    fn a_quoted_text_is_short() {
        let error = parse_count(&"x".repeat(1000)).unwrap_err();
        assert_eq!(error, ParseError::NotANumber { text: "x".repeat(40) });
    }
}
