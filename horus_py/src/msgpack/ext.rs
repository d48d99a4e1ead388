//! MessagePack extension values that horus does not interpret.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A MessagePack extension value that horus does not interpret, kept as it was received: a type
/// number from −128 to 127, and bytes.
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
        Self {
            number,
            bytes: data.to_vec(),
        }
    }

    /// The type number of the extension, from −128 to 127.
    #[getter]
    const fn number(&self) -> i8 {
        self.number
    }

    /// The content of the extension.
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
        Ok(format!(
            "horus.Ext({}, {})",
            self.number,
            self.data(py).repr()?
        ))
    }
}
