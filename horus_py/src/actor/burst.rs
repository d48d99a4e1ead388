//! Bursts: a worker thread attaches to the interpreter once, and then runs many actors.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::scheduler::python_calls::try_with_python;

/// Number of bursts of all workers so far. In a burst, a worker takes the GIL once and then runs
/// several actors.
static BURST_COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// True while this thread runs a burst (several actors in a row under the GIL), and is
    /// therefore attached to the interpreter.
    static IS_IN_BURST: Cell<bool> = const { Cell::new(false) };
}

/// Calls `burst`, which runs actors, while the thread is attached to the interpreter. If the
/// interpreter is shutting down, calls `burst` without attaching; each call of a handler then
/// fails.
pub(crate) fn run_actor_burst(burst: &mut dyn FnMut()) {
    let ran = try_with_python(|_| {
        // Relaxed: a counter for tests.
        BURST_COUNT.fetch_add(1, Ordering::Relaxed);
        let before = IS_IN_BURST.replace(true);
        burst();
        IS_IN_BURST.set(before);
    });
    if ran.is_none() {
        burst();
    }
}

/// Calls `call` while the thread is attached to the interpreter. Returns `None` if the interpreter
/// is shutting down. Costs a few nanoseconds within a burst.
#[inline]
pub(crate) fn try_call_attached<R>(call: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    if IS_IN_BURST.get() {
        Python::try_attach(call)
    } else {
        try_with_python(call)
    }
}

/// Returns how often a worker took the GIL to run actors.
#[pyfunction]
pub(crate) fn _actor_bursts() -> u64 {
    // Relaxed: as above.
    BURST_COUNT.load(Ordering::Relaxed)
}
