//! Any type of `serde` as MessagePack.

use std::io::Cursor;

use rmp_serde::{Deserializer, Serializer};
use serde::{Serialize, de::DeserializeOwned};

use super::msgpack::check;
use super::unfold::unfold;
use super::{DEPTH_MAX, DecodeError, EncodeError, MsgpackWriter};

/// Writes the MessagePack of `value` at the start of `out` and returns how many bytes it takes.
///
/// Structs become maps with the names of their fields, as a Python program reads them, and formats
/// meant for people are not asked for. The bytes of a [`Value`](super::Value) are those that
/// [`Value::encode`](super::Value::encode) writes. Cost: that of serializing, and a pass over the
/// heads of the values in `out`, which proves that a receiver will accept it.
///
/// # Errors
///
/// [`TooSmall`](EncodeError::TooSmall) with the bytes that are needed;
/// [`TooDeep`](EncodeError::TooDeep) if no receiver would accept it; [`Type`](EncodeError::Type) if
/// `T` refuses to be serialized or announces another number of elements than it has. After an error
/// `out` holds a part.
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

/// Reads bytes of any origin, which have to be the MessagePack of exactly one `T`.
///
/// Structs are read from maps in any order, and also from arrays of their fields. Typed arrays, as
/// those of numpy, are read by what knows them, as [`Value`](super::Value), and by sequences of
/// numbers, as `Vec<f64>`, nested as the shape says; this second way costs two more passes.
///
/// Before `T` sees anything, a pass over the heads of the values proves that the bytes are whole,
/// nested no deeper than [`DEPTH_MAX`], and as long as every array and map in them claims.
///
/// # Errors
///
/// Where and why the bytes are not the MessagePack of a `T`.
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

/// `rmp_serde` stops when its counter reaches 0, and counts extensions too.
const DEPTHS: usize = DEPTH_MAX + 2;

/// How far a `T` can be read. The deserializer of slices does not tell, and that of readers copies:
/// so it reads a second time, and only what is wrong.
fn place_of_error<T: DeserializeOwned>(bytes: &[u8]) -> usize {
    let mut deserializer = Deserializer::new(Cursor::new(bytes));
    deserializer.set_max_depth(DEPTHS);
    let _: Result<T, _> = T::deserialize(&mut deserializer);
    usize::try_from(deserializer.position()).unwrap_or(bytes.len())
}
