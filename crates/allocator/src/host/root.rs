//! Reading kernel files below a root.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{HostError, ParseError};

/// The most that is read of one file. The longest read here, `memory.stat`, stays below 16 KiB.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// The folder that holds `proc` and `sys`: `/` on a real machine, another one for a fake tree (`HOSTPOOL_HOST_ROOT`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRoot(PathBuf);

impl HostRoot {
    /// A root at `path`. Whether it is a usable one shows at the first read.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for HostRoot {
    fn default() -> Self {
        Self::new("/")
    }
}

/// Reads files below one root, into a buffer it keeps. Each read blocks for as long as the kernel takes to answer.
#[derive(Debug)]
pub struct HostReader {
    root: HostRoot,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl HostReader {
    /// A reader with an empty buffer; touches nothing yet.
    #[must_use]
    pub fn new(root: HostRoot) -> Self {
        Self { root, path: PathBuf::new(), buffer: Vec::with_capacity(8 << 10) }
    }

    /// The root everything is read below.
    #[must_use]
    pub fn root(&self) -> &HostRoot {
        &self.root
    }

    /// What `parse` makes of the file at `parts` (joined with slashes below the root), `None` where it is missing.
    pub(super) fn read<T>(
        &mut self,
        parts: &[&str],
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, HostError> {
        self.aim(parts);
        match self.fill() {
            Ok(()) => self.understand(parse).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(HostError::Io { path: self.path.clone(), source }),
        }
    }

    /// Like [`Self::read`], for a file that must be there.
    pub(super) fn require<T>(
        &mut self,
        parts: &[&str],
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<T, HostError> {
        let value = self.read(parts, parse)?;
        value.ok_or_else(|| HostError::Missing { path: self.path.clone() })
    }

    /// Whether something is at `parts`. Anything that cannot be asked counts as absent.
    pub(super) fn exists(&mut self, parts: &[&str]) -> bool {
        self.aim(parts);
        self.path.exists()
    }

    /// The names in the folder at `parts`, in no order; none where it is missing. Names that are not UTF-8 are left out.
    pub(super) fn names(&mut self, parts: &[&str]) -> Result<Vec<String>, HostError> {
        self.aim(parts);
        match list(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names.map_err(|source| HostError::Io { path: self.path.clone(), source }),
        }
    }

    /// The path of the last question, root included.
    pub(super) fn last_path(&self) -> &Path {
        &self.path
    }

    /// Wraps an error about the path of the last read.
    pub(super) fn malformed(&self, source: ParseError) -> HostError {
        HostError::Malformed { path: self.path.clone(), source }
    }

    /// Points `path` at `parts` below the root. A leading slash must not lead out of it (`PathBuf::push` would).
    fn aim(&mut self, parts: &[&str]) {
        self.path.clear();
        self.path.push(&self.root.0);
        for part in parts {
            self.path.push(part.trim_start_matches('/'));
        }
    }

    /// Reads the file at `path` whole, but never more than one byte past the limit.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.clear();
        File::open(&self.path)?.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut self.buffer).map(drop)
    }

    fn understand<T>(&self, parse: impl FnOnce(&str) -> Result<T, ParseError>) -> Result<T, HostError> {
        if self.buffer.len() as u64 > FILE_LIMIT_BYTES {
            return Err(HostError::TooLong { path: self.path.clone(), limit_bytes: FILE_LIMIT_BYTES });
        }
        let text = std::str::from_utf8(&self.buffer).map_err(|_| self.malformed(ParseError::NotText))?;
        parse(text).map_err(|source| self.malformed(source))
    }
}

fn list(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}
