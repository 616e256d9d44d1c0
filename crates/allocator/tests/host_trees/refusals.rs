//! Trees that are wrong: each refusal is typed and names the file.

use std::path::PathBuf;

use hostpool_allocator::host::{HostError, HostReading, HostRoot, ParseError};

use super::tree::{MEMINFO, Tree};

fn refusal(files: &[(&str, &str)]) -> HostError {
    Tree::with_meminfo(files).read().unwrap_err()
}

/// The path of a [`HostError::Malformed`].
fn malformed(error: HostError) -> PathBuf {
    match error {
        HostError::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

#[test]
fn a_root_without_meminfo_names_the_missing_file() {
    let tree = Tree::new([("sys/devices/system/node/online", "0\n")]);
    let error = tree.read().unwrap_err();
    let expected = tree.root().path().join("proc/meminfo");
    assert_eq!(error.to_string(), format!("{} is missing", expected.display()));
    assert!(matches!(error, HostError::Missing { path } if path == expected));
}

#[test]
fn a_root_that_is_a_file_is_an_io_error_with_its_errno() {
    let tree = Tree::new([("root", "")]);
    let root = tree.root().path().join("root");
    let error = HostReading::read(&HostRoot::new(&root)).unwrap_err();
    let HostError::Io { path, source } = error else { panic!("{error}") };
    assert_eq!((path, source.raw_os_error()), (root.join("proc/meminfo"), Some(libc::ENOTDIR)));
}

#[test]
fn an_absurd_number_names_its_file() {
    let tree = Tree::new([("proc/meminfo", format!("MemTotal: 1{} kB\n", "0".repeat(30)))]);
    let HostError::Malformed { path, source } = tree.read().unwrap_err() else { panic!() };
    assert!(path.ends_with("proc/meminfo") && matches!(source, ParseError::TooLarge { .. }));
}

#[test]
fn every_file_that_cannot_be_understood_is_named() {
    let limit = ("sys/fs/cgroup/memory.max", "1\n");
    let own = ("proc/self/cgroup", "0::/\n");
    let node = "sys/devices/system/node/online";
    let pages = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let files: [(&str, &[(&str, &str)]); 8] = [
        ("proc/self/cgroup", &[("proc/self/cgroup", "0::x\n")]),
        ("sys/fs/cgroup/memory.max", &[own, ("sys/fs/cgroup/memory.max", "lots\n")]),
        ("sys/fs/cgroup/memory.current", &[own, limit, ("sys/fs/cgroup/memory.current", "-1\n")]),
        (node, &[(node, "0-\n")]),
        (node, &[(node, "0-4294967295\n")]),
        (pages, &[(pages, "many\n")]),
        ("sys/kernel/mm/hugepages", &[("sys/kernel/mm/hugepages/hugepages-2M/nr_hugepages", "1\n")]),
        ("proc/pressure/memory", &[("proc/pressure/memory", "some\n")]),
    ];
    for (name, tree) in files {
        match refusal(tree) {
            HostError::Malformed { path, .. } => assert!(path.ends_with(name), "{}", path.display()),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn a_limit_without_usage_is_refused_not_overlooked() {
    let error = refusal(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "1\n")]);
    assert!(matches!(error, HostError::Missing { path } if path.ends_with("sys/fs/cgroup/memory.current")));
}

#[test]
fn a_pool_without_free_pages_and_a_node_without_meminfo_are_refused() {
    let error = refusal(&[("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1\n")]);
    assert!(
        matches!(error, HostError::Missing { path } if path.ends_with("hugepages-2048kB/free_hugepages"))
    );
    let node = "sys/devices/system/node";
    let error = refusal(&[(&format!("{node}/online"), "0\n"), (&format!("{node}/node0/cpulist"), "0\n")]);
    assert!(matches!(error, HostError::Missing { path } if path.ends_with("node0/meminfo")));
}

#[test]
fn bytes_that_are_not_text_and_files_without_end_are_refused() {
    let tree = Tree::with_meminfo(&[]);
    tree.write("proc/self/cgroup", b"0::/\xff\n");
    assert!(malformed(tree.read().unwrap_err()).ends_with("proc/self/cgroup"));
    tree.write(MEMINFO.0, " ".repeat((1 << 20) + 1).as_bytes());
    assert!(matches!(tree.read(), Err(HostError::TooLong { limit_bytes: 0x10_0000, .. })));
}
