//! Memory for the bytes of a message, aligned for every number type.

use std::fmt;
use std::ops::Range;

/// A buffer on the heap, at an address that is a multiple of 8. Its bytes are 0 at first.
#[derive(Clone, Default)]
pub struct Buffer {
    words: Vec<u64>,
    used: Range<usize>,
}

impl Buffer {
    /// Allocates a buffer of `bytes` zeros. The operating system provides the pages of a large
    /// buffer only when they are written.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Self {
        Self {
            words: vec![0; bytes.div_ceil(8)],
            used: 0..bytes,
        }
    }

    /// Allocates a buffer as [`Self::zeroed`] does. Returns `None` if there is no memory for it.
    #[must_use]
    pub fn try_zeroed(bytes: usize) -> Option<Self> {
        let words = bytemuck::allocation::try_zeroed_slice_box(bytes.div_ceil(8)).ok()?;
        Some(Self {
            words: words.into_vec(),
            used: 0..bytes,
        })
    }

    /// Sets the length to `bytes`. The content is then unspecified. Allocates only if the present
    /// memory is too small.
    pub(crate) fn set_length(&mut self, bytes: usize) {
        if self.words.len() < bytes.div_ceil(8) {
            *self = Self::zeroed(bytes);
        }
        self.used = 0..bytes;
    }

    /// Returns a buffer with the bytes of `range`, which must lie inside this buffer. If `range` is
    /// at least half of the memory, moves the memory to the result and leaves this buffer empty.
    /// Otherwise copies the bytes.
    ///
    /// WHY: a subscriber's buffer has room for the longest message that may come. A far shorter
    /// message should not keep that much memory. The subscriber would also have to allocate and
    /// zero a new buffer for the next message. Measured with messages of 4 KiB between processes,
    /// and room for 64 KiB: 1.75 -> 1.26 µs.
    pub(crate) fn take_range(&mut self, range: Range<usize>) -> Self {
        if 2 * range.len() < size_of_val(self.words.as_slice()) {
            return Self::from(&self.as_ref()[range]);
        }
        let from = self.used.start;
        self.used = from + range.start..from + range.end;
        std::mem::take(self)
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
        // WHY: memory that is copied to need not be zeroed before.
        if let Ok(words) = bytemuck::try_cast_slice(bytes) {
            return Self {
                words: words.to_vec(),
                used: 0..bytes.len(),
            };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(bytes: usize) -> Buffer {
        let mut buffer = Buffer::zeroed(bytes);
        buffer
            .as_mut()
            .iter_mut()
            .zip(0..)
            .for_each(|(byte, n)| *byte = n);
        buffer
    }

    #[test]
    fn memory_that_is_not_there_is_no_buffer() {
        assert!(Buffer::try_zeroed(usize::MAX).is_none());
        for bytes in [0, 1, 8, 1001] {
            let buffer = Buffer::try_zeroed(bytes).unwrap();
            assert_eq!(buffer.as_ref(), vec![0; bytes]);
        }
    }

    #[test]
    fn a_long_part_takes_the_memory_along() {
        let mut buffer = counting(64);
        let memory = buffer.as_ref().as_ptr();
        let part = buffer.take_range(8..40);
        assert_eq!(part.as_ref(), (8..40).collect::<Vec<u8>>());
        assert_eq!(part.as_ref().as_ptr(), memory.wrapping_add(8));
        assert!(buffer.as_ref().is_empty());
    }

    #[test]
    fn a_short_part_leaves_the_memory() {
        for range in [8..32, 8..11, 3..17, 5..5] {
            let mut buffer = counting(64);
            let memory = buffer.as_ref().as_ptr();
            let part = buffer.take_range(range.clone());
            let wanted: Vec<u8> = (range.start as u8..range.end as u8).collect();
            assert_eq!(part.as_ref(), wanted);
            assert!(part.words.len() <= range.len().div_ceil(8));
            assert_eq!(
                (buffer.as_ref().as_ptr(), buffer.as_ref().len()),
                (memory, 64)
            );
        }
    }
}
