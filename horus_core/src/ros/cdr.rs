//! Reads and writes plain CDR: numbers, strings and sequences.
//!
//! This is version 1 of the encoding (XCDR1) for final types, as specified in *Extensible and
//! Dynamic Topic Types for DDS* (OMG DDS-XTypes 1.3, section 7.4), in the encapsulation that is
//! specified in *The Real-time Publish-Subscribe Protocol DDS Interoperability Wire Protocol* (OMG
//! DDSI-RTPS 2.3, section 10):
//!
//! ```text
//! 0  encapsulation   00 01: the numbers are little-endian; 00 00: big-endian
//! 2  options         00 00; ignored by the reader
//! 4  the fields      each number at a multiple of its size, counted from byte 4
//! ```
//!
//! A string consists of its length as a `u32`, which includes the NUL, and its bytes with the NUL.
//! A sequence consists of its number of elements as a `u32`, and the elements. A fixed array
//! consists only of its elements, and a struct only of its fields. Padding for alignment is 0 when
//! written and ignored when read.

use super::{CdrError, CdrWriteError};

/// Size in bytes of the encapsulation, the header before the CDR fields. Alignment is counted from
/// its end.
pub const ENCAPSULATION_BYTES: usize = 4;

/// The first two bytes of the encapsulation if the fields are big-endian.
const BIG_ENDIAN_CDR_ID: [u8; 2] = [0, 0];
/// The first two bytes of the encapsulation if the fields are little-endian.
const LITTLE_ENDIAN_CDR_ID: [u8; 2] = [0, 1];

/// Returns how many padding bytes must be inserted at `offset` before a number with this
/// `alignment`, which must be a power of two. `offset` is counted from the first byte of the
/// encapsulation.
const fn padding_bytes_before(offset: usize, alignment: usize) -> usize {
    offset.wrapping_sub(ENCAPSULATION_BYTES).wrapping_neg() & (alignment - 1)
}

macro_rules! write_numbers {
    ($($number:ident)+) => {$(
        /// Writes a number of this type, at the next offset that is a multiple of its size.
        pub fn $number(&mut self, number: $number) {
            self.align(size_of::<$number>());
            self.write_bytes(&number.to_le_bytes());
        }
    )+};
}

/// Writes little-endian CDR into the caller's memory. Does not allocate.
///
/// Bytes that do not fit are counted instead of written: [`finish`](Self::finish) reports how many
/// bytes are needed.
///
/// ```
/// use horus_core::ros::{CdrReader, CdrWriter};
///
/// let mut bytes = [0; 64];
/// let mut out = CdrWriter::new(&mut bytes);
/// out.u8(7);
/// out.f64(1.5);
/// out.string("map")?;
/// let length = out.finish()?;
/// assert_eq!(length, 4 + 8 + 8 + 4 + 4);
///
/// let mut from = CdrReader::new(&bytes[..length])?;
/// assert_eq!((from.u8()?, from.f64()?, from.string()?), (7, 1.5, "map"));
/// from.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CdrWriter<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> CdrWriter<'a> {
    /// Makes a writer that begins at the start of `out`, and writes the encapsulation header.
    pub fn new(out: &'a mut [u8]) -> Self {
        let mut writer = Self { out, at: 0 };
        writer.write_bytes(&LITTLE_ENDIAN_CDR_ID);
        writer.write_bytes(&[0, 0]);
        writer
    }

    write_numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

    /// Writes a boolean as one byte: 0 or 1.
    pub fn bool(&mut self, flag: bool) {
        self.u8(flag.into());
    }

    /// Writes a string: its length, its bytes, and a NUL.
    ///
    /// # Errors
    ///
    /// [`CdrWriteError`] if the string contains a NUL, or has 2³² − 1 bytes or more.
    pub fn string(&mut self, text: &str) -> Result<(), CdrWriteError> {
        self.string_in_field("string", text)
    }

    pub(super) fn string_in_field(
        &mut self,
        field: &'static str,
        text: &str,
    ) -> Result<(), CdrWriteError> {
        if text.as_bytes().contains(&0) {
            return Err(CdrWriteError::Text { field });
        }
        self.write_length(field, text.len() + 1, "bytes")?;
        self.write_bytes(text.as_bytes());
        self.write_bytes(&[0]);
        Ok(())
    }

    /// Writes the length of a sequence. The caller must then write that many elements.
    pub fn count(&mut self, elements: usize) -> Result<(), CdrWriteError> {
        self.write_length("sequence", elements, "elements")
    }

    fn write_length(
        &mut self,
        field: &'static str,
        found: usize,
        of: &'static str,
    ) -> Result<(), CdrWriteError> {
        let limit = u32::MAX as usize;
        let error = CdrWriteError::TooLong {
            field,
            found,
            limit,
            of,
        };
        self.u32(u32::try_from(found).map_err(|_| error)?);
        Ok(())
    }

    /// Writes bytes unchanged: the elements of a sequence or array of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.write_bytes(bytes);
    }

    /// Returns the number of bytes written so far, with the encapsulation. It includes bytes for
    /// which there was no room.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Ends the writing. Returns the length of the message in bytes, including the encapsulation,
    /// if all of it fits.
    ///
    /// # Errors
    ///
    /// [`CdrWriteError::TooSmall`] if the buffer has no room for all of it.
    pub const fn finish(self) -> Result<usize, CdrWriteError> {
        match (self.at, self.out.len()) {
            (needed, room) if needed > room => Err(CdrWriteError::TooSmall { needed, room }),
            (written, _) => Ok(written),
        }
    }

    fn align(&mut self, size: usize) {
        self.write_bytes(&[0; 8][..padding_bytes_before(self.at, size)]);
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(place) = self.out.get_mut(self.at..end) {
            place.copy_from_slice(bytes);
        }
        self.at = end;
    }
}

