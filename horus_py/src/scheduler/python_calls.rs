//! Calls Python from the threads of schedulers, but never once the interpreter ends.

use std::cell::Cell;
use std::ffi::c_ulong;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PySystemExit;
use pyo3::ffi;
use pyo3::prelude::*;

/// The time that the interpreter's exit waits for ticks that do not end.
const FAREWELL: Duration = Duration::from_secs(1);
/// The same for ticks for which the end of their run has already waited.
const LAST_FAREWELL: Duration = Duration::from_millis(50);
/// The time after which an exception is raised in such a tick, repeatedly.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(1);
/// The time that the interpreter's exit waits for safe states before it interrupts them.
const SAFE_STATE_MAX: Duration = Duration::from_millis(200);

/// Calls that are in Python, or on their way there.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// The number of forks between the first process and this one.
static GENERATION: AtomicUsize = AtomicUsize::new(0);
/// Calls of safe states that have not ended, whether they have begun or not.
static SAFE_STATES: AtomicUsize = AtomicUsize::new(0);
/// True once the interpreter exits: no further call enters Python.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Threads with ticks, as Python numbers them.
static THREADS: Mutex<Vec<c_ulong>> = Mutex::new(Vec::new());

/// A thread that may have ticks, as long as this lives.
#[derive(Debug)]
pub(crate) struct Ticking(c_ulong);

impl Ticking {
    /// Of this thread.
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let id = py.import("_thread")?.call_method0("get_ident")?.extract()?;
        threads().push(id);
        Ok(Self(id))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        let mut threads = threads();
        if let Some(position) = threads.iter().position(|id| *id == self.0) {
            threads.swap_remove(position);
        }
    }
}

/// The numbers of those threads, locked. Python is not called while they are.
fn threads() -> MutexGuard<'static, Vec<c_ulong>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call on its way to Python and back, in the process of this generation.
///
/// WHY the generation: the child that a tick forks returns from that tick, which [`forked`] has
/// taken out of the count.
struct Visit(usize);

impl Visit {
    /// `None` if the interpreter ends.
    #[inline]
    fn begin() -> Option<Self> {
        // ORDERING(visits): SeqCst add, then SeqCst load. Pairs with `close`, the Dekker way:
        // either this load sees that the interpreter ends, or the loop there sees this call.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let visit = Self(generation());
        // ORDERING(visits): as above.
        (!CLOSED.load(Ordering::SeqCst)).then_some(visit)
    }
}

impl Drop for Visit {
    #[inline]
    fn drop(&mut self) {
        if self.0 != generation() {
            return;
        }
        // ORDERING(visits): Release. Pairs with the loop of `close`, behind which Python ends.
        INSIDE.fetch_sub(1, Ordering::Release);
    }
}

/// A call of a safe state, which the end of the interpreter waits for a while.
///
/// Counts in the process of its generation, as a [`Visit`].
#[derive(Debug)]
pub(crate) struct SafeState(usize);

impl SafeState {
    /// Counts a call, before the thread is started that makes it.
    pub(crate) fn begin() -> Self {
        // Relaxed: the end of the run joins the caller; what must be seen at the end is `INSIDE`.
        SAFE_STATES.fetch_add(1, Ordering::Relaxed);
        Self(generation())
    }
}

impl Drop for SafeState {
    fn drop(&mut self) {
        if self.0 != generation() {
            return;
        }
        // Relaxed: as above.
        SAFE_STATES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Python's state of a thread that Python did not start, kept as long as the thread lives.
///
/// WHY: PyO3 alone makes a new one for every call, which costs more than the call, and loses what
/// a node keeps in `threading.local`.
struct Kept {
    state: *mut ffi::PyThreadState,
    ensured: Cell<Option<ffi::PyGILState_STATE>>,
    /// WHY an option: without it the thread cannot be asked to leave, and nothing else.
    _ticking: Option<Ticking>,
}

impl Kept {
    /// The interpreter must be alive, as it is during a visit.
    fn new() -> Self {
        // SAFETY: may be asked by any thread.
        if !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
            let ensured = Cell::new(None);
            return Self { state: std::ptr::null_mut(), ensured, _ticking: None };
        }
        // SAFETY: the interpreter is alive, and this thread has no state.
        let ensured = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: the line above attached this thread.
        let ticking = Ticking::new(unsafe { Python::assume_attached() }).ok();
        // SAFETY: as above.
        let state = unsafe { ffi::PyEval_SaveThread() };
        Self { state, ensured: Cell::new(Some(ensured)), _ticking: ticking }
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

/// Waits for safe states. Then it lets nobody else into Python, and waits a second at most for
/// those who are there: less if the runs are over (`are_over`), for they were waited for then.
///
/// WHY exceptions: a thread that runs Python when the interpreter is gone is ended by Python in the
/// middle of its stack, which Rust does not survive. One that sleeps in C does not come to that.
pub(crate) fn close(py: Python<'_>, are_over: bool) {
    let (wait_policy, farewell) =
        if are_over { (Duration::ZERO, LAST_FAREWELL) } else { (PATIENCE, FAREWELL) };
    let begin = Instant::now();
    // WHY first: a halt of several commands must not end after the first of them. WHY not for
    // good: one that hangs has to get the exception, too.
    // Relaxed: only the time to wait depends on it.
    while SAFE_STATES.load(Ordering::Relaxed) > 0 && begin.elapsed() < SAFE_STATE_MAX {
        py.detach(|| thread::sleep(PAUSE));
    }
    // ORDERING(visits): SeqCst store, before the loads below. Pairs with `Visit::begin`.
    CLOSED.store(true, Ordering::SeqCst);
    let begin = Instant::now();
    let exit = py.get_type::<PySystemExit>();
    // ORDERING(visits): SeqCst, and so Acquire too. Pairs with the end of a visit.
    while INSIDE.load(Ordering::SeqCst) > 0 && begin.elapsed() < farewell {
        if begin.elapsed() > wait_policy {
            let threads = threads().clone();
            for id in threads {
                // SAFETY: the interpreter is attached; an unknown number is no error.
                unsafe { ffi::PyThreadState_SetAsyncExc(id.cast_signed(), exit.as_ptr()) };
            }
        }
        py.detach(|| thread::sleep(PAUSE));
    }
}

/// In the child after `fork`: those who were in Python are not here.
pub(crate) fn forked() {
    threads().clear();
    // Relaxed: this process has one thread.
    INSIDE.store(0, Ordering::Relaxed);
    // Relaxed: as above.
    SAFE_STATES.store(0, Ordering::Relaxed);
    // Relaxed: as above.
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of forks between the first process and this one.
///
/// WHY: the system call for the process id costs more than a tick.
#[inline]
pub(crate) fn generation() -> usize {
    // Relaxed: it changes only when the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}
