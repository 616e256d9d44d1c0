//! What this process has locked into memory and whether a limit holds for it (proc_pid_status(5), capabilities(7)).

use super::error::{HostError, ParseError, quote};
use super::root::HostReader;
use super::text::{kib_field, lines};

/// `CAP_IPC_LOCK` (linux/capability.h): RLIMIT_MEMLOCK does not hold for who has it.
const CAP_IPC_LOCK: u64 = 1 << 14;

/// The locks of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLocks {
    /// `VmLck`: what it has locked, in bytes.
    pub locked_bytes: u64,
    /// Whether it may lock more than RLIMIT_MEMLOCK says.
    pub is_unlimited: bool,
}

impl MemoryLocks {
    /// Those of this process, and the capability of this thread: the kernel goes by that.
    ///
    /// # Errors
    /// [`HostError`] where `/proc/thread-self/status` is missing or cannot be understood.
    pub fn read(reader: &mut HostReader) -> Result<Self, HostError> {
        reader.require(&["proc/thread-self/status"], parse_memory_locks)
    }
}

/// Reads the text of a process's `status`: `VmLck` (0 where it is missing) and `CapEff`.
///
/// # Errors
/// [`ParseError::MissingField`] without `CapEff`, [`ParseError::NotANumber`] when that is not hexadecimal;
/// [`ParseError::NotKib`], [`ParseError::NotANumber`] or [`ParseError::TooLarge`] for `VmLck`.
pub fn parse_memory_locks(text: &str) -> Result<MemoryLocks, ParseError> {
    let capabilities = lines(text).find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.ok_or(ParseError::MissingField { field: "CapEff" })?.trim_start();
    let capabilities = u64::from_str_radix(capabilities, 16)
        .map_err(|_| ParseError::NotANumber { text: quote(capabilities) })?;
    Ok(MemoryLocks {
        locked_bytes: kib_field(lines(text), "VmLck")?.unwrap_or(0),
        is_unlimited: capabilities & CAP_IPC_LOCK != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_a_size_and_a_capability() {
        let of = |text| parse_memory_locks(text);
        let text = "Name:\tnode\nVmLck:\t      64 kB\nCapEff:\t0000000000004000\n";
        assert_eq!(of(text), Ok(MemoryLocks { locked_bytes: 65_536, is_unlimited: true }));
        let text = "CapEff:\t00000000a80425fb\n";
        assert_eq!(of(text), Ok(MemoryLocks { locked_bytes: 0, is_unlimited: false }));
        assert_eq!(of("VmLck: 1 kB\n"), Err(ParseError::MissingField { field: "CapEff" }));
        assert!(matches!(of("CapEff:\tall\n"), Err(ParseError::NotANumber { .. })));
    }
}