macro_rules! read_numbers {
    ($($number:ident)+) => {$(
        /// Reads a number of this type, at the next offset that is a multiple of its size.
        ///
        /// # Errors
        ///
        /// [`Truncated`](CdrError::Truncated) if the remaining bytes are too few.
        pub fn $number(&mut self) -> Result<$number, CdrError> {
            let number = self.read_number()?;
            Ok(match self.is_big_endian {
                true => $number::from_be_bytes(number),
                false => $number::from_le_bytes(number),
            })
        }
    )+};
}

/// Reads CDR of either byte order. The bytes may come from any process. Does not allocate.
#[derive(Debug, Clone)]
pub struct CdrReader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big_endian: bool,
}

impl<'a> CdrReader<'a> {
    /// Checks the encapsulation, and makes a reader of the bytes after it.
    ///
    /// # Errors
    ///
    /// [`Truncated`](CdrError::Truncated), or [`Encapsulation`](CdrError::Encapsulation) if the
    /// encapsulation is not that of plain CDR.
    pub fn new(bytes: &'a [u8]) -> Result<Self, CdrError> {
        let mut reader = Self {
            bytes,
            at: 0,
            is_big_endian: false,
        };
        let encapsulation = reader.bytes(ENCAPSULATION_BYTES)?;
        let found = [encapsulation[0], encapsulation[1]];
        if found != BIG_ENDIAN_CDR_ID && found != LITTLE_ENDIAN_CDR_ID {
            return Err(CdrError::Encapsulation { found });
        }
        reader.is_big_endian = found == BIG_ENDIAN_CDR_ID;
        Ok(reader)
    }

    read_numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

    /// Reads a boolean, which is one byte.
    pub fn bool(&mut self) -> Result<bool, CdrError> {
        match self.u8()? {
            flag @ (0 | 1) => Ok(flag == 1),
            found => Err(CdrError::Bool {
                at: self.at - 1,
                found,
            }),
        }
    }

    /// Reads a string without copying it.
    ///
    /// The standard does not allow a length of 0. Here it is read as the empty string, as
    /// eProsima's Fast CDR does.
    ///
    /// # Errors
    ///
    /// [`Truncated`](CdrError::Truncated), [`Unterminated`](CdrError::Unterminated),
    /// [`Nul`](CdrError::Nul) or [`Utf8`](CdrError::Utf8).
    pub fn string(&mut self) -> Result<&'a str, CdrError> {
        let length = self.count(1)?;
        let start = self.at;
        let text = match self.bytes(length)?.split_last() {
            None => return Ok(""),
            Some((0, text)) => text,
            Some(_) => return Err(CdrError::Unterminated { at: self.at - 1 }),
        };
        if let Some(index) = text.iter().position(|byte| *byte == 0) {
            return Err(CdrError::Nul { at: start + index });
        }
        let utf8 = |error: std::str::Utf8Error| CdrError::Utf8 {
            at: start + error.valid_up_to(),
        };
        std::str::from_utf8(text).map_err(utf8)
    }

    /// Reads the number of elements that follow, each of at least `element_bytes` bytes.
    ///
    /// WHY the number is checked against the input: a caller that allocates memory for so many
    /// elements then needs only memory in proportion to the input.
    ///
    /// # Errors
    ///
    /// [`Truncated`](CdrError::Truncated) if the remaining bytes are too few for the number or for
    /// the elements.
    pub fn count(&mut self, element_bytes: usize) -> Result<usize, CdrError> {
        let count = self.u32()? as usize;
        self.check_bytes_left(count.saturating_mul(element_bytes))?;
        Ok(count)
    }

    /// Reads `count` bytes without copying them.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], CdrError> {
        self.check_bytes_left(count)?;
        let bytes = &self.bytes[self.at..][..count];
        self.at += count;
        Ok(bytes)
    }

    /// Returns the number of bytes read so far, including the encapsulation.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Returns the offset of the next four-byte number, such as the length of a string or sequence.
    /// The padding before the number is skipped.
    pub(super) const fn next_length_offset(&self) -> usize {
        self.at + padding_bytes_before(self.at, 4)
    }

    /// Checks that all bytes of the message have been read.
    ///
    /// After the message, the input may have padding of any value to a multiple of four bytes: some
    /// middlewares write it, and others do not.
    ///
    /// # Errors
    ///
    /// [`Trailing`](CdrError::Trailing) if more bytes follow.
    pub const fn finish(self) -> Result<(), CdrError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left if left == padding_bytes_before(self.at, 4) => Ok(()),
            left => Err(CdrError::Trailing { at: self.at, left }),
        }
    }

    fn read_number<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        self.bytes(padding_bytes_before(self.at, N))?;
        let mut number = [0; N];
        number.copy_from_slice(self.bytes(N)?);
        Ok(number)
    }

    const fn check_bytes_left(&self, wanted: usize) -> Result<(), CdrError> {
        let left = self.bytes.len() - self.at;
        if wanted > left {
            return Err(CdrError::Truncated {
                at: self.at,
                wanted,
                left,
            });
        }
        Ok(())
    }
}
