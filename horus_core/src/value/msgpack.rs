//! MessagePack: values to bytes in any memory, and bytes of any origin to values.

use std::io;

use rmp::{Marker, encode};

use super::{DecodeError, EncodeError, TypedArray, Value};
use crate::message::f32_to_f64;

/// The extension of MessagePack that holds a typed array, with this payload and no byte more:
///
/// ```text
/// 0      type of the elements: `DType::code`
/// 1      number of dimensions, n ≤ 32
/// 2      elements along each dimension, outermost first: n × u32, little-endian
/// 2+4n   the elements, row-major, little-endian
/// ```
///
/// In Python: `numpy.frombuffer(payload[2 + 4 * n:], dtype).reshape(shape)`.
pub const TYPED_ARRAY_EXT: i8 = 72;

/// The most arrays and maps around a value, itself included.
pub const DEPTH_MAX: usize = 64;

/// The most bytes of heap that [`Value::decode`] takes for each byte of its input.
pub const DECODED_BYTES_PER_BYTE: usize = size_of::<Value>();

impl Value {
    /// Writes the MessagePack at the start of `out` and returns how many bytes it takes. One pass,
    /// no allocation.
    ///
    /// Every value takes its smallest encoding, except that floats take nine bytes, as Python's
    /// do; typed arrays are the extension [`TYPED_ARRAY_EXT`].
    ///
    /// # Errors
    ///
    /// [`TooSmall`](EncodeError::TooSmall) with the bytes that are needed. After an error `out`
    /// holds a part.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut out = Out::new(out);
        write_value(&mut out, self, 0)?;
        out.finish()
    }

    /// How many bytes the MessagePack takes. One pass, which looks at no byte of a string or array
    /// of numbers.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded at all.
    pub fn encoded_bytes(&self) -> Result<usize, EncodeError> {
        let mut out = Out::new(&mut []);
        write_value(&mut out, self, 0)?;
        Ok(out.at)
    }

    /// The MessagePack, in two passes and one allocation.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded at all.
    pub fn to_msgpack(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = vec![0; self.encoded_bytes()?];
        self.encode(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads bytes of any origin, which have to be the MessagePack of exactly one value.
    ///
    /// Never allocates more than [`DECODED_BYTES_PER_BYTE`] for each byte, nor before the input has
    /// proven to be long enough; never recurses deeper than [`DEPTH_MAX`].
    ///
    /// # Errors
    ///
    /// Where and why the bytes are not the MessagePack of a value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = read_value(&mut reader, 0)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Memory to write to, which goes on counting where it has ended.
pub(super) struct Out<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Out<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0 }
    }

    /// The bytes written, if there was room for them all.
    pub(super) fn finish(self) -> Result<usize, EncodeError> {
        if self.at > self.out.len() {
            return Err(EncodeError::TooSmall { needed: self.at, room: self.out.len() });
        }
        Ok(self.at)
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(place) = self.out.get_mut(self.at..end) {
            place.copy_from_slice(bytes);
        }
        self.at = end;
    }
}

