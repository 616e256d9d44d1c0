//! The gate before every system call of an allocation. In the library it is nothing. In the crate's own tests a script
//! counts the calls that pass and has one of them refused, as the kernel would refuse it: what is left then is looked
//! at in `crate::failure_tests`.

use std::ffi::c_int;

use crate::errno::Errno;

/// A system call of an allocation, by its name in section 2 of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Mmap,
    Munmap,
    /// With the advice.
    Madvise(c_int),
    Mbind,
    GetMempolicy,
    Mlock2,
    /// ioctl(2) with PAGEMAP_SCAN.
    PagemapScan,
    MemfdCreate,
    Ftruncate,
    /// fcntl(2) with F_ADD_SEALS.
    AddSeals,
    /// clone(2), for a thread.
    Clone,
}

/// Lets the call through.
#[cfg(not(all(test, not(loom))))]
#[inline(always)]
pub(super) fn permit(_call: Call) -> Result<(), Errno> {
    Ok(())
}

#[cfg(not(loom))]
#[cfg(test)]
pub(super) use script::permit;

#[cfg(not(loom))]
#[cfg(test)]
pub(crate) mod script {
    use std::sync::{Mutex, PoisonError};

    use super::{Call, Errno};

    static SCRIPT: Mutex<Option<Script>> = Mutex::new(None);

    struct Script {
        seen: Vec<Call>,
        refused: Option<Refusal>,
    }

    /// Which call is refused, by its number from 1, and how.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Refusal {
        pub(crate) number: usize,
        pub(crate) errno: Errno,
        /// All that follow too, but for munmap(2): the kernel has run out of something.
        pub(crate) and_later: bool,
    }

    impl Refusal {
        fn is_of(self, number: usize, call: Call) -> bool {
            number == self.number || (self.and_later && number > self.number && call != Call::Munmap)
        }
    }

    /// Lets the call through unless a script has it refused.
    pub(in crate::memory) fn permit(call: Call) -> Result<(), Errno> {
        let mut script = SCRIPT.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(script) = script.as_mut() else { return Ok(()) };
        script.seen.push(call);
        let refusal = script.refused.filter(|refusal| refusal.is_of(script.seen.len(), call));
        refusal.map_or(Ok(()), |refusal| Err(refusal.errno))
    }

    /// Runs `work` and answers with the calls it came to.
    pub(crate) fn run<T>(refused: Option<Refusal>, work: impl FnOnce() -> T) -> (T, Vec<Call>) {
        let set = |script| SCRIPT.lock().unwrap_or_else(PoisonError::into_inner).replace(script);
        drop(set(Script { seen: Vec::new(), refused }));
        let outcome = work();
        let script = SCRIPT.lock().unwrap_or_else(PoisonError::into_inner).take();
        (outcome, script.map_or_else(Vec::new, |script| script.seen))
    }
}
