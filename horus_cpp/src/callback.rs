//! The state of threads in callbacks: their scheduler, and disabled cancellation.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The state of a thread.
struct Here {
    /// The scheduler whose callback the thread is in, or 0.
    scheduler: Cell<u64>,
    /// True while `pthread_cancel` is delayed until the thread has left the library.
    is_uncancellable: Cell<bool>,
}

thread_local! {
    static HERE: Here =
        const { Here { scheduler: Cell::new(0), is_uncancellable: Cell::new(false) } };
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`.
const CANCEL_DISABLE: c_int = 1;

/// A guard that marks the calling thread as inside a callback of a scheduler.
pub(crate) struct Inside {
    before: u64,
    // WHY kept: looking it up costs a call into a shared library. The guard stays on this thread.
    here: *const Here,
}

impl Inside {
    #[inline(always)]
    pub(crate) fn enter(scheduler: u64) -> Self {
        HERE.with(|here| {
            if !here.is_uncancellable.get() {
                Self::forbid_cancels(here);
            }
            Self { before: here.scheduler.replace(scheduler), here }
        })
    }

    /// Disables cancellation permanently, for threads of the library.
    #[cold]
    fn forbid_cancels(here: &Here) {
        // SAFETY: the call changes only a flag of this thread, and a null pointer is allowed.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, null_mut()) };
        here.is_uncancellable.set(true);
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `here` is a static of this thread, which still runs, and has no destructor.
        unsafe { &*self.here }.scheduler.set(self.before);
    }
}

/// Returns true if the calling thread is in a callback of this scheduler.
#[inline(always)]
pub(crate) fn is_inside(scheduler: u64) -> bool {
    HERE.with(|here| here.scheduler.get() == scheduler)
}

/// A guard that delays a `pthread_cancel` of the calling thread until the call is over. WHY: a
/// cancel would unwind through the frames of the scheduler, and could not be caught.
pub(crate) struct Uncancelled {
    before: Option<c_int>,
    // WHY kept: as in `Inside`.
    here: *const Here,
}

impl Uncancelled {
    #[inline]
    pub(crate) fn begin() -> Self {
        HERE.with(|here| {
            if here.is_uncancellable.replace(true) {
                return Self { before: None, here };
            }
            let mut before = 0;
            // SAFETY: the call changes only a flag of this thread, and `before` is valid for the
            // write.
            unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
            Self { before: Some(before), here }
        })
    }
}

impl Drop for Uncancelled {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: `here` is a static of this thread, which still runs, and has no destructor.
            unsafe { &*self.here }.is_uncancellable.set(false);
            // SAFETY: the call changes only a flag of this thread, back to the state it had.
            unsafe { pthread_setcancelstate(before, null_mut()) };
        }
    }
}
