//! Reads MessagePack value by value, from bytes that may come from any process.

use rmp::Marker;

use super::DecodeError;
use crate::message::f32_to_f64;

/// Length of the longest text that [`MsgpackReader::short_text`] reads, in bytes. MessagePack
/// stores the length of such a text in the byte before it.
pub const SHORT_TEXT_BYTES_MAX: usize = 31;

/// A value as it is read from MessagePack. For an array or map, it is only the length; the elements
/// follow as further tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// The value nil (null).
    Nil,
    /// A boolean: true or false.
    Bool(bool),
    /// An integer that fits in an `i64`.
    Int(i64),
    /// An integer that was encoded in the unsigned form of 64 bits. It may be above `i64::MAX`.
    UInt(u64),
    /// A floating-point number, in double precision.
    Float(f64),
    /// The bytes of a text. They may not be valid UTF-8.
    String(&'a [u8]),
    /// A sequence of bytes that is not a text.
    Bytes(&'a [u8]),
    /// The start of an array, with its number of elements. The elements follow as further tokens.
    Array(usize),
    /// The start of a map, with its number of pairs. Each pair follows as a key and a value.
    Map(usize),
    /// A MessagePack extension: its type number and its bytes.
    Ext(i8, &'a [u8]),
}

/// Reads the MessagePack of one value piece by piece, without allocating.
///
/// It is for bindings to other languages, which build values of that language. The bytes may come
/// from any process. An array or map never announces more elements than there are bytes left for
/// them, so allocations for them are bounded. The caller must limit the nesting depth to
/// [`DEPTH_MAX`](super::DEPTH_MAX).
///
/// ```
/// use horus_core::value::{MsgpackReader, Token};
///
/// let mut reader = MsgpackReader::new(b"\x81\xa1v\x07");
/// assert_eq!(reader.token()?, Token::Map(1));
/// assert_eq!(reader.token()?, Token::String(b"v"));
/// assert_eq!(reader.token()?, Token::Int(7));
/// reader.finish()?;
/// # Ok::<(), horus_core::value::DecodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MsgpackReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of values that must still follow: the outermost value, and the elements of all arrays
    /// and maps that have begun.
    ///
    /// Each of these values takes at least one byte. A value is refused if too few bytes would be
    /// left for the other values. The announced number of values therefore never exceeds the number
    /// of bytes, and allocations for them are bounded.
    due: usize,
}

impl<'a> MsgpackReader<'a> {
    /// Makes a reader that begins at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            due: 1,
        }
    }

    /// Returns the number of bytes that have been read so far.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns the bytes that have not been read yet.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    const fn bytes_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Checks that all bytes have been read.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Trailing`] if bytes are left.
    #[inline]
    pub const fn finish(&self) -> Result<(), DecodeError> {
        match self.bytes_left() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { at: self.at, left }),
        }
    }

    #[inline]
    fn take_bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let wanted = count.saturating_add(self.due);
        if wanted > self.bytes_left() {
            return Err(DecodeError::Truncated {
                at: self.at,
                wanted,
                left: self.bytes_left(),
            });
        }
        let taken = &self.bytes[self.at..][..count];
        self.at += count;
        Ok(taken)
    }

    #[inline]
    fn read_number<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut number = [0; N];
        number.copy_from_slice(self.take_bytes(N)?);
        Ok(number)
    }

    /// Reads the length of a value, stored as a big-endian number of `N` bytes.
    #[inline]
    fn read_length<const N: usize>(&mut self) -> Result<usize, DecodeError> {
        Ok(self
            .read_number::<N>()?
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    /// Adds `count` to the number of values that must still follow, and returns `count`. Returns an
    /// error if the input is too short for all these values.
    #[inline]
    fn add_expected_values(&mut self, count: usize) -> Result<usize, DecodeError> {
        let due = self.due.saturating_add(count);
        if due > self.bytes_left() {
            return Err(DecodeError::Truncated {
                at: self.at,
                wanted: due,
                left: self.bytes_left(),
            });
        }
        self.due = due;
        Ok(count)
    }

    #[inline]
    fn read_string(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        Ok(Token::String(self.take_bytes(count)?))
    }

    #[inline]
    fn read_array_start(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        Ok(Token::Array(self.add_expected_values(count)?))
    }

    #[inline]
    fn read_map_start(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        self.add_expected_values(count.saturating_mul(2))?;
        Ok(Token::Map(count))
    }

    #[inline]
    fn read_ext(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        let [number] = self.read_number()?;
        Ok(Token::Ext(number.cast_signed(), self.take_bytes(count)?))
    }

    /// Reads the next value. For an array or map, it reads only the length.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] or [`DecodeError::Reserved`].
    #[inline]
    pub fn token(&mut self) -> Result<Token<'a>, DecodeError> {
        let at = self.at;
        self.due = self.due.saturating_sub(1);
        let [first] = self.read_number()?;
        Ok(match Marker::from_u8(first) {
            Marker::Null => Token::Nil,
            Marker::Reserved => return Err(DecodeError::Reserved { at }),
            Marker::False => Token::Bool(false),
            Marker::True => Token::Bool(true),
            Marker::FixPos(number) => Token::Int(number.into()),
            Marker::FixNeg(number) => Token::Int(number.into()),
            Marker::U8 => Token::Int(u8::from_be_bytes(self.read_number()?).into()),
            Marker::U16 => Token::Int(u16::from_be_bytes(self.read_number()?).into()),
            Marker::U32 => Token::Int(u32::from_be_bytes(self.read_number()?).into()),
            Marker::U64 => Token::UInt(u64::from_be_bytes(self.read_number()?)),
            Marker::I8 => Token::Int(i8::from_be_bytes(self.read_number()?).into()),
            Marker::I16 => Token::Int(i16::from_be_bytes(self.read_number()?).into()),
            Marker::I32 => Token::Int(i32::from_be_bytes(self.read_number()?).into()),
            Marker::I64 => Token::Int(i64::from_be_bytes(self.read_number()?)),
            Marker::F32 => Token::Float(f32_to_f64(f32::from_be_bytes(self.read_number()?))),
            Marker::F64 => Token::Float(f64::from_be_bytes(self.read_number()?)),
            marker => self.read_value_with_length(marker)?,
        })
    }

    /// Reads the next value if it is a number in double precision.
    ///
    /// Otherwise it reads nothing and returns `None`. Then call [`token`](Self::token), which takes
    /// some nanoseconds more.
    ///
    /// ```
    /// use horus_core::value::{MsgpackReader, Token};
    ///
    /// let mut reader = MsgpackReader::new(b"\x93\xcb\x3f\xf8\0\0\0\0\0\0\xa1v\x07");
    /// assert_eq!(reader.float(), None);
    /// assert_eq!(reader.token()?, Token::Array(3));
    /// assert_eq!(reader.float(), Some(1.5));
    /// assert_eq!(reader.short_text(), Some(b"v".as_slice()));
    /// assert_eq!(reader.rest(), b"\x07");
    /// # Ok::<(), horus_core::value::DecodeError>(())
    /// ```
    #[inline]
    pub fn float(&mut self) -> Option<f64> {
        let (first, rest) = self.rest().split_first()?;
        if *first != Marker::F64.to_u8() {
            return None;
        }
        let number = f64::from_be_bytes(*rest.first_chunk()?);
        self.skip_value_bytes(size_of_val(&number))?;
        Some(number)
    }

    /// Reads the next value if it is a text of up to [`SHORT_TEXT_BYTES_MAX`] bytes in the short
    /// encoding. Otherwise it reads nothing and returns `None`, like [`float`](Self::float).
    #[inline]
    pub fn short_text(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.rest().split_first()?;
        let text = rest.get(..usize::from(first ^ Marker::FixStr(0).to_u8()))?;
        if text.len() > SHORT_TEXT_BYTES_MAX {
            return None;
        }
        self.skip_value_bytes(text.len())?;
        Some(text)
    }

    /// Steps over a value that has `count` bytes after its first byte. If too few bytes would be
    /// left for the values that must still follow, reads nothing and returns `None`.
    #[inline]
    fn skip_value_bytes(&mut self, count: usize) -> Option<()> {
        let due = self.due.saturating_sub(1);
        if 1 + count + due > self.bytes_left() {
            return None;
        }
        (self.due, self.at) = (due, self.at + 1 + count);
        Some(())
    }

    /// Reads a value that has a length: a text, bytes, an array, a map or an extension. `marker` is
    /// its first byte.
    fn read_value_with_length(&mut self, marker: Marker) -> Result<Token<'a>, DecodeError> {
        let count = match marker {
            Marker::FixStr(count) | Marker::FixArray(count) | Marker::FixMap(count) => count.into(),
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Str8 | Marker::Bin8 | Marker::Ext8 => self.read_length::<1>()?,
            Marker::Str16 | Marker::Bin16 | Marker::Ext16 => self.read_length::<2>()?,
            Marker::Array16 | Marker::Map16 => self.read_length::<2>()?,
            _ => self.read_length::<4>()?,
        };
        match marker {
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
                self.read_string(count)
            }
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                Ok(Token::Bytes(self.take_bytes(count)?))
            }
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => self.read_array_start(count),
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.read_map_start(count),
            _ => self.read_ext(count),
        }
    }
}
