//! Encodes and decodes any type of `serde` as MessagePack.

use std::io::Cursor;

use rmp_serde::{Deserializer, Serializer};
use serde::{Serialize, de::DeserializeOwned};

use super::msgpack::check;
use super::unfold::unfold;
use super::{DEPTH_MAX, DecodeError, EncodeError, MsgpackWriter};

/// Writes the MessagePack of `value` at the start of `out` and returns its length in bytes.
///
/// Structs become maps with the names of their fields, as Python programs expect. Types are asked
/// for their binary form, not for the human-readable one. The bytes of a [`Value`](super::Value)
/// are those of [`Value::encode`](super::Value::encode). The cost is that of serializing, and a
/// pass over the headers of the values in `out`, which proves that a receiver will accept them.
///
/// # Errors
///
/// [`TooSmall`](EncodeError::TooSmall) with the bytes that are needed;
/// [`TooDeep`](EncodeError::TooDeep) if no receiver would accept the value;
/// [`Type`](EncodeError::Type) if `T` refuses to be serialized or announces another number of
/// elements than it has. After an error `out` contains a partial encoding.
pub fn encode_serde<T: Serialize + ?Sized>(
    value: &T,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let mut counting = MsgpackWriter::new(out);
    let mut serializer = Serializer::new(&mut counting).with_struct_map();
    value
        .serialize(&mut serializer)
        .map_err(|error| EncodeError::Type { message: error.to_string() })?;
    let bytes = counting.finish()?;
    match check(&out[..bytes]) {
        Ok(()) => Ok(bytes),
        Err(DecodeError::TooDeep { .. }) => Err(EncodeError::TooDeep),
        Err(error) => Err(EncodeError::Type { message: error.to_string() }),
    }
}

/// Decodes bytes of any origin, which must be the MessagePack of exactly one `T`.
///
/// Structs are read from maps in any order, and also from arrays of their fields. A typed array,
/// such as one of numpy, is read by types that support it, such as [`Value`](super::Value). It is
/// also read by sequences of numbers, such as `Vec<f64>`, nested according to its shape; this takes
/// two more passes.
///
/// Before `T` reads anything, a pass over the headers of the values checks that the bytes are
/// complete, nested no deeper than [`DEPTH_MAX`], and as long as every array and map claims.
///
/// # Errors
///
/// The offset and the reason, if the bytes are not the MessagePack of a `T`.
pub fn decode_serde<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    check(bytes)?;
    read(bytes).or_else(|error| {
        if let Some(plain) = unfold(bytes)
            && check(&plain).is_ok()
            && let Ok(value) = read(&plain)
        {
            return Ok(value);
        }
        let at = place_of_error::<T>(bytes);
        Err(DecodeError::Type { at, message: error.to_string() })
    })
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, rmp_serde::decode::Error> {
    let mut deserializer = Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(DEPTHS);
    T::deserialize(&mut deserializer)
}

/// WHY + 2: `rmp_serde` stops when its counter reaches 0, and also counts extensions.
const DEPTHS: usize = DEPTH_MAX + 2;

/// Returns the offset up to which a `T` can be read.
///
/// WHY: the deserializer of slices does not report it, and that of readers copies. So a second pass
/// reads only the bytes that caused an error.
fn place_of_error<T: DeserializeOwned>(bytes: &[u8]) -> usize {
    let mut deserializer = Deserializer::new(Cursor::new(bytes));
    deserializer.set_max_depth(DEPTHS);
    let _: Result<T, _> = T::deserialize(&mut deserializer);
    usize::try_from(deserializer.position()).unwrap_or(bytes.len())
}
