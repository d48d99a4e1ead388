//! Protection against cancellation of threads: `pthread_cancel` unwinds from within a system call,
//! and Rust frames on the stack then abort the process.

use libc::c_int;

#[cfg(not(miri))]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Does nothing: miri has no threads that are cancelled.
#[cfg(miri)]
unsafe fn pthread_setcancelstate(_: c_int, _: *mut c_int) -> c_int {
    0
}

/// `PTHREAD_CANCEL_DISABLE`.
const DISABLE: c_int = 1;

/// Delays a `pthread_cancel` of the calling thread until this value is dropped, on the same thread.
///
/// Two calls of some nanoseconds: only for paths that make system calls.
#[derive(Debug)]
#[must_use = "dropping it ends it"]
pub(crate) struct Uncancelled {
    before: c_int,
}

impl Uncancelled {
    pub(crate) fn begin() -> Self {
        let mut before = 0;
        // SAFETY: it changes a flag of this thread, and writes the old state to `before`.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
        Self { before }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: as above; this is the old state.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}
