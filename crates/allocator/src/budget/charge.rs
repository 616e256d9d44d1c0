//! What a granted demand holds. Dropping it gives it back: a failure half-way cannot leave a charge behind.

use super::ledger::{ChargeId, Ledger};
use crate::sync::Arc;
use crate::units::Bytes;

/// A charge whose memory is not mapped yet. Dropping it rolls back; [`commit`](Self::commit) keeps it.
#[derive(Debug)]
#[must_use = "dropping it rolls the charge back"]
pub struct PendingCharge(Charge);

/// A charge whose memory is mapped. Drop it after the memory is unmapped, never before.
#[derive(Debug)]
#[must_use = "dropping it releases the charge"]
pub struct Charge {
    ledger: Arc<Ledger>,
    id: ChargeId,
    mapped: Bytes,
    end: ChargeEnd,
}

/// How a charge ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeEnd {
    /// Given back, or rolled back.
    Released,
    /// Its time ran out.
    Expired,
    /// The process it was held for died.
    OwnerDied,
}

impl PendingCharge {
    pub(super) fn new(ledger: Arc<Ledger>, id: ChargeId, mapped: Bytes) -> Self {
        Self(Charge { ledger, id, mapped, end: ChargeEnd::Released })
    }

    /// Somebody else maps the memory: the charge stays, and all of it counts as promised until it shows.
    pub fn keep(self) -> Charge {
        self.0
    }

    /// The memory is mapped: its hugepages now show as reserved in the kernel's own figures.
    pub fn commit(self) -> Charge {
        self.0.ledger.commit(self.0.id);
        self.0
    }
}

impl Charge {
    /// Bytes held.
    #[must_use]
    pub fn mapped(&self) -> Bytes {
        self.mapped
    }

    /// Gives it back for a reason; dropping it releases it.
    pub fn end(mut self, end: ChargeEnd) {
        self.end = end;
    }

    /// `bytes` more of what is held have been faulted in, so the host's own figures show them from now on.
    pub fn add_resident(&self, bytes: Bytes) {
        self.ledger.add_resident(self.id, bytes);
    }

    /// `bytes` of what is held, no more and no less, are faulted in: somebody else does that.
    pub fn set_resident(&self, bytes: Bytes) {
        self.ledger.set_resident(self.id, bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.ledger.release(self.id, self.end);
    }
}
