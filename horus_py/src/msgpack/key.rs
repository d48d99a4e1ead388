//! A key of a dict, with its bytes in MessagePack.

use pyo3::prelude::*;

/// Bytes of the longest key that is kept.
const KEY_BYTES_MAX: usize = 32;

/// A key and its bytes.
pub(super) struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    length: usize,
    text: Py<PyAny>,
}

impl Key {
    /// `None` if it is too long to be kept.
    pub(super) fn new(bytes: &[u8], text: &Bound<'_, PyAny>) -> Option<Self> {
        let mut kept = [0; KEY_BYTES_MAX];
        kept.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: kept, length: bytes.len(), text: text.clone().unbind() })
    }

    pub(super) const fn text(&self) -> &Py<PyAny> {
        &self.text
    }

    #[inline]
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes[..self.length] == *bytes
    }
}
