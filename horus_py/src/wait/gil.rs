//! Runs blocking waits without the GIL. Once the interpreter is shutting down, their threads do not
//! take the GIL again.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Maximum time for which the shutdown of the interpreter waits for threads that are about to take
/// the GIL.
const INTERPRETER_EXIT_WAIT_MAX: Duration = Duration::from_secs(1);
const INTERPRETER_EXIT_POLL_INTERVAL: Duration = Duration::from_micros(100);

static IS_INTERPRETER_EXITING: AtomicBool = AtomicBool::new(false);
static THREADS_TAKING_GIL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True on the thread that shuts the interpreter down. This thread may still take the GIL.
    static IS_INTERPRETER_EXIT_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs `wait` without the GIL.
///
/// WHY not `detach` alone: when a daemon thread requests the GIL of an interpreter that is shutting
/// down, Python ends the thread in the middle of its stack, which Rust does not survive. So this
/// function never returns on such a thread: it makes the thread sleep forever.
pub(crate) fn run_detached<T: Send>(py: Python<'_>, wait: impl FnOnce() -> T + Send) -> T {
    let result = py.detach(|| {
        let result = wait();
        // ORDERING(exit): SeqCst add, then SeqCst load. Pairs with `on_interpreter_exit`, as in
        // Dekker's algorithm: either this load sees that the interpreter shuts down, or the loop
        // there sees this thread.
        THREADS_TAKING_GIL.fetch_add(1, Ordering::SeqCst);
        // ORDERING(exit): as above.
        if IS_INTERPRETER_EXITING.load(Ordering::SeqCst) && !IS_INTERPRETER_EXIT_THREAD.get() {
            // Relaxed: it only ends the wait of `on_interpreter_exit`.
            THREADS_TAKING_GIL.fetch_sub(1, Ordering::Relaxed);
            loop {
                thread::park();
            }
        }
        result
    });
    // Relaxed: it only ends the wait of `on_interpreter_exit`; the GIL orders the rest.
    THREADS_TAKING_GIL.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Sets the number of threads that are about to take the GIL to 0, in the child process after
/// `fork`: these threads do not exist there. The thread that forks has the GIL.
pub(crate) fn reset_after_fork() {
    // Relaxed: this process has one thread.
    THREADS_TAKING_GIL.store(0, Ordering::Relaxed);
}

/// Keeps all other threads from taking the GIL again. Python calls it (`atexit`) when the
/// interpreter begins to shut down.
#[pyfunction]
#[pyo3(name = "_exiting")]
pub(crate) fn on_interpreter_exit(py: Python<'_>) {
    IS_INTERPRETER_EXIT_THREAD.set(true);
    // ORDERING(exit): SeqCst store, before the loads below. Pairs with `run_detached`.
    IS_INTERPRETER_EXITING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let end = Instant::now() + INTERPRETER_EXIT_WAIT_MAX;
        // ORDERING(exit): as above.
        while THREADS_TAKING_GIL.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(INTERPRETER_EXIT_POLL_INTERVAL);
        }
    });
}
