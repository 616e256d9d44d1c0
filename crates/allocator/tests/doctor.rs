//! Looking at the host leaves it, and this process, as they were. Alone in its process: it counts what that has.
#![expect(clippy::unwrap_used, reason = "a panic here is how a test fails")]

use hostpool_allocator::doctor::HostFacts;
use hostpool_allocator::host::HostRoot;

/// Mappings, descriptors, bytes locked.
fn held() -> (usize, usize, String) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let locked = status.lines().find(|line| line.starts_with("VmLck:")).unwrap_or_default();
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    (maps.lines().count(), descriptors, locked.to_owned())
}

#[test]
fn looking_leaves_no_mapping_descriptor_or_lock_behind() {
    let first = HostFacts::gather(&HostRoot::default());
    let before = held();
    let facts = HostFacts::gather(&HostRoot::default());
    assert_eq!(held(), before);
    assert_eq!(facts.probes, first.probes);
    assert!(facts.settings.release.is_some() && facts.unreadable.is_empty(), "{:?}", facts.unreadable);
    assert_eq!((facts.probes.populate, facts.probes.memfd), (Ok(()), Ok(())));
}
