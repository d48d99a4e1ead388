//! The publishing end as Python uses it.

use horus_core::SendError;
use horus_core::topic::BytesPublisher;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::codec::Codec;
use crate::end::End;
use crate::error;
use crate::kind::Kind;
use crate::message;
use crate::waits::Patience;

/// A publishing end, and what it carries.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) end: End<BytesPublisher>,
    pub(crate) codec: Codec,
}

impl Outbox {
    pub(crate) fn new(end: BytesPublisher, codec: Codec) -> Self {
        Self { end: End::new(end), codec }
    }

    /// Publishes a message, waiting for room if there is a timeout.
    #[inline]
    pub(crate) fn send(
        &self,
        message: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Codec::Message(kind) = self.codec;
        if !kind.is_kind_of(message) {
            return Err(other(kind, message));
        }
        let mut end = self.end.enter(message.py())?;
        let Err(error) = end.get().send(message::bytes(message)) else { return Ok(()) };
        drop(end);
        match timeout {
            Some(timeout) if error.is_full() => {
                self.send_patiently(message, Patience::of(timeout)?)
            }
            _ => Err(error::of_send(&error)),
        }
    }

    #[cold]
    fn send_patiently(&self, message: &Bound<'_, PyAny>, patience: Patience) -> PyResult<()> {
        // WHY a copy: without the GIL, others may write the message.
        let bytes = message::bytes(message).to_vec();
        let mut end = self.end.enter(message.py())?;
        let end = end.get();
        let send = |slice| match end.send_timeout(&bytes, slice) {
            Err(SendError::Full(())) => None,
            sent => Some(sent),
        };
        let sent = patience.wait(message.py(), send, || self.end.expect_open())?;
        sent.unwrap_or(Err(SendError::Full(()))).map_err(|error| error::of_send(&error))
    }

    /// Closes the end.
    pub(crate) fn close(&self, py: Python<'_>) {
        self.end.close(py);
    }

    /// Asks the end for something.
    pub(crate) fn ask<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut BytesPublisher) -> T,
    ) -> PyResult<T> {
        Ok(ask(self.end.enter(py)?.get()))
    }
}

#[cold]
fn other(kind: &Kind, object: &Bound<'_, PyAny>) -> PyErr {
    let found = object.get_type();
    let found = found.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("the topic carries {}, not {found}", kind.schema.name))
}
