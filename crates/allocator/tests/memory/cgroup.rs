//! A real memory cgroup that is smaller than what the host root promises: a typed error, no OOM kill.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hostpool_allocator::memory::{HostBuffer, HostBufferSpec};
use hostpool_allocator::{Backing, Bytes, Error, HostBufferFailure};

use crate::machine::{MIB, alone, believing, wish};

const LIMIT: u64 = 512 * MIB;
const INSIDE: &str = "HOSTPOOL_TEST_INSIDE_CGROUP";
const TEST: &str = "cgroup::a_cgroup_smaller_than_the_promise_ends_in_a_typed_error";

/// A memory cgroup of its own, below ours, removed when dropped.
struct Group {
    folder: PathBuf,
    limit_file: &'static str,
}

impl Group {
    fn make() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let v1 = groups.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path);
        let v2 = groups.lines().find_map(|line| line.strip_prefix("0::"));
        let name = format!("hostpool-test-{}", std::process::id());
        let (base, limit_file) = match (v1, v2) {
            (Some(path), _) => (format!("/sys/fs/cgroup/memory{path}"), "memory.limit_in_bytes"),
            (None, Some(path)) => (format!("/sys/fs/cgroup{path}"), "memory.max"),
            (None, None) => return None,
        };
        let folder = PathBuf::from(base).join(name);
        fs::create_dir(&folder).ok()?;
        let group = Self { folder, limit_file };
        fs::write(group.folder.join(group.limit_file), LIMIT.to_string()).ok()?;
        Some(group)
    }

    fn run_self_inside(&self) -> std::process::Output {
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec {} --exact {TEST} --nocapture",
            self.folder.display(),
            std::env::current_exe().unwrap().display()
        );
        Command::new("sh").args(["-c", &script]).env(INSIDE, "1").output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_cgroup_smaller_than_the_promise_ends_in_a_typed_error() {
    if std::env::var_os(INSIDE).is_some() {
        return overrun();
    }
    let _alone = alone();
    let Some(group) = Group::make() else {
        println!("SKIPPED: no memory cgroup can be made here (needs root and a writable hierarchy)");
        return;
    };
    let output = group.run_self_inside();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{:?}: {printed}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(printed.contains("refused with CgroupLimit"), "{printed}");
}

/// Inside the group: ask for four times its limit.
fn overrun() {
    let (_root, deceived) = believing(64 << 30, 0);
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let spec = HostBufferSpec {
            bytes: Bytes::new(4 * LIMIT),
            memory: wish(backing),
            budget: "host".to_owned(),
            rank: None,
        };
        let buffer = HostBuffer::allocate(&deceived, spec).unwrap();
        let Err(Error::HostBufferAllocationFailed(failure)) = buffer.memory().prefault() else {
            panic!("expected a failure")
        };
        assert_eq!(failure.reason, HostBufferFailure::CgroupLimit);
        println!("refused with {:?}", failure.reason);
    }
}
