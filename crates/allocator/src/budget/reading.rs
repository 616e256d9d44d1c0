//! A budget as its operator sees it, worked out of the figures of one moment.

use super::account::{Account, BudgetReading, RankShare};
use super::demand::MemoryKind;
use super::quote::Figures;
use crate::units::{Bytes, base_page};

impl Figures<'_> {
    /// The budget these figures belong to, called `name`.
    pub(super) fn reading(&self, name: &str) -> BudgetReading {
        let Account { terms, admission_closed, charged, .. } = self.account;
        let (effective, available) = (self.effective(), self.available());
        BudgetReading {
            name: name.to_owned(),
            reserve: if self.account.size.is_none() { self.reserve } else { Bytes::ZERO },
            requested: terms.requested,
            fraction: terms.fraction,
            effective,
            charged: *charged,
            available,
            rank_shares: self.rank_shares(effective, available),
            admission_closed: *admission_closed,
            over_budget: *charged > effective.round_up(base_page()).unwrap_or(effective),
        }
    }

    /// "host" has one rank, the whole; a named budget divides its size.
    fn rank_shares(&self, effective: Bytes, available: Bytes) -> Vec<RankShare> {
        let charged = &self.account.charged_by_rank;
        let share = |(rank, charged): (usize, &Bytes)| {
            let effective = self.account.share(rank).unwrap_or(effective);
            RankShare {
                rank: u32::try_from(rank).unwrap_or(u32::MAX),
                effective,
                charged: *charged,
                available: available.min(effective.saturating_sub(*charged)),
            }
        };
        charged.iter().enumerate().map(share).collect()
    }

    /// What is held plus what the host still has (or less what it lacks), at most the cap. Hugepages that are held are
    /// there whatever becomes of ordinary memory.
    fn effective(&self) -> Bytes {
        let Account { charged, charged_hugepages, .. } = *self.account;
        let ordinary = charged.saturating_sub(charged_hugepages).saturating_add(self.host_available().1);
        let honoured = ordinary.saturating_sub(self.shortfall()).saturating_add(charged_hugepages);
        self.cap().map_or(honoured, |cap| cap.min(honoured))
    }

    fn available(&self) -> Bytes {
        let host = self.host_available().1;
        self.cap().map_or(host, |cap| host.min(cap.saturating_sub(self.account.charged)))
    }

    /// How far the host is from honouring the reserve and every promise.
    fn shortfall(&self) -> Bytes {
        let wanted = self.reserve.saturating_add(self.promises.of(MemoryKind::Ordinary));
        wanted.saturating_sub(Bytes::new(self.host.effective_available_bytes()))
    }
}
