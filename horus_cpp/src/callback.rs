//! The state that each thread keeps about C callbacks: the scheduler that called the callback, and
//! whether the cancellation of the thread is disabled.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr::null_mut;

/// The state that the library keeps for each thread.
struct ThreadState {
    /// Handle of the scheduler that is running the innermost callback of this thread; 0 if the
    /// thread is in no callback.
    scheduler: Cell<u64>,
    /// True while a `pthread_cancel` of this thread is delayed. It is delayed until the thread has
    /// left the library.
    is_uncancellable: Cell<bool>,
}

thread_local! {
    static THREAD_STATE: ThreadState =
        const { ThreadState { scheduler: Cell::new(0), is_uncancellable: Cell::new(false) } };
}

thread_local! {
    /// Handles of the schedulers in whose callbacks this thread runs the innermost one, outermost
    /// first. Empty unless a callback runs a scheduler.
    static SCHEDULERS_OF_OUTER_CALLBACKS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// The value of `PTHREAD_CANCEL_DISABLE` in `<pthread.h>`. Passed to `pthread_setcancelstate`, it
/// disables the cancellation of the calling thread.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// A guard that marks the calling thread as being in a callback of a scheduler.
pub(crate) struct CallbackGuard {
    outer_scheduler: u64,
    // WHY cached: each access to a thread local costs a call into a shared library. The guard stays
    // on its thread.
    state: *const ThreadState,
}

impl CallbackGuard {
    #[inline(always)]
    pub(crate) fn enter(scheduler_handle: u64) -> Self {
        THREAD_STATE.with(|state| {
            if !state.is_uncancellable.get() {
                Self::disable_cancellation(state);
            }
            let outer_scheduler = state.scheduler.replace(scheduler_handle);
            if outer_scheduler != 0 {
                push_outer_scheduler(outer_scheduler);
            }
            Self {
                outer_scheduler,
                state,
            }
        })
    }

    /// Permanently disables the cancellation of this thread. WHY not only for the callback: the
    /// library has started the thread. On any other thread, a [`DelayedCancellationGuard`] exists
    /// during callbacks.
    #[cold]
    fn disable_cancellation(state: &ThreadState) {
        // SAFETY: the call changes only a flag of this thread, and the second pointer may be null.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, null_mut()) };
        state.is_uncancellable.set(true);
    }
}

impl Drop for CallbackGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `state` is a static of this thread, which still runs, and has no destructor.
        unsafe { &*self.state }.scheduler.set(self.outer_scheduler);
        if self.outer_scheduler != 0 {
            pop_outer_scheduler();
        }
    }
}

#[cold]
fn push_outer_scheduler(scheduler_handle: u64) {
    // WHY the error is ignored: the thread is ending, and a C++ destructor runs a scheduler.
    let _ =
        SCHEDULERS_OF_OUTER_CALLBACKS.try_with(|outer| outer.borrow_mut().push(scheduler_handle));
}

#[cold]
fn pop_outer_scheduler() {
    let _ = SCHEDULERS_OF_OUTER_CALLBACKS.try_with(|outer| outer.borrow_mut().pop());
}

/// Returns true if the calling thread is in a callback of the scheduler with the handle
/// `scheduler_handle`, also if that callback runs another scheduler.
#[inline(always)]
pub(crate) fn is_in_callback(scheduler_handle: u64) -> bool {
    let innermost = THREAD_STATE.with(|state| state.scheduler.get());
    innermost == scheduler_handle || (innermost != 0 && is_in_outer_callback(scheduler_handle))
}

#[cold]
fn is_in_outer_callback(scheduler_handle: u64) -> bool {
    let is_outer = |outer: &RefCell<Vec<u64>>| outer.borrow().contains(&scheduler_handle);
    SCHEDULERS_OF_OUTER_CALLBACKS
        .try_with(is_outer)
        .unwrap_or(false)
}

/// A guard that delays a `pthread_cancel` of the calling thread until the guard is dropped. WHY: a
/// cancellation unwinds the whole stack, including frames of the scheduler, and Rust code cannot
/// catch it.
pub(crate) struct DelayedCancellationGuard {
    before: Option<c_int>,
    // WHY cached: as in `CallbackGuard`.
    state: *const ThreadState,
}

impl DelayedCancellationGuard {
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
            unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
            Self {
                before: Some(before),
                state,
            }
        })
    }
}

impl Drop for DelayedCancellationGuard {
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
