//! Objects that keep a message on loan while others can write it.

use pyo3::prelude::*;

use crate::message::framed::data::is_writeable;
use crate::message::framed::loan::{exported, track};
use crate::message::framed::view::view;
use crate::numpy::numpy;

/// Stands for the array of a message on loan where numpy is not installed.
#[pyclass(frozen, weakref)]
pub(crate) struct Hold(#[expect(dead_code, reason = "kept alive")] Py<PyAny>);

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
