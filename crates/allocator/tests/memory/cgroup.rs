//! A real memory cgroup that is smaller than what the host root promises: a typed error, no OOM kill.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hostpool_allocator::host::HostRoot;
use hostpool_allocator::memory::HostMemoryAllocator;
use hostpool_allocator::pool::V4PagedHostPool;
use hostpool_allocator::{Backing, Bytes, Error, HostBufferFailure, MemoryLimit};

use crate::machine::{MIB, alone, believing, buffer, pool_spec, wish};

const LIMIT: u64 = 512 * MIB;
const INSIDE: &str = "HOSTPOOL_TEST_INSIDE_CGROUP";

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

    /// Runs one test of this binary inside the group and answers what it printed.
    fn run_inside(&self, test: &str) -> String {
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec {} --exact cgroup::{test} --nocapture",
            self.folder.display(),
            std::env::current_exe().unwrap().display()
        );
        let output = Command::new("sh").args(["-c", &script]).env(INSIDE, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {printed}{errors}", output.status);
        printed
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
    let printed = group.run_inside("a_cgroup_smaller_than_the_promise_ends_in_a_typed_error");
    assert!(printed.contains("refused with CgroupLimit"), "{printed}");
}

#[test]
fn what_a_plan_says_fits_in_a_cgroup_can_be_faulted_in() {
    if std::env::var_os(INSIDE).is_some() {
        return fill();
    }
    let _alone = alone();
    let Some(group) = Group::make() else {
        println!("SKIPPED: no memory cgroup can be made here (needs root and a writable hierarchy)");
        return;
    };
    let printed = group.run_inside("what_a_plan_says_fits_in_a_cgroup_can_be_faulted_in");
    assert!(printed.contains("filled"), "{printed}");
}

/// Inside the group: the largest pool that a plan allows beside a reserve, but for a little that other allocations of
/// this process may take meanwhile.
fn fill() {
    let reserve = Bytes::new(160 * MIB);
    let allocator = HostMemoryAllocator::new(HostRoot::default(), reserve).unwrap();
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let plan = V4PagedHostPool::plan(&allocator, &pool_spec(1, 100_000, MIB, backing)).unwrap();
        assert_eq!((plan.fits, plan.limited_by), (false, MemoryLimit::Cgroup));
        let most = plan.max_num_host_pages - 8;
        assert!(most > 200, "{plan:?}");
        let pool = V4PagedHostPool::allocate(&allocator, pool_spec(1, most, MIB, backing)).unwrap();
        pool.memory().prefault().unwrap();
        println!("filled {most} MiB");
    }
}

/// Inside the group: ask for four times its limit.
fn overrun() {
    let (_root, deceived) = believing(64 << 30, 0);
    for backing in [Backing::Anonymous, Backing::AnonymousShm] {
        let buffer = buffer(&deceived, 4 * LIMIT, wish(backing)).unwrap();
        let Err(Error::HostBufferAllocationFailed(failure)) = buffer.memory().prefault() else {
            panic!("expected a failure")
        };
        assert_eq!(failure.reason, HostBufferFailure::CgroupLimit);
        println!("refused with {:?}", failure.reason);
    }
}
