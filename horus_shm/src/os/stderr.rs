//! Writes to stderr of a process whose other code is not known.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use libc::{SIGPIPE, c_int, sigset_t};

/// Writes `bytes` to stderr. Blocks while the program that reads stderr is slow. Ignores errors,
/// because there is no other place to report them.
///
/// WHY not by the standard library: a child that is forked while another thread writes inherits its
/// lock, which nobody releases. And if the program that reads stderr has ended, the SIGPIPE of a
/// write ends a process that does not ignore this signal, as a C program.
pub fn write(bytes: &[u8]) {
    let set = pipe_signal_set();
    let was_pending = is_pipe_signal_pending();
    let mut previous = set;
    // SAFETY: both sets are valid for the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut previous) };
    if write_all(bytes) == Err(libc::EPIPE) && !was_pending {
        remove_pending_signal(&set);
    }
    // SAFETY: the set is valid for the call, and a null pointer means that none is wanted.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const previous, null_mut()) };
}

/// Writes all `bytes` to stderr. Returns the error number if a write fails.
fn write_all(mut bytes: &[u8]) -> Result<(), c_int> {
    while !bytes.is_empty() {
        // SAFETY: the bytes are readable for their length.
        let written =
            unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => match last_errno() {
                libc::EINTR => {}
                // WHY not an error: another process may have set `O_NONBLOCK`, which all processes
                // share that have this pipe or terminal.
                libc::EAGAIN => wait_until_writable()?,
                errno => return Err(errno),
            },
        }
    }
    Ok(())
}

/// Returns true if stderr can take a line now, or has an error, so that a write does not wait.
#[must_use]
pub fn is_writable() -> bool {
    poll(0).is_ok_and(|ready| ready > 0)
}

/// Blocks until stderr can take bytes, or has an error that the next write finds. Returns the error
/// number if the system call fails.
fn wait_until_writable() -> Result<(), c_int> {
    match poll(-1) {
        Err(errno) if errno != libc::EINTR => Err(errno),
        _ => Ok(()),
    }
}

/// Waits until stderr can take bytes or has an error, at most `timeout_ms`, or without a limit if
/// that is -1. Returns 1, or 0 after the time. Returns the error number if the system call fails.
fn poll(timeout_ms: c_int) -> Result<c_int, c_int> {
    let mut stderr = libc::pollfd {
        fd: libc::STDERR_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: the one element is valid for the call.
    let ready = unsafe { libc::poll(&raw mut stderr, 1, timeout_ms) };
    if ready < 0 {
        Err(last_errno())
    } else {
        Ok(ready)
    }
}

/// Returns the number of the last error of this thread.
fn last_errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Returns the set of signals that has only SIGPIPE.
fn pipe_signal_set() -> sigset_t {
    let mut set = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: the set is valid for the write.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the call before has filled the set.
    unsafe { libc::sigaddset(set.as_mut_ptr(), SIGPIPE) };
    // SAFETY: as before.
    unsafe { set.assume_init() }
}

/// Returns true if a SIGPIPE waits until this thread no longer blocks it.
fn is_pipe_signal_pending() -> bool {
    let mut pending = pipe_signal_set();
    // SAFETY: the set is valid for the write.
    let is_known = unsafe { libc::sigpending(&raw mut pending) } == 0;
    // SAFETY: the set is valid for the call.
    is_known && unsafe { libc::sigismember(&raw const pending, SIGPIPE) } == 1
}

/// Removes the pending signal in `set`, if there is one.
fn remove_pending_signal(set: &sigset_t) {
    let now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the set and the time are valid for the call, and a null pointer means that no
    // information is wanted.
    while unsafe { libc::sigtimedwait(set, null_mut(), &raw const now) } == -1
        && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}
