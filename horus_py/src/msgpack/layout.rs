//! The keys of a dict, and a dict that has them already.

use horus_core::value::SHORT_TEXT_BYTES_MAX;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::msgpack::key::Key;

/// The keys of a dict, in their order. A dict is made by it as a copy of one whose values are all
/// None: that is one piece of memory copied, while a dict that grows key by key is laid out anew
/// at each doubling.
pub(super) struct Layout {
    keys: Vec<Key>,
    blank: Py<PyDict>,
}

impl Layout {
    /// That of this dict; `None` if it has keys that are not short texts, as
    /// [`MsgpackReader::short_text`](horus_core::value::MsgpackReader::short_text) reads them.
    pub(super) fn of(dict: &Bound<'_, PyDict>) -> PyResult<Option<Self>> {
        let py = dict.py();
        let blank = PyDict::new(py);
        let mut keys = Vec::with_capacity(dict.len());
        for (key, _) in dict.iter() {
            let Ok(text) = key.cast_exact::<PyString>() else { return Ok(None) };
            let bytes = text.to_str()?.as_bytes();
            let kept =
                (bytes.len() <= SHORT_TEXT_BYTES_MAX).then(|| Key::new(bytes, &key)).flatten();
            let Some(kept) = kept else { return Ok(None) };
            keys.push(kept);
            blank.set_item(key, py.None())?;
        }
        Ok(Some(Self { keys, blank: blank.unbind() }))
    }

    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// A new dict with all the keys.
    pub(super) fn blank<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.blank.bind(py).copy()
    }
}

/// A new dict with only the first `count` pairs of this one.
#[cold]
pub(super) fn first_pairs(dict: Bound<'_, PyDict>, count: usize) -> PyResult<Bound<'_, PyDict>> {
    let first = PyDict::new(dict.py());
    for (key, value) in dict.iter().take(count) {
        first.set_item(key, value)?;
    }
    Ok(first)
}
