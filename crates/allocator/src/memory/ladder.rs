//! From the backing wished down to ordinary pages: which rung a question is answered on.

use super::allocation_error::{AllocationError, is_hugepage_limit, is_hugepage_shortage};
use super::attempt::Attempt;
use crate::backing::Backing;
use crate::budget::Quote;
use crate::error::Error;

/// The rung on which making it would succeed or be refused, and what `quote` says there.
pub(super) fn quote_on_ladder(
    wished: &Attempt<'_>,
    quote: impl Fn(&Attempt<'_>) -> Result<Quote, AllocationError>,
) -> Result<(Backing, Quote), Error> {
    let first = quote(wished);
    let short = match &first {
        Ok(quote) => !quote.fits() && is_hugepage_limit(quote.limited_by),
        Err(error) => is_hugepage_shortage(error),
    };
    let (rung, quoted) =
        if short && wished.falls_back() { fall_back(wished, quote) } else { (wished.backing, first) };
    Ok((rung, quoted.map_err(AllocationError::into_argument)?))
}

/// Makes it on the backing wished, or on ordinary pages when hugepages are short and the wish allows that.
pub(super) fn make_on_ladder<T>(
    wished: &Attempt<'_>,
    make: impl Fn(&Attempt<'_>) -> Result<T, AllocationError>,
) -> Result<T, AllocationError> {
    match make(wished) {
        Err(error) if wished.falls_back() && is_hugepage_shortage(&error) => fall_back(wished, make).1,
        outcome => outcome,
    }
}

fn fall_back<T>(wished: &Attempt<'_>, attempt: impl Fn(&Attempt<'_>) -> T) -> (Backing, T) {
    let backing = wished.backing.on_ordinary_pages();
    (backing, attempt(&Attempt { backing, ..*wished }))
}
