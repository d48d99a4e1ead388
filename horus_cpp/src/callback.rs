//! The state that each thread keeps about C callbacks: the scheduler that called the callback, and
//! whether the cancellation of the thread is disabled.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The state that the library keeps for each thread.
struct ThreadState {
    /// Handle of the scheduler that is running a callback on this thread; 0 if none is.
    scheduler: Cell<u64>,
    /// True while a `pthread_cancel` of this thread is delayed. It is delayed until the thread has
    /// left the library.
    is_uncancellable: Cell<bool>,
}

thread_local! {
    static THREAD_STATE: ThreadState =
        const { ThreadState { scheduler: Cell::new(0), is_uncancellable: Cell::new(false) } };
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// The value of `PTHREAD_CANCEL_DISABLE` in `<pthread.h>`. Passed to `pthread_setcancelstate`, it
/// disables the cancellation of the calling thread.
const CANCEL_DISABLE: c_int = 1;

/// A guard that marks the calling thread as being in a callback of a scheduler.
pub(crate) struct InCallback {
    outer_scheduler: u64,
    // WHY cached: each access to a thread local costs a call into a shared library. The guard stays
    // on its thread.
    state: *const ThreadState,
}

impl InCallback {
    #[inline(always)]
    pub(crate) fn enter(scheduler: u64) -> Self {
        THREAD_STATE.with(|state| {
            if !state.is_uncancellable.get() {
                Self::disable_cancellation(state);
            }
            Self {
                outer_scheduler: state.scheduler.replace(scheduler),
                state,
            }
        })
    }

    /// Permanently disables the cancellation of this thread. WHY not only for the callback: the
    /// library has started the thread. On any other thread, a [`DelayedCancel`] exists during
    /// callbacks.
    #[cold]
    fn disable_cancellation(state: &ThreadState) {
        // SAFETY: the call changes only a flag of this thread, and the second pointer may be null.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, null_mut()) };
        state.is_uncancellable.set(true);
    }
}

impl Drop for InCallback {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `state` is a static of this thread, which still runs, and has no destructor.
        unsafe { &*self.state }.scheduler.set(self.outer_scheduler);
    }
}

/// Returns true if the calling thread is in a callback of the scheduler with the handle
/// `scheduler`.
#[inline(always)]
pub(crate) fn is_in_callback(scheduler: u64) -> bool {
    THREAD_STATE.with(|state| state.scheduler.get() == scheduler)
}

/// A guard that delays a `pthread_cancel` of the calling thread until the guard is dropped. WHY: a
/// cancellation unwinds the whole stack, including frames of the scheduler, and Rust code cannot
/// catch it.
pub(crate) struct DelayedCancel {
    before: Option<c_int>,
    // WHY cached: as in `InCallback`.
    state: *const ThreadState,
}

impl DelayedCancel {
    #[inline]
    pub(crate) fn begin() -> Self {
        THREAD_STATE.with(|state| {
            if state.is_uncancellable.replace(true) {
                return Self {
                    before: None,
                    state,
                };
            }
            let mut before = 0;
            // SAFETY: the call changes only a flag of this thread, and `before` is valid for the
            // write.
            unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
            Self {
                before: Some(before),
                state,
            }
        })
    }
}

impl Drop for DelayedCancel {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: `state` is a static of this thread, which still runs, and has no destructor.
            unsafe { &*self.state }.is_uncancellable.set(false);
            // SAFETY: the call changes only a flag of this thread, back to the state it had.
            unsafe { pthread_setcancelstate(before, null_mut()) };
        }
    }
}
