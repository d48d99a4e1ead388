//! Calls Python from the threads of schedulers. Refuses such calls once the interpreter shuts down.

use std::cell::Cell;
use std::ffi::c_ulong;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::ForkLocal;
use pyo3::exceptions::PySystemExit;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::ForkedError;
use crate::wait::forced_exit::ForcedExitGuard;

/// Maximum time for which the exit of the interpreter waits for running ticks.
const INTERPRETER_EXIT_WAIT_MAX: Duration = Duration::from_secs(1);
/// Like [`INTERPRETER_EXIT_WAIT_MAX`], but used if all runs have ended before this wait begins. WHY
/// shorter: the end of each run has already waited for that run's ticks.
const INTERPRETER_EXIT_WAIT_AFTER_RUNS_MAX: Duration = Duration::from_millis(50);
/// Time from the beginning of the interpreter's exit until it raises `SystemExit` in ticks that
/// have not ended. It repeats this as long as they run.
const TICK_INTERRUPT_DELAY: Duration = Duration::from_millis(200);
const INTERPRETER_EXIT_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum time for which the exit of the interpreter waits for safe-state callbacks: the functions
/// that the supervisor calls for nodes that hang. After that, it interrupts them, too.
const SAFE_STATE_WAIT_MAX: Duration = Duration::from_millis(200);

/// Number of calls from scheduler threads that are running in Python, or that are about to.
static CALLS_IN_PYTHON: AtomicUsize = AtomicUsize::new(0);
/// Number of forks between the first process of the program and this process.
static FORK_GENERATION: AtomicUsize = AtomicUsize::new(0);
/// Number of calls of safe-state callbacks that have not returned. A call counts from before its
/// thread is started.
static RUNNING_SAFE_STATE_CALLS: AtomicUsize = AtomicUsize::new(0);
/// True once the interpreter has begun to exit. No further call enters Python then.
static ARE_PYTHON_CALLS_REFUSED: AtomicBool = AtomicBool::new(false);

/// The Python ids of the threads that run ticks at present.
///
/// WHY a `ForkLocal`: a thread that ends uses the list without the GIL, so that it may hold the
/// lock when another thread forks.
static TICK_THREADS: ForkLocal<Mutex<Vec<c_ulong>>> = ForkLocal::new();

/// A guard that registers a thread as one that runs ticks. It has the id that Python gives the
/// thread.
#[derive(Debug)]
pub(crate) struct TickThreadGuard(c_ulong);

impl TickThreadGuard {
    /// Registers the current thread as one that runs ticks, until the returned guard is dropped.
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let id = py.import("_thread")?.call_method0("get_ident")?.extract()?;
        lock_tick_threads().push(id);
        Ok(Self(id))
    }
}

impl Drop for TickThreadGuard {
    fn drop(&mut self) {
        let mut threads = lock_tick_threads();
        if let Some(position) = threads.iter().position(|id| *id == self.0) {
            threads.swap_remove(position);
        }
    }
}

/// Locks the list of threads that run ticks. The caller must not call Python while the list is
/// locked.
fn lock_tick_threads() -> MutexGuard<'static, Vec<c_ulong>> {
    let threads = TICK_THREADS.get();
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard that counts one call into Python, from before the call until after its return. It stores
/// the [`fork_generation`] of the process that counted the call.
///
/// WHY the generation: if a tick forks, the child process also returns from that tick, but
/// [`reset_after_fork`] has already set the count of the child to 0.
struct PythonCallGuard(usize);

impl PythonCallGuard {
    /// Counts a call into Python that begins. Returns a guard, whose drop ends the call; `None` if
    /// the interpreter is shutting down.
    #[inline]
    fn begin() -> Option<Self> {
        // ORDERING(calls): SeqCst add, then SeqCst load. Pairs with `close`, as in Dekker's
        // algorithm: either this load sees that the interpreter shuts down, or the loop there sees
        // this call.
        CALLS_IN_PYTHON.fetch_add(1, Ordering::SeqCst);
        let call = Self(fork_generation());
        // ORDERING(calls): as above.
        (!ARE_PYTHON_CALLS_REFUSED.load(Ordering::SeqCst)).then_some(call)
    }
}

