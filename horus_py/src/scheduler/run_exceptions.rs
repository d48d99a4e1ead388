//! The exception that ends a run. A node records the exception, and it is then raised to the caller
//! of the run, also where the caller has an exception of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use horus_core::scheduler::Handle;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PySystemExit};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::scheduler::report::PyReport;

/// Holds the exception to raise to the caller of a run: a `SystemExit` or `KeyboardInterrupt` that
/// a node raised, or the exception that made a node fail.
#[derive(Debug)]
pub(crate) struct RunExceptions {
    /// The handle that stops the run; `None` once the run is over or the scheduler was dropped. WHY
    /// it is dropped then: the handle keeps a node alive that is to replace another node, and that
    /// node keeps this `RunExceptions` alive. This would be a reference cycle.
    handle: Mutex<Option<Handle>>,
    error: Mutex<Option<PyErr>>,
    /// The latest failure of each node that can end the run, by the name of the node: the text and
    /// the exception.
    failures: Mutex<HashMap<String, (String, PyErr)>>,
}

impl RunExceptions {
    pub(crate) fn new(handle: Handle) -> Arc<Self> {
        let handle = Mutex::new(Some(handle));
        Arc::new(Self {
            handle,
            error: Mutex::default(),
            failures: Mutex::default(),
        })
    }

    /// Stops the run, and keeps the exception, which the caller of the run gets. Later exceptions
    /// are ignored.
    pub(crate) fn stop_run_with_exception(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY: an exception that is not kept is dropped after the lock is released, because the
        // drop may run Python code.
        let spare = if first.is_none() {
            first.replace(error)
        } else {
            Some(error)
        };
        drop(first);
        drop(spare);
        if let Some(handle) = &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.stop();
        }
    }

    /// Drops the handle that stops the run, because the run is over.
    pub(crate) fn drop_handle(&self) {
        let handle = self
            .handle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(handle);
    }

    pub(crate) fn take_error(&self) -> Option<PyErr> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Records the text and the exception of a node's failure. If `failure` is `None`, removes
    /// them, because the node has recovered.
    ///
    /// WHY they are removed: an exception keeps everything alive that the tick used.
    pub(crate) fn record_failure(&self, node: &str, failure: Option<(String, PyErr)>) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match failure {
            Some(failure) => failures.insert(node.to_owned(), failure),
            None => failures.remove(node),
        };
        drop(failures);
        // WHY after the lock is released: the drop may run Python code.
        drop(before);
    }

    /// Returns the exception of the failure that has this text, and drops all recorded failures.
    pub(crate) fn take_exception_with_text(&self, text: &str) -> Option<PyErr> {
        // WHY one statement: it releases the lock, because the drop of the others may run Python
        // code.
        let failures =
            std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner));
        failures
            .into_values()
            .find(|failure| failure.0 == text)
            .map(|failure| failure.1)
    }
}

/// Returns the result of `__exit__` at the end of a `with` block that contains a run. `exception`
/// are the arguments of `__exit__`, which describe the exception of the block, if there is one.
/// `ended` is the outcome of the run.
///
/// If the block raised an exception, that exception takes precedence over an error of the run. But
/// a `KeyboardInterrupt` or `SystemExit` that the run received, or that a signal raises now,
/// replaces the exception of the block. The exception of the block then becomes its `__context__`,
/// as for an exception that is raised in a `finally` clause.
pub(crate) fn result_of_with_block_exit(
    py: Python<'_>,
    exception: &Bound<'_, PyTuple>,
    ended: PyResult<()>,
) -> PyResult<()> {
    if exception.iter().all(|part| part.is_none()) {
        return ended;
    }
    let interrupt = match ended {
        Err(error) if !error.is_instance_of::<PyException>(py) => error,
        // WHY: a signal that arrived meanwhile would interrupt Python while it prints the
        // exception.
        _ => match py.check_signals() {
            Err(error) => error,
            Ok(()) => return Ok(()),
        },
    };
    let of_block = exception.get_item(1)?;
    if of_block.is_instance(&interrupt.get_type(py))? {
        return Ok(());
    }
    let value = interrupt.value(py);
    if value.getattr("__context__")?.is_none() {
        value.setattr("__context__", of_block)?;
    }
    Err(interrupt)
}

/// Returns the exception `NodeFailedError` for a run that ended because a node failed.
#[cold]
pub(crate) fn node_failed_error(
    py: Python<'_>,
    (name, text): (&str, &str),
    cause: Option<PyErr>,
    report: &Py<PyReport>,
) -> PyResult<PyErr> {
    // The other lines are the traceback, which the cause has too.
    let line = if cause.is_some() {
        text.lines().next().unwrap_or_default()
    } else {
        text
    };
    let class = py.import("horus._node")?.getattr("NodeFailedError")?;
    let error = class.call1((format!("node '{name}' failed: {line}"), report))?;
    let error = PyErr::from_value(error);
    error.set_cause(py, cause);
    Ok(error)
}

/// Does what Python would do for a signal that the scheduler caught during the run, such as raising
/// `KeyboardInterrupt`.
pub(crate) fn handle_signal(py: Python<'_>, signal: i32) -> PyResult<()> {
    // SAFETY: may be called by any thread; an unknown number is ignored.
    unsafe { ffi::PyErr_SetInterruptEx(signal) };
    py.check_signals()?;
    let module = py.import("signal")?;
    let handler = module.call_method1("getsignal", (signal,))?;
    if handler.eq(module.getattr("SIG_DFL")?)? {
        return Err(PySystemExit::new_err(128 + signal));
    }
    if handler.eq(module.getattr("default_int_handler")?)? {
        // This is not the main thread, which Python informs of signals, and will inform too.
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    Ok(())
}
