//! Protection against `pthread_cancel`, which unwinds the stack of a thread that is in a system
//! call. If Rust functions are on that stack, the process aborts.

use libc::c_int;

#[cfg(not(miri))]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// A substitute for `pthread_setcancelstate` that does nothing, for the interpreter miri, which
/// lacks this function.
#[cfg(miri)]
unsafe fn pthread_setcancelstate(_: c_int, _: *mut c_int) -> c_int {
    0
}

/// The argument `PTHREAD_CANCEL_DISABLE` from `pthread.h`, which disables cancellation. libc does
/// not define it.
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
