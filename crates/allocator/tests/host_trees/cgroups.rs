//! Where the limit is found, and where it is not.

use hostpool_allocator::host::{CgroupMemory, CgroupVersion};

use super::tree::{GIB, Tree};

/// The files of one v2 group below `folder`, in GiB; no page cache.
fn v2(folder: &str, limit: &str, usage_gib: u64) -> Vec<(String, String)> {
    vec![
        (format!("{folder}/memory.max"), format!("{limit}\n")),
        (format!("{folder}/memory.current"), format!("{}\n", usage_gib * GIB)),
    ]
}

fn v1(folder: &str, limit: &str, usage_gib: u64) -> Vec<(String, String)> {
    vec![
        (format!("{folder}/memory.limit_in_bytes"), format!("{limit}\n")),
        (format!("{folder}/memory.usage_in_bytes"), format!("{}\n", usage_gib * GIB)),
    ]
}

fn gib(count: u64) -> String {
    (count * GIB).to_string()
}

fn tightest(self_cgroup: &str, groups: &[Vec<(String, String)>]) -> Option<CgroupMemory> {
    let tree = Tree::with_meminfo(&[("proc/self/cgroup", self_cgroup)]);
    for (path, text) in groups.iter().flatten() {
        tree.write(path, text.as_bytes());
    }
    tree.read().unwrap().cgroup
}

/// Version, path and available GiB.
fn summary(group: Option<CgroupMemory>) -> Option<(CgroupVersion, String, u64)> {
    group.map(|group| (group.version, group.path, group.available_bytes / GIB))
}

#[test]
fn a_container_with_its_own_namespace_is_limited_at_the_mounts_root() {
    let found = tightest("0::/\n", &[v2("sys/fs/cgroup", &gib(8), 3)]);
    assert_eq!(summary(found), Some((CgroupVersion::V2, "/".to_owned(), 5)));
}

#[test]
fn a_container_that_sees_the_hosts_path_is_limited_at_the_mounts_root() {
    let found = tightest("4:memory:/docker/29b9\n", &[v1("sys/fs/cgroup/memory", &gib(8), 3)]);
    assert_eq!(summary(found), Some((CgroupVersion::V1, "/".to_owned(), 5)));
}

#[test]
fn a_path_outside_the_namespace_never_leaves_the_mount() {
    let outside = [v2("sys/fs/cgroup", &gib(8), 3), v2("sys/fs", &gib(1), 1), v2("sys", &gib(1), 1)];
    for path in ["0::/..\n", "0::/../..\n", "0::/../../sys\n"] {
        assert_eq!(summary(tightest(path, &outside)), Some((CgroupVersion::V2, "/".to_owned(), 5)), "{path}");
    }
}

#[test]
fn a_hybrid_layout_has_v2_below_unified_and_the_tighter_hierarchy_wins() {
    let lines = "4:cpu,memory:/a\n0::/b\n";
    let loose = v1("sys/fs/cgroup/memory/a", &gib(9), 1);
    let unified = v2("sys/fs/cgroup/unified/b", &gib(9), 2);
    let decoy = v2("sys/fs/cgroup/b", &gib(1), 1);
    let found = tightest(lines, &[loose, unified.clone(), decoy]);
    assert_eq!(summary(found), Some((CgroupVersion::V2, "/b".to_owned(), 7)));
    let tight = v1("sys/fs/cgroup/memory/a", &gib(4), 1);
    let found = tightest(lines, &[tight, unified]);
    assert_eq!(summary(found), Some((CgroupVersion::V1, "/a".to_owned(), 3)));
}

#[test]
fn a_v2_group_that_is_called_unified_is_no_hybrid_layout() {
    let controllers = vec![("sys/fs/cgroup/cgroup.controllers".to_owned(), "memory\n".to_owned())];
    let group = v2("sys/fs/cgroup/unified", &gib(8), 3);
    let found = tightest("0::/unified\n", &[controllers, group]);
    assert_eq!(summary(found), Some((CgroupVersion::V2, "/unified".to_owned(), 5)));
}

#[test]
fn the_level_with_least_available_wins_not_the_one_with_the_smallest_limit() {
    let small = v2("sys/fs/cgroup/pod/app", &gib(10), 1);
    let full = v2("sys/fs/cgroup/pod", &gib(100), 98);
    let found = tightest("0::/pod/app\n", &[small, full]);
    assert_eq!(summary(found), Some((CgroupVersion::V2, "/pod".to_owned(), 2)));
}

#[test]
fn no_limit_anywhere_is_no_cgroup() {
    let unlimited = [v2("sys/fs/cgroup/a", "max", 3), v1("sys/fs/cgroup/memory", "9223372036854771712", 3)];
    assert_eq!(tightest("4:memory:/\n0::/a\n", &unlimited), None);
    assert_eq!(tightest("0::/gone\n", &[]), None);
    assert_eq!(tightest("3:cpu:/a\n", &[]), None);
}

#[test]
fn a_group_above_its_limit_leaves_nothing() {
    let found = tightest("0::/a\n", &[v2("sys/fs/cgroup/a", &gib(2), 3)]).unwrap();
    assert_eq!((found.usage_bytes, found.available_bytes), (3 * GIB, 0));
}
