//! The process a reservation is tied to.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::state::ProcessRecord;
use crate::units::Bytes;

/// A process, held by a pidfd: a later process with the same number is never mistaken for it (pidfd_open(2)).
#[derive(Debug)]
pub(super) struct Holder {
    pid: u32,
    pidfd: OwnedFd,
    /// In clock ticks after the boot.
    start_time: u64,
    /// What it had faulted in when it was granted the reservation.
    baseline: Resident,
}

/// Memory of a process that nobody else's figures explain (proc_pid_status(5)): anonymous and shared pages, hugepages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Resident {
    pub(super) ordinary: Bytes,
    pub(super) hugepages: Bytes,
}

impl Holder {
    /// The process `pid`, as long as it lives. ESRCH when it does not, EACCES when its `/proc/PID/stat` is hidden.
    pub(super) fn open(pid: u32) -> Result<Self, Errno> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty())?;
        let read = start_time(pid);
        let baseline = Resident::default();
        let holder = Self { pid, pidfd, start_time: read.unwrap_or_default(), baseline };
        // It has the number still after that was read, so what was read is its own.
        if !holder.is_alive() {
            return Err(Errno::SRCH);
        }
        if read.is_none() { Err(Errno::ACCESS) } else { Ok(holder) }
    }

    /// What it faults in from now on counts as faulted in since the grant.
    pub(super) fn granted_now(self) -> Self {
        Self { baseline: Resident::of(self.pid).unwrap_or_default(), ..self }
    }

    /// The process that `record` tells of, `None` when that has ended: a later one of the same number is not it.
    ///
    /// # Errors
    /// When it cannot be told whether it lives: nobody alive is taken for dead.
    pub(super) fn find(pid: u32, record: &ProcessRecord) -> Result<Option<Self>, Errno> {
        let holder = match Self::open(pid) {
            Ok(holder) => holder,
            Err(Errno::SRCH) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let ProcessRecord { start_time, baseline_ordinary, baseline_hugepages } = *record;
        let same = holder.start_time == start_time;
        let baseline = Resident { ordinary: baseline_ordinary, hugepages: baseline_hugepages };
        Ok(same.then_some(Self { baseline, ..holder }))
    }

    /// How it is found again.
    pub(super) fn record(&self) -> ProcessRecord {
        let Resident { ordinary, hugepages } = self.baseline;
        let start_time = self.start_time;
        ProcessRecord { start_time, baseline_ordinary: ordinary, baseline_hugepages: hugepages }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    pub(super) fn baseline(&self) -> Resident {
        self.baseline
    }

    /// Whether it has not ended: a pidfd turns readable then. Never blocks.
    pub(super) fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())) == Ok(0)
    }

    /// The same process with other figures, as if it had been opened at another time.
    #[cfg(test)]
    pub(super) fn posing_as(self, pid: u32, baseline: Resident) -> Self {
        Self { pid, baseline, ..self }
    }
}

impl Resident {
    /// What `pid` has faulted in now; `None` when it is gone.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(parse_status(&proc_file(pid, "status")?))
    }

    /// The smaller of the two, each kind for itself.
    pub(super) fn least(self, other: Self) -> Self {
        Self { ordinary: self.ordinary.min(other.ordinary), hugepages: self.hugepages.min(other.hugepages) }
    }

    /// How much more than `earlier`, each kind for itself.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            ordinary: self.ordinary.saturating_sub(earlier.ordinary),
            hugepages: self.hugepages.saturating_sub(earlier.hugepages),
        }
    }
}

/// When the process started, in clock ticks after the boot: field 22 of proc_pid_stat(5); `None` when it is gone.
fn start_time(pid: u32) -> Option<u64> {
    parse_start_time(&proc_file(pid, "stat")?)
}

fn proc_file(pid: u32, name: &str) -> Option<String> {
    // Longer than any of them, so that one read has it all and another sees the end.
    let mut text = String::with_capacity(8 << 10);
    File::open(format!("/proc/{pid}/{name}")).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The name, field 2, is in parentheses and may have blanks and parentheses in it.
fn parse_start_time(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn parse_status(text: &str) -> Resident {
    let kib = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().trim_end_matches("kB").trim_end().parse::<u64>().ok()
    };
    let bytes = |key| Bytes::new(kib(key).unwrap_or(0)).saturating_mul(1024);
    Resident {
        ordinary: bytes("RssAnon:").saturating_add(bytes("RssShmem:")),
        hugepages: bytes("HugetlbPages:"),
    }
}

/// Both parsers, for the fuzzer: a start time and the bytes faulted in.
#[cfg(fuzzing)]
#[must_use]
pub fn parse_process(text: &str) -> (Option<u64>, Bytes) {
    let resident = parse_status(text);
    (parse_start_time(text), resident.ordinary.saturating_add(resident.hugepages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_ordinary_memory_and_hugepages_apart() {
        let text = "Name:\tpython\nRssAnon:\t  100 kB\nRssFile:\t 7000 kB\nRssShmem:\t   28 kB\nHugetlbPages:\t 2048 kB\n";
        let resident = Resident { ordinary: Bytes::new(128 * 1024), hugepages: Bytes::new(2 << 20) };
        assert_eq!(parse_status(text), resident);
        assert_eq!(parse_status("garbage\nRssAnon: many kB\n"), Resident::default());
    }

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let rest = "S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200 1844674407";
        for name in ["python", "a b", "x) (y", ")"] {
            assert_eq!(parse_start_time(&format!("12 ({name}) {rest}")), Some(98765), "{name}");
        }
        assert_eq!(parse_start_time("12 (python) S 1"), None);
        assert_eq!(parse_start_time(""), None);
    }

    #[test]
    fn a_process_is_found_again_and_a_later_one_of_its_number_is_not_it() {
        let pid = std::process::id();
        let record = Holder::open(pid).unwrap().granted_now().record();
        assert_eq!(Holder::find(pid, &record).unwrap().unwrap().record(), record);
        let earlier = ProcessRecord { start_time: record.start_time - 1, ..record };
        assert!(Holder::find(pid, &earlier).unwrap().is_none());
        assert!(Holder::find(u32::MAX, &record).unwrap().is_none());
    }

    #[test]
    fn a_process_that_is_not_there_is_esrch() {
        assert_eq!(Holder::open(0).err(), Some(Errno::SRCH));
        assert_eq!(Holder::open(u32::MAX).err(), Some(Errno::SRCH));
        assert!(Holder::open(std::process::id()).is_ok());
    }
}
