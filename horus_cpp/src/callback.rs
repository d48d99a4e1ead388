//! Threads in callbacks: whose they are, and that nobody cancels them there.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

/// What is known of a thread.
struct Here {
    /// The scheduler that the callback belongs to which the thread is in, or 0.
    scheduler: Cell<u64>,
    /// `pthread_cancel` waits until the thread is out of the library.
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

/// The calling thread is in a callback of a scheduler.
pub(crate) struct Inside {
    before: u64,
    // WHY kept: finding it costs a call in a shared library. It stays on this thread with this.
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

    /// For threads of the library, for good.
    #[cold]
    fn forbid_cancels(here: &Here) {
        // SAFETY: it changes a flag of this thread.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, null_mut()) };
        here.is_uncancellable.set(true);
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of this thread, which is in a call, and without a destructor.
        unsafe { &*self.here }.scheduler.set(self.before);
    }
}

/// Whether the calling thread is in a callback of this scheduler.
#[inline(always)]
pub(crate) fn is_inside(scheduler: u64) -> bool {
    HERE.with(|here| here.scheduler.get() == scheduler)
}

/// Has a `pthread_cancel` of the calling thread wait until the call is over. WHY: it would unwind
/// through the frames of the scheduler, and nobody could stop it.
pub(crate) struct Uncancelled {
    before: Option<c_int>,
    // As of `Inside`.
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
            // SAFETY: it changes a flag of this thread, and says what it was.
            unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
            Self { before: Some(before), here }
        })
    }
}

impl Drop for Uncancelled {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: as in `Inside`.
            unsafe { &*self.here }.is_uncancellable.set(false);
            // SAFETY: as above; this state was there before.
            unsafe { pthread_setcancelstate(before, null_mut()) };
        }
    }
}
