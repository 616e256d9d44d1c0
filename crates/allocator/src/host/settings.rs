//! What the kernel is set to, where that decides what memory can be had.

use super::error::{HostError, ParseError};
use super::root::HostReader;
use super::text::{kib_field, lines, parse_count};

const TRANSPARENT_FOLDER: &str = "sys/kernel/mm/transparent_hugepage";

/// The settings of a kernel; `None` where it does not have one, or it could not be understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// `kernel.osrelease`.
    pub release: Option<String>,
    /// `vm.max_map_count`: mappings one process may have.
    pub max_map_count: Option<u64>,
    /// `vm.overcommit_memory`: 2 holds all private mappings together to the commit limit.
    pub overcommit_memory: Option<u64>,
    /// `vm.memfd_noexec`: 2 refuses memfds that do not ask for it.
    pub memfd_noexec: Option<u64>,
    /// `kernel.numa_balancing`: not 0 moves pages that no policy binds.
    pub numa_balancing: Option<u64>,
    /// What `transparent_hugepage/enabled` is set to: always, madvise or never.
    pub transparent_hugepages: Option<String>,
    /// What `transparent_hugepage/shmem_enabled` is set to; memfds go by it.
    pub transparent_shmem: Option<String>,
    /// The commit limit, and swap.
    pub commit: Commit,
}

/// The lines of `/proc/meminfo` that no decision looks at, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commit {
    /// `CommitLimit`.
    pub limit_bytes: Option<u64>,
    /// `Committed_AS`: what all processes together have been granted.
    pub committed_bytes: Option<u64>,
    /// `SwapTotal`.
    pub swap_total_bytes: Option<u64>,
    /// `SwapFree`.
    pub swap_free_bytes: Option<u64>,
}

impl KernelSettings {
    /// Reads what is there. A file that cannot be read or understood goes to `unreadable`: it hides no other.
    pub(crate) fn read(reader: &mut HostReader, unreadable: &mut Vec<HostError>) -> Self {
        let mut noted = |answer| note(answer, unreadable);
        let release = noted(reader.read(&["proc/sys/kernel/osrelease"], parse_release));
        let transparent_hugepages = noted(reader.read(&[TRANSPARENT_FOLDER, "enabled"], parse_choice));
        let transparent_shmem = noted(reader.read(&[TRANSPARENT_FOLDER, "shmem_enabled"], parse_choice));
        let mut number = |path| note(reader.read(&[path], parse_count), unreadable);
        Self {
            release,
            max_map_count: number("proc/sys/vm/max_map_count"),
            overcommit_memory: number("proc/sys/vm/overcommit_memory"),
            memfd_noexec: number("proc/sys/vm/memfd_noexec"),
            numa_balancing: number("proc/sys/kernel/numa_balancing"),
            transparent_hugepages,
            transparent_shmem,
            commit: note(reader.read(&["proc/meminfo"], parse_commit), unreadable).unwrap_or_default(),
        }
    }
}

/// What was read; an error is put with the others.
pub(super) fn note<T>(answer: Result<Option<T>, HostError>, unreadable: &mut Vec<HostError>) -> Option<T> {
    answer.unwrap_or_else(|error| {
        unreadable.push(error);
        None
    })
}

fn parse_release(text: &str) -> Result<String, ParseError> {
    lines(text).next().map(str::to_owned).ok_or(ParseError::MissingField { field: "release" })
}

/// The choice in brackets of a text such as `always [madvise] never` (Documentation/admin-guide/mm/transhuge.rst).
///
/// # Errors
/// [`ParseError::MissingField`] where nothing is in brackets.
pub fn parse_choice(text: &str) -> Result<String, ParseError> {
    let chosen = text.split([' ', '\t', '\n']).find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned).ok_or(ParseError::MissingField { field: "choice in brackets" })
}

/// Reads the text of `/proc/meminfo` (Documentation/filesystems/proc.rst, "meminfo"); lines may be absent.
///
/// # Errors
/// [`ParseError::NotKib`], [`ParseError::NotANumber`] or [`ParseError::TooLarge`] for a line that is used.
pub fn parse_commit(text: &str) -> Result<Commit, ParseError> {
    let field = |key| kib_field(lines(text), key);
    Ok(Commit {
        limit_bytes: field("CommitLimit")?,
        committed_bytes: field("Committed_AS")?,
        swap_total_bytes: field("SwapTotal")?,
        swap_free_bytes: field("SwapFree")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_the_word_in_brackets() {
        assert_eq!(parse_choice("always [madvise] never\n"), Ok("madvise".to_owned()));
        assert_eq!(parse_choice("[always]"), Ok("always".to_owned()));
        for text in ["", "always madvise never\n", "[", "]", "[always"] {
            assert!(parse_choice(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn commit_lines_may_be_absent_but_not_absurd() {
        assert_eq!(parse_commit("MemTotal: 1 kB\n"), Ok(Commit::default()));
        let all = "SwapTotal: 4 kB\nSwapFree: 3 kB\nCommitLimit: 2 kB\nCommitted_AS: 1 kB\n";
        let expected = Commit {
            limit_bytes: Some(2048),
            committed_bytes: Some(1024),
            swap_total_bytes: Some(4096),
            swap_free_bytes: Some(3072),
        };
        assert_eq!(parse_commit(all), Ok(expected));
        assert!(parse_commit("CommitLimit: x kB\n").is_err());
    }
}
