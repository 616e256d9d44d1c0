//! A folder of fake kernel files that lives as long as the test.

use std::fs;

use hostpool_allocator::host::{AdmissionReading, HostError, HostReader, HostReading, HostRoot};
use tempfile::TempDir;

/// A machine with 64 GiB, 48 of them available, and nothing else.
pub(crate) const MEMINFO: (&str, &str) =
    ("proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 1048576 kB\nMemAvailable: 50331648 kB\n");

pub(crate) const GIB: u64 = 1 << 30;

pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new<P: AsRef<str>, T: AsRef<str>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        let tree = Self(TempDir::new().unwrap());
        for (path, text) in files {
            tree.write(path.as_ref(), text.as_ref().as_bytes());
        }
        tree
    }

    /// [`MEMINFO`] and these files.
    pub(crate) fn with_meminfo(files: &[(&str, &str)]) -> Self {
        Self::new([MEMINFO].iter().chain(files).copied())
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn root(&self) -> HostRoot {
        HostRoot::new(self.0.path())
    }

    /// Both snapshots, which must agree.
    pub(crate) fn read(&self) -> Result<HostReading, HostError> {
        let full = HostReading::read(&self.root())?;
        let admission = AdmissionReading::read(&mut HostReader::new(self.root()))?;
        assert_eq!(admission.effective_available_bytes(), full.effective_available_bytes);
        assert!(admission.nodes.iter().eq(full.numa_nodes.iter().map(|node| &node.memory)));
        let parts = (admission.memory, admission.cgroup, admission.hugepages);
        assert_eq!(parts, (full.memory.clone(), full.cgroup.clone(), full.hugepages.clone()));
        Ok(full)
    }
}
