//! Loans slots to Python messages, and publishes these messages or returns their slots.

use std::ptr;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, SendFailedError};
use crate::message;
use crate::message::framed::base::Framed;
use crate::message::framed::data::{
    data_bytes, data_bytes_stated_in_header, message_with_data, size_mismatch_error,
};
use crate::message::framed::draft::{
    fill_computed_header_fields, new_draft, set_header_for_shape_and_type,
};
use crate::message::framed::loan::{end_loan, live_loan_view, loan_of};
use crate::message::framed::memory::{DataOwner, Loan, LoanEndReason};
use crate::message::kind::MessageKind;
use crate::topic::codec::Codec;
use crate::topic::handles::{PyPublisher, PyTopic};
use crate::topic::publisher_endpoint::{PublisherEndpoint, reserve_slots};

/// Loans a slot of the publisher, and makes a message in the slot: either for an array of this
/// shape and type, or only from fields.
fn loan_message<'py>(
    publisher: &Bound<'py, PyAny>,
    publisher_endpoint: &PublisherEndpoint,
    kind: &'static MessageKind,
    (shape, dtype): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = publisher.py();
    let draft = new_draft(py, kind, fields)?;
    match (shape, dtype) {
        (None, None) => {}
        (shape, dtype) => {
            let shape = match shape.map(|shape| (shape, shape.extract::<u64>())) {
                None => Vec::new(),
                Some((_, Ok(count))) => vec![count],
                Some((shape, Err(_))) => shape
                    .extract::<Vec<u64>>()
                    .map_err(|error| error::prefix_error_text(py, "shape", &error))?,
            };
            set_header_for_shape_and_type(&draft, &shape, dtype)?;
        }
    }
    let bytes = fill_computed_header_fields(&draft)?;
    let mut end = publisher_endpoint.enter(py)?;
    reserve_slots(py, end.get(), kind.bytes.saturating_add(bytes) as u64)?;
    // WHY: another thread may have called `close` meanwhile, and has found no loan to wait for.
    publisher_endpoint.end.check_open()?;
    let lent = end.get().lend();
    let slot = lent.map_err(|error| error::from_publisher_loan_error(end.get(), &error))?;
    let address = slot.cast::<u8>().as_ptr().wrapping_add(kind.bytes);
    let _memory = end.get().lent_memory();
    let loan = Loan {
        publisher: Ok(publisher.clone().unbind()),
        slot,
        _memory,
        view: None,
        discard_slot_of_destroyed_message,
    };
    let object = message_with_data(
        py,
        kind,
        message::message_bytes(&draft),
        (address, bytes),
        DataOwner::Loan(loan),
    )?;
    publisher_endpoint.set_loan(object.as_ptr());
    Ok(object)
}

/// Returns the publishing endpoint of a Python object that loans slots.
fn publisher_endpoint_of<'a>(publisher: &'a Bound<'_, PyAny>) -> PyResult<&'a PublisherEndpoint> {
    match publisher.cast::<PyPublisher>() {
        Ok(publisher) => Ok(&publisher.get().publisher_endpoint),
        Err(_) => Ok(&publisher.cast::<PyTopic>()?.get().publisher_endpoint),
    }
}

/// Publishes a message on loan with its present content, and ends its loan.
fn publish(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let bytes = data_bytes_stated_in_header(object)?;
    if bytes > data_bytes(object) {
        return Err(size_mismatch_error(object, bytes));
    }
    let Some((publisher, slot)) = loan_of(object) else {
        return Err(SendFailedError::new_err(
            "it is not on loan: use publisher.send",
        ));
    };
    let publisher_endpoint = publisher_endpoint_of(&publisher)?;
    publisher_endpoint.end.check_open()?;
    let mut end = publisher_endpoint.end.enter(py)?;
    // WHY last: after this, no Python code runs until the message is published.
    check_slot_not_exported(object, &publisher, "publish()")?;
    let header = message::message_bytes(object);
    // SAFETY: the slot is longer than the header, and on loan: nobody else uses it.
    unsafe {
        ptr::copy_nonoverlapping(header.as_ptr(), slot.cast::<u8>().as_ptr(), header.len());
    }
    let published = end.get().publish_lent(header.len() + bytes);
    drop(end);
    publisher_endpoint.set_loan(ptr::null_mut());
    let end = published.as_ref();
    let end = end.map_or(LoanEndReason::Discarded, |()| LoanEndReason::Published);
    drop(end_loan(object, end));
    published.map_err(|error| error::from_publish_error(&error))
}

