//! The context that a handler gets, and the objects that a handler gets from its context: timers,
//! and messages about the ends of other actors.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use horus_core::actor::{ActorId, Context, Timer};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::actor::address::PyAddress;
use crate::actor::behaviour::{ActorSpec, PythonActor};
use crate::actor::burst::try_call_attached;
use crate::actor::mail::Mail;
use crate::actor::question::PyQuestion;
use crate::call::check_no_coroutine_or_generator;
use crate::error::Error;
use crate::wait::duration::duration_from_secs;

/// The data that a handler's context can use while one call of the handler runs.
struct CurrentCall<'a, 'c, 'py> {
    context: &'a mut Context<'c, PythonActor>,
    /// The question that the handler was called to answer; `None` if there is none, or once it has
    /// been answered.
    question: Option<Bound<'py, PyQuestion>>,
    spec: &'a Arc<ActorSpec>,
}

/// The context that a handler gets, to use the actor whose handler runs. Every use after the
/// handler has returned raises an error.
#[pyclass(frozen, name = "ActorContext", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyActorContext {
    /// The data of the call of the handler that runs at present; null while no handler runs.
    /// Replaced and dereferenced only while the interpreter is attached.
    current: AtomicPtr<CurrentCall<'static, 'static, 'static>>,
}

thread_local! {
    /// A context object that no handler uses at present. WHY kept: the next call of a handler then
    /// needs no allocation.
    static SPARE_CONTEXT: Cell<Option<Py<PyActorContext>>> = const { Cell::new(None) };
}

fn take_spare_or_new_context(py: Python<'_>) -> PyResult<Bound<'_, PyActorContext>> {
    if let Some(spare) = SPARE_CONTEXT.take() {
        return Ok(spare.into_bound(py));
    }
    let context = PyActorContext {
        current: AtomicPtr::new(ptr::null_mut()),
    };
    Bound::new(py, context)
}

/// Keeps a context object for the next call of a handler. Drops it instead if Python code still has
/// a reference to it.
fn keep_spare_context(context: Bound<'_, PyActorContext>) {
    // SAFETY: a live object, and the interpreter is attached.
    let owners = unsafe { ffi::Py_REFCNT(context.as_ptr()) };
    if owners == 1 {
        SPARE_CONTEXT.set(Some(context.unbind()));
    }
}

/// Calls a handler or hook with `argument`, if there is one, and the context. Returns the result of
/// the handler, and `question` if the handler has not answered it.
#[inline]
pub(crate) fn call_handler<'py>(
    handler: &Bound<'py, PyAny>,
    argument: Option<&Bound<'py, PyAny>>,
    question: Option<Bound<'py, PyQuestion>>,
    spec: &Arc<ActorSpec>,
    context: &mut Context<'_, PythonActor>,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyQuestion>>)> {
    let py = handler.py();
    let own = take_spare_or_new_context(py)?;
    let mut current = CurrentCall {
        context,
        question,
        spec,
    };
    // Relaxed: the GIL orders what its holders do.
    own.get()
        .current
        .store(ptr::from_mut(&mut current).cast(), Ordering::Relaxed);
    let null = ptr::null_mut::<ffi::PyObject>();
    let (first, second) = match argument {
        Some(argument) => (argument.as_ptr(), own.as_ptr()),
        None => (own.as_ptr(), null),
    };
    // WHY this call: it is the fastest one of the stable C API before 3.12.
    // SAFETY: a callable and its arguments, all alive, and the interpreter is attached.
    let result =
        unsafe { ffi::PyObject_CallFunctionObjArgs(handler.as_ptr(), first, second, null) };
    own.get().current.store(ptr::null_mut(), Ordering::Relaxed);
    keep_spare_context(own);
    // SAFETY: the call returned a new reference, or null and an exception.
    let result = unsafe { Bound::from_owned_ptr_or_err(py, result) }?;
    // WHY not the answer to a question: the one who asked may use whatever it is.
    if current.question.is_none() {
        check_no_coroutine_or_generator(&result)?;
    }
    Ok((result, current.question))
}

