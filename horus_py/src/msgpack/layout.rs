//! Layouts of dicts. A layout has the keys of a dict in order, and a template dict with these keys,
//! which is copied.

use horus_core::value::SHORT_TEXT_BYTES_MAX;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::msgpack::key::Key;

/// The keys of a dict in their order, and a template dict with these keys whose values are all
/// `None`. A new dict is made by copying the template. WHY: a copy is made in one step, while a
/// dict to which keys are added one by one is rehashed each time its size doubles.
pub(super) struct Layout {
    keys: Vec<Key>,
    blank: Py<PyDict>,
}

impl Layout {
    /// Makes the layout of a dict; `None` if a key is not a short text, as
    /// [`MsgpackReader::short_text`](horus_core::value::MsgpackReader::short_text) reads them.
    pub(super) fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Option<Self>> {
        let py = dict.py();
        let blank = PyDict::new(py);
        let mut keys = Vec::with_capacity(dict.len());
        for (key, _) in dict.iter() {
            let Ok(text) = key.cast_exact::<PyString>() else {
                return Ok(None);
            };
            let bytes = text.to_str()?.as_bytes();
            let kept = (bytes.len() <= SHORT_TEXT_BYTES_MAX)
                .then(|| Key::new(bytes, &key))
                .flatten();
            let Some(kept) = kept else { return Ok(None) };
            keys.push(kept);
            blank.set_item(key, py.None())?;
        }
        Ok(Some(Self {
            keys,
            blank: blank.unbind(),
        }))
    }

    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns a new dict that has all keys of the layout, each with the value `None`.
    pub(super) fn new_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.blank.bind(py).copy()
    }
}

/// Returns a new dict that has only the first `count` pairs of `dict`.
#[cold]
pub(super) fn first_pairs(dict: Bound<'_, PyDict>, count: usize) -> PyResult<Bound<'_, PyDict>> {
    let first = PyDict::new(dict.py());
    for (key, value) in dict.iter().take(count) {
        first.set_item(key, value)?;
    }
    Ok(first)
}
