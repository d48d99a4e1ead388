//! Messages in loaned slots, and the arrays through which these messages are written.

use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use crate::message::framed::data::{data_location_mut, data_location_of, ended_loan_error};
use crate::message::framed::memory::{DataOwner, Loan, LoanEndReason};

/// Returns the publisher and the slot of a message on loan; `None` if the message is not on loan.
pub(crate) fn loan_of<'py>(
    object: &Bound<'py, PyAny>,
) -> Option<(Bound<'py, PyAny>, NonNull<[u8]>)> {
    let DataOwner::Loan(Loan {
        publisher: Ok(publisher),
        slot,
        ..
    }) = &data_location_of(object).memory
    else {
        return None;
    };
    Some((publisher.bind(object.py()).clone(), *slot))
}

/// Returns the array through which a message on loan is written. Returns `None` if neither that
/// array nor anything made from it exists any longer.
#[inline]
pub(crate) fn live_loan_view<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let DataOwner::Loan(Loan {
        view: Some(view), ..
    }) = &data_location_of(object).memory
    else {
        return Ok(None);
    };
    let view = view.bind(object.py()).call0()?;
    Ok(Some(view).filter(|view| !view.is_none()))
}

/// Records in `object`, a message in a loaned slot, that it is written through `array`, and returns
/// `array`. If an earlier array is recorded and still exists, returns that one instead. Records
/// nothing, and returns `array`, if it is not writeable or if the message is in no loaned slot.
#[inline]
pub(super) fn record_loan_view<'py>(
    object: &Bound<'py, PyAny>,
    array: Bound<'py, PyAny>,
    is_writeable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if !is_writeable || !matches!(data_location_of(object).memory, DataOwner::Loan(_)) {
        return Ok(array);
    }
    let reference = PyWeakrefReference::new(&array)?.into_any().unbind();
    // WHY checked again: making an object may have run the garbage collector, and that any Python
    // code.
    if let Some(other) = live_loan_view(object)? {
        return Ok(other);
    }
    // SAFETY: nobody looks meanwhile.
    match &mut unsafe { data_location_mut(object) }.memory {
        DataOwner::Loan(Loan {
            publisher: Err(reason),
            ..
        }) => Err(ended_loan_error(object, *reason)),
        DataOwner::Loan(loan) => {
            let before = loan.view.replace(reference);
            drop(before.map(|before| before.into_bound(object.py())));
            Ok(array)
        }
        _ => Ok(array),
    }
}

/// Ends the loan of `object`, and returns the publisher; `None` if the object is not on loan.
/// Afterwards the slot can only be used through an array that [`live_loan_view`] returned before.
pub(crate) fn end_loan<'py>(
    object: &Bound<'py, PyAny>,
    reason: LoanEndReason,
) -> Option<Bound<'py, PyAny>> {
    let py = object.py();
    // SAFETY: nobody looks meanwhile.
    let DataOwner::Loan(loan) = &mut unsafe { data_location_mut(object) }.memory else {
        return None;
    };
    drop(loan.view.take().map(|view| view.into_bound(py)));
    loan.end(reason).map(|publisher| publisher.into_bound(py))
}
