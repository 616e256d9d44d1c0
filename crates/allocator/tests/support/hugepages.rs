//! Hugepages for tests.

use std::fs;
use std::path::{Path, PathBuf};

/// Hugepages of one size set up for a test; what was there before comes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Hugepages {
    file: PathBuf,
    before: u64,
}

impl Hugepages {
    /// At least `count` free pages of `kib` KiB, or `None` with the reason printed.
    pub(crate) fn set_up(kib: u64, count: u64) -> Option<Self> {
        let file = PathBuf::from(format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages"));
        let Some(before) = read_number(&file) else {
            println!("SKIPPED: this kernel has no hugepages of {kib} KiB");
            return None;
        };
        let set_up = Self { file, before };
        let wanted = before + count;
        let written = fs::write(&set_up.file, wanted.to_string());
        if written.is_err() || read_number(&set_up.file) != Some(wanted) {
            println!(
                "SKIPPED: cannot set up {count} hugepages of {kib} KiB (needs root and unfragmented memory)"
            );
            return None;
        }
        Some(set_up)
    }
}

impl Drop for Hugepages {
    fn drop(&mut self) {
        let restored = fs::write(&self.file, self.before.to_string());
        assert!(restored.is_ok(), "{} must go back to {}", self.file.display(), self.before);
    }
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
