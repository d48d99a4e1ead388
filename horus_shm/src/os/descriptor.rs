//! Long-lived descriptors: never one of the standard streams, and never mistaken for another
//! file's.
//!
//! A program may run with descriptor 0, 1 or 2 closed. The next file that it opens gets that
//! number, and the program's later output goes into the file. Programs also close descriptors that
//! they do not know, all of them at once, and the numbers become those of other files.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use libc::ssize_t;

use super::{fstat, retry};

/// The lowest number of a long-lived descriptor: those below are the standard streams.
const LOWEST: RawFd = 3;

/// Runs `open` while no standard stream is closed, so that the descriptors it opens get other
/// numbers.
///
/// Closed streams are opened for that time, in a mode that can neither read nor write.
///
/// # Errors
///
/// The error of that opening, or of `open`.
pub fn above_standard<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut fillers = Vec::new();
    for stream in 0..LOWEST {
        if is_open(stream) {
            continue;
        }
        let (path, flags) = (c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        // SAFETY: the path is a C string.
        let fd = retry(|| unsafe { libc::open(path, flags) as ssize_t })?;
        // SAFETY: `open` just returned this descriptor, and no other code knows it.
        let filler = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        // WHY held: another thread may replace it by a stream of the program.
        fillers.push(Held::new(filler)?);
    }
    open()
}

/// Opens one long-lived descriptor.
pub(crate) fn kept(open: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let fd = above_standard(open)?;
    if fd.as_raw_fd() >= LOWEST {
        return Ok(fd);
    }
    // WHY: another thread closed a standard stream meanwhile.
    // SAFETY: the call takes no pointer.
    let copy =
        retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST) as ssize_t })?;
    // SAFETY: `fcntl` just returned this descriptor, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: the call takes no pointer.
    let answer = retry(|| unsafe { libc::fcntl(fd, libc::F_GETFD) as ssize_t });
    !answer.is_err_and(|error| error.raw_os_error() == Some(libc::EBADF))
}

/// A long-lived descriptor, with the identity of its file.
///
/// Each use checks with the kernel that it still is that file: if the program closed the descriptor
/// by its number, another file must not be locked, mapped or closed in its place.
#[derive(Debug)]
pub(crate) struct Held {
    fd: Option<OwnedFd>,
    device: u64,
    inode: u64,
}

impl Held {
    /// Holds `fd`.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let stat = fstat(fd.as_fd())?;
        Ok(Self::of(fd, stat.dev, stat.ino))
    }

    /// Holds `fd`, the descriptor of the file with that device and inode.
    pub(crate) const fn of(fd: OwnedFd, device: u64, inode: u64) -> Self {
        Self { fd: Some(fd), device, inode }
    }

    /// Returns the descriptor. A system call.
    ///
    /// # Errors
    ///
    /// [`closed`].
    pub(crate) fn get(&self) -> io::Result<BorrowedFd<'_>> {
        match &self.fd {
            Some(fd) if self.is_ours() => Ok(fd.as_fd()),
            _ => Err(closed()),
        }
    }

    /// Returns false if the program closed the descriptor, even if another file has its number.
    pub(crate) fn is_ours(&self) -> bool {
        let Some(fd) = &self.fd else { return false };
        match fstat(fd.as_fd()) {
            Ok(found) => (found.dev, found.ino) == (self.device, self.inode),
            // WHY: any other error does not mean that the descriptor is closed.
            Err(error) => error.raw_os_error() != Some(libc::EBADF),
        }
    }

    /// Forgets the descriptor without closing it.
    pub(crate) fn forget(&mut self) {
        if let Some(fd) = self.fd.take() {
            let _ = fd.into_raw_fd();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_ours() {
            self.forget();
        }
    }
}

/// Returns the error for a descriptor that the program closed.
pub(crate) fn closed() -> io::Error {
    io::Error::other(
        "the program closed a descriptor that this library holds (close, close_range, dup2): \
         close only descriptors that the program opened",
    )
}
