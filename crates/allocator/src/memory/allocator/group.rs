//! Several memories that are decided as one: all of them are charged and mapped, or none is.

use super::HostMemoryAllocator;
use crate::backing::Backing;
use crate::budget::{Demand, PendingCharge, Quote};
use crate::error::{Error, HostBufferAllocationFailed, HostBufferFailure};
use crate::memory::allocation_error::AllocationError;
use crate::memory::attempt::Attempt;
use crate::memory::host_memory::HostMemory;
use crate::memory::ladder::{make_on_ladder, quote_on_ladder};
use crate::memory::request::MemoryRequest;
use crate::sync::Arc;
use crate::units::{Bytes, MAX_COUNT};

/// Requests that grow together, in steps from 1, and are granted together or not at all. At every size they are as many,
/// at least one, and have the same budget, rank and wish.
pub trait RequestGroup {
    /// The size asked for, or the smallest that makes sense.
    fn least_size(&self) -> u64;

    /// The size to make on `backing` when `figures` say what there is. Called under the ledger's lock: it must not
    /// block.
    fn size_within(&self, backing: Backing, figures: &Quote) -> u64;

    /// The requests of a size.
    fn requests(&self, size: u64) -> Vec<MemoryRequest>;
}

impl HostMemoryAllocator {
    /// As [`allocate`](Self::allocate), for all requests of a group: answers the size that was chosen, and a memory a
    /// request in their order. Where the wish allows ordinary pages, all are on hugepages or none.
    ///
    /// # Errors
    /// [`AllocationError`]; a shortage has the figures of all requests together. No mapping, descriptor or charge is left
    /// then.
    pub fn allocate_all(&self, group: &impl RequestGroup) -> Result<(u64, Vec<HostMemory>), AllocationError> {
        let host = self.read_admission()?;
        let least = group.requests(group.least_size());
        let Some(first) = least.first() else { return Ok((0, Vec::new())) };
        let wished = Attempt { host: &host, request: first, backing: first.wish.backing };
        make_on_ladder(&wished, |attempt| self.attempt_all(attempt, group, &least))
    }

    /// What [`allocate_all`](Self::allocate_all) would be judged by now: the backing, the size, and the quote for all
    /// requests together. Nothing is charged or mapped.
    ///
    /// # Errors
    /// As [`quote`](Self::quote).
    pub fn quote_all(&self, group: &impl RequestGroup) -> Result<(Backing, u64, Quote), Error> {
        let host = self.read_admission()?;
        let least = group.requests(group.least_size());
        let Some(first) = least.first() else { return Err(Error::invalid("requests", "must not be none")) };
        let wished = Attempt { host: &host, request: first, backing: first.wish.backing };
        let (backing, quote) = quote_on_ladder(&wished, |attempt| {
            let question = question(attempt, &least)?;
            let figures = self.ledger.quote(&question)?;
            let size = group.size_within(attempt.backing, &figures);
            Ok(figures.asked_for(&question.sum_of(&demands(&group.requests(size), attempt)?)))
        })?;
        Ok((backing, group.size_within(backing, &quote), quote))
    }

    fn attempt_all(
        &self,
        attempt: &Attempt<'_>,
        group: &impl RequestGroup,
        least: &[MemoryRequest],
    ) -> Result<(u64, Vec<HostMemory>), AllocationError> {
        let question = question(attempt, least)?;
        let (mut size, mut requests) = (0, Vec::new());
        let charges = self.ledger.charge_all(&question, |figures| {
            size = group.size_within(attempt.backing, figures);
            requests = group.requests(size);
            demands(&requests, attempt).map_err(Error::HostBufferAllocationFailed)
        });
        let charges = charges.map_err(|refusal| attempt.refused(refusal))?;
        Ok((size, self.map_all(attempt, &requests, charges)?))
    }

    /// What was mapped before a failure is unmapped, and every charge and permit given back.
    fn map_all(
        &self,
        attempt: &Attempt<'_>,
        requests: &[MemoryRequest],
        charges: Vec<PendingCharge>,
    ) -> Result<Vec<HostMemory>, AllocationError> {
        let mappings = requests.iter().map(|request| u64::from(request.mapping_count)).sum();
        let descriptors = u64::from(attempt.backing.is_memfd());
        let files = descriptors.saturating_mul(u64::try_from(requests.len()).unwrap_or(u64::MAX));
        let permit = self.quota.take(mappings, files);
        let mut permit = permit.map_err(|errno| {
            Box::new(HostBufferAllocationFailed {
                errno: Some(errno),
                ..failed_together(attempt, requests, HostBufferFailure::System)
            })
        })?;
        let map = |(request, charge): (&MemoryRequest, PendingCharge)| {
            let permit = permit.split_off(request.mapping_count.into(), descriptors);
            Attempt { request, ..*attempt }.map(charge, permit, Arc::clone(&self.in_flight))
        };
        requests.iter().zip(charges).map(map).collect()
    }
}

/// What to ask the ledger for, at the least size, once the wish is one this host knows and the least size can be counted.
fn question(
    attempt: &Attempt<'_>,
    least: &[MemoryRequest],
) -> Result<Demand, Box<HostBufferAllocationFailed>> {
    let checked = attempt.check_wish();
    checked.map_err(|reason| Box::new(failed_together(attempt, least, reason)))?;
    let demands = demands(least, attempt)?;
    let first = demands.first().map(|first| first.sum_of(&demands));
    first.ok_or_else(|| Box::new(failed_together(attempt, least, HostBufferFailure::SizeOverflow)))
}

/// What each request takes of the ledger; together no more than 2^53 - 1 bytes.
fn demands(
    requests: &[MemoryRequest],
    attempt: &Attempt<'_>,
) -> Result<Vec<Demand>, Box<HostBufferAllocationFailed>> {
    let demands: Option<Vec<_>> = requests.iter().map(|request| request.demand(attempt.backing)).collect();
    let countable =
        |demands: &Vec<Demand>| sum(demands.iter().map(|demand| demand.mapped)).get() <= MAX_COUNT;
    demands
        .filter(countable)
        .ok_or_else(|| Box::new(failed_together(attempt, requests, HostBufferFailure::SizeOverflow)))
}

/// A failure of all requests, with their figures added up.
fn failed_together(
    attempt: &Attempt<'_>,
    requests: &[MemoryRequest],
    reason: HostBufferFailure,
) -> HostBufferAllocationFailed {
    let each: Vec<_> =
        requests.iter().map(|request| *Attempt { request, ..*attempt }.failed(reason, None)).collect();
    let pages = each.iter().filter_map(|failure| failure.hugepages_needed);
    HostBufferAllocationFailed {
        requested: sum(each.iter().map(|failure| failure.requested)),
        mapped: sum(each.iter().map(|failure| failure.mapped)),
        hugepages_needed: pages.reduce(u64::saturating_add),
        ..*attempt.failed(reason, None)
    }
}

fn sum(bytes: impl Iterator<Item = Bytes>) -> Bytes {
    bytes.sum()
}
