//! The publishing end as Python uses it.

use horus_core::topic::BytesPublisher;
use horus_core::{LoanError, SendError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::codec::Codec;
use crate::end::End;
use crate::error;
use crate::kind::Kind;
use crate::message;
use crate::pack::{Unpacked, pack};
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
        match self.codec {
            Codec::Message(kind) => self.send_message(kind, message, timeout),
            Codec::Anything => self.send_anything(message, timeout),
        }
    }

    #[inline]
    fn send_message(
        &self,
        kind: &Kind,
        message: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
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

    /// Encodes an object in the slot where it will be read.
    fn send_anything(
        &self,
        object: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut end = self.end.enter(object.py())?;
        let end = end.get();
        if let Some(timeout) = timeout {
            self.wait_for_room(object.py(), end, timeout)?;
        }
        let mut loan = end.loan().map_err(|error| error::of_loan(&error))?;
        match pack(object, loan.bytes_mut()) {
            Ok(bytes) => loan.publish(bytes).map_err(|error| error::of_send(&error.into())),
            Err(Unpacked::Python(error)) => Err(error),
            Err(Unpacked::TooLong(bytes)) => {
                let max = loan.capacity_bytes() as u64;
                Err(error::of_send(&SendError::TooLong { message: (), bytes, max }))
            }
        }
    }

    /// Waits until a slot can be had, or the time is over.
    #[cold]
    fn wait_for_room(
        &self,
        py: Python<'_>,
        end: &mut BytesPublisher,
        timeout: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let room = |slice| match end.loan_timeout(slice) {
            Err(LoanError::Full) => None,
            // What else is wrong says the call that comes after this.
            _ => Some(()),
        };
        let patience = Patience::of(timeout)?;
        patience.wait(py, room, || self.end.expect_open()).map(|_| ())
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
