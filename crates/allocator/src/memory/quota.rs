//! How many mappings and descriptors this process may hold for others.
//!
//! The kernel bounds both (vm.max_map_count, RLIMIT_NOFILE). A process that runs into either cannot so much as grow
//! its heap or accept a connection, so the allocator stops at half of each and leaves the rest to the process.

use super::probe::Limit;
use crate::errno::Errno;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The kernel's default for vm.max_map_count (linux/mm.h, DEFAULT_MAX_MAP_COUNT).
const DEFAULT_MAX_MAP_COUNT: u64 = 65_530;

#[derive(Debug)]
pub(super) struct Quota {
    mappings: Counter,
    descriptors: Counter,
}

#[derive(Debug)]
struct Counter {
    used: AtomicU64,
    limit: u64,
}

/// Mappings and descriptors taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    quota: Arc<Quota>,
    mappings: u64,
    descriptors: u64,
}

impl Quota {
    /// Half of what the kernel grants this process now.
    pub(super) fn of_this_process() -> Arc<Self> {
        let max_map_count = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        let mappings = max_map_count.ok().and_then(|text| text.trim().parse().ok());
        Self::up_to(
            mappings.unwrap_or(DEFAULT_MAX_MAP_COUNT) / 2,
            Limit::of_descriptors().soft.unwrap_or(u64::MAX) / 2,
        )
    }

    pub(super) fn up_to(mappings: u64, descriptors: u64) -> Arc<Self> {
        Arc::new(Self { mappings: Counter::up_to(mappings), descriptors: Counter::up_to(descriptors) })
    }

    /// Takes both, or answers what the kernel would: ENOMEM for mappings, EMFILE for descriptors.
    pub(super) fn take(self: &Arc<Self>, mappings: u64, descriptors: u64) -> Result<Permit, Errno> {
        if !self.mappings.take(mappings) {
            return Err(Errno::new(libc::ENOMEM));
        }
        if !self.descriptors.take(descriptors) {
            self.mappings.give_back(mappings);
            return Err(Errno::new(libc::EMFILE));
        }
        Ok(Permit { quota: Arc::clone(self), mappings, descriptors })
    }
}

#[cfg(not(loom))]
#[cfg(test)]
impl Quota {
    /// Mappings and descriptors that are taken now.
    pub(super) fn used(&self) -> (u64, u64) {
        (self.mappings.used.load(Ordering::Relaxed), self.descriptors.used.load(Ordering::Relaxed))
    }
}

impl Permit {
    /// A part of it as a permit of its own; no more than there is.
    pub(super) fn split_off(&mut self, mappings: u64, descriptors: u64) -> Self {
        let (mappings, descriptors) = (mappings.min(self.mappings), descriptors.min(self.descriptors));
        self.mappings -= mappings;
        self.descriptors -= descriptors;
        Self { quota: Arc::clone(&self.quota), mappings, descriptors }
    }
}

impl Counter {
    fn up_to(limit: u64) -> Self {
        Self { used: AtomicU64::new(0), limit }
    }

    fn take(&self, count: u64) -> bool {
        let within = |used: u64| used.checked_add(count).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    fn give_back(&self, count: u64) {
        self.used.fetch_sub(count, Ordering::Relaxed);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.quota.mappings.give_back(self.mappings);
        self.quota.descriptors.give_back(self.descriptors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_gives_back_what_it_took() {
        let quota = Quota::up_to(3, 1);
        let permit = quota.take(3, 1).unwrap();
        assert_eq!(quota.take(1, 0).err(), Some(Errno::new(libc::ENOMEM)));
        drop(permit);
        assert!(quota.take(3, 1).is_ok());
    }

    #[test]
    fn the_parts_of_a_permit_give_back_what_the_whole_took() {
        let quota = Quota::up_to(3, 2);
        let mut whole = quota.take(3, 2).unwrap();
        let part = whole.split_off(2, 1);
        drop(part);
        assert_eq!(quota.take(3, 1).err(), Some(Errno::new(libc::ENOMEM)));
        drop(quota.take(2, 1).unwrap());
        let all = whole.split_off(9, 9);
        drop(whole);
        assert_eq!(quota.take(3, 1).err(), Some(Errno::new(libc::ENOMEM)));
        drop(all);
        assert!(quota.take(3, 2).is_ok());
    }

    #[test]
    fn a_refused_permit_takes_nothing() {
        let quota = Quota::up_to(3, 0);
        assert_eq!(quota.take(3, 1).err(), Some(Errno::new(libc::EMFILE)));
        assert!(quota.take(3, 0).is_ok());
        assert_eq!(quota.take(u64::MAX, 0).err(), Some(Errno::new(libc::ENOMEM)));
    }
}
