//! What can go wrong while asking the machine what it has.

use std::io;
use std::path::PathBuf;

/// How much of a refused text an error quotes, in characters.
const QUOTED_CHARS: usize = 40;

/// A file below the host root that could not be used. Always names the file.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file every answer needs is not there.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file, root included.
        path: PathBuf,
    },
    /// The kernel refused to open or read it; the errno is in the source.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file or folder, root included.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is longer than any file of its kind, so it is not one.
    #[error("{} is longer than {limit_bytes} bytes", path.display())]
    TooLong {
        /// The file, root included.
        path: PathBuf,
        /// The most that is read of one file.
        limit_bytes: u64,
    },
    /// Its text is not what the kernel writes there.
    #[error("{} cannot be understood: {source}", path.display())]
    Malformed {
        /// The file, root included.
        path: PathBuf,
        /// What is wrong with the text.
        source: ParseError,
    },
}

/// A text that is not what the kernel writes. Quotes at most 40 characters of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A field that is always written is absent.
    #[error("it has no {field}")]
    MissingField {
        /// The field's name as the kernel spells it.
        field: &'static str,
    },
    /// Digits were expected.
    #[error("'{text}' is not a number")]
    NotANumber {
        /// The text met instead.
        text: String,
    },
    /// A number, or a sum of two, that does not fit its type.
    #[error("'{text}' is too large")]
    TooLarge {
        /// The number as written.
        text: String,
    },
    /// A size without the unit `kB`.
    #[error("'{text}' is not a size in kB")]
    NotKib {
        /// The size as written.
        text: String,
    },
    /// Not a list such as `0-3,8`.
    #[error("'{text}' is not an id or a range of ids")]
    NotARange {
        /// The item met instead.
        text: String,
    },
    /// A cgroup path that does not start with a slash.
    #[error("'{text}' is not a cgroup path")]
    NotACgroupPath {
        /// The path as written.
        text: String,
    },
    /// Bytes that are not UTF-8.
    #[error("it is not UTF-8 text")]
    NotText,
}

/// The start of `text`, short enough for an error message.
pub(super) fn quote(text: &str) -> String {
    text.chars().take(QUOTED_CHARS).collect()
}
