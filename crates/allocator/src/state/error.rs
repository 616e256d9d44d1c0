//! Why a state file is not opened, and why a change is not saved.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the state cannot be had: start-up stops there. Nothing has been changed. `Display` says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The folder cannot be made or opened.
    #[error(
        "the state folder {folder:?} cannot be used: {source}. Set HOSTPOOL_STATE_DIR to a folder that can be written."
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process has it open.
    #[error(
        "the state folder {folder:?} is in use by another hostpool: one host has one. Stop that one, or set HOSTPOOL_STATE_DIR to another folder."
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The file has no bytes.
    #[error(
        "the state file {path:?} is empty, which hostpool never leaves it: what it held is lost. It was not changed. Move it and its log, the file ending in -wal, away; then restore a copy or start anew."
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error(
        "{path:?} is not a state file of hostpool. It was not changed. Move it away to start anew, or set HOSTPOOL_STATE_DIR to another folder."
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer hostpool.
    #[error(
        "the state file {path:?} has schema version {found}; this hostpool knows versions up to {known}. It was not changed. Run the newer hostpool, or move it and its log, the file ending in -wal, away to start anew."
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest that is known here.
        known: u32,
    },
    /// The file does not hold together.
    #[error(
        "the state file {path:?} is damaged ({detail}). It was not changed. Move it and its log, the file ending in -wal, away; then restore a copy or start anew."
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The file cannot be read or written.
    #[error(
        "the state file {path:?} cannot be used: {detail}. Nothing was changed. Free space or make the folder writable, or set HOSTPOOL_STATE_DIR to another folder."
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
}

/// What kept a change from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaveFailure {
    /// No space is left, or a quota is reached.
    DiskFull,
    /// The file or its file system has become read-only.
    ReadOnly,
    /// Reading or writing failed.
    Io,
}

/// A change that is not on disk: it has not been made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The change could not be saved in {}: {detail}. Nothing was changed.", .path.display())]
pub struct NotSaved {
    /// The file.
    pub path: PathBuf,
    /// What kept it.
    pub reason: SaveFailure,
    /// What the system said.
    pub detail: String,
}

impl StateError {
    /// What an error of SQLite on opening `path` amounts to.
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::InUse { folder: path.parent().map_or(path.clone(), Path::to_owned) }
            }
            // Rows that are there and cannot be understood, tables that are missing.
            None | Some(ErrorCode::Unknown | ErrorCode::TypeMismatch | ErrorCode::ConstraintViolation) => {
                Self::Damaged { path, detail }
            }
            Some(_) => Self::Unusable { path, detail },
        }
    }
}

impl NotSaved {
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let reason = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => SaveFailure::DiskFull,
            Some(ErrorCode::ReadOnly) => SaveFailure::ReadOnly,
            _ => SaveFailure::Io,
        };
        Self { path: path.to_owned(), reason, detail: error.to_string() }
    }
}
