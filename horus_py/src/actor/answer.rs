//! Answers to questions that were sent to actors. Tasks of asyncio wait for them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use horus_core::actor::Answer;
use pyo3::prelude::*;

use crate::actor::behaviour::ActorSpec;
use crate::actor::error::from_ask_error;
use crate::wait::wakeups::Wakeups;

/// The answer to a question, for which one task waits; empty once the question was cancelled.
#[pyclass(frozen, name = "_Answer", module = "horus._horus")]
#[derive(Debug)]
pub(crate) struct PyAnswer {
    answer: Mutex<Option<Answer<Py<PyAny>>>>,
    /// The settings of the actor that has to answer. Errors contain the names in them: that of the
    /// actor and that of its group.
    spec: Arc<ActorSpec>,
}

impl PyAnswer {
    pub(crate) const fn new(answer: Answer<Py<PyAny>>, spec: Arc<ActorSpec>) -> Self {
        Self {
            answer: Mutex::new(Some(answer)),
            spec,
        }
    }

    fn take_answer(&self) -> Option<Answer<Py<PyAny>>> {
        self.answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[pymethods]
impl PyAnswer {
    /// Returns the answer in a tuple. Without an answer, returns `None`; the task `token` of the
    /// event loop is then woken once there is one.
    fn _poll(&self, wakeups: &Bound<'_, Wakeups>, token: u64) -> PyResult<Option<(Py<PyAny>,)>> {
        let py = wakeups.py();
        let mut place = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(answer) = &mut *place else {
            return Ok(None);
        };
        let waker = wakeups.get().waker(token);
        match Pin::new(answer).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(value)) => Ok(Some((value,))),
            Poll::Ready(Err(error)) => Err(self
                .spec
                .add_actor_name_to_error(py, &from_ask_error(error))),
            Poll::Pending => Ok(None),
        }
    }

    /// Does nothing: the next poll replaces the waker.
    fn _forget_waker(&self) {}

    /// Cancels the question, if it was not answered.
    fn _cancel(&self) {
        drop(self.take_answer());
    }
}
