//! Makes threads sleep forever where Python would end them in the middle of Rust functions.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::thread;
use std::time::Duration;

/// `struct _pthread_cleanup_buffer` of the C library, which the functions below fill. musl has the
/// same functions, and a smaller structure.
#[repr(C)]
struct CleanupBuffer {
    routine: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut CleanupBuffer,
}

// The functions behind the macros `pthread_cleanup_push` and `pthread_cleanup_pop`, as the Linux
// Standard Base specifies them.
unsafe extern "C" {
    fn _pthread_cleanup_push(
        buffer: *mut CleanupBuffer,
        routine: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut CleanupBuffer, execute: c_int);
}

/// A guard: while it lives, `pthread_exit` makes the current thread sleep forever instead of ending
/// it.
///
/// WHY: before 3.14, Python calls `pthread_exit` in a thread that takes the GIL of an interpreter
/// that shuts down, for example when a `time.sleep` of a tick ends. That unwinds the stack: Rust
/// functions would release Python objects without the GIL, and the first `catch_unwind` would abort
/// the process, because the unwinding must not be caught. Python 3.14 makes the thread sleep, too.
///
/// WHY a cleanup routine, and not a guard in each caller of Python: the C library calls the routine
/// before it unwinds the first function. It calls a routine once the function that has the buffer
/// on its stack is left. This buffer is not on the stack, and such functions count as left.
pub(crate) struct ForcedExitGuard(*mut CleanupBuffer);

thread_local! {
    /// A buffer for the next guard of this thread. WHY kept: a guard is made for each tick.
    static SPARE_BUFFER: Cell<Option<Box<CleanupBuffer>>> = const { Cell::new(None) };
}

impl ForcedExitGuard {
    /// Protects the current thread. Guards must be dropped by the same thread, in the reverse of
    /// their order. Costs some nanoseconds; the first one of a thread allocates.
    pub(crate) fn new() -> Self {
        let spare = SPARE_BUFFER.try_with(Cell::take).ok().flatten();
        let buffer = spare.unwrap_or_else(|| {
            Box::new(CleanupBuffer {
                routine: None,
                argument: ptr::null_mut(),
                cancel_type: 0,
                previous: ptr::null_mut(),
            })
        });
        let buffer = Box::into_raw(buffer);
        // SAFETY: the buffer lives until `drop` removes it.
        unsafe { _pthread_cleanup_push(buffer, sleep_forever, ptr::null_mut()) };
        Self(buffer)
    }
}

impl Drop for ForcedExitGuard {
    fn drop(&mut self) {
        // SAFETY: `new` added the buffer in this thread: it is not `Send`. What was added later has
        // been removed.
        unsafe { _pthread_cleanup_pop(self.0, 0) };
        // SAFETY: `new` made it by `Box::into_raw`, and the C library has forgotten it.
        let buffer = unsafe { Box::from_raw(self.0) };
        // WHY ignored: a thread that has lost its thread-local variables needs no spare one.
        let _ = SPARE_BUFFER.try_with(|spare| spare.set(Some(buffer)));
    }
}

extern "C" fn sleep_forever(_: *mut c_void) {
    loop {
        // WHY not `park`: it uses thread-local variables, which a thread that ends has lost.
        thread::sleep(Duration::MAX);
    }
}
