//! A test in a process of its own.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

const ALONE: &str = "HOSTPOOL_TEST_ALONE";
const ENDED: &str = "the body has run";

/// Runs `body` of the test of that name in that module (`module_path!()`) in a process that runs nothing else: the script of calls, mappings, descriptors
/// and threads are the whole process's, and other tests would show in them. One at a time, since they count hugepages.
pub(crate) fn in_its_own_process(module: &str, test: &str, body: impl FnOnce()) {
    static MACHINE: Mutex<()> = Mutex::new(());
    if std::env::var_os(ALONE).is_some() {
        body();
        return println!("{ENDED}");
    }
    let _one_at_a_time = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_crate, module) = module.split_once("::").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).env(ALONE, "1");
    // One heap for all threads, whose growth can be told from a mapping that was left (mallopt(3)).
    child.env("MALLOC_ARENA_MAX", "1");
    let output = child.output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    printed.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| println!("{line}"));
    assert!(output.status.success() && printed.contains(ENDED), "{:?}: {printed}{errors}", output.status);
}
