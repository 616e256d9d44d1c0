//! Counts between Rust and JS: whole numbers from 0 to 2^53 - 1, or an INVALID_ARGUMENT that names the field.

use crate::error::Error;
use crate::units::{Bytes, MAX_COUNT};

/// The whole number that `value` is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked to be whole and from 0 to 2^53 - 1, where f64 is exact"
)]
pub(super) fn count(field: &'static str, value: f64) -> Result<u64, Error> {
    if value.fract() == 0.0 && (0.0..=MAX_COUNT as f64).contains(&value) {
        return Ok(value as u64);
    }
    Err(Error::invalid(field, format!("must be a whole number from 0 to {MAX_COUNT}, got {}", shown(value))))
}

/// The number in a sentence: 1e308 and not three hundred digits.
fn shown(value: f64) -> String {
    if value.abs() < 1e21 { value.to_string() } else { format!("{value:e}") }
}

/// The quantity that `value` is.
pub(super) fn bytes(field: &'static str, value: f64) -> Result<Bytes, Error> {
    count(field, value).map(Bytes::new)
}

/// The 32-bit whole number that `value` is; `most` is its bound.
pub(super) fn small(field: &'static str, value: f64, most: u32) -> Result<u32, Error> {
    let small = count(field, value).ok().and_then(|value| u32::try_from(value).ok());
    small.filter(|small| *small <= most).ok_or_else(|| {
        Error::invalid(field, format!("must be a whole number from 0 to {most}, got {}", shown(value)))
    })
}

/// A count as JS holds it. What the core answers is at most 2^53 - 1; a figure of the host above that (no machine
/// has it) is shown as 2^53 - 1.
#[expect(clippy::cast_precision_loss, reason = "at most 2^53 - 1, where f64 is exact")]
pub(super) fn js(value: u64) -> f64 {
    value.min(MAX_COUNT) as f64
}

/// A quantity as JS holds it.
pub(super) fn js_bytes(value: Bytes) -> f64 {
    js(value.get())
}

/// A moment as JS dates count it: milliseconds since 1970.
pub(super) fn js_time(time: std::time::SystemTime) -> f64 {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    js(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
