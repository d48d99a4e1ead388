//! Messages in a slot on loan: lent, written in place, published or given back.

use std::ffi::c_int;
use std::ptr;

use horus_core::LoanError;
use horus_core::topic::Lent;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};

use super::draft::{describe_as, draft, finish};
use super::{Memory, data_mut, data_of, is_writeable, make, promised, unlike, view};
use crate::error::{self, SendFailedError};
use crate::message::instance::{self, guard_known};
use crate::message::kind::Kind;
use crate::numpy::numpy;
use crate::topic::handles::{PyPublisher, PyTopic};
use crate::topic::outbox::Outbox;

/// A slot on loan, or one that was.
pub(super) struct Loan {
    /// `None` once it was published, discarded, or its publisher closed.
    pub(super) publisher: Option<Py<PyAny>>,
    lent: Lent,
    /// A weak reference to the array through which it is written. Whatever else can write it, as
    /// a slice or a `memoryview`, keeps that array alive. Without numpy, to a [`Hold`].
    view: Option<Py<PyAny>>,
}

/// Stands for the array of a message on loan where numpy is not installed.
#[pyclass(frozen, weakref)]
struct Hold(#[expect(dead_code, reason = "kept alive")] Py<PyAny>);

/// The object that keeps a message on loan, and the loan from its end, while others can write it.
pub(crate) fn hold<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if numpy(py).is_some() {
        return view(object);
    }
    if let Some(hold) = exported(object)? {
        return Ok(hold);
    }
    let hold = Bound::new(py, Hold(object.clone().unbind()))?.into_any();
    track(object, hold, is_writeable(object))
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
                Some((shape, Err(_))) => shape
                    .extract::<Vec<u64>>()
                    .map_err(|error| error::within(py, "shape", &error))?,
            };
            describe_as(&draft, &shape, dtype)?;
        }
    }
    let bytes = finish(&draft)?;
    let mut end = outbox.enter(py)?;
    let lent = end.get().lend().map_err(|error| error::of_loan(&error))?;
    let (all_bytes, max) = (kind.bytes.saturating_add(bytes), lent.slot().len());
    if all_bytes > max {
        let end = end.get();
        end.discard_lent();
        let (topic, bytes, max) = (end.label(), all_bytes as u64, max as u64);
        return Err(error::of_loan(&LoanError::TooLong { topic, bytes, max }));
    }
    let address = lent.slot().cast::<u8>().as_ptr().wrapping_add(kind.bytes);
    let loan = Loan { publisher: Some(publisher.clone().unbind()), lent, view: None };
    let object = make(py, kind, instance::bytes(&draft), (address, bytes), Memory::Loan(loan))?;
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
    outbox.end.expect_open()?;
    let mut end = outbox.end.enter(py)?;
    // WHY last: after this nothing runs Python until the message is published.
    refuse_exported(object, publisher, "publish()")?;
    let header = instance::bytes(object);
    // SAFETY: the slot is longer than the header, and on loan: nobody else uses it.
    unsafe {
        ptr::copy_nonoverlapping(header.as_ptr(), slot.cast::<u8>().as_ptr(), header.len());
    }
    let published = end.get().publish_lent(header.len() + bytes);
    drop(end);
    outbox.set_loan(ptr::null_mut());
    drop(end_loan(object));
    published.map_err(|error| error::of_loan(&error))
}

/// Gives a loan back; what is none is left as it is.
pub(super) fn discard(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let Memory::Loan(Loan { publisher: Some(publisher), .. }) = &data_of(object).memory else {
        return Ok(());
    };
    refuse_exported(object, publisher.clone_ref(object.py()).bind(object.py()), "discard()")?;
    if let Some(publisher) = end_loan(object) {
        outbox_of(&publisher)?.discard_loan(object.py());
    }
    Ok(())
}

/// Refuses to end a loan that something can still write: its next reader, or the next user of its
/// slot, would see that.
fn refuse_exported(
    object: &Bound<'_, PyAny>,
    publisher: &Bound<'_, PyAny>,
    call: &str,
) -> PyResult<()> {
    if exported(object)?.is_none() {
        return Ok(());
    }
    let topic = publisher.getattr("name")?;
    Err(PyBufferError::new_err(format!(
        "an array, slice or memoryview of the message on loan from '{topic}' is still there: del \
         all of them before {call}"
    )))
}

/// The array through which a message on loan is written, if somebody has it, or anything made of
/// it.
#[inline]
pub(crate) fn exported<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Memory::Loan(Loan { view: Some(view), .. }) = &data_of(object).memory else {
        return Ok(None);
    };
    let view = view.bind(object.py()).call0()?;
    Ok(Some(view).filter(|view| !view.is_none()))
}

/// Notes an array of the data, if it can write a message on loan. Returns the one to be used: there
/// is only one at a time.
#[inline]
pub(super) fn track<'py>(
    object: &Bound<'py, PyAny>,
    array: Bound<'py, PyAny>,
    is_writeable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if !is_writeable || !matches!(data_of(object).memory, Memory::Loan(_)) {
        return Ok(array);
    }
    let reference = PyWeakrefReference::new(&array)?.into_any().unbind();
    // WHY again: each of the objects made since then may have collected garbage, and that may have
    // run anything.
    if let Some(other) = exported(object)? {
        return Ok(other);
    }
    // SAFETY: nobody looks meanwhile.
    match &mut unsafe { data_mut(object) }.memory {
        Memory::Loan(loan) if loan.publisher.is_some() => {
            let before = loan.view.replace(reference);
            drop(before.map(|before| before.into_bound(object.py())));
            Ok(array)
        }
        _ => Err(SendFailedError::new_err("the loan ended while an array of it was made")),
    }
}

/// Ends the loan that `object` is, if it is one. Returns whose it was. Nothing can write it any
/// more, except if [`exported`] said so.
pub(crate) fn end_loan<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = object.py();
    // SAFETY: nobody looks meanwhile.
    let Memory::Loan(loan) = &mut unsafe { data_mut(object) }.memory else { return None };
    drop(loan.view.take().map(|view| view.into_bound(py)));
    loan.publisher.take().map(|publisher| publisher.into_bound(py))
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
