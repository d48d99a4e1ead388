//! Messages in a slot on loan: lent, written in place, published or given back.

use std::ffi::c_int;
use std::ptr;

use horus_core::topic::Lent;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::draft::{describe_as, draft, finish};
use super::{Memory, data_mut, data_of, make, promised, unlike};
use crate::error::{self, SendFailedError};
use crate::kind::Kind;
use crate::message::{self, guard_known};
use crate::outbox::Outbox;
use crate::topic::{PyPublisher, PyTopic};

/// A slot on loan, or one that was.
pub(super) struct Loan {
    /// `None` once it was published, discarded, or its publisher closed.
    pub(super) publisher: Option<Py<PyAny>>,
    lent: Lent,
    /// A weak reference to the array through which it is written.
    pub(super) view: Option<Py<PyAny>>,
}

/// A message in a slot of the publisher: for an array of this shape and type, or with fields only.
pub(crate) fn lend<'py>(
    publisher: &Bound<'py, PyAny>,
    outbox: &Outbox,
    kind: &'static Kind,
    (shape, dtype): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = publisher.py();
    let draft = draft(py, kind, fields)?;
    match (shape, dtype) {
        (None, None) => {}
        (shape, dtype) => {
            let shape = match shape.map(|shape| (shape, shape.extract::<u64>())) {
                None => Vec::new(),
                Some((_, Ok(count))) => vec![count],
                Some((shape, Err(_))) => shape.extract::<Vec<u64>>()?,
            };
            describe_as(&draft, &shape, dtype)?;
        }
    }
    let bytes = finish(&draft)?;
    let mut end = outbox.enter(py)?;
    let lent = end.get().lend().map_err(|error| error::of_loan(&error))?;
    let max = lent.slot().len();
    if kind.bytes.saturating_add(bytes) > max {
        end.get().discard_lent();
        let text = format!(
            "a message of {} bytes, and the topic was created for {max} at most: create it with a \
             larger max_message_bytes",
            kind.bytes + bytes
        );
        return Err(SendFailedError::new_err(text));
    }
    let address = lent.slot().cast::<u8>().as_ptr().wrapping_add(kind.bytes);
    let loan = Loan { publisher: Some(publisher.clone().unbind()), lent, view: None };
    let object = make(py, kind, message::bytes(&draft), (address, bytes), Memory::Loan(loan))?;
    outbox.set_loan(object.as_ptr());
    Ok(object)
}

/// The outbox of a handle that lends slots.
fn outbox_of<'a>(publisher: &'a Bound<'_, PyAny>) -> PyResult<&'a Outbox> {
    match publisher.cast::<PyPublisher>() {
        Ok(publisher) => Ok(&publisher.get().outbox),
        Err(_) => Ok(&publisher.cast::<PyTopic>()?.get().outbox),
    }
}

/// Publishes a message on loan, as it now is, and ends the loan.
pub(super) fn publish(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let bytes = promised(object)?;
    if bytes > data_of(object).bytes {
        return Err(unlike(object, bytes));
    }
    let Memory::Loan(Loan { publisher: Some(publisher), lent, .. }) = &data_of(object).memory
    else {
        return Err(SendFailedError::new_err("it is not on loan: use publisher.send"));
    };
    let (publisher, slot) = (publisher.clone_ref(py), lent.slot());
    let publisher = publisher.bind(py);
    let outbox = outbox_of(publisher)?;
    let mut end = outbox.end.enter(py)?;
    let header = message::bytes(object);
    // SAFETY: the slot is longer than the header, and on loan: nobody else uses it.
    unsafe {
        ptr::copy_nonoverlapping(header.as_ptr(), slot.cast::<u8>().as_ptr(), header.len());
    }
    let published = end.get().publish_lent(header.len() + bytes);
    drop(end);
    outbox.set_loan(ptr::null_mut());
    end_loan(object)?;
    published.map_err(|error| error::of_loan(&error))
}

/// Gives a loan back; what is none is left as it is.
pub(super) fn discard(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(publisher) = end_loan(object)? {
        outbox_of(&publisher)?.discard_loan(object.py());
    }
    Ok(())
}

/// Ends the loan that `object` is, if it is one: it cannot be written through its array any more.
/// Returns whose it was.
pub(crate) fn end_loan<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    // SAFETY: nobody looks meanwhile.
    let Memory::Loan(loan) = &mut unsafe { data_mut(object) }.memory else { return Ok(None) };
    let (publisher, view) = (loan.publisher.take(), loan.view.take());
    if let Some(view) = view {
        let view = view.bind(py).call0()?;
        if !view.is_none() {
            view.call_method("setflags", (), Some(&[("write", false)].into_py_dict(py)?))?;
        }
    }
    Ok(publisher.map(|publisher| publisher.into_bound(py)))
}

/// The end of a message that is, or was, on loan.
#[cold]
pub(super) fn give_back(loan: &mut Loan) {
    let ended: c_int = guard_known(-1, |py| {
        drop(loan.view.take());
        if let Some(publisher) = loan.publisher.take() {
            outbox_of(publisher.bind(py))?.discard_loan(py);
        }
        Ok(0)
    });
    if ended != 0 {
        // SAFETY: the guard left an exception, which nobody could be told.
        unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
    }
}
