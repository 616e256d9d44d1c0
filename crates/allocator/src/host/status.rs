//! `/proc/self/status`: what this process may do, and where.

use super::error::{HostError, ParseError, quote};
use super::id_list::{IdList, parse_id_list};
use super::root::{HostReader, HostRoot};
use super::settings::note;
use super::text::{kib_field, lines, parse_digits};

/// Lock memory beyond RLIMIT_MEMLOCK (linux/capability.h).
pub const CAP_IPC_LOCK: u32 = 14;
/// Bind memory where a seccomp profile asks for it (linux/capability.h).
pub const CAP_SYS_NICE: u32 = 23;

/// The lines of `/proc/self/status` that decide what memory a process gets (proc_pid_status(5)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessStatus {
    /// The user it acts as.
    pub effective_uid: Option<u64>,
    /// `CapEff`: the capabilities in effect, a bit each (capabilities(7)).
    pub capabilities: Option<u64>,
    /// `Seccomp`: 0 for no filter.
    pub seccomp: Option<u64>,
    /// `VmLck`, in bytes.
    pub locked_bytes: Option<u64>,
    /// `Mems_allowed_list`: the nodes its cpuset lets it take memory from.
    pub nodes_allowed: Option<IdList>,
    /// `Cpus_allowed_list`.
    pub cpus_allowed: Option<IdList>,
}

impl ProcessStatus {
    /// Reads it; all `None` where there is none below the root. What cannot be understood goes to `unreadable`.
    pub(crate) fn read(reader: &mut HostReader, unreadable: &mut Vec<HostError>) -> Self {
        note(reader.read(&["proc/self/status"], parse_status), unreadable).unwrap_or_default()
    }

    /// That of the thread that asks: the kernel goes by a thread's own capabilities.
    pub(crate) fn of_this_thread() -> Result<Self, HostError> {
        HostReader::new(HostRoot::default()).require(&["proc/thread-self/status"], parse_status)
    }

    /// Whether the capability of this number is in effect.
    #[must_use]
    pub fn has_capability(&self, capability: u32) -> bool {
        let bit = 1_u64.checked_shl(capability).unwrap_or(0);
        self.capabilities.is_some_and(|set| set & bit != 0)
    }
}

/// Reads the text of `/proc/self/status`; lines may be absent.
///
/// # Errors
/// [`ParseError`] for a line that is used and is not what the kernel writes.
pub fn parse_status(text: &str) -> Result<ProcessStatus, ParseError> {
    let field = |key: &str| {
        let line = lines(text).find_map(|line| line.split_once(':').filter(|(name, _)| *name == key));
        line.map(|(_, value)| value.trim_matches([' ', '\t']))
    };
    Ok(ProcessStatus {
        effective_uid: field("Uid").map(parse_effective).transpose()?,
        capabilities: field("CapEff").map(parse_hexadecimal).transpose()?,
        seccomp: field("Seccomp").map(parse_digits).transpose()?,
        locked_bytes: kib_field(lines(text), "VmLck")?,
        nodes_allowed: field("Mems_allowed_list").map(parse_id_list).transpose()?,
        cpus_allowed: field("Cpus_allowed_list").map(parse_id_list).transpose()?,
    })
}

/// The second of the real, effective, saved and file system ids.
fn parse_effective(ids: &str) -> Result<u64, ParseError> {
    let effective = ids.split(['\t', ' ']).filter(|id| !id.is_empty()).nth(1);
    parse_digits(effective.ok_or(ParseError::MissingField { field: "effective id" })?)
}

fn parse_hexadecimal(text: &str) -> Result<u64, ParseError> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u64::from_str_radix(text, 16).ok().filter(|_| is_plain);
    value.ok_or_else(|| ParseError::NotANumber { text: quote(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tnode\nUid:\t1000\t1001\t1000\t1000\nVmLck:\t       8 kB\nCapEff:\t0000000000804000\n\
                          Seccomp:\t2\nSeccomp_filters:\t1\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0,2\n";

    #[test]
    fn the_lines_that_are_used_are_found() {
        let status = parse_status(STATUS).unwrap();
        assert_eq!((status.effective_uid, status.capabilities), (Some(1001), Some(0x80_4000)));
        assert!(status.has_capability(CAP_IPC_LOCK) && status.has_capability(CAP_SYS_NICE));
        assert!(!status.has_capability(0) && !status.has_capability(64));
        assert_eq!((status.seccomp, status.locked_bytes), (Some(2), Some(8192)));
        assert_eq!(status.nodes_allowed.map(|list| list.to_string()), Some("0,2".to_owned()));
        assert_eq!(status.cpus_allowed.map(|list| list.to_string()), Some("0-3".to_owned()));
    }

    #[test]
    fn lines_may_be_absent_but_not_absurd() {
        assert_eq!(parse_status("Name:\tx\n"), Ok(ProcessStatus::default()));
        for text in ["CapEff:\t+1\n", "CapEff:\t\n", "Uid:\t1\n", "Seccomp:\tx\n", "Mems_allowed_list:\tx\n"]
        {
            assert!(parse_status(text).is_err(), "{text:?}");
        }
    }
}
