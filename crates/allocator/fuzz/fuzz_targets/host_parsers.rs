//! One text through every parser of host files: none may panic, and what is understood must make sense.
#![no_main]

use hostpool_allocator::host;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = host::parse_choice(text);
    let _ = host::parse_commit(text);
    let _ = host::parse_count(text);
    let _ = host::parse_distances(text);
    let _ = host::parse_hostname(text);
    let _ = host::parse_memory_limit(text);
    let _ = host::parse_meminfo(text);
    let _ = host::parse_node_meminfo(text);
    let _ = host::parse_reclaimable_v1(text);
    let _ = host::parse_reclaimable_v2(text);
    let _ = host::parse_status(text);
    check_lists(text);
    check_paths(text);
    check_figures(text);
});

/// A list shows itself in a form that reads back as the same list.
fn check_lists(text: &str) {
    if let Ok(list) = host::parse_id_list(text) {
        assert_eq!(host::parse_id_list(&list.to_string()), Ok(list));
    }
}

/// No level leads out of the folder it is joined to.
fn check_paths(text: &str) {
    let groups = host::parse_self_cgroup(text).unwrap_or_default();
    for path in [groups.memory_v1, groups.unified].iter().flatten() {
        for level in path.levels() {
            assert!(!level.starts_with('/') && level.split('/').all(|name| name != ".."), "{level}");
        }
        assert_eq!(path.levels().last(), Some(""));
    }
}

/// Percentages are percentages, and a page has a size.
fn check_figures(text: &str) {
    if let Ok(pressure) = host::parse_pressure(text) {
        assert!((0.0..=100.0).contains(&pressure.some_avg10) && (0.0..=100.0).contains(&pressure.full_avg10));
    }
    assert!(host::parse_hugepage_dir_name(text) != Ok(0));
}
