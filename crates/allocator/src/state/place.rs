//! Whether the state is still where it was opened: what is written to a file that was deleted or moved away is kept for nobody.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::{NotSaved, SaveFailure};

/// The folder, the file and its log, as they were when they were opened.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    seen: Vec<(PathBuf, Inode)>,
}

/// What tells a file from another one that has its name later (stat(2)).
type Inode = (u64, u64);

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let log = path.with_extension("sqlite3-wal");
        let parts = path.parent().into_iter().chain([path, log.as_path()]);
        let seen = parts.map(|part| Ok((part.to_owned(), inode(part)?))).collect::<io::Result<_>>()?;
        Ok(Self { path: path.to_owned(), seen })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// # Errors
    /// [`NotSaved`], when somebody has moved or deleted a part of it.
    pub(super) fn check(&self) -> Result<(), NotSaved> {
        match self.seen.iter().find(|(part, then)| inode(part).ok() != Some(*then)) {
            None => Ok(()),
            Some((part, _)) => Err(NotSaved {
                path: self.path.clone(),
                reason: SaveFailure::Io,
                detail: format!("{} was moved or deleted: hostpool must be started again", part.display()),
            }),
        }
    }
}

fn inode(path: &Path) -> io::Result<Inode> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
