//! What a start would come to: everything that was kept is charged again, in its order, and then given back.

use crate::backing::Backing;
use crate::error::Error;
use crate::memory::{HostBuffer, HostBufferSpec, HostMemoryAllocator, Rehearsed};
use crate::pool::{V4PagedHostPool, V4PagedPoolSpec};

/// Memory that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A V4 paged pool.
    Pool(V4PagedPoolSpec),
    /// A host buffer.
    Buffer(HostBufferSpec),
}

impl Wanted {
    /// The backing that it would get now, or why not; nothing is charged, and nobody is told.
    ///
    /// # Errors
    /// As making it, without BUDGET_ADMISSION_CLOSED and this process's own limits.
    pub fn check(self, allocator: &HostMemoryAllocator) -> Result<Backing, Error> {
        match self {
            Self::Pool(spec) => V4PagedHostPool::check(allocator, &spec),
            Self::Buffer(spec) => HostBuffer::check(allocator, spec),
        }
    }

    fn rehearse(self, allocator: &HostMemoryAllocator) -> Result<Rehearsed, Error> {
        match self {
            Self::Pool(spec) => V4PagedHostPool::rehearse(allocator, &spec),
            Self::Buffer(spec) => HostBuffer::rehearse(allocator, spec),
        }
    }
}

/// Whether `kept` could be had again, one after the other as at a start, and after them `more`, as by calls: what each gets,
/// or why not; what is none to begin with is answered as it is. Only on an allocator that nobody else asks. Nothing is mapped, and at the end nothing is held.
pub fn rehearse(
    allocator: &HostMemoryAllocator,
    kept: impl IntoIterator<Item = Result<Wanted, Error>>,
    more: impl IntoIterator<Item = Result<Wanted, Error>>,
) -> Vec<Result<Backing, Error>> {
    let take = |wanted: Result<Wanted, Error>| wanted.and_then(|wanted| wanted.rehearse(allocator));
    let ledger = allocator.ledger();
    ledger.set_restoring(true);
    let mut held: Vec<_> = kept.into_iter().map(take).collect();
    ledger.set_restoring(false);
    held.extend(more.into_iter().map(take));
    held.into_iter().map(|outcome| outcome.map(|rehearsed| rehearsed.backing())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostBufferFailure;
    use crate::budget::{BudgetChange, Budgets};
    use crate::host::HostRoot;
    use crate::memory::{MemoryWish, OnHugepageShortage};
    use crate::sync::Arc;
    use crate::units::Bytes;

    /// An allocator on a host with six MiB.
    fn allocator(folder: &tempfile::TempDir) -> HostMemoryAllocator {
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let meminfo = "MemTotal: 8192 kB\nMemFree: 6144 kB\nMemAvailable: 6144 kB\n";
        std::fs::write(folder.path().join("proc/meminfo"), meminfo).unwrap();
        HostMemoryAllocator::new(HostRoot::new(folder.path()), Bytes::ZERO).unwrap()
    }

    fn buffer(
        mebibytes: u32,
        backing: Backing,
        on_hugepage_shortage: OnHugepageShortage,
    ) -> Result<Wanted, Error> {
        let memory = MemoryWish { on_hugepage_shortage, ..MemoryWish::of(backing) };
        let bytes = Bytes::mebibytes(mebibytes);
        let budget = "host".to_owned();
        Ok(Wanted::Buffer(HostBufferSpec { name: None, bytes, memory, budget, rank: None }))
    }

    fn plain(mebibytes: u32) -> Result<Wanted, Error> {
        buffer(mebibytes, Backing::Anonymous, OnHugepageShortage::Fail)
    }

    #[test]
    fn what_was_kept_counts_together_and_nothing_is_held_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let allocator = allocator(&folder);
        let answers = rehearse(&allocator, [plain(4), plain(4), plain(1)], [plain(1), plain(1)]);
        let met: Vec<_> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(met, [true, false, true, true, false]);
        match answers.into_iter().find_map(Result::err) {
            Some(Error::HostBufferAllocationFailed(failed)) => {
                assert_eq!(failed.reason, HostBufferFailure::HostMemoryExhausted);
            }
            other => panic!("{other:?}"),
        }
        let budget = allocator.ledger().budget("host").unwrap().unwrap();
        assert_eq!(budget.charged, Bytes::ZERO);
    }

    #[test]
    fn a_closed_budget_stands_in_the_way_of_what_is_new_only() {
        let folder = tempfile::tempdir().unwrap();
        let allocator = allocator(&folder);
        let close = BudgetChange { admission_closed: Some(Some(true)), ..BudgetChange::default() };
        Budgets::unkept(Arc::clone(allocator.ledger())).update("host", &close).unwrap();
        let answers = rehearse(&allocator, [plain(1)], [plain(1)]);
        assert!(
            matches!(answers.as_slice(), [Ok(_), Err(Error::BudgetAdmissionClosed { .. })]),
            "{answers:?}"
        );
    }

    #[test]
    fn a_wish_that_may_fall_back_is_met_on_ordinary_pages() {
        let folder = tempfile::tempdir().unwrap();
        let allocator = allocator(&folder);
        let on_hugepages = |shortage| buffer(2, Backing::AnonymousShmHugetlb, shortage);
        let wanted = [on_hugepages(OnHugepageShortage::Fail), on_hugepages(OnHugepageShortage::FallBack)];
        let answers = rehearse(&allocator, wanted, []);
        assert!(matches!(answers.as_slice(), [Err(_), Ok(Backing::AnonymousShm)]), "{answers:?}");
    }
}