/// Gives the slot of a message on loan back to its publisher, without publishing it. Does nothing
/// for other messages.
fn discard(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some((publisher, _)) = loan_of(object) else {
        return Ok(());
    };
    check_slot_not_exported(object, &publisher, "discard()")?;
    if let Some(publisher) = end_loan(object, LoanEndReason::Discarded) {
        publisher_endpoint_of(&publisher)?.discard_loan(object.py());
    }
    Ok(())
}

/// Returns an error if Python code can still write to the slot of a message on loan. WHY: a later
/// write would change the message while its readers use it, or change the next message in the slot.
fn check_slot_not_exported(
    object: &Bound<'_, PyAny>,
    publisher: &Bound<'_, PyAny>,
    call: &str,
) -> PyResult<()> {
    if live_loan_view(object)?.is_none() {
        return Ok(());
    }
    let topic = publisher.getattr("name")?;
    Err(PyBufferError::new_err(format!(
        "an array, slice or memoryview of the message on loan from '{topic}' is still there: del \
         all of them before {call}"
    )))
}

/// Discards the slot of a message that was destroyed on loan, so that the publisher can use the
/// slot again.
fn discard_slot_of_destroyed_message(publisher: &Bound<'_, PyAny>) -> PyResult<()> {
    publisher_endpoint_of(publisher)?.discard_loan(publisher.py());
    Ok(())
}

/// Adds the method `loan` and the methods for its messages to a Python class.
macro_rules! loan_methods {
    ($handle:ident) => {
        #[pymethods]
        impl $handle {
            /// Returns a message in shared memory, to be filled where its subscribers will read it:
            /// for an array of this shape and type, or with fields that describe it. Write to its
            /// `to_numpy()`, then `publish()` it. There can be one loan at a time. Never blocks. A
            /// message that is longer than the slots reserves longer ones, as `reserve` does.
            #[pyo3(signature = (shape = None, dtype = None, /, **fields))]
            fn loan<'py>(
                slf: &Bound<'py, Self>,
                shape: Option<&Bound<'py, PyAny>>,
                dtype: Option<&Bound<'py, PyAny>>,
                fields: Option<&Bound<'py, PyDict>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let publisher_endpoint = &slf.get().publisher_endpoint;
                let Codec::Framed(kind) = publisher_endpoint.codec else {
                    let name = publisher_endpoint.codec.message_type().name();
                    let text = format!("messages of {name} are copied: use send");
                    return Err(PyTypeError::new_err(text));
                };
                loan_message(
                    slf.as_any(),
                    publisher_endpoint,
                    kind,
                    (shape, dtype),
                    fields,
                )
            }

            /// Makes sure that messages of `bytes` bytes, header included, can be sent without
            /// further system calls: reserves memory for longer slots if they do not fit yet, which
            /// takes 2 to 5 ms per MiB. Raises `SendFailedError` if there is no memory, or if
            /// this publisher may not send such messages.
            fn reserve(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
                self.publisher_endpoint.reserve(py, bytes)
            }
        }
    };
}

loan_methods! { PyPublisher }
loan_methods! { PyTopic }

#[pymethods]
impl Framed {
    /// Publishes a message on loan with its present content. The message is shortened if its header
    /// now states fewer data bytes. Does not block, and copies nothing. Raises `BufferError` while
    /// an array of the message, or anything made from such an array, can write to it. Afterwards
    /// the data are gone: `to_numpy()`, `copy()` and the like raise `ValueError`.
    fn publish(slf: &Bound<'_, Self>) -> PyResult<()> {
        publish(slf)
    }

    /// Ends a loan without publishing the message. Does nothing for a message that is not on loan.
    /// Raises `BufferError` as `publish` does. Afterwards the data are gone, as after `publish`.
    fn discard(slf: &Bound<'_, Self>) -> PyResult<()> {
        discard(slf)
    }
}
