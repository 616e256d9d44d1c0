//! What is faulted in, told to the ledger.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use crate::budget::Charge;
use crate::sync::{Mutex, lock};
use crate::units::Bytes;

/// The charge for some memory, and how much of it the host's own figures show. Fields drop in this order: a memfd keeps
/// its pages until it is closed, and the charge goes last.
#[derive(Debug)]
pub(super) struct Tally {
    /// The memfd behind the memory.
    file: Option<File>,
    /// Held from a look at the file until the ledger knows: a count that comes late would undo a later one.
    counting: Mutex<()>,
    charge: Charge,
}

impl Tally {
    pub(super) fn of(file: Option<File>, charge: Charge) -> Self {
        Self { file, counting: Mutex::new(()), charge }
    }

    /// Bytes charged.
    pub(super) fn mapped(&self) -> Bytes {
        self.charge.mapped()
    }

    /// What the kernel has handed out behind the memfd, whoever faulted it in (st_blocks counts 512-byte units,
    /// stat(2)). `None` without one.
    pub(super) fn in_file(&self) -> Option<Bytes> {
        let metadata = self.file.as_ref()?.metadata().ok()?;
        Some(Bytes::new(metadata.blocks()).saturating_mul(512))
    }

    /// A prefault has faulted in `bytes`, which no other has. Behind a memfd a read or a write may have been there
    /// before and have counted them, so the kernel is asked.
    pub(super) fn faulted_in(&self, bytes: Bytes) {
        if !self.recount() {
            self.charge.add_resident(bytes);
        }
    }

    /// Something may have been faulted in. Answers whether the kernel could say how much: of private memory it does not
    /// tell cheaply, so what was not prefaulted stays promised, which errs to the safe side.
    pub(super) fn recount(&self) -> bool {
        let _counting = lock(&self.counting);
        let in_file = self.in_file();
        if let Some(bytes) = in_file {
            self.charge.set_resident(bytes);
        }
        in_file.is_some()
    }
}
