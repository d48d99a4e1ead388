//! The Python methods `send` and `recv`, which Python calls directly through its C API.
//!
//! WHY not methods of PyO3: their additional work for each call takes as long as the call itself.
//! It consists of a guard for the attached thread, and of the names and defaults of the arguments.
//! The methods here read the arguments from Python directly.

use std::ffi::CStr;
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{PyClass, ffi};

use crate::call::{Arguments, add_method, run_guarded};
use crate::topic::handles::{PyPublisher, PySubscriber, PyTopic};
use crate::topic::publisher_endpoint::PublisherEndpoint;
use crate::topic::subscriber_endpoint::SubscriberEndpoint;

/// A Python class that sends messages of a topic: `Publisher` or `Topic`.
trait SendsMessages: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync {
    fn publisher_endpoint(&self) -> &PublisherEndpoint;
}

/// A Python class that receives messages of a topic: `Subscriber` or `Topic`.
trait ReceivesMessages: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync {
    fn subscriber_endpoint(&self) -> &SubscriberEndpoint;
}

impl SendsMessages for PyPublisher {
    #[inline]
    fn publisher_endpoint(&self) -> &PublisherEndpoint {
        &self.publisher_endpoint
    }
}

impl SendsMessages for PyTopic {
    #[inline]
    fn publisher_endpoint(&self) -> &PublisherEndpoint {
        &self.publisher_endpoint
    }
}

impl ReceivesMessages for PySubscriber {
    #[inline]
    fn subscriber_endpoint(&self) -> &SubscriberEndpoint {
        &self.subscriber_endpoint
    }
}

impl ReceivesMessages for PyTopic {
    #[inline]
    fn subscriber_endpoint(&self) -> &SubscriberEndpoint {
        &self.subscriber_endpoint
    }
}

unsafe extern "C" fn send<T: SendsMessages>(
    this: *mut ffi::PyObject,
    first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        // SAFETY: Python's arguments of this call.
        let arguments = unsafe { Arguments::new(py, first, count, names) };
        arguments.check_no_unexpected_arguments("send", 2, &["message", "timeout"])?;
        let Some(message) = arguments.get(0, "message")? else {
            return Err(PyTypeError::new_err("send() needs a message"));
        };
        let timeout = arguments
            .get(1, "timeout")?
            .filter(|timeout| !timeout.is_none());
        // SAFETY: Python keeps it for the time of the call.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { this.cast_into_unchecked::<T>() };
        this.get()
            .publisher_endpoint()
            .send(&message, timeout.as_ref())?;
        Ok(py.None().into_ptr())
    })
}

unsafe extern "C" fn recv<T: ReceivesMessages>(
    this: *mut ffi::PyObject,
    first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        // SAFETY: Python's arguments of this call.
        let arguments = unsafe { Arguments::new(py, first, count, names) };
        arguments.check_no_unexpected_arguments("recv", 1, &["timeout"])?;
        let timeout = arguments
            .get(0, "timeout")?
            .filter(|timeout| !timeout.is_none());
        // SAFETY: Python keeps it for the time of the call.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { this.cast_into_unchecked::<T>() };
        let received = this
            .get()
            .subscriber_endpoint()
            .recv(py, timeout.as_ref())?;
        Ok(received.map_or_else(|| py.None().into_ptr(), Bound::into_ptr))
    })
}

const SEND_DOC: &CStr = c"send($self, message, timeout=None)
--

Publishes a message. Never blocks, unless `timeout` is given: for so many seconds it waits for room
on a topic that is full.";

const RECV_DOC: &CStr = c"recv($self, timeout=None)
--

The next message, oldest first, or `None` if there is none: right now, or within `timeout`
seconds.";

/// Adds the methods `send` and `recv` to the Python classes `Publisher`, `Subscriber` and `Topic`.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    add_method(
        &py.get_type::<PyPublisher>(),
        c"send",
        send::<PyPublisher>,
        SEND_DOC,
    )?;
    add_method(
        &py.get_type::<PyTopic>(),
        c"send",
        send::<PyTopic>,
        SEND_DOC,
    )?;
    add_method(
        &py.get_type::<PySubscriber>(),
        c"recv",
        recv::<PySubscriber>,
        RECV_DOC,
    )?;
    add_method(
        &py.get_type::<PyTopic>(),
        c"recv",
        recv::<PyTopic>,
        RECV_DOC,
    )
}
