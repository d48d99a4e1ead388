//! Protection against `pthread_cancel`. It unwinds the stack from within a system call; if the
//! stack contains Rust frames, this aborts the process.

use libc::c_int;

#[cfg(not(miri))]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Does nothing, because miri has no `pthread_cancel`.
#[cfg(miri)]
unsafe fn pthread_setcancelstate(_: c_int, _: *mut c_int) -> c_int {
    0
}

/// The value of `PTHREAD_CANCEL_DISABLE` in `pthread.h`; libc does not define it.
const CANCEL_DISABLE: c_int = 1;

/// A guard that delays a `pthread_cancel` of the calling thread until the guard is dropped. It must
/// be dropped on the same thread.
///
/// Costs two calls of some nanoseconds each. Meant only for code that makes system calls.
#[derive(Debug)]
#[must_use = "dropping it permits cancellation again"]
pub(crate) struct NoCancelGuard {
    before: c_int,
}

impl NoCancelGuard {
    pub(crate) fn new() -> Self {
        let mut before = 0;
        // SAFETY: it changes a flag of this thread, and writes the old state to `before`.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
        Self { before }
    }
}

impl Drop for NoCancelGuard {
    fn drop(&mut self) {
        // SAFETY: as above; this is the old state.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}
