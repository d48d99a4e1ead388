//! Into Python from the scheduler's threads, and not beyond the end of the interpreter.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use pyo3::ffi;

/// How long the end of the interpreter waits for turns that do not end.
const FAREWELL: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_micros(200);

/// Calls that are in Python, or on their way there.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// How many forks this process is away from the first.
static GENERATION: AtomicUsize = AtomicUsize::new(0);
/// The interpreter ends: nobody else goes in.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// A call on its way to Python and back.
struct Visit;

impl Visit {
    /// `None` if the interpreter ends.
    #[inline]
    fn begin() -> Option<Self> {
        // ORDERING(visits): SeqCst add, then SeqCst load. Pairs with `close`, the Dekker way:
        // either this load sees that the interpreter ends, or the loop there sees this call.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let visit = Self;
        // ORDERING(visits): as above.
        (!CLOSED.load(Ordering::SeqCst)).then_some(visit)
    }
}

impl Drop for Visit {
    #[inline]
    fn drop(&mut self) {
        // ORDERING(visits): Release. Pairs with the loop of `close`, behind which Python ends.
        INSIDE.fetch_sub(1, Ordering::Release);
    }
}

/// Python's state of a thread that Python did not start, kept as long as the thread lives.
///
/// WHY: PyO3 alone makes a new one for every call, which costs more than the call, and loses what
/// a node keeps in `threading.local`.
struct Kept {
    state: *mut ffi::PyThreadState,
    ensured: Cell<Option<ffi::PyGILState_STATE>>,
}

impl Kept {
    /// The interpreter must be alive, as it is during a visit.
    fn new() -> Self {
        // SAFETY: may be asked by any thread.
        if !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
            return Self { state: std::ptr::null_mut(), ensured: Cell::new(None) };
        }
        // SAFETY: the interpreter is alive, and this thread has no state.
        let ensured = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: the line above attached this thread.
        let state = unsafe { ffi::PyEval_SaveThread() };
        Self { state, ensured: Cell::new(Some(ensured)) }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(ensured) = self.ensured.take() else { return };
        // WHY: an interpreter that ends frees what there is by itself.
        let Some(_visit) = Visit::begin() else { return };
        // SAFETY: the state is this thread's, saved in `new`, and the interpreter is alive.
        unsafe { ffi::PyEval_RestoreThread(self.state) };
        // SAFETY: ends what `PyGILState_Ensure` began in `new`.
        unsafe { ffi::PyGILState_Release(ensured) };
    }
}

thread_local! {
    static KEPT: Kept = Kept::new();
}

/// Calls with the interpreter attached, for which it may wait. `None` if it ends.
#[inline]
pub(crate) fn attached<R>(call: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    let _visit = Visit::begin()?;
    // A thread that is being torn down has a state of PyO3's instead.
    let _ = KEPT.try_with(|_| ());
    Python::try_attach(call)
}

/// Lets nobody else into Python, and waits a second at most for those who are there.
pub(crate) fn close(py: Python<'_>) {
    // ORDERING(visits): SeqCst store, before the loads below. Pairs with `Visit::begin`.
    CLOSED.store(true, Ordering::SeqCst);
    py.detach(|| {
        let end = Instant::now() + FAREWELL;
        // ORDERING(visits): SeqCst, and so Acquire too. Pairs with the end of a visit.
        while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(PAUSE);
        }
    });
}

/// In the child after `fork`: those who were in Python are not here.
pub(crate) fn forked() {
    // Relaxed: this process has one thread.
    INSIDE.store(0, Ordering::Relaxed);
    // Relaxed: as above.
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// How many forks Python has made from the first process to this one.
///
/// WHY: asking the kernel who one is costs more than a tick.
#[inline]
pub(crate) fn generation() -> usize {
    // Relaxed: it changes only when the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}
