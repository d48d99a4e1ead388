//! Questions: messages whose sender waits for an answer.

use std::sync::{Mutex, PoisonError};

use horus_core::actor::Reply;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::error::Error;

/// A question to an actor or inbox, with the means to answer it, once and from any thread.
///
/// If it is dropped without an answer, the code that asked gets `NoAnswerError`.
#[pyclass(frozen, name = "Question", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyQuestion {
    /// The message that was sent as a question.
    #[pyo3(get)]
    pub(crate) message: Py<PyAny>,
    reply: Mutex<Option<Reply<Py<PyAny>>>>,
}

impl PyQuestion {
    /// Makes a question that cannot be answered before [`Self::set_reply`] is called.
    pub(crate) const fn new(message: Py<PyAny>) -> Self {
        Self {
            message,
            reply: Mutex::new(None),
        }
    }

    pub(crate) fn set_reply(&self, reply: Reply<Py<PyAny>>) {
        let mut place = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(reply);
    }

    /// Answers the question with `value`. Returns false if the question was answered before.
    pub(crate) fn try_answer(&self, value: Py<PyAny>) -> bool {
        let reply = self.take_reply();
        let Some(reply) = reply else { return false };
        reply.send(value);
        true
    }

    fn take_reply(&self) -> Option<Reply<Py<PyAny>>> {
        let mut place = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

#[pymethods]
impl PyQuestion {
    /// Shows the message to the garbage collector. WHY no `__clear__`: a question never gets
    /// another message. A reference cycle through it was therefore closed by a change of another
    /// object, which can be cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.message)
    }

    /// Answers with `value`. Does not wait.
    fn reply(&self, value: Py<PyAny>) -> PyResult<()> {
        if self.try_answer(value) {
            return Ok(());
        }
        Err(Error::new_err("the question was answered already"))
    }

    /// True if nobody waits for the answer any more, or if it was given.
    #[getter]
    fn cancelled(&self) -> bool {
        let place = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().is_none_or(Reply::is_cancelled)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "<horus.Question {}>",
            self.message.bind(py).repr()?
        ))
    }
}
