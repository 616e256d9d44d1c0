//! The system calls that map, fault, place and unmap memory: the only `unsafe` in the crate.
//!
//! [`Region`] is one mapping that unmaps itself. Everything it offers is bounds-checked and answers with an
//! [`Errno`]. Pages are faulted in by `MADV_POPULATE_WRITE` before they are read or written, so that a lack of memory is
//! an errno and not SIGBUS; only a peer that was handed the memfd and punches holes into it at that very moment could
//! still raise one, and no byte of this crate goes through here but its own reads and writes of pages.
#![expect(unsafe_code, reason = "the one file that talks to the kernel about raw addresses")]

use std::ffi::{c_int, c_ulong, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;

use super::gate::{Call, permit};
use super::leftovers;
use crate::errno::Errno;
use crate::node_set::NodeSet;
use crate::units::{Bytes, base_page};

/// `MPOL_F_NODE`: answer with a node (linux/mempolicy.h).
const MPOL_F_NODE: c_ulong = 1;
/// `MPOL_F_ADDR`: ask about an address (linux/mempolicy.h).
const MPOL_F_ADDR: c_ulong = 2;
/// Highest node number a mask below can name; the kernel's own limit is 1024 (CONFIG_NODES_SHIFT <= 10).
const MAX_NODES: usize = 1024;
/// The kernel reads one bit less than it is told (get_nodes in mm/mempolicy.c).
const MAX_NODE_ARGUMENT: c_ulong = 1025;
const MASK_WORD_BITS: usize = c_ulong::BITS as usize;
type NodeMask = [c_ulong; MAX_NODES / MASK_WORD_BITS];
/// `MAP_HUGE_SHIFT` = `MFD_HUGE_SHIFT`: where log2 of the hugepage size goes in the flags (asm-generic/hugetlb_encode.h).
const HUGE_SHIFT: u32 = 26;

/// `PAGEMAP_SCAN`: `_IOWR('f', 16, struct pm_scan_arg)` (linux/fs.h).
const PAGEMAP_SCAN: libc::Ioctl = 0xC060_6610_u32 as libc::Ioctl;
/// `PAGE_IS_HUGE` (linux/fs.h).
const PAGE_IS_HUGE: u64 = 1 << 6;

/// `struct page_region` (linux/fs.h).
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct PageRange {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` (linux/fs.h).
#[derive(Default)]
#[repr(C)]
struct PagemapScan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vector: u64,
    vector_length: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

impl PagemapScan {
    /// Looks for hugepages in a range of addresses, and tells of runs of them in `found`.
    fn of_hugepages(range: Range<u64>, found: &mut [PageRange]) -> Result<Self, Errno> {
        Ok(Self {
            size: u64::try_from(size_of::<Self>()).map_err(|_| Errno::new(libc::EINVAL))?,
            start: range.start,
            end: range.end,
            vector: address_of(found.as_mut_ptr().cast())?,
            vector_length: u64::try_from(found.len()).map_err(|_| Errno::new(libc::EINVAL))?,
            category_mask: PAGE_IS_HUGE,
            return_mask: PAGE_IS_HUGE,
            ..Self::default()
        })
    }
}

/// What one munmap takes. The kernel holds the lock of the address space until the pages are freed, and every other
/// thread that maps memory waits for it.
const UNMAP_STEP: usize = 4 << 20;

/// How a mapping's nodes are meant (linux/mempolicy.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Mode {
    /// `MPOL_PREFERRED`: the given node first.
    Preferred = 1,
    /// `MPOL_BIND`: strictly the given nodes.
    Bind = 2,
    /// `MPOL_INTERLEAVE`: a page of each in turn.
    Interleave = 3,
}

/// One mapping, readable and writable, not inherited by a forked child, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    length: usize,
    unmap_step: usize,
}

// SAFETY: a Region owns its mapping; the pointer is not tied to the thread that made it.
unsafe impl Send for Region {}
// SAFETY: through &self only system calls (which the kernel serialises) and reads happen; writes take &mut self.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `length` bytes of private anonymous memory; with a hugepage size, of that size (`length` a multiple).
    pub(crate) fn anonymous(length: usize, hugepage: Option<Bytes>) -> Result<Self, Errno> {
        let huge = hugepage.map_or(0, |size| libc::MAP_HUGETLB | huge_flag(size).cast_signed());
        Self::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge, -1, 0, hugepage)
    }

    /// Maps `length` bytes of `file` from `offset`, shared; a file on hugepages of that size, if any.
    pub(crate) fn of_file(
        file: &File,
        offset: u64,
        length: usize,
        hugepage: Option<Bytes>,
    ) -> Result<Self, Errno> {
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::new(libc::EOVERFLOW))?;
        Self::map(length, libc::MAP_SHARED, file.as_raw_fd(), offset, hugepage)
    }

    fn map(
        length: usize,
        flags: c_int,
        fd: c_int,
        offset: libc::off_t,
        hugepage: Option<Bytes>,
    ) -> Result<Self, Errno> {
        permit(Call::Mmap)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: with a null hint and no MAP_FIXED the kernel picks unused addresses; no memory of ours is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(last_errno());
        }
        let start = NonNull::new(start.cast()).ok_or(Errno::new(libc::ENOMEM))?;
        let hugepage = hugepage.and_then(|size| usize::try_from(size.get()).ok()).unwrap_or(UNMAP_STEP);
        let region = Self { start, length, unmap_step: UNMAP_STEP.max(hugepage) };
        region.advise(0..length, libc::MADV_DONTFORK)?;
        Ok(region)
    }

    /// Bytes mapped.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Makes the kernel hand out the pages of `range` now, writable (Linux 5.14). Blocks. An error leaves those
    /// already handed out in place.
    pub(crate) fn populate(&self, range: Range<usize>) -> Result<(), Errno> {
        loop {
            match self.advise(range.clone(), libc::MADV_POPULATE_WRITE) {
                Err(errno) if [libc::EAGAIN, libc::EINTR].contains(&errno.code()) => {}
                outcome => return outcome,
            }
        }
    }

    fn advise(&self, range: Range<usize>, advice: c_int) -> Result<(), Errno> {
        let start = self.address(&range)?;
        permit(Call::Madvise(advice))?;
        // SAFETY: `address` checked that the range lies in this mapping, and no advice used here changes the bytes of a
        // page that is already there, but for those that `discard` a region which is being dropped.
        ok(unsafe { libc::madvise(start, range.len(), advice) })
    }

    /// Has `nodes` serve the whole mapping; before anything is faulted in (mbind(2)). EINVAL when the kernel takes fewer
    /// of them than it was told (it passes over nodes that are offline or outside the cpuset).
    pub(crate) fn place(&self, mode: Mode, nodes: &NodeSet) -> Result<(), Errno> {
        let asked = node_mask(nodes)?;
        let (start, mask, no_flags) = (self.start.as_ptr(), asked.as_ptr(), 0 as c_ulong);
        let mode = mode as c_ulong;
        permit(Call::Mbind)?;
        // SAFETY: the range is this mapping, and the mask outlives the call and has MAX_NODES bits, as many as the
        // kernel reads for MAX_NODE_ARGUMENT.
        let answer = unsafe {
            libc::syscall(libc::SYS_mbind, start, self.length, mode, mask, MAX_NODE_ARGUMENT, no_flags)
        };
        ok_long(answer)?;
        if self.nodes()? == asked { Ok(()) } else { Err(Errno::new(libc::EINVAL)) }
    }

    /// The nodes of the mapping's policy (get_mempolicy(2)).
    fn nodes(&self) -> Result<NodeMask, Errno> {
        let mut mask: NodeMask = [0; MAX_NODES / MASK_WORD_BITS];
        let no_mode: *mut c_int = std::ptr::null_mut();
        let (start, mask_out) = (self.start.as_ptr(), mask.as_mut_ptr());
        let bits = MAX_NODE_ARGUMENT - 1;
        permit(Call::GetMempolicy)?;
        // SAFETY: the mask is live and has MAX_NODES bits, as many as the kernel is told; the mode may be null; the
        // address is ours, and asking for a policy faults nothing in.
        let answer =
            unsafe { libc::syscall(libc::SYS_get_mempolicy, no_mode, mask_out, bits, start, MPOL_F_ADDR) };
        ok_long(answer)?;
        Ok(mask)
    }

    /// Has the kernel use transparent hugepages where it can, or never, for the whole mapping (madvise(2)). EINVAL on a
    /// kernel without them.
    pub(crate) fn use_transparent_hugepages(&self, use_them: bool) -> Result<(), Errno> {
        self.advise(0..self.length, if use_them { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })
    }

    /// Locks each page into memory once it is faulted in (mlock2(2)). ENOMEM or EPERM beyond RLIMIT_MEMLOCK.
    pub(crate) fn lock_on_fault(&self) -> Result<(), Errno> {
        let start: *const c_void = self.start.as_ptr().cast();
        permit(Call::Mlock2)?;
        // SAFETY: the range is this mapping, and locking changes no byte of it.
        ok(unsafe { libc::mlock2(start, self.length, libc::MLOCK_ONFAULT) })
    }

    /// Bytes of `range` that are mapped by hugepages now, transparent ones included (PAGEMAP_SCAN, Linux 6.7);
    /// `pagemap` is `/proc/self/pagemap`. Blocks for the time the kernel walks the page tables.
    pub(crate) fn huge_bytes(&self, pagemap: &File, range: Range<usize>) -> Result<usize, Errno> {
        let start = address_of(self.address(&range)?)?;
        let end = start.checked_add(u64::try_from(range.len()).map_err(|_| Errno::new(libc::EFAULT))?);
        let end = end.ok_or(Errno::new(libc::EFAULT))?;
        let (mut from, mut bytes) = (start, 0);
        while from < end {
            let mut found = [PageRange::default(); 64];
            permit(Call::PagemapScan)?;
            let mut scan = PagemapScan::of_hugepages(from..end, &mut found)?;
            // SAFETY: `scan` is a live pm_scan_arg of the size it says, and its vector is `found`, which lives as long and
            // has as many elements as it says; the kernel writes nothing else.
            let answer = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
            ok(answer.min(0))?;
            let count = usize::try_from(answer).unwrap_or(0);
            bytes += found.iter().take(count).map(|pages| pages.end.saturating_sub(pages.start)).sum::<u64>();
            if scan.walk_end <= from {
                break;
            }
            from = scan.walk_end;
        }
        usize::try_from(bytes).map_err(|_| Errno::new(libc::EOVERFLOW))
    }

    /// The node that holds the page at `offset`; faults the page in when it is not there (get_mempolicy(2)).
    pub(crate) fn node_at(&self, offset: usize) -> Result<u32, Errno> {
        let address = self.address(&(offset..offset.saturating_add(1)))?;
        let mut node: c_int = -1;
        let node_out: *mut c_int = &raw mut node;
        let no_mask: *mut c_ulong = std::ptr::null_mut();
        let flags = MPOL_F_NODE | MPOL_F_ADDR;
        permit(Call::GetMempolicy)?;
        // SAFETY: `node_out` points to a live c_int, the mask is null with zero bits, and the address is ours.
        let answer = unsafe {
            libc::syscall(libc::SYS_get_mempolicy, node_out, no_mask, 0 as c_ulong, address, flags)
        };
        ok_long(answer)?;
        u32::try_from(node).map_err(|_| Errno::new(libc::EINVAL))
    }

    /// Copies from the mapping into `into`, faulting the pages in first.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Errno> {
        let from = self.settled(offset, into.len())?;
        // SAFETY: `settled` checked the range and the kernel confirmed that its pages are there; `into` is ours alone,
        // so the two cannot overlap. Another process that has the memfd may write meanwhile: then the bytes copied are
        // old, new or mixed, as with any shared memory, and nothing here depends on them.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies `bytes` into the mapping, faulting the pages in first.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        let to = self.settled(offset, bytes.len())?;
        // SAFETY: as in `read`; &mut self keeps other readers and writers of this process away.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// The address of `length` bytes at `offset` whose pages are all there.
    fn settled(&self, offset: usize, length: usize) -> Result<*mut u8, Errno> {
        let end = offset.checked_add(length).ok_or(Errno::new(libc::EFAULT))?;
        let address = self.address(&(offset..end))?;
        let page = usize::try_from(base_page().get()).unwrap_or(4096);
        self.populate(offset - offset % page..end)?;
        Ok(address.cast())
    }

    fn address(&self, range: &Range<usize>) -> Result<*mut c_void, Errno> {
        if range.start > range.end || range.end > self.length {
            return Err(Errno::new(libc::EFAULT));
        }
        // SAFETY: range.start <= length, so the result stays in (or one past) this mapping.
        Ok(unsafe { self.start.as_ptr().add(range.start) }.cast())
    }
}

impl Region {
    /// From the end, so that what is left stays one mapping. The kernel refuses to cut one in three in a process that has as
    /// many as it may have (munmap(2), ENOMEM). Ours may be in the middle of one, since the kernel makes one of mappings that
    /// touch; at the start of it, it can go in one piece.
    fn unmap(&mut self) -> Result<(), Errno> {
        while self.length > 0 {
            let rest = (self.length - 1) / self.unmap_step * self.unmap_step;
            self.unmap_from(rest).or_else(|_| self.unmap_from(0))?;
        }
        Ok(())
    }

    fn unmap_from(&mut self, rest: usize) -> Result<(), Errno> {
        let end = self.address(&(rest..self.length))?;
        permit(Call::Munmap)?;
        // SAFETY: rest..length is what is still mapped of this mapping behind `rest`, a multiple of its page size;
        // nobody else has it, and it is unmapped once because `length` shrinks to `rest`.
        ok(unsafe { libc::munmap(end, self.length - rest) })?;
        self.length = rest;
        Ok(())
    }

    /// Gives the pages back, whatever becomes of the addresses; those of a memfd stay in it. Locked ones since Linux 5.18, which
    /// before that go with the addresses.
    fn discard(&self) {
        let whole = 0..self.length;
        let locked_too = self.advise(whole.clone(), libc::MADV_DONTNEED_LOCKED);
        let _ = locked_too.or_else(|_| self.advise(whole, libc::MADV_DONTNEED));
    }

    /// Tries again to unmap what could not be; answers whether nothing is left of it.
    pub(super) fn is_unmapped_now(&mut self) -> bool {
        self.unmap().is_ok()
    }
}

impl Drop for Region {
    /// What cannot be unmapped yet gives its pages back and waits for the next that is.
    fn drop(&mut self) {
        if self.length == 0 {
            return;
        }
        if self.unmap().is_err() {
            self.discard();
            leftovers::keep(Self { length: std::mem::take(&mut self.length), ..*self });
        }
        leftovers::unmap();
    }
}

/// A new memfd of `length` bytes that can neither shrink nor grow: no peer can turn a mapping into SIGBUS.
pub(crate) fn sealed_memfd(length: u64, hugepage: Option<Bytes>) -> Result<File, Errno> {
    let huge = hugepage.map_or(0, |size| libc::MFD_HUGETLB | huge_flag(size));
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | huge;
    permit(Call::MemfdCreate)?;
    // SAFETY: the name is a NUL-terminated literal.
    let fd = unsafe { libc::memfd_create(c"hostpool".as_ptr(), flags) };
    ok(fd.min(0))?;
    // SAFETY: the call above just made this descriptor, and nobody else owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    permit(Call::Ftruncate)?;
    file.set_len(length).map_err(|error| Errno::of(&error))?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    permit(Call::AddSeals)?;
    // SAFETY: F_ADD_SEALS takes an int and touches no memory of ours.
    ok(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(file)
}

/// log2 of the size, where mmap(2) and memfd_create(2) expect it.
fn huge_flag(size: Bytes) -> u32 {
    size.get().trailing_zeros() << HUGE_SHIFT
}

fn node_mask(nodes: &NodeSet) -> Result<NodeMask, Errno> {
    let mut mask = [0; MAX_NODES / MASK_WORD_BITS];
    for node in nodes.iter() {
        let node = usize::try_from(node).map_err(|_| Errno::new(libc::EINVAL))?;
        let word = mask.get_mut(node / MASK_WORD_BITS).ok_or(Errno::new(libc::EINVAL))?;
        *word |= 1 << (node % MASK_WORD_BITS);
    }
    Ok(mask)
}

fn address_of(pointer: *mut c_void) -> Result<u64, Errno> {
    u64::try_from(pointer.addr()).map_err(|_| Errno::new(libc::EFAULT))
}

fn ok(answer: c_int) -> Result<(), Errno> {
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

fn ok_long(answer: std::ffi::c_long) -> Result<(), Errno> {
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::of(&std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_region_reads_back_what_was_written() {
        let mut region = Region::anonymous(MIB, None).unwrap();
        region.write(5000, b"hello").unwrap();
        let mut back = [0; 5];
        region.read(5000, &mut back).unwrap();
        assert_eq!(&back, b"hello");
    }

    #[test]
    fn a_range_outside_the_region_is_efault() {
        let mut region = Region::anonymous(MIB, None).unwrap();
        assert_eq!(region.write(MIB - 1, b"ab"), Err(Errno::new(libc::EFAULT)));
        assert_eq!(region.read(usize::MAX, &mut [0; 2]), Err(Errno::new(libc::EFAULT)));
        assert_eq!(region.populate(0..MIB + 1), Err(Errno::new(libc::EFAULT)));
    }

    #[test]
    fn an_impossible_length_is_an_errno() {
        assert_eq!(Region::anonymous(0, None).err(), Some(Errno::new(libc::EINVAL)));
        assert_eq!(Region::anonymous(usize::MAX / 2, None).err(), Some(Errno::new(libc::ENOMEM)));
    }

    #[test]
    fn a_memfd_keeps_its_length() {
        let file = sealed_memfd(1 << 20, None).unwrap();
        assert_eq!(Errno::of(&file.set_len(0).unwrap_err()).name(), "EPERM");
        assert_eq!(Errno::of(&file.set_len(2 << 20).unwrap_err()).name(), "EPERM");
    }

    #[test]
    fn binding_to_a_node_that_is_absent_is_einval() {
        let region = Region::anonymous(MIB, None).unwrap();
        for absent in [63, 1000, u32::MAX] {
            let nodes = NodeSet::from_iter([0, absent]);
            assert_eq!(region.place(Mode::Bind, &nodes), Err(Errno::new(libc::EINVAL)), "node {absent}");
        }
    }
}
