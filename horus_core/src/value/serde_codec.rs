//! Encodes and decodes any type that `serde` supports as MessagePack.

use std::io::Cursor;

use rmp_serde::{Deserializer, Serializer};
use serde::{Serialize, de::DeserializeOwned};

use super::msgpack::check_encoding;
use super::unfold::typed_arrays_to_plain;
use super::{DEPTH_MAX, DecodeError, EncodeError, MsgpackWriter};

/// Writes the MessagePack of `value` at the start of `out` and returns its length in bytes.
///
/// Structs become maps with the names of their fields, as Python programs expect. If a type has a
/// binary and a human-readable form in `serde`, the binary form is used. A [`Value`](super::Value)
/// gets the same bytes as from [`Value::encode`](super::Value::encode). After serializing, the
/// function reads the headers of the values in `out` once more, and checks that a receiver will
/// accept them.
///
/// # Errors
///
/// [`TooSmall`](EncodeError::TooSmall) with the number of bytes that are needed;
/// [`TooDeep`](EncodeError::TooDeep) if no receiver would accept the value;
/// [`Type`](EncodeError::Type) if `T` refuses to be serialized or announces a number of elements
/// that differs from the number it writes. After an error `out` contains a partial encoding.
pub fn encode_serde<T: Serialize + ?Sized>(
    value: &T,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let mut counting = MsgpackWriter::new(out);
    let mut serializer = Serializer::new(&mut counting).with_struct_map();
    value
        .serialize(&mut serializer)
        .map_err(|error| EncodeError::Type {
            message: error.to_string(),
        })?;
    let bytes = counting.finish()?;
    match check_encoding(&out[..bytes]) {
        Ok(()) => Ok(bytes),
        Err(DecodeError::TooDeep { .. }) => Err(EncodeError::TooDeep),
        Err(error) => Err(EncodeError::Type {
            message: error.to_string(),
        }),
    }
}

/// Decodes bytes that must be the MessagePack of exactly one `T`. They may come from any process.
///
/// Structs are read from maps in any order, and also from arrays of their fields. A typed array,
/// for example from numpy, can be read as a type that supports it, such as [`Value`](super::Value).
/// It can also be read as a sequence of numbers, such as `Vec<f64>`, which is nested according to
/// the shape of the array; for this, the bytes are read two more times.
///
/// Before `T` reads anything, the function reads the headers of all values, and checks that the
/// bytes are complete, nested no deeper than [`DEPTH_MAX`], and as long as every array and map
/// claims.
///
/// # Errors
///
/// [`DecodeError`], with the offset and the reason, if the bytes are not the MessagePack of a `T`.
pub fn decode_serde<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    check_encoding(bytes)?;
    deserialize(bytes).or_else(|error| {
        if let Some(plain) = typed_arrays_to_plain(bytes)
            && check_encoding(&plain).is_ok()
            && let Ok(value) = deserialize(&plain)
        {
            return Ok(value);
        }
        let at = error_offset::<T>(bytes);
        Err(DecodeError::Type {
            at,
            message: error.to_string(),
        })
    })
}

fn deserialize<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, rmp_serde::decode::Error> {
    let mut deserializer = Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(RMP_DEPTH_LIMIT);
    T::deserialize(&mut deserializer)
}

/// The nesting limit that is given to the decoder `rmp_serde`. WHY + 2: the decoder stops when its
/// counter reaches 0, and it also counts extensions as a level.
const RMP_DEPTH_LIMIT: usize = DEPTH_MAX + 2;

/// Returns the offset, in bytes, at which the deserializer of a `T` stops with an error.
///
/// WHY the bytes are decoded a second time: the deserializer for slices is fast, but does not
/// report the offset. The deserializer for readers reports it, but copies the bytes. It therefore
/// reads only bytes that have already caused an error.
fn error_offset<T: DeserializeOwned>(bytes: &[u8]) -> usize {
    let mut deserializer = Deserializer::new(Cursor::new(bytes));
    deserializer.set_max_depth(RMP_DEPTH_LIMIT);
    let _: Result<T, _> = T::deserialize(&mut deserializer);
    usize::try_from(deserializer.position()).unwrap_or(bytes.len())
}