impl PyActorContext {
    #[inline]
    fn with_current_call<R>(
        &self,
        read: impl FnOnce(&mut CurrentCall<'static, 'static, 'static>) -> R,
    ) -> PyResult<R> {
        // Relaxed: the GIL orders what its holders do.
        let current = self.current.load(Ordering::Relaxed);
        if current.is_null() {
            return Err(Error::new_err(
                "the handler is over, and its context with it: do not keep it",
            ));
        }
        // SAFETY: not null only while `call_handler` has exclusive use of it and waits for Python;
        // `read` calls nothing of Python, so no other reference is used meanwhile.
        Ok(read(unsafe { &mut *current }))
    }
}

#[pymethods]
impl PyActorContext {
    /// The name with which the actor was spawned, or `None`.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<Py<PyString>>> {
        self.with_current_call(|current| current.spec.name.as_ref().map(|name| name.clone_ref(py)))
    }

    /// Returns an address of this actor. While it exists, the actor does not end by itself.
    fn address(&self) -> PyResult<PyAddress> {
        self.with_current_call(|current| {
            PyAddress::new(current.context.address(), Arc::clone(current.spec))
        })
    }

    /// Ends the actor when this handler returns. The messages in its mailbox are dropped.
    fn stop(&self) -> PyResult<()> {
        self.with_current_call(|current| current.context.stop())
    }

    /// Answers the question that this handler handles. The value that the handler returns is then
    /// ignored.
    fn reply(&self, value: Py<PyAny>) -> PyResult<()> {
        match self.take_question()? {
            Some(question) if question.get().try_answer(value) => Ok(()),
            _ => Err(Error::new_err(
                "the message is no question, or it was answered already",
            )),
        }
    }

    /// Returns the question that this handler handles, to be answered later by its `reply`; `None`
    /// if the message is no question. The value that the handler returns is then ignored.
    fn question(&self) -> PyResult<Option<Py<PyQuestion>>> {
        self.take_question()
    }

    /// Sends `message` to this actor after `delay` seconds, also if the mailbox is full. A restart
    /// cancels the timer, and so does a swap once it is final.
    fn tell_after(&self, delay: f64, message: Bound<'_, PyAny>) -> PyResult<PyTimer> {
        let delay = duration_from_secs(delay)?;
        let mail = Mail::from_object(message);
        self.with_current_call(|current| PyTimer(current.context.tell_after(delay, mail)))
    }

    /// Sends `message` to this actor every `period` seconds. A message is left out if the one
    /// before it still waits. An actor with such a timer does not end by itself. A restart cancels
    /// the timer, and so does a swap once it is final.
    fn tell_every(&self, period: f64, message: Py<PyAny>) -> PyResult<PyTimer> {
        let period = duration_from_secs(period)?;
        let make = move || {
            let mail = try_call_attached(|py| Mail::from_object(message.bind(py).clone()));
            mail.unwrap_or(Mail::EMPTY)
        };
        self.with_current_call(|current| PyTimer(current.context.tell_every(period, make)))
    }

    /// Watches another actor or inbox: once it has ended, `on_down(down, context)` of this actor's
    /// handler is called.
    fn watch(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(other) = other.cast::<PyAddress>() else {
            let found = other.get_type();
            let text = format!("{found} where an Address or Inbox is wanted");
            return Err(PyTypeError::new_err(text));
        };
        self.with_current_call(|current| current.context.watch(&other.get().address))
    }
}

impl PyActorContext {
    fn take_question(&self) -> PyResult<Option<Py<PyQuestion>>> {
        self.with_current_call(|current| current.question.take().map(Bound::unbind))
    }
}

/// A timer of an actor. It goes on if this object is dropped, until the actor ends.
#[pyclass(frozen, name = "Timer", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyTimer(Timer);

#[pymethods]
impl PyTimer {
    /// Cancels the timer: it sends no more messages, and one that waits is not handled.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// True if the timer was cancelled.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The notice that a watched actor has ended.
#[pyclass(frozen, name = "Down", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyDown {
    /// The `id` of the actor's address.
    #[pyo3(get)]
    id: usize,
    /// The text of the error with which the actor failed for good; `None` if it ended without a
    /// failure.
    #[pyo3(get)]
    error: Option<String>,
}

impl PyDown {
    pub(crate) fn new(id: ActorId, error: Option<String>) -> Self {
        Self {
            id: id.number(),
            error,
        }
    }
}

#[pymethods]
impl PyDown {
    fn __repr__(&self) -> String {
        let error = self.error.as_deref().and_then(|error| error.lines().next());
        format!("<horus.Down id={} error={error:?}>", self.id)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyActorContext>()?;
    module.add_class::<PyTimer>()?;
    module.add_class::<PyDown>()
}
