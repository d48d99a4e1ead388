//! Memory for the bytes of a message, aligned for every number type.

use std::fmt;
use std::ops::Range;

/// Bytes on the heap, aligned to 8, which are 0 at first.
#[derive(Clone, Default)]
pub struct Buffer {
    words: Vec<u64>,
    used: Range<usize>,
}

impl Buffer {
    /// Allocates `bytes` zeros. The system provides the pages of large memory only when they are
    /// written.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Self {
        Self {
            words: vec![0; bytes.div_ceil(8)],
            used: 0..bytes,
        }
    }

    /// Sets the length to `bytes`; the content may be anything. Allocates only if the buffer was
    /// never that long before.
    pub(crate) fn set_length(&mut self, bytes: usize) {
        if self.words.len() < bytes.div_ceil(8) {
            *self = Self::zeroed(bytes);
        }
        self.used = 0..bytes;
    }

    /// Restricts the buffer to this range, which must lie inside it.
    pub(crate) fn narrow(mut self, range: Range<usize>) -> Self {
        let from = self.used.start;
        self.used = from + range.start..from + range.end;
        self
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[self.used.clone()]
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[self.used.clone()]
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut().copy_from_slice(bytes);
        buffer
    }
}

// WHY by hand: a derived `Debug` would print megabytes.
impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.used.len())
    }
}
