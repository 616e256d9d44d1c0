//! A Linux error number that knows its name, kept as the source of an error.

use std::fmt;

/// A Linux `errno`, e.g. 12 / ENOMEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(i32);

impl Errno {
    /// The error number `code`.
    #[must_use]
    pub const fn new(code: i32) -> Self {
        Self(code)
    }

    /// What an I/O error carries; 0 when it did not come from the kernel.
    #[must_use]
    pub fn of(error: &std::io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(0))
    }

    /// The number, as in `errno.h`.
    #[must_use]
    pub const fn code(self) -> i32 {
        self.0
    }

    /// The name, as in `errno.h`, of those that memory calls can answer with (mmap(2), madvise(2), mbind(2),
    /// memfd_create(2), fallocate(2)); `E<number>` for others.
    #[must_use]
    pub fn name(self) -> String {
        let known = match self.0 {
            libc::EPERM => "EPERM",
            libc::EINTR => "EINTR",
            libc::EIO => "EIO",
            libc::EBADF => "EBADF",
            libc::EAGAIN => "EAGAIN",
            libc::ENOMEM => "ENOMEM",
            libc::EACCES => "EACCES",
            libc::EFAULT => "EFAULT",
            libc::EBUSY => "EBUSY",
            libc::ENODEV => "ENODEV",
            libc::EINVAL => "EINVAL",
            libc::ENFILE => "ENFILE",
            libc::EMFILE => "EMFILE",
            libc::EFBIG => "EFBIG",
            libc::ENOSPC => "ENOSPC",
            libc::ENOSYS => "ENOSYS",
            libc::EOVERFLOW => "EOVERFLOW",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::EHWPOISON => "EHWPOISON",
            _ => return format!("E{}", self.0),
        };
        known.to_owned()
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), std::io::Error::from_raw_os_error(self.0))
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_shows_its_name() {
        assert_eq!(Errno::new(libc::ENOMEM).name(), "ENOMEM");
        assert_eq!(Errno::new(9999).name(), "E9999");
        assert!(Errno::new(libc::EPERM).to_string().starts_with("EPERM ("));
    }
}