impl io::Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_value(out: &mut Out<'_>, value: &Value, depth: usize) -> Result<(), EncodeError> {
    match value {
        Value::Nil => encode::write_nil(out).map_err(never)?,
        Value::Bool(truth) => encode::write_bool(out, *truth).map_err(never)?,
        Value::Int(number) => drop(encode::write_sint(out, *number).map_err(never)?),
        Value::UInt(number) => drop(encode::write_uint(out, *number).map_err(never)?),
        Value::Float(number) => encode::write_f64(out, *number).map_err(never)?,
        Value::String(text) => {
            encode::write_str_len(out, length(text.len(), "bytes")?).map_err(never)?;
            out.put(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            encode::write_bin_len(out, length(bytes.len(), "bytes")?).map_err(never)?;
            out.put(bytes);
        }
        Value::Array(values) => {
            let inner = deeper(depth).ok_or(EncodeError::TooDeep)?;
            encode::write_array_len(out, length(values.len(), "elements")?).map_err(never)?;
            for value in values {
                write_value(out, value, inner)?;
            }
        }
        Value::Map(pairs) => {
            let inner = deeper(depth).ok_or(EncodeError::TooDeep)?;
            encode::write_map_len(out, length(pairs.len(), "pairs")?).map_err(never)?;
            for (key, value) in pairs {
                write_value(out, key, inner)?;
                write_value(out, value, inner)?;
            }
        }
        Value::Typed(array) => write_typed(out, array)?,
        Value::Ext(TYPED_ARRAY_EXT, _) => return Err(EncodeError::ReservedExt),
        Value::Ext(number, bytes) => {
            write_ext_start(out, *number, bytes.len())?;
            out.put(bytes);
        }
    }
    Ok(())
}

fn write_typed(out: &mut Out<'_>, array: &TypedArray) -> Result<(), EncodeError> {
    write_ext_start(out, TYPED_ARRAY_EXT, array.payload_bytes())?;
    let (header, bytes) = array.header();
    out.put(&header[..bytes]);
    out.put(array.bytes());
    Ok(())
}

fn write_ext_start(out: &mut Out<'_>, number: i8, bytes: usize) -> Result<(), EncodeError> {
    encode::write_ext_meta(out, length(bytes, "bytes")?, number).map_err(never)?;
    Ok(())
}

/// What [`Out`] never answers: it goes on counting instead.
fn never(error: impl std::fmt::Display) -> EncodeError {
    EncodeError::Type { message: error.to_string() }
}

fn length(count: usize, of: &'static str) -> Result<u32, EncodeError> {
    u32::try_from(count).map_err(|_| EncodeError::TooLong { count, of })
}

fn deeper(depth: usize) -> Option<usize> {
    (depth < DEPTH_MAX).then_some(depth + 1)
}

/// A value without those inside it.
enum Token<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    String(&'a [u8]),
    Bytes(&'a [u8]),
    Array(usize),
    Map(usize),
    Ext(i8, &'a [u8]),
}

/// A place in bytes of any origin.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Values that are still due: those of all arrays and maps that have begun, and the outermost.
    ///
    /// Each takes a byte at least. While no value takes bytes that are due to others, no more
    /// are announced than the input has bytes, and what is allocated for them is bounded by it.
    due: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, due: 1 }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn finish(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { at: self.at, left }),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let wanted = count.saturating_add(self.due);
        if wanted > self.left() {
            return Err(DecodeError::Truncated { at: self.at, wanted, left: self.left() });
        }
        let taken = &self.bytes[self.at..][..count];
        self.at += count;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut number = [0; N];
        number.copy_from_slice(self.take(N)?);
        Ok(number)
    }

    /// A big-endian length of `N` bytes.
    fn length<const N: usize>(&mut self) -> Result<usize, DecodeError> {
        Ok(self.number::<N>()?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    /// Notes that `count` more values are due.
    fn announce(&mut self, count: usize) -> Result<usize, DecodeError> {
        let due = self.due.saturating_add(count);
        if due > self.left() {
            return Err(DecodeError::Truncated { at: self.at, wanted: due, left: self.left() });
        }
        self.due = due;
        Ok(count)
    }

    fn string(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        Ok(Token::String(self.take(count)?))
    }

    fn array(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        Ok(Token::Array(self.announce(count)?))
    }

    fn map(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        self.announce(count.saturating_mul(2))?;
        Ok(Token::Map(count))
    }

    fn ext(&mut self, count: usize) -> Result<Token<'a>, DecodeError> {
        let [number] = self.number()?;
        Ok(Token::Ext(number.cast_signed(), self.take(count)?))
    }

    /// The next value, of an array or map only its length.
    fn token(&mut self) -> Result<Token<'a>, DecodeError> {
        let at = self.at;
        self.due = self.due.saturating_sub(1);
        let [first] = self.number()?;
        Ok(match Marker::from_u8(first) {
            Marker::Null => Token::Nil,
            Marker::Reserved => return Err(DecodeError::Reserved { at }),
            Marker::False => Token::Bool(false),
            Marker::True => Token::Bool(true),
            Marker::FixPos(number) => Token::Int(number.into()),
            Marker::FixNeg(number) => Token::Int(number.into()),
            Marker::U8 => Token::Int(u8::from_be_bytes(self.number()?).into()),
            Marker::U16 => Token::Int(u16::from_be_bytes(self.number()?).into()),
            Marker::U32 => Token::Int(u32::from_be_bytes(self.number()?).into()),
            Marker::U64 => Token::UInt(u64::from_be_bytes(self.number()?)),
            Marker::I8 => Token::Int(i8::from_be_bytes(self.number()?).into()),
            Marker::I16 => Token::Int(i16::from_be_bytes(self.number()?).into()),
            Marker::I32 => Token::Int(i32::from_be_bytes(self.number()?).into()),
            Marker::I64 => Token::Int(i64::from_be_bytes(self.number()?)),
            Marker::F32 => Token::Float(f32_to_f64(f32::from_be_bytes(self.number()?))),
            Marker::F64 => Token::Float(f64::from_be_bytes(self.number()?)),
            marker => self.sized(marker)?,
        })
    }

    /// A value that begins with a length.
    fn sized(&mut self, marker: Marker) -> Result<Token<'a>, DecodeError> {
        let count = match marker {
            Marker::FixStr(count) | Marker::FixArray(count) | Marker::FixMap(count) => count.into(),
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Str8 | Marker::Bin8 | Marker::Ext8 => self.length::<1>()?,
            Marker::Str16 | Marker::Bin16 | Marker::Ext16 => self.length::<2>()?,
            Marker::Array16 | Marker::Map16 => self.length::<2>()?,
            _ => self.length::<4>()?,
        };
        match marker {
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => self.string(count),
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => Ok(Token::Bytes(self.take(count)?)),
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => self.array(count),
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.map(count),
            _ => self.ext(count),
        }
    }
}

