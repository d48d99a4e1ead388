//! Long-lived file descriptors. Their numbers are never those of the standard streams, and each use
//! checks that the number still belongs to the same file.
//!
//! WHY not the numbers of standard streams: a program may run with descriptor 0, 1 or 2 closed. The
//! next file that it opens gets that number, and the program's later output goes into the file. WHY
//! the check: some programs close all descriptors that they did not open themselves. The numbers
//! are then reused for other files.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use libc::ssize_t;

use super::cancel::NoCancelGuard;
use super::{fstat, retry_if_interrupted};

/// The lowest number that a long-lived descriptor may have, because 0 to 2 are the standard
/// streams.
const LONG_LIVED_FD_MIN: RawFd = 3;

/// Runs `open` while no standard stream is closed, so that the descriptors it opens get numbers
/// above 2.
///
/// A standard stream that is closed is opened while `open` runs, in a mode that permits neither
/// reads nor writes.
///
/// # Errors
///
/// The error of opening a standard stream, or the error of `open`.
pub fn with_standard_streams_open<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut fillers = Vec::new();
    for stream in 0..LONG_LIVED_FD_MIN {
        if is_open(stream) {
            continue;
        }
        let (path, flags) = (c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        // SAFETY: the path is a C string.
        let fd = retry_if_interrupted(|| unsafe { libc::open(path, flags) as ssize_t })?;
        // SAFETY: `open` just returned this descriptor, and no other code knows it.
        let filler = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        // WHY checked when it is closed: another thread may put a stream of the program in its
        // place.
        fillers.push(CheckedFd::new(filler)?);
    }
    open()
}

/// Calls `open`, and returns a descriptor whose number is above 2. If another thread closes a
/// standard stream during the call, the descriptor from `open` may have that stream's number. A
/// duplicate with a higher number is then returned instead.
pub(crate) fn open_long_lived(open: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let fd = with_standard_streams_open(open)?;
    if fd.as_raw_fd() >= LONG_LIVED_FD_MIN {
        return Ok(fd);
    }
    // WHY: another thread closed a standard stream meanwhile.
    // SAFETY: the call takes no pointer.
    let copy = retry_if_interrupted(|| unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LONG_LIVED_FD_MIN) as ssize_t
    })?;
    // SAFETY: `fcntl` just returned this descriptor, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

/// Calls `open`, which returns a read-only descriptor that is used only for a short time. If the
/// descriptor has the number of a standard stream, calls `open` again, for one with a higher
/// number.
///
/// WHY closed standard streams need not be opened first, as [`with_standard_streams_open`] does:
/// the first descriptor may have the number of a standard stream for a short time. If the program
/// writes to that number then, the write fails and changes no file, because the descriptor is
/// read-only.
pub(crate) fn open_short_lived_read_only(
    mut open: impl FnMut() -> io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let fd = open()?;
    if fd.as_raw_fd() >= LONG_LIVED_FD_MIN {
        return Ok(fd);
    }
    // WHY: another thread may put a stream of the program in its place, which is not to be closed.
    drop(CheckedFd::new(fd)?);
    open_long_lived(open)
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: the call takes no pointer.
    let answer = retry_if_interrupted(|| unsafe { libc::fcntl(fd, libc::F_GETFD) as ssize_t });
    !answer.is_err_and(|error| error.raw_os_error() == Some(libc::EBADF))
}

/// Returns true if the descriptor with the number `fd` is open, and belongs to the file with this
/// device and inode. Async-signal-safe.
pub(crate) fn is_fd_of_file(fd: RawFd, (device, inode): (u64, u64)) -> bool {
    // SAFETY: the descriptor is used only in this call, which fails if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    fstat(borrowed).is_ok_and(|found| (found.dev, found.ino) == (device, inode))
}

/// A long-lived descriptor, together with the device and inode of its file, by which each use is
/// checked.
///
/// Each use asks the kernel whether the descriptor still belongs to that file. WHY: the program may
/// have closed it by its number. If the number now belongs to another file, that file must not be
/// locked, mapped or closed by mistake.
#[derive(Debug)]
pub(crate) struct CheckedFd {
    fd: Option<OwnedFd>,
    device: u64,
    inode: u64,
}

impl CheckedFd {
    /// Wraps the descriptor `fd`. Asks the kernel for the device and inode of its file.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let stat = fstat(fd.as_fd())?;
        Ok(Self::with_file_id(fd, stat.dev, stat.ino))
    }

    /// Wraps the descriptor `fd` of a file whose device and inode the caller knows.
    pub(crate) const fn with_file_id(fd: OwnedFd, device: u64, inode: u64) -> Self {
        Self {
            fd: Some(fd),
            device,
            inode,
        }
    }

    /// Returns the device and the inode of the descriptor's file.
    pub(crate) const fn file_id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns the descriptor. Makes a system call first, which checks that the descriptor still
    /// belongs to its file.
    ///
    /// # Errors
    ///
    /// [`closed_fd_error`] if the program closed the descriptor.
    pub(crate) fn get(&self) -> io::Result<BorrowedFd<'_>> {
        match &self.fd {
            Some(fd) if self.is_still_open() => Ok(fd.as_fd()),
            _ => Err(closed_fd_error()),
        }
    }

    /// Returns true if the descriptor still belongs to the same file. It does not if the program
    /// has closed it, even if its number was used again.
    pub(crate) fn is_still_open(&self) -> bool {
        let Some(fd) = &self.fd else { return false };
        match fstat(fd.as_fd()) {
            Ok(found) => (found.dev, found.ino) == (self.device, self.inode),
            // WHY: any other error does not mean that the descriptor is closed.
            Err(error) => error.raw_os_error() != Some(libc::EBADF),
        }
    }

    /// Gives up the descriptor without closing it. Used if the program has closed it already.
    pub(crate) fn leak(&mut self) {
        if let Some(fd) = self.fd.take() {
            let _ = fd.into_raw_fd();
        }
    }
}

impl Drop for CheckedFd {
    fn drop(&mut self) {
        let _uncancelled = NoCancelGuard::new();
        if self.is_still_open() {
            drop(self.fd.take());
        } else {
            self.leak();
        }
    }
}

/// Returns the error that is reported if the program has closed a descriptor of this library.
pub(crate) fn closed_fd_error() -> io::Error {
    io::Error::other(
        "the program closed a descriptor that this library holds (close, close_range, dup2): \
         close only descriptors that the program opened",
    )
}