impl Drop for PythonCallGuard {
    #[inline]
    fn drop(&mut self) {
        if self.0 != fork_generation() {
            return;
        }
        // ORDERING(calls): Release. Pairs with the loop of `close`, behind which Python ends.
        CALLS_IN_PYTHON.fetch_sub(1, Ordering::Release);
    }
}

/// A guard that counts one call of a safe-state callback. The exit of the interpreter waits for the
/// call, at most for [`SAFE_STATE_WAIT_MAX`].
///
/// Like [`PythonCallGuard`], it stores the [`fork_generation`] of the process that counted the
/// call.
#[derive(Debug)]
pub(crate) struct SafeStateCallGuard(usize);

impl SafeStateCallGuard {
    /// Counts a call of a safe-state callback. Returns a guard, whose drop ends the call. Must be
    /// called before the thread that makes the call is started.
    pub(crate) fn begin() -> Self {
        // Relaxed: the end of the run joins the caller; the exit relies on `CALLS_IN_PYTHON` alone.
        RUNNING_SAFE_STATE_CALLS.fetch_add(1, Ordering::Relaxed);
        Self(fork_generation())
    }
}

impl Drop for SafeStateCallGuard {
    fn drop(&mut self) {
        if self.0 != fork_generation() {
            return;
        }
        // Relaxed: as above.
        RUNNING_SAFE_STATE_CALLS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Python's thread state for a thread that was not started by Python. It is kept as long as the
/// thread exists. A thread that Python started needs none.
///
/// WHY: PyO3 makes a new state for every call, which costs more than the call itself and loses what
/// a node keeps in `threading.local`.
struct ThreadState {
    state: *mut ffi::PyThreadState,
    ensured: Cell<Option<ffi::PyGILState_STATE>>,
    /// Registers this thread as one that runs ticks. `None` if that failed; the only consequence is
    /// that the exit of the interpreter cannot interrupt a tick of this thread.
    _tick_thread: Option<TickThreadGuard>,
}

impl ThreadState {
    /// Makes the thread state of the current thread. The interpreter must not have ended, which a
    /// [`PythonCallGuard`] guarantees.
    fn new() -> Self {
        // SAFETY: any thread may call this.
        if !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
            let ensured = Cell::new(None);
            return Self {
                state: std::ptr::null_mut(),
                ensured,
                _tick_thread: None,
            };
        }
        // SAFETY: the interpreter is alive, and this thread has no state.
        let ensured = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: the line above attached this thread.
        let tick_thread = TickThreadGuard::new(unsafe { Python::assume_attached() }).ok();
        // SAFETY: as above.
        let state = unsafe { ffi::PyEval_SaveThread() };
        Self {
            state,
            ensured: Cell::new(Some(ensured)),
            _tick_thread: tick_thread,
        }
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        let Some(ensured) = self.ensured.take() else {
            return;
        };
        // WHY: an interpreter that is shutting down frees its thread states itself.
        let Some(_call) = PythonCallGuard::begin() else {
            return;
        };
        let _forced_exit = ForcedExitGuard::new();
        // SAFETY: the state is this thread's, saved in `new`, and the interpreter is alive.
        unsafe { ffi::PyEval_RestoreThread(self.state) };
        // SAFETY: ends what `PyGILState_Ensure` began in `new`.
        unsafe { ffi::PyGILState_Release(ensured) };
    }
}

thread_local! {
    static THREAD_STATE: ThreadState = ThreadState::new();
}

/// Attaches this thread to the interpreter and calls `call`. May wait until the thread can be
/// attached. Returns `None` if the interpreter is shutting down.
#[inline]
pub(crate) fn try_with_python<R>(call: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    let _call = PythonCallGuard::begin()?;
    // WHY only during the call: the thread may be that of another program part, which ends it.
    let _forced_exit = ForcedExitGuard::new();
    // A thread that is being torn down uses a temporary state of PyO3 instead.
    let _ = THREAD_STATE.try_with(|_| ());
    Python::try_attach(call)
}

/// Prevents the threads of schedulers from using Python. First waits for calls of safe-state
/// callbacks. Then refuses new calls. Then waits for the calls that run in Python, and raises
/// `SystemExit` in those that take long. This last wait takes at most
/// [`INTERPRETER_EXIT_WAIT_MAX`]. If all runs are over (`are_runs_over`), it takes at most
/// [`INTERPRETER_EXIT_WAIT_AFTER_RUNS_MAX`], because the end of each run has already waited.
///
/// WHY exceptions: a tick that gets one can still release what it holds. If a thread takes the GIL
/// after the interpreter has begun to shut down, [`ForcedExitGuard`] makes it sleep forever.
pub(crate) fn stop_python_calls(py: Python<'_>, are_runs_over: bool) {
    let (interrupt_after, wait_max) = if are_runs_over {
        (Duration::ZERO, INTERPRETER_EXIT_WAIT_AFTER_RUNS_MAX)
    } else {
        (TICK_INTERRUPT_DELAY, INTERPRETER_EXIT_WAIT_MAX)
    };
    let begin = Instant::now();
    // WHY first: a safe state of several commands must not be interrupted after the first of them.
    // WHY not without limit: one that hangs has to get the exception, too.
    // Relaxed: only the time to wait depends on it.
    while RUNNING_SAFE_STATE_CALLS.load(Ordering::Relaxed) > 0
        && begin.elapsed() < SAFE_STATE_WAIT_MAX
    {
        py.detach(|| thread::sleep(INTERPRETER_EXIT_POLL_INTERVAL));
    }
    // ORDERING(calls): SeqCst store, before the loads below. Pairs with `PythonCallGuard::begin`.
    ARE_PYTHON_CALLS_REFUSED.store(true, Ordering::SeqCst);
    let begin = Instant::now();
    let exit = py.get_type::<PySystemExit>();
    // ORDERING(calls): SeqCst, and so Acquire too. Pairs with the end of a call.
    while CALLS_IN_PYTHON.load(Ordering::SeqCst) > 0 && begin.elapsed() < wait_max {
        if begin.elapsed() > interrupt_after {
            let threads = lock_tick_threads().clone();
            for id in threads {
                // SAFETY: the interpreter is attached; an unknown number is no error.
                unsafe { ffi::PyThreadState_SetAsyncExc(id.cast_signed(), exit.as_ptr()) };
            }
        }
        py.detach(|| thread::sleep(INTERPRETER_EXIT_POLL_INTERVAL));
    }
}

/// Resets all counts in the child process after `fork`, because the threads whose calls were
/// counted do not exist there.
pub(crate) fn reset_after_fork() {
    // Relaxed: this process has one thread.
    CALLS_IN_PYTHON.store(0, Ordering::Relaxed);
    // Relaxed: as above.
    RUNNING_SAFE_STATE_CALLS.store(0, Ordering::Relaxed);
    // Relaxed: as above.
    FORK_GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of forks between the first process of the program and this process.
///
/// WHY not the process id: the system call for it costs more than a tick.
#[inline]
pub(crate) fn fork_generation() -> usize {
    // Relaxed: it changes only when the process has one thread.
    FORK_GENERATION.load(Ordering::Relaxed)
}

/// Checks that this process made an object. `generation` is the [`fork_generation`] in which the
/// object was made, and `what` describes the object in the error.
///
/// # Errors
///
/// `ForkedError` in a child process that inherited the object through `fork`: the threads of the
/// object do not exist there, and its locks may be held.
pub(crate) fn check_not_forked(generation: usize, what: &str) -> PyResult<()> {
    if generation == fork_generation() {
        return Ok(());
    }
    Err(ForkedError::new_err(format!(
        "{what} runs in the parent process: make a new one here"
    )))
}