fn read_value(reader: &mut Reader<'_>, depth: usize) -> Result<Value, DecodeError> {
    let at = reader.at;
    Ok(match reader.token()? {
        Token::Nil => Value::Nil,
        Token::Bool(truth) => Value::Bool(truth),
        Token::Int(number) => Value::Int(number),
        Token::UInt(number) => Value::from(number),
        Token::Float(number) => Value::Float(number),
        Token::String(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| DecodeError::Utf8 {
                at: reader.at - bytes.len() + error.valid_up_to(),
            })?;
            Value::String(text.to_owned())
        }
        Token::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Token::Array(count) => {
            let inner = deeper(depth).ok_or(DecodeError::TooDeep { at })?;
            let mut values = Vec::with_capacity(count);
            for _ in 0..count {
                values.push(read_value(reader, inner)?);
            }
            Value::Array(values)
        }
        Token::Map(count) => {
            let inner = deeper(depth).ok_or(DecodeError::TooDeep { at })?;
            let mut pairs = Vec::with_capacity(count);
            for _ in 0..count {
                pairs.push((read_value(reader, inner)?, read_value(reader, inner)?));
            }
            Value::Map(pairs)
        }
        Token::Ext(TYPED_ARRAY_EXT, payload) => {
            let array = TypedArray::from_payload(payload);
            array.map_err(|problem| DecodeError::TypedArray { at, problem })?.into()
        }
        Token::Ext(number, bytes) => Value::Ext(number, bytes.to_vec()),
    })
}

/// Whether `bytes` are the MessagePack of exactly one value, nested no deeper than [`DEPTH_MAX`].
/// Looks at no byte of strings and extensions, allocates nothing.
#[cfg(feature = "serde")]
pub(super) fn check(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    // Values that are due in the arrays and maps around the next one.
    let mut due = [0; DEPTH_MAX];
    let mut depth = 0;
    loop {
        let at = reader.at;
        let inside = match reader.token()? {
            Token::Array(count) => Some(count),
            Token::Map(count) => Some(2 * count),
            _ => None,
        };
        if let Some(inside) = inside {
            *due.get_mut(depth).ok_or(DecodeError::TooDeep { at })? = inside;
            depth += 1;
        }
        while depth > 0 && due[depth - 1] == 0 {
            depth -= 1;
        }
        match depth {
            0 => return reader.finish(),
            _ => due[depth - 1] -= 1,
        }
    }
}
