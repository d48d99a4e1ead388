//! Loans of slots to messages, and the arrays through which the slots are written.

use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use crate::error::SendFailedError;
use crate::message::framed::data::{data_mut, data_of};
use crate::message::framed::memory::{Loan, Memory};

/// Returns the publisher and the slot of a message that is on loan.
pub(crate) fn loan_of<'py>(
    object: &Bound<'py, PyAny>,
) -> Option<(Bound<'py, PyAny>, NonNull<[u8]>)> {
    let Memory::Loan(Loan { publisher: Some(publisher), lent, .. }) = &data_of(object).memory
    else {
        return None;
    };
    Some((publisher.bind(object.py()).clone(), lent.slot()))
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
