//! Memory for the bytes of a message, aligned for any of its numbers.

use std::fmt;
use std::ops::Range;

/// Bytes that begin at a multiple of 8, zeros at first.
#[derive(Clone, Default)]
pub struct Buffer {
    words: Vec<u64>,
    used: Range<usize>,
}

impl Buffer {
    /// `bytes` zeros. Allocates; the system hands out large memory only when it is written.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(8)], used: 0..bytes }
    }

    /// Makes this `bytes` bytes of any content; allocates only if they never were so many.
    pub(crate) fn make_room(&mut self, bytes: usize) {
        if self.words.len() < bytes.div_ceil(8) {
            *self = Self::zeroed(bytes);
        }
        self.used = 0..bytes;
    }

    /// This range of the bytes, which must be in there, without the others.
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

// WHY: a message can be megabytes.
impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.used.len())
    }
}
