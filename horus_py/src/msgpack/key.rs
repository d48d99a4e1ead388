//! A dict key in the form in which the cache stores it.

use pyo3::prelude::*;

/// Maximum length in bytes of a dict key that is cached.
const KEY_BYTES_MAX: usize = 32;

/// A dict key: its UTF-8 bytes, and the Python `str` that was made from them.
pub(super) struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    length: usize,
    text: Py<PyAny>,
}

impl Key {
    /// Makes a key from its UTF-8 bytes and the `str` that was made from them. Returns `None` if
    /// the key is too long to be cached.
    pub(super) fn new(bytes: &[u8], text: &Bound<'_, PyAny>) -> Option<Self> {
        let mut kept = [0; KEY_BYTES_MAX];
        kept.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self {
            bytes: kept,
            length: bytes.len(),
            text: text.clone().unbind(),
        })
    }

    pub(super) const fn text(&self) -> &Py<PyAny> {
        &self.text
    }

    #[inline]
    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        self.bytes[..self.length] == *bytes
    }
}
