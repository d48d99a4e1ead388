//! Addresses, with which Python code sends messages to actors and inboxes.

use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;

use horus_core::actor::{Address, Answer, AskError, SendTimeoutError, TrySendError};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::actor::answer::PyAnswer;
use crate::actor::behaviour::{ActorSpec, PythonActor};
use crate::actor::error::{
    from_ask_error, from_swap_error, from_tell_all_error, from_tell_error, from_tell_timeout_error,
};
use crate::actor::mail::Mail;
use crate::actor::question::PyQuestion;
use crate::call::{Arguments, add_method, release_deferred_objects, run_guarded};
use crate::scheduler::handle::PySwap;
use crate::wait::timeout::WaitPolicy;

/// Sends messages to an actor or inbox, from any thread. An actor ends once no address of it is
/// left and its messages are handled.
#[pyclass(frozen, subclass, name = "Address", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyAddress {
    pub(crate) address: Address<Mail>,
    /// The settings of the actor, such as its name. A handler that replaces the present one gets
    /// the same settings.
    spec: Arc<ActorSpec>,
}

impl PyAddress {
    pub(crate) const fn new(address: Address<Mail>, spec: Arc<ActorSpec>) -> Self {
        Self { address, spec }
    }

    /// Sends `message`. If the mailbox is full, waits for space until the time limit of `wait`, and
    /// then raises an error.
    #[cold]
    fn tell_timeout(&self, py: Python<'_>, message: Mail, wait: WaitPolicy) -> PyResult<()> {
        let mut message = Some(message);
        let told = wait.wait(
            py,
            |slice| match self.address.tell_timeout(message.take()?, slice) {
                Err(SendTimeoutError::Timeout(back)) => {
                    message = Some(back);
                    None
                }
                told => Some(told),
            },
            || Ok(()),
        )?;
        let told = match (told, message) {
            (Some(told), _) => told,
            (None, Some(message)) => Err(SendTimeoutError::Timeout(message)),
            (None, None) => Ok(()),
        };
        told.map_err(|error| self.add_actor_name_to_error(py, from_tell_timeout_error(&error)))
    }

    fn send_question(&self, py: Python<'_>, message: Py<PyAny>) -> PyResult<Answer<Py<PyAny>>> {
        let question = Py::new(py, PyQuestion::new(message))?;
        let make = |reply| {
            question.get().set_reply(reply);
            Mail::from_object(question.into_bound(py).into_any())
        };
        let asked = self.address.ask(make);
        asked.map_err(|error| self.add_actor_name_to_error(py, from_ask_error(error)))
    }

    /// Puts the name of the actor in front of the text of `error`.
    #[cold]
    fn add_actor_name_to_error(&self, py: Python<'_>, error: PyErr) -> PyErr {
        self.spec.add_actor_name_to_error(py, &error)
    }
}

