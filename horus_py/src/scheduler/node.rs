//! Nodes whose ticks and hooks are Python functions.

use std::fmt;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use horus_core::scheduler::{Context, FailurePolicy, Node, NodeError, NodeResult};
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::call::check_no_coroutine_or_generator;
use crate::error::Error;
use crate::scheduler::context::PyContext;
use crate::scheduler::drop_attached::DropAttached;
use crate::scheduler::held::NodeCalls;
use crate::scheduler::held_signals::SignalDeferralGuard;
use crate::scheduler::node_owner::NodePurpose;
use crate::scheduler::own_calls::SchedulerCallGuard;
use crate::scheduler::python_calls::try_with_python;
use crate::scheduler::run_exceptions::RunExceptions;
use crate::scheduler::settings;

/// A Python exception that a node raised, as the error that the node returns to the scheduler.
#[derive(Debug)]
struct PythonFailure {
    text: String,
    /// The exception that is passed to the node's hook `on_error`; `None` if the node has no such
    /// hook.
    error: DropAttached<Option<PyErr>>,
}

impl fmt::Display for PythonFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for PythonFailure {}

/// A node whose ticks and hooks are Python functions.
#[derive(Debug)]
pub(crate) struct PythonNode {
    name: String,
    /// True if a failure of this node can end the run, according to its failure policy. Its
    /// exceptions are then kept, to be raised to the caller of the run.
    can_be_fatal: bool,
    pub(super) calls: DropAttached<Arc<NodeCalls>>,
    run_exceptions: Arc<RunExceptions>,
}

