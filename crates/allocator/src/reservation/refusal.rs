//! What is not reserved, and why.

use std::time::Duration;

use super::record::ReservationSpec;
use crate::budget::{Demand, Refusal};
use crate::error::{BudgetExceeded, Error};
use crate::units::Bytes;

/// The longest time to live: a year.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

pub(super) fn check(spec: &ReservationSpec) -> Result<(), Error> {
    if spec.demand.mapped == Bytes::ZERO {
        return Err(Error::invalid("bytes", "must be at least 1"));
    }
    check_ttl(spec.ttl)
}

pub(super) fn check_ttl(ttl: Option<Duration>) -> Result<(), Error> {
    match ttl {
        Some(ttl) if ttl.is_zero() || ttl > MAX_TTL => {
            let reason = format!("must be 1 to {}", MAX_TTL.as_secs());
            Err(Error::invalid("ttl_seconds", reason))
        }
        _ => Ok(()),
    }
}

pub(super) fn no_process(pid: Option<u32>, errno: rustix::io::Errno) -> Error {
    let reason = format!("must be a process that can be watched: {} ({errno})", pid.unwrap_or_default());
    Error::invalid("pid", reason)
}

pub(super) fn refused(refusal: Refusal, demand: &Demand) -> Error {
    match refusal {
        Refusal::AdmissionClosed(budget) => Error::BudgetAdmissionClosed { budget },
        Refusal::Other(error) => error,
        Refusal::Exceeded(quote) => Error::BudgetExceeded(Box::new(BudgetExceeded {
            field: "bytes",
            budget: demand.budget.clone(),
            requested: quote.mapped,
            available: quote.available,
            limited_by: quote.limited_by,
            rank: demand.rank,
        })),
    }
}
