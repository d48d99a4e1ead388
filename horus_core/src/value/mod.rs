//! Dynamic values, whose type is known at run time, and their MessagePack encoding.
//!
//! A [`Value`] is a JSON value, extended by 64-bit integers, bytes, maps with keys of any type, and
//! typed arrays like those of numpy. [`encode`](Value::encode) writes it as MessagePack into the
//! caller's memory, and [`decode`](Value::decode) reads it back from bytes that may come from any
//! process.
//!
//! ```
//! use horus_core::value::{TypedArray, Value};
//!
//! let state = Value::from([
//!     ("name", Value::from("left_arm")),
//!     ("joints", TypedArray::from_slice(&[0.1_f32, -0.5]).into()),
//!     ("limits", Value::from([("max", Value::from(2.5)), ("on", true.into())])),
//! ]);
//! assert_eq!(state.get("name").and_then(Value::as_str), Some("left_arm"));
//! assert_eq!(state.get_path("limits.max").and_then(Value::as_f64), Some(2.5));
//!
//! let mut slot = [0; 256];
//! let bytes = state.encode(&mut slot)?;
//! assert_eq!(Value::decode(&slot[..bytes])?, state);
//! assert_eq!(
//!     state.to_string(),
//!     r#"{"name": "left_arm", "joints": f32[0.1, -0.5], "limits": {"max": 2.5, "on": true}}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base64;
mod convert;
mod error;
pub mod json;
mod msgpack;
pub(crate) mod path;
mod payload;
mod reader;
#[cfg(feature = "serde")]
mod serde_codec;
#[cfg(feature = "serde")]
mod serde_impl;
mod text;
mod typed;
#[cfg(feature = "serde")]
mod unfold;
mod writer;

pub use error::{DecodeError, EncodeError};
pub use msgpack::{DECODED_BYTES_PER_BYTE, DEPTH_MAX, TYPED_ARRAY_EXT};
pub use payload::MSGPACK_SCHEMA;
#[cfg(feature = "serde")]
pub use payload::Serde;
pub use reader::{MsgpackReader, SHORT_TEXT_BYTES_MAX, Token};
#[cfg(feature = "serde")]
pub use serde_codec::{decode_serde, encode_serde};
pub use typed::{TYPED_DIMENSIONS_MAX, TypedArray, TypedArrayError, TypedView};
pub use writer::MsgpackWriter;

/// A value whose type is known only at run time.
///
/// Two integers are equal if their numbers are equal, even if their variants differ. Floats are
/// compared as in IEEE 754, and an integer never equals a float. Maps are equal if they have the
/// same pairs in the same order.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// No value: `None` in Python, `null` in JSON.
    #[default]
    Nil,
    /// A boolean: true or false.
    Bool(bool),
    /// An integer that fits in an `i64`.
    Int(i64),
    /// An integer above [`i64::MAX`]. Decoding and conversions store smaller integers as
    /// [`Int`](Self::Int).
    UInt(u64),
    /// A number in double precision. Decoding converts numbers of single precision to double
    /// precision.
    Float(f64),
    /// A text.
    String(String),
    /// A sequence of bytes that is not a text.
    Bytes(Vec<u8>),
    /// A list of values.
    Array(Vec<Value>),
    /// Pairs of key and value, in order. If several keys are equal, lookups use the last one.
    Map(Vec<(Value, Value)>),
    /// An array of numbers of one type, with a shape.
    // WHY: boxed, so that a value has 32 bytes and not 64.
    Typed(Box<TypedArray>),
    /// The number and the bytes of a MessagePack extension that this library does not interpret.
    Ext(i8, Vec<u8>),
}

const _: () = assert!(size_of::<Value>() == 32);

impl Value {
    /// Returns true if this is [`Nil`](Self::Nil), which means no value.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// Returns the value as a boolean; `None` if it is not a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Returns the value as an `i64`; `None` if it is not an integer or does not fit.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::UInt(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Returns the value as a `u64`; `None` if it is not an integer or is negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::UInt(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value as a float. An integer is rounded to the nearest float. Returns `None` for
    /// other values.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::UInt(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value as a text; `None` if it is not a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes; `None` if the value is not of the variant [`Bytes`](Self::Bytes).
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the elements of an array; `None` if the value is not an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the pairs of key and value of a map; `None` if the value is not a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[(Value, Value)]> {
        match self {
            Self::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Returns the typed array; `None` if the value is not a typed array.
    #[must_use]
    pub fn as_typed(&self) -> Option<&TypedArray> {
        match self {
            Self::Typed(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the value that a map has for `key`; `None` if this is not a map, or has no such key.
    /// Compares every key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let mut pairs = self.as_map()?.iter().rev();
        pairs
            .find(|(found, _)| found.as_str() == Some(key))
            .map(|(_, value)| value)
    }

    /// Returns a mutable reference to the value that a map has for `key`; `None` if this is not a
    /// map, or has no such key.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let Self::Map(pairs) = self else { return None };
        let mut pairs = pairs.iter_mut().rev();
        pairs
            .find(|(found, _)| found.as_str() == Some(key))
            .map(|(_, value)| value)
    }

    /// Returns the value at a path such as `legs[2].feet[1].x`. A path consists of keys of maps,
    /// joined by dots, and indices into arrays. The empty path is the value itself. Returns `None`
    /// if there is no such value.
    ///
    /// Elements of a typed array are not values; see [`TypedArray::get`].
    #[must_use]
    pub fn get_path(&self, path: &str) -> Option<&Value> {
        path::path_steps(path).try_fold(self, |value, step| match step? {
            path::PathStep::Name(name) => value.get(name),
            path::PathStep::Index(index) => value.as_array()?.get(index),
        })
    }

    /// Returns the kind of the value for error messages: `integer`, `map`, …
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::UInt(_) => "integer",
            Self::Float(_) => "float",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Typed(_) => "typed array",
            Self::Ext(..) => "extension",
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Typed(a), Self::Typed(b)) => a == b,
            (Self::Ext(a, a_bytes), Self::Ext(b, b_bytes)) => a == b && a_bytes == b_bytes,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Int(a), Self::UInt(b)) | (Self::UInt(b), Self::Int(a)) => {
                u64::try_from(*a) == Ok(*b)
            }
            _ => false,
        }
    }
}
