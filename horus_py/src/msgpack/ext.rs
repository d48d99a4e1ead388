//! Extensions of MessagePack that horus has no meaning for.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An extension of MessagePack that horus has no meaning for, kept as it came: a number from −128
/// to 127, and bytes.
#[pyclass(frozen, eq, name = "Ext", module = "horus")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PyExt {
    pub(crate) number: i8,
    pub(crate) bytes: Vec<u8>,
}

#[pymethods]
impl PyExt {
    #[new]
    fn new(number: i8, data: &[u8]) -> Self {
        Self { number, bytes: data.to_vec() }
    }

    /// Which extension it is.
    #[getter]
    const fn number(&self) -> i8 {
        self.number
    }

    /// Its bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.number, &self.bytes).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("horus.Ext({}, {})", self.number, self.data(py).repr()?))
    }
}
