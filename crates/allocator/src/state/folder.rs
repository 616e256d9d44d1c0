//! The folder the state file lives in: ours alone while we run.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::error::StateError;

/// The folder, locked until this is dropped; the kernel drops it when the process dies (flock(2)).
#[derive(Debug)]
pub(super) struct Folder(File);

impl Folder {
    /// Makes the folder for its user alone where there is none, and locks it.
    pub(super) fn open(path: &Path) -> Result<Self, StateError> {
        let unusable = |source| StateError::Folder { folder: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let folder = File::open(path).map_err(unusable)?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(folder)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StateError::InUse { folder: path.to_owned() }),
            Err(errno) => Err(unusable(errno.into())),
        }
    }

    /// Puts its list of files on disk: a file that was renamed is there after a crash.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
