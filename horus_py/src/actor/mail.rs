//! The messages of Python actors.

use pyo3::prelude::*;

/// A message: an owned reference to any Python object. It takes eight bytes.
///
/// The message is empty if it should have been made by a timer, but the interpreter had already
/// ended.
#[derive(Debug)]
pub(crate) struct Mail(Option<Py<PyAny>>);

impl Mail {
    pub(crate) const EMPTY: Self = Self(None);

    #[inline]
    pub(crate) fn from_object(message: Bound<'_, PyAny>) -> Self {
        Self(Some(message.unbind()))
    }

    #[inline]
    pub(crate) fn into_message(self) -> Option<Py<PyAny>> {
        self.0
    }

    /// Returns the Python object that was sent, or Python's `None` if there is none.
    pub(crate) fn into_bound(self, py: Python<'_>) -> Bound<'_, PyAny> {
        match self.0 {
            Some(message) => message.into_bound(py),
            None => py.None().into_bound(py),
        }
    }
}