#[pymethods]
impl PyAddress {
    /// The name with which the actor was spawned or found, or `None`.
    #[getter]
    fn name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.spec.name.as_ref().map(|name| name.clone_ref(py))
    }

    /// The identity of the actor. It may be used again once no address of the actor exists.
    #[getter]
    fn id(&self) -> usize {
        self.address.id().number()
    }

    /// True if the actor has ended.
    #[getter]
    fn disconnected(&self) -> bool {
        self.address.is_disconnected()
    }

    /// The number of messages in a bounded mailbox, which can change at any time.
    #[getter]
    fn waiting(&self) -> u32 {
        self.address.waiting()
    }

    /// Sends all messages, in their order and with no other message between them, or none of them.
    /// Does not wait.
    fn tell_all(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        let messages: PyResult<Vec<_>> = messages
            .try_iter()?
            .map(|message| message.map(Mail::from_object))
            .collect();
        let told = self.address.tell_all(messages?);
        told.map_err(|error| self.add_actor_name_to_error(py, from_tell_all_error(&error)))
    }

    /// Sends a question, and waits for the answer, at most `timeout` seconds. Raises
    /// `NoAnswerError` if the actor drops the question, and `TimeoutError` if no answer comes in
    /// time.
    #[pyo3(signature = (message, timeout = None))]
    fn ask(
        &self,
        py: Python<'_>,
        message: Py<PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let wait_policy = timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?;
        let mut answer = self.send_question(py, message)?;
        let answered = wait_policy.wait(
            py,
            |slice| match answer.try_wait(slice) {
                Err(AskError::Timeout) => None,
                answered => Some(answered),
            },
            || Ok(()),
        );
        let answered = answered?.unwrap_or(Err(AskError::Timeout));
        answered.map_err(|error| self.add_actor_name_to_error(py, from_ask_error(error)))
    }

    /// Sends a question, and returns the answer as an awaitable of asyncio.
    fn ask_async<'py>(slf: &Bound<'py, Self>, message: Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let spec = Arc::clone(&slf.get().spec);
        let answer = PyAnswer::new(slf.get().send_question(slf.py(), message)?, spec);
        slf.py()
            .import("horus._asyncio")?
            .call_method1("answered", (answer,))
    }

    /// Replaces the handler of the actor by `handler`, which handles all messages that are sent
    /// after this call. If the `init` or one of the first ten messages of the new handler fails,
    /// the old handler is restored. The request counts as a message in the mailbox. Does not wait.
    #[pyo3(signature = (handler, *, batch = None))]
    fn swap(&self, handler: &Bound<'_, PyAny>, batch: Option<usize>) -> PyResult<PySwap> {
        let py = handler.py();
        let spec = self.spec.with_batch(handler.py(), check_batch_size(batch)?);
        let actor = if handler.is_instance_of::<PyType>() {
            PythonActor::from_factory(handler, spec)?
        } else {
            PythonActor::new(handler, spec)?
        };
        self.address
            .swap(actor)
            .map(PySwap)
            .map_err(|error| self.add_actor_name_to_error(py, from_swap_error(error)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| other.get().address == self.address)
    }

    fn __hash__(&self) -> usize {
        self.address.id().number()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let class = slf.get_type().name()?;
        let name = match &this.spec.name {
            Some(name) => format!(" {}", name.bind(slf.py()).repr()?),
            None => String::new(),
        };
        let ended = if this.disconnected() { ", ended" } else { "" };
        Ok(format!("<horus.{class}{name} id={}{ended}>", this.id()))
    }
}

/// Returns `batch`, the maximum length of the lists that a handler gets. Returns an error if it is
/// 0.
pub(crate) fn check_batch_size(batch: Option<usize>) -> PyResult<Option<usize>> {
    if batch == Some(0) {
        let text = "batch=0: give at least 1, or None for single messages";
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    Ok(batch)
}

unsafe extern "C" fn tell(
    this: *mut ffi::PyObject,
    first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        // SAFETY: Python's arguments of this call.
        let arguments = unsafe { Arguments::new(py, first, count, names) };
        arguments.check_no_unexpected_arguments("tell", 2, &["message", "timeout"])?;
        let Some(message) = arguments.get(0, "message")? else {
            return Err(PyTypeError::new_err("tell() needs a message"));
        };
        let message = Mail::from_object(message);
        // SAFETY: Python keeps it for the time of the call.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { this.cast_into_unchecked::<PyAddress>() };
        let timeout = arguments
            .get(1, "timeout")?
            .filter(|timeout| !timeout.is_none());
        // WHY first: a wrong timeout is an error also while there is room.
        let wait_policy = timeout.as_ref().map(WaitPolicy::from_timeout).transpose()?;
        match (this.get().address.tell_replacing(message), wait_policy) {
            (Ok(false), _) => {}
            // WHY: PyO3 has deferred the release of the message that was replaced.
            (Ok(true), _) => release_deferred_objects(),
            (Err(TrySendError::Full(message)), Some(wait_policy)) => {
                this.get().tell_timeout(py, message, wait_policy)?;
            }
            (Err(error), _) => {
                return Err(this
                    .get()
                    .add_actor_name_to_error(py, from_tell_error(&error)));
            }
        }
        Ok(py.None().into_ptr())
    })
}

const TELL_DOC: &CStr = c"tell($self, message, timeout=None)
--

Sends a message: any object, by reference. Never waits, unless `timeout` is given: for so many
seconds it waits for room in a full mailbox.";

/// Registers the class of addresses in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAddress>()?;
    let class = module.py().get_type::<PyAddress>();
    add_method(&class, c"tell", tell, TELL_DOC)
}
