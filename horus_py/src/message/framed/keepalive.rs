//! Objects that keep a message on loan alive as long as other code can write its data.

use pyo3::prelude::*;

use crate::message::framed::data::is_writeable;
use crate::message::framed::loan::{live_loan_view, record_loan_view};
use crate::message::framed::view::array_view;
use crate::numpy::numpy;

/// Takes the place of the array of a message on loan if numpy is not installed. While this object
/// exists, the loan must not end.
#[pyclass(frozen, weakref)]
pub(crate) struct LoanKeepalive(#[expect(dead_code, reason = "kept alive")] Py<PyAny>);

/// Returns an object that keeps a message alive. If the message is on loan, it cannot be published
/// while that object exists, because other code can write its data.
pub(crate) fn make_keepalive<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if numpy(py)?.is_some() {
        return array_view(object);
    }
    if let Some(keepalive) = live_loan_view(object)? {
        return Ok(keepalive);
    }
    let keepalive = Bound::new(py, LoanKeepalive(object.clone().unbind()))?.into_any();
    record_loan_view(object, keepalive, is_writeable(object))
}
