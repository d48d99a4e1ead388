//! Waiting without the GIL: in slices between which signals are looked at, and not beyond the end
//! of the interpreter.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error;
use crate::topic::qos::seconds;

/// How long Python is not asked whether there was a signal: Ctrl-C takes no longer to be noticed.
const SLICE: Duration = Duration::from_millis(40);

/// How long the end of the interpreter waits for threads that are on their way back to it.
const EXIT_MAX: Duration = Duration::from_secs(1);
const EXIT_PAUSE: Duration = Duration::from_micros(100);

static EXITING: AtomicBool = AtomicBool::new(false);
static RETURNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this is the thread that ends the interpreter.
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

/// How long a call may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// `None`: as long as it takes.
    end: Option<Instant>,
}

impl Patience {
    /// Of a `timeout` in seconds.
    pub(crate) fn of(timeout: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seconds = timeout.extract().and_then(seconds);
        let timeout = seconds.map_err(|error| error::within(timeout.py(), "timeout", &error))?;
        Ok(Self { end: Instant::now().checked_add(timeout) })
    }

    pub(crate) const fn endless() -> Self {
        Self { end: None }
    }

    /// Calls `wait` without the GIL, slice after slice, until it has something or the time is
    /// over. Between two slices, signals are handled and `check` is asked.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        mut wait: impl FnMut(Duration) -> Option<T> + Send,
        mut check: impl FnMut() -> PyResult<()>,
    ) -> PyResult<Option<T>> {
        loop {
            let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            if let Some(result) = detached(py, || wait(slice)) {
                return Ok(Some(result));
            }
            py.check_signals()?;
            check()?;
            if left == Some(slice) {
                return Ok(None);
            }
        }
    }
}
