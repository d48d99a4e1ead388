//! File locks: leases (which prevent others from opening a file), and advisory locks on byte
//! ranges, owned by an open file description.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, off_t, ssize_t};

use super::{retry_if_interrupted, to_offset};

/// The command `F_SETSIG` for `fcntl`, which selects the signal of a lease. From
/// `asm-generic/fcntl.h`; libc does not define it.
const F_SETSIG: c_int = 10;

/// A range of byte offsets in a file that is locked or unlocked. The file need not have bytes
/// there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockRange {
    start: off_t,
    /// Number of bytes of the range; 0 means that the range has no end.
    len: off_t,
}

impl LockRange {
    /// The range that contains all offsets of a file.
    pub(crate) const ALL: Self = Self { start: 0, len: 0 };

    /// Creates a range of `len_bytes` bytes from the offset `start` on; at least one byte.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the range is empty, which the kernel would take for all offsets, or if an
    /// offset does not fit into the kernel's signed 64 bits.
    pub(crate) fn new(start: u64, len_bytes: u64) -> io::Result<Self> {
        let start = to_offset(start)?;
        let len = to_offset(len_bytes)?;
        if len == 0 || start.checked_add(len).is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { start, len })
    }

    fn to_raw(self, kind: c_int) -> libc::flock {
        // SAFETY: `flock` contains only integers, for which zero is valid; the kernel requires
        // `l_pid` 0.
        let mut raw: libc::flock = unsafe { std::mem::zeroed() };
        raw.l_type = kind as _;
        raw.l_whence = libc::SEEK_SET as _;
        raw.l_start = self.start;
        raw.l_len = self.len;
        raw
    }
}

/// The kind of lock on a range: shared or exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    Shared,
    Exclusive,
}

impl LockKind {
    fn to_raw(self) -> c_int {
        match self {
            Self::Shared => libc::F_RDLCK,
            Self::Exclusive => libc::F_WRLCK,
        }
    }
}

/// Locks a range for the open file description, or changes the kind of the lock that the
/// description has there. Does not block: if a lock of another description conflicts, returns false
/// and leaves the old lock as it is.
pub(crate) fn try_lock(fd: BorrowedFd<'_>, range: LockRange, kind: LockKind) -> io::Result<bool> {
    match set_lock(fd, range.to_raw(kind.to_raw())) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Unlocks a range. It is not an error if parts of the range are not locked.
pub(crate) fn unlock(fd: BorrowedFd<'_>, range: LockRange) -> io::Result<()> {
    set_lock(fd, range.to_raw(libc::F_UNLCK))
}

fn set_lock(fd: BorrowedFd<'_>, raw: libc::flock) -> io::Result<()> {
    // SAFETY: `raw` is a `flock` that outlives the call.
    retry_if_interrupted(|| unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, &raw) as ssize_t
    })?;
    Ok(())
}

/// A lock that [`find_conflicting_lock`] found. Another open file description holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundLock {
    /// Offset of the first byte of the locked range.
    pub(crate) start: u64,
    pub(crate) kind: LockKind,
}

/// Returns a lock that would prevent an exclusive lock on the range; `None` if there is no such
/// lock. Only locks of *other* open file descriptions count.
pub(crate) fn find_conflicting_lock(
    fd: BorrowedFd<'_>,
    range: LockRange,
) -> io::Result<Option<FoundLock>> {
    let mut raw = range.to_raw(libc::F_WRLCK);
    // SAFETY: `raw` is a `flock` that outlives the call and is valid for its writes.
    retry_if_interrupted(|| unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, &mut raw) as ssize_t
    })?;
    let kind = match c_int::from(raw.l_type) {
        libc::F_UNLCK => return Ok(None),
        libc::F_RDLCK => LockKind::Shared,
        _ => LockKind::Exclusive,
    };
    let start = raw.l_start.max(0) as u64;
    Ok(Some(FoundLock { start, kind }))
}

/// Requests a write lease; returns true if the kernel grants it, which it does only if no other
/// open file description of the file exists. While the lease is held, a process that opens the file
/// gets `EWOULDBLOCK` or waits. The lease ends with [`end_lease`] or when the file is closed.
pub(crate) fn try_write_lease(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // WHY: when another process opens the file, the kernel signals the holder, by default with
    // SIGIO, which kills. SIGURG is ignored by default.
    // SAFETY: the call takes no pointer.
    retry_if_interrupted(|| unsafe {
        libc::fcntl(fd.as_raw_fd(), F_SETSIG, libc::SIGURG) as ssize_t
    })?;
    match set_lease(fd, libc::F_WRLCK) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives back the lease on the file that [`try_write_lease`] has acquired.
pub(crate) fn end_lease(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_lease(fd, libc::F_UNLCK)
}

fn set_lease(fd: BorrowedFd<'_>, kind: c_int) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    retry_if_interrupted(|| unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind) as ssize_t
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;
    use crate::os::{OpenMode, open_file};

    /// Returns true if this process holds a write lease and no other process has asked the kernel
    /// to end it.
    fn has_write_lease(fd: BorrowedFd<'_>) -> io::Result<bool> {
        // SAFETY: the call takes no pointer.
        let kind = retry_if_interrupted(|| unsafe {
            libc::fcntl(fd.as_raw_fd(), libc::F_GETLEASE) as ssize_t
        })?;
        Ok(kind == libc::F_WRLCK as usize)
    }

    #[test]
    fn a_write_lease_is_for_the_only_opener_and_survives_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        let other = File::open(&path).unwrap();
        assert!(!try_write_lease(file.as_fd()).unwrap());
        drop(other);
        // WHY: a child that another test forks has a copy of `other` for a moment.
        let is_granted = || {
            try_write_lease(file.as_fd()).unwrap() || {
                std::thread::sleep(std::time::Duration::from_millis(1));
                false
            }
        };
        assert!((0..10_000).any(|_| is_granted()));
        assert!(has_write_lease(file.as_fd()).unwrap());

        let dir = File::open(dir.path()).unwrap();
        let open = || open_file(dir.as_fd(), "file", OpenMode::ReadOnly);
        assert_eq!(open().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(
            !has_write_lease(file.as_fd()).unwrap(),
            "the opener asked to end it"
        );
        end_lease(file.as_fd()).unwrap();
        open().unwrap();
    }

    #[test]
    fn an_empty_range_is_refused() {
        assert!(LockRange::new(0, 0).is_err());
        assert!(LockRange::new(i64::MAX as u64, 1).is_err());
        assert!(LockRange::new(u64::MAX, 1).is_err());
    }
}