impl PythonNode {
    /// Makes the node from a Python object of the class `horus.Node` and its settings. `purpose`
    /// says whether the node is added, or replaces another one, whose policies it then has.
    pub(crate) fn new(
        node: &Bound<'_, PyAny>,
        settings: &Bound<'_, PyDict>,
        run_exceptions: &Arc<RunExceptions>,
        purpose: NodePurpose,
    ) -> PyResult<Self> {
        let py = node.py();
        let hook = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(settings
                .get_item(name)?
                .filter(|hook| !hook.is_none())
                .map(Bound::unbind))
        };
        let tick = hook("tick")?.ok_or_else(|| Error::new_err("a node without a tick"))?;
        let context = PyContext {
            current: AtomicPtr::new(ptr::null_mut()),
            node: node.clone().unbind(),
        };
        let context = Py::new(py, context)?;
        let calls = NodeCalls {
            tick,
            arguments: PyTuple::new(py, [&context])?.unbind(),
            context,
            init: hook("init")?,
            shutdown: hook("shutdown")?,
            enter_safe_state: hook("enter_safe_state")?,
            is_safe_state: hook("is_safe_state")?,
            on_error: hook("on_error")?,
        };
        Ok(Self {
            name: settings::required_setting(settings, "name")?,
            can_be_fatal: purpose == NodePurpose::Replacement
                || settings::failure_policy_of(settings)?.is_none_or(|policy| {
                    matches!(policy, FailurePolicy::Fatal | FailurePolicy::Restart { .. })
                }),
            calls: DropAttached::new(Arc::new(calls)),
            run_exceptions: Arc::clone(run_exceptions),
        })
    }

    /// Calls the tick function, and converts its result with `read`. Returns `None` if the tick
    /// raised `KeyboardInterrupt` or `SystemExit`.
    #[inline]
    pub(crate) fn call_tick<R>(
        &self,
        context: &mut Context<'_>,
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Result<Option<R>, NodeError> {
        self.call_hook(&self.calls.tick, context, read)
    }

    /// Calls `call`, which calls a Python function of this node, as [`try_with_python`] does.
    #[inline]
    pub(crate) fn try_with_python<R>(&self, call: impl FnOnce(Python<'_>) -> R) -> Option<R> {
        let _own_call = SchedulerCallGuard::enter(&self.run_exceptions);
        try_with_python(call)
    }

    /// Calls a hook with the context, and converts the result of the hook with `read`. Returns
    /// `None` if the hook raised `KeyboardInterrupt` or `SystemExit`.
    #[inline]
    fn call_hook<R>(
        &self,
        hook: &Py<PyAny>,
        context: &mut Context<'_>,
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Result<Option<R>, NodeError> {
        let outcome = self.try_with_python(|py| {
            let current = &self.calls.context.get().current;
            // Relaxed: the GIL orders what its holders do.
            current.store(ptr::from_mut(context).cast(), Ordering::Relaxed);
            // WHY not `call1`: the stable C API has only this call before 3.12, and PyO3 would make
            // a tuple for each call.
            // SAFETY: a callable and a tuple, both alive, and the interpreter is attached.
            let result = unsafe {
                ffi::PyObject_Call(
                    hook.as_ptr(),
                    self.calls.arguments.as_ptr(),
                    ptr::null_mut(),
                )
            };
            current.store(ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: the call returned a new reference, or null and an exception.
            read(unsafe { Bound::from_owned_ptr_or_err(py, result) }?)
        });
        match outcome {
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) => self.handle_exception(error, Some(context)).map(|()| None),
            None => Err(interpreter_ended_error()),
        }
    }

    /// Calls a hook of the node without arguments. Handles an exception of the hook with
    /// [`Self::handle_exception`].
    fn call_without_arguments(&self, hook: &Py<PyAny>) -> NodeResult {
        let call = |py: Python<'_>| check_no_coroutine_or_generator(&hook.bind(py).call0()?);
        match self.try_with_python(|py| self.call_and_then_handle_signals(py, call)) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => self.handle_exception(error, None),
            None => Err(interpreter_ended_error()),
        }
    }

    /// Converts an exception to an error of the node. `KeyboardInterrupt` and `SystemExit` are not
    /// errors of the node: they stop the run, and this returns success.
    #[cold]
    fn handle_exception(&self, error: PyErr, context: Option<&mut Context<'_>>) -> NodeResult {
        let outcome = try_with_python(|py| {
            let is_end = error.is_instance_of::<PyKeyboardInterrupt>(py)
                || error.is_instance_of::<PySystemExit>(py);
            if is_end {
                self.run_exceptions.stop_run_with_exception(error);
                return None;
            }
            // WHY: before 3.12, the exception object gets its traceback only by `into_value`.
            let error = PyErr::from_value(error.into_value(py).into_bound(py).into_any());
            let text = describe_exception(py, &error);
            if self.can_be_fatal {
                let failure = (text.clone(), error.clone_ref(py));
                self.run_exceptions
                    .record_failure(&self.name, Some(failure));
            }
            let error = self.calls.on_error.is_some().then_some(error);
            let error = DropAttached::new(error);
            Some(PythonFailure { text, error })
        });
        match outcome {
            Some(None) => {
                if let Some(context) = context {
                    context.stop();
                }
                Ok(())
            }
            Some(Some(failure)) => Err(failure.into()),
            None => Err(interpreter_ended_error()),
        }
    }

    /// Calls a hook whose failures the scheduler ignores. An exception is passed to Python's
    /// `sys.unraisablehook`, like an exception in a destructor.
    fn call_reporting_errors<R>(&self, call: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
        self.try_with_python(|py| match call(py) {
            Ok(result) => Some(result),
            Err(error) => {
                error.write_unraisable(py, Some(self.calls.tick.bind(py)));
                None
            }
        })?
    }

    /// Calls a hook, and calls handlers of signals only after it, if this is the main thread. The
    /// exception of a handler stops the run. WHY: it must not leave the hook after the first of
    /// several commands.
    fn call_and_then_handle_signals<R>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(Python<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        let held = SignalDeferralGuard::begin(py, false);
        let result = call(py);
        if let Some(error) = held.and_then(|held| held.end(py)) {
            self.run_exceptions.stop_run_with_exception(error);
        }
        result
    }

    /// Calls a hook that concerns the node's safe state, as [`Self::call_reporting_errors`] does.
    /// If it fails, unwinds after that. WHY: the scheduler then knows that the node is not safe,
    /// and does not call the hook again in this safe state.
    fn call_for_safe_state<R>(&self, call: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
        self.call_reporting_errors(|py| self.call_and_then_handle_signals(py, call))
            .unwrap_or_else(|| resume_unwind(Box::new("it raised an exception".to_owned())))
    }
}

#[cold]
pub(crate) fn interpreter_ended_error() -> NodeError {
    "the Python interpreter ends".into()
}

/// Returns one line with the exception's text and place, followed by the traceback.
#[cold]
pub(crate) fn describe_exception(py: Python<'_>, error: &PyErr) -> String {
    let describe = || -> PyResult<String> {
        let describe = py.import("horus._node")?.getattr("_describe")?;
        describe.call1((error.value(py),))?.extract()
    };
    describe().unwrap_or_else(|_| error.to_string())
}

impl Node for PythonNode {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        // WHY: `init` also runs when the node restarts, which ends its failure.
        try_with_python(|_| self.run_exceptions.record_failure(&self.name, None));
        let Some(hook) = &self.calls.init else {
            return Ok(());
        };
        self.call_hook(hook, context, |result| {
            check_no_coroutine_or_generator(&result)
        })
        .map(drop)
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.call_tick(context, |result| check_no_coroutine_or_generator(&result))
            .map(drop)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls
            .shutdown
            .as_ref()
            .map_or(Ok(()), |hook| self.call_without_arguments(hook))
    }

    fn enter_safe_state(&mut self) {
        if let Some(hook) = &self.calls.enter_safe_state {
            self.call_for_safe_state(|py| check_no_coroutine_or_generator(&hook.bind(py).call0()?));
        }
    }

    fn is_safe_state(&self) -> bool {
        let Some(hook) = &self.calls.is_safe_state else {
            return true;
        };
        self.call_for_safe_state(|py| {
            let result = hook.bind(py).call0()?;
            check_no_coroutine_or_generator(&result)?;
            result.is_truthy()
        })
    }

    fn on_error(&mut self, error: &NodeError) {
        let Some(hook) = &self.calls.on_error else {
            return;
        };
        let _ = self.call_reporting_errors(|py| {
            let failure = error
                .downcast_ref::<PythonFailure>()
                .and_then(|failure| failure.error.as_ref());
            let error = failure.map_or_else(
                || Error::new_err(error.to_string()).into_value(py).into_any(),
                |failure| failure.value(py).clone().into_any().unbind(),
            );
            check_no_coroutine_or_generator(&hook.bind(py).call1((error,))?)
        });
    }
}
