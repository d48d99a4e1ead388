//! Encodes values as MessagePack, and decodes bytes that may come from any process.

use super::{
    DecodeError, EncodeError, MsgpackReader, MsgpackWriter, Token, TypedArray, TypedView, Value,
};

/// Number of the MessagePack extension type for typed arrays. Its payload has this layout:
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

/// Maximum nesting depth of arrays and maps, including the value itself.
pub const DEPTH_MAX: usize = 64;

/// Maximum number of heap bytes that [`Value::decode`] allocates for each byte of its input.
pub const DECODED_BYTES_PER_BYTE: usize = size_of::<Value>();

impl Value {
    /// Writes the value as MessagePack at the start of `out`, and returns the length in bytes.
    /// Reads the value once, and does not allocate.
    ///
    /// Every value gets its shortest encoding, except that floats take nine bytes, as in Python.
    /// Typed arrays are the extension [`TYPED_ARRAY_EXT`].
    ///
    /// # Errors
    ///
    /// [`TooSmall`](EncodeError::TooSmall), with the number of bytes that are needed, if `out` is
    /// too short; the other variants if the value cannot be encoded. After an error `out` contains
    /// a partial encoding.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut out = MsgpackWriter::new(out);
        write_value(&mut out, self, 0)?;
        out.finish()
    }

    /// Returns the length of the value as MessagePack, in bytes. Visits each part of the value
    /// once, and does not read the bytes of strings and of arrays of numbers.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the value cannot be encoded into a buffer of any length.
    pub fn encoded_bytes(&self) -> Result<usize, EncodeError> {
        let mut out = MsgpackWriter::new(&mut []);
        write_value(&mut out, self, 0)?;
        Ok(out.bytes())
    }

    /// Returns the value as MessagePack. Visits each part of the value twice, and allocates once.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the value cannot be encoded into a buffer of any length.
    pub fn to_msgpack(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = vec![0; self.encoded_bytes()?];
        self.encode(&mut bytes)?;
        Ok(bytes)
    }

    /// Decodes bytes that must be the MessagePack of exactly one value. They may come from any
    /// process.
    ///
    /// Allocates at most [`DECODED_BYTES_PER_BYTE`] bytes for each byte of the input, and only
    /// after checking that the input is long enough. Recurses at most [`DEPTH_MAX`] deep.
    ///
    /// # Errors
    ///
    /// [`DecodeError`], with the offset and the reason, if the bytes are not the MessagePack of a
    /// value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = MsgpackReader::new(bytes);
        let value = read_value(&mut reader, 0)?;
        reader.finish()?;
        Ok(value)
    }
}

fn write_value(
    out: &mut MsgpackWriter<'_>,
    value: &Value,
    depth: usize,
) -> Result<(), EncodeError> {
    match value {
        Value::Nil => out.nil(),
        Value::Bool(truth) => out.bool(*truth),
        Value::Int(number) => out.int(*number),
        Value::UInt(number) => out.uint(*number),
        Value::Float(number) => out.float(*number),
        Value::String(text) => out.string(text)?,
        Value::Bytes(bytes) => out.binary(bytes)?,
        Value::Array(values) => {
            let inner = next_depth(depth).ok_or(EncodeError::TooDeep)?;
            out.array(values.len())?;
            for value in values {
                write_value(out, value, inner)?;
            }
        }
        Value::Map(pairs) => {
            let inner = next_depth(depth).ok_or(EncodeError::TooDeep)?;
            out.map(pairs.len())?;
            for (key, value) in pairs {
                write_value(out, key, inner)?;
                write_value(out, value, inner)?;
            }
        }
        Value::Typed(array) => {
            if let Some(place) = out.typed(array.dtype(), array.shape())? {
                place.copy_from_slice(array.bytes());
            }
        }
        Value::Ext(number, bytes) => out.ext(*number, bytes)?,
    }
    Ok(())
}

fn next_depth(depth: usize) -> Option<usize> {
    (depth < DEPTH_MAX).then_some(depth + 1)
}

fn read_value(reader: &mut MsgpackReader<'_>, depth: usize) -> Result<Value, DecodeError> {
    let at = reader.position();
    Ok(match reader.token()? {
        Token::Nil => Value::Nil,
        Token::Bool(truth) => Value::Bool(truth),
        Token::Int(number) => Value::Int(number),
        Token::UInt(number) => Value::from(number),
        Token::Float(number) => Value::Float(number),
        Token::String(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| DecodeError::Utf8 {
                at: reader.position() - bytes.len() + error.valid_up_to(),
            })?;
            Value::String(text.to_owned())
        }
        Token::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Token::Array(count) => {
            let inner = next_depth(depth).ok_or(DecodeError::TooDeep { at })?;
            let mut values = Vec::with_capacity(count);
            for _ in 0..count {
                values.push(read_value(reader, inner)?);
            }
            Value::Array(values)
        }
        Token::Map(count) => {
            let inner = next_depth(depth).ok_or(DecodeError::TooDeep { at })?;
            let mut pairs = Vec::with_capacity(count);
            for _ in 0..count {
                pairs.push((read_value(reader, inner)?, read_value(reader, inner)?));
            }
            Value::Map(pairs)
        }
        Token::Ext(TYPED_ARRAY_EXT, payload) => {
            let view = TypedView::new(payload);
            let view = view.map_err(|problem| DecodeError::TypedArray { at, problem })?;
            TypedArray::from(view).into()
        }
        Token::Ext(number, bytes) => Value::Ext(number, bytes.to_vec()),
    })
}

/// Checks that `bytes` are the MessagePack of exactly one value, nested at most [`DEPTH_MAX`] deep.
/// Does not read the bytes of strings and extensions, and does not allocate.
#[cfg(feature = "serde")]
pub(super) fn check_encoding(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut reader = MsgpackReader::new(bytes);
    // The number of values that must still follow in each array and map around the next value.
    let mut due = [0; DEPTH_MAX];
    let mut depth = 0;
    loop {
        let at = reader.position();
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
