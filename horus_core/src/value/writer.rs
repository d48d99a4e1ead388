//! Writes MessagePack value by value into the caller's memory.

use std::io;

use rmp::{Marker, encode};

use super::{
    EncodeError, SHORT_TEXT_BYTES_MAX, TYPED_ARRAY_EXT, TYPED_DIMENSIONS_MAX, TypedArrayError,
    typed,
};
use crate::message::DType;

/// Writes the MessagePack of one value piece by piece, from its beginning to its end and without
/// allocation.
///
/// It is for bindings to other languages, which encode values of that language. Every piece gets
/// its shortest encoding, except that floats take nine bytes. When the memory is full, the writer
/// continues to count bytes, and [`finish`](Self::finish) reports how many are needed. The caller
/// states the number of elements of an array or map, and must then write exactly that many. The
/// caller must not nest arrays and maps deeper than [`DEPTH_MAX`](super::DEPTH_MAX).
///
/// ```
/// use horus_core::value::{MsgpackWriter, Value};
///
/// let mut slot = [0; 64];
/// let mut writer = MsgpackWriter::new(&mut slot);
/// writer.map(1)?;
/// writer.string("v")?;
/// writer.float(1.0);
/// let bytes = writer.finish()?;
/// assert_eq!(Value::decode(&slot[..bytes])?, Value::from([("v", 1.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MsgpackWriter<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> MsgpackWriter<'a> {
    /// Makes a writer that writes to `out`, beginning at its start.
    #[inline]
    #[must_use]
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0 }
    }

    /// Returns the number of bytes written so far. It includes bytes for which there was no room.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.at
    }

    /// Ends the writing. Returns the length of the encoded value in bytes, if all of it fits.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooSmall`] if the buffer has no room for all of it.
    #[inline]
    pub const fn finish(self) -> Result<usize, EncodeError> {
        if self.at > self.out.len() {
            return Err(EncodeError::TooSmall {
                needed: self.at,
                room: self.out.len(),
            });
        }
        Ok(self.at)
    }

    #[inline]
    fn write_raw(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(place) = self.out.get_mut(self.at..end) {
            place.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// Writes the value nil (null).
    #[inline]
    pub fn nil(&mut self) {
        ignore_result(encode::write_nil(self));
    }

    /// Writes a boolean.
    #[inline]
    pub fn bool(&mut self, truth: bool) {
        ignore_result(encode::write_bool(self, truth));
    }

    /// Writes an integer in its shortest encoding.
    #[inline]
    pub fn int(&mut self, number: i64) {
        ignore_result(encode::write_sint(self, number));
    }

    /// Writes an unsigned integer in its shortest encoding.
    #[inline]
    pub fn uint(&mut self, number: u64) {
        ignore_result(encode::write_uint(self, number));
    }

    /// Writes a number in double precision, which takes nine bytes.
    #[inline]
    pub fn float(&mut self, number: f64) {
        let mut piece = [Marker::F64.to_u8(); 1 + size_of::<f64>()];
        piece[1..].copy_from_slice(&number.to_be_bytes());
        self.write_raw(&piece);
    }

    /// Writes a text, which is preceded by its length.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLong`] if the length does not fit in 32 bits.
    #[inline]
    pub fn string(&mut self, text: &str) -> Result<(), EncodeError> {
        if text.len() <= SHORT_TEXT_BYTES_MAX {
            self.write_raw(&[Marker::FixStr(text.len() as u8).to_u8()]);
        } else {
            ignore_result(encode::write_str_len(
                self,
                length_as_u32(text.len(), "bytes")?,
            ));
        }
        self.write_raw(text.as_bytes());
        Ok(())
    }

    /// Writes a sequence of bytes, which is preceded by its length.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLong`] if the length does not fit in 32 bits.
    #[inline]
    pub fn binary(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        ignore_result(encode::write_bin_len(
            self,
            length_as_u32(bytes.len(), "bytes")?,
        ));
        self.write_raw(bytes);
        Ok(())
    }

    /// Writes the header of an array with this number of elements. The caller must then write the
    /// elements.
    #[inline]
    pub fn array(&mut self, elements: usize) -> Result<(), EncodeError> {
        ignore_result(encode::write_array_len(
            self,
            length_as_u32(elements, "elements")?,
        ));
        Ok(())
    }

    /// Writes the header of a map with this number of pairs. The caller must then write each pair,
    /// as a key and then its value.
    #[inline]
    pub fn map(&mut self, pairs: usize) -> Result<(), EncodeError> {
        ignore_result(encode::write_map_len(self, length_as_u32(pairs, "pairs")?));
        Ok(())
    }

    /// Writes a MessagePack extension. Its type number must not be the number that is reserved for
    /// typed arrays.
    pub fn ext(&mut self, number: i8, bytes: &[u8]) -> Result<(), EncodeError> {
        if number == TYPED_ARRAY_EXT {
            return Err(EncodeError::ReservedExt);
        }
        self.write_ext_header(number, bytes.len())?;
        self.write_raw(bytes);
        Ok(())
    }

    /// Writes the header of a typed array, and returns the memory into which the caller must write
    /// its elements, row-major and little-endian. Returns `None` if the elements do not fit.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TypedArray`] if the shape is invalid; [`EncodeError::TooLong`] if the length
    /// does not fit in 32 bits.
    pub fn typed(&mut self, dtype: DType, shape: &[u32]) -> Result<Option<&mut [u8]>, EncodeError> {
        let bytes = typed::data_bytes(dtype, shape)?;
        let mut header = [0; 2 + 4 * TYPED_DIMENSIONS_MAX];
        let header = typed::write_payload_header(&mut header, dtype, shape);
        self.write_ext_header(TYPED_ARRAY_EXT, header.len().saturating_add(bytes))?;
        self.write_raw(header);
        let start = self.at;
        self.at = start.saturating_add(bytes);
        Ok(self.out.get_mut(start..self.at))
    }

    fn write_ext_header(&mut self, number: i8, bytes: usize) -> Result<(), EncodeError> {
        ignore_result(encode::write_ext_meta(
            self,
            length_as_u32(bytes, "bytes")?,
            number,
        ));
        Ok(())
    }
}

impl io::Write for MsgpackWriter<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_raw(bytes);
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_raw(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<TypedArrayError> for EncodeError {
    fn from(problem: TypedArrayError) -> Self {
        Self::TypedArray { problem }
    }
}

/// Discards the result of a write. Such a write cannot fail, because bytes that do not fit are only
/// counted.
#[inline]
fn ignore_result<T, E>(written: Result<T, E>) {
    debug_assert!(written.is_ok(), "counting fails never");
}

#[inline]
fn length_as_u32(count: usize, of: &'static str) -> Result<u32, EncodeError> {
    u32::try_from(count).map_err(|_| EncodeError::TooLong { count, of })
}
