//! Objects that keep a message on loan alive while other code can write it.

use pyo3::prelude::*;

use crate::message::framed::data::is_writeable;
use crate::message::framed::loan::{live_view, record_view};
use crate::message::framed::view::array_view;
use crate::numpy::numpy;

/// Stands for the array of a message on loan where numpy is not installed: while this object lives,
/// the loan must not end.
#[pyclass(frozen, weakref)]
pub(crate) struct LoanKeepalive(#[expect(dead_code, reason = "kept alive")] Py<PyAny>);

/// Returns an object that keeps a message alive. While it lives, the loan of a message on loan
/// cannot be published, because other code can write it.
pub(crate) fn keepalive<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if numpy(py).is_some() {
        return array_view(object);
    }
    if let Some(keepalive) = live_view(object)? {
        return Ok(keepalive);
    }
    let keepalive = Bound::new(py, LoanKeepalive(object.clone().unbind()))?.into_any();
    record_view(object, keepalive, is_writeable(object))
}
