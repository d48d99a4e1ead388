//! Runs waits without the GIL, and keeps their threads from an interpreter that ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The time for which the end of the interpreter waits for threads on their way back to it.
const EXIT_MAX: Duration = Duration::from_secs(1);
const EXIT_PAUSE: Duration = Duration::from_micros(100);

static EXITING: AtomicBool = AtomicBool::new(false);
static RETURNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True on the thread that ends the interpreter.
    static IS_EXITING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `wait` without the GIL.
///
/// WHY not `detach` alone: a daemon thread that asks for the GIL of an interpreter that ends is
/// ended by Python in the middle of its stack, which Rust does not survive. So it stays here.
pub(crate) fn detached<T: Send>(py: Python<'_>, wait: impl FnOnce() -> T + Send) -> T {
    let result = py.detach(|| {
        let result = wait();
        // ORDERING(exit): SeqCst add, then SeqCst load. Pairs with `exiting`, the Dekker way:
        // either this load sees that the interpreter ends, or the loop there sees this thread.
        RETURNING.fetch_add(1, Ordering::SeqCst);
        // ORDERING(exit): as above.
        if EXITING.load(Ordering::SeqCst) && !IS_EXITING.get() {
            // Relaxed: only tells `exiting` that it need not wait any longer.
            RETURNING.fetch_sub(1, Ordering::Relaxed);
            loop {
                thread::park();
            }
        }
        result
    });
    // Relaxed: only tells `exiting` that it need not wait any longer; the GIL orders the rest.
    RETURNING.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Called when the interpreter begins to end: from now on no other thread comes back to it.
#[pyfunction]
#[pyo3(name = "_exiting")]
pub(crate) fn exiting(py: Python<'_>) {
    IS_EXITING.set(true);
    // ORDERING(exit): SeqCst store, before the loads below. Pairs with `detached`.
    EXITING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let end = Instant::now() + EXIT_MAX;
        // ORDERING(exit): as above.
        while RETURNING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(EXIT_PAUSE);
        }
    });
}
