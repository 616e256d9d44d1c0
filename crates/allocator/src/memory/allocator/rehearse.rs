//! Charging as an allocation would, without its mappings: what a start will come to.

use super::HostMemoryAllocator;
use crate::backing::Backing;
use crate::budget::{PendingCharge, Refusal};
use crate::memory::allocation_error::AllocationError;
use crate::memory::attempt::Attempt;
use crate::memory::ladder::make_on_ladder;
use crate::memory::quota::Permit;
use crate::memory::request::MemoryRequest;

/// What memory would hold beside its mappings; dropping it gives that back.
#[derive(Debug)]
pub struct Rehearsed {
    backing: Backing,
    _charge: PendingCharge,
    _permit: Permit,
}

impl Rehearsed {
    /// The wished backing, or the one that it would fall back to.
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.backing
    }
}

impl HostMemoryAllocator {
    /// Takes what [`allocate`](Self::allocate) takes of the ledger and of this process's mappings and descriptors, and maps
    /// nothing. Only where nobody else asks the same ledger: it would be told of charges that are none.
    ///
    /// # Errors
    /// As `allocate`, of which the kernel refuses nothing here.
    pub fn rehearse(&self, request: &MemoryRequest) -> Result<Rehearsed, AllocationError> {
        let host = self.read_admission()?;
        let wished = Attempt { host: &host, request, backing: request.wish.backing };
        make_on_ladder(&wished, |attempt| {
            let (charge, permit) = self.admit(attempt)?;
            Ok(Rehearsed { backing: attempt.backing, _charge: charge, _permit: permit })
        })
    }

    /// The backing that `request` would get now, by the figures of this moment. Nothing is charged, and nobody is told.
    ///
    /// # Errors
    /// As [`rehearse`](Self::rehearse), without closed budgets and this process's own limits.
    pub fn check(&self, request: &MemoryRequest) -> Result<Backing, AllocationError> {
        let host = self.read_admission()?;
        let wished = Attempt { host: &host, request, backing: request.wish.backing };
        make_on_ladder(&wished, |attempt| {
            let quote = self.ledger.quote(&attempt.demand()?)?;
            if quote.fits() {
                return Ok(attempt.backing);
            }
            Err(attempt.refused(Refusal::Exceeded(quote)))
        })
    }
}
