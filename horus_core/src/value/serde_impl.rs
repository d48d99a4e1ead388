//! Implements the traits of `serde` for `Value`. In MessagePack, the bytes are the same as from
//! `Value::encode`. JSON and other formats are possible, too.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::{TYPED_ARRAY_EXT, TypedArray, TypedView, Value};
use crate::message::{DType, Element, bf16_to_f32, f16_to_f32};

/// Maximum number of elements for which memory is allocated in advance when a deserializer
/// announces a length.
const PREALLOCATED_ELEMENTS_MAX: usize = 64;

impl Serialize for Value {
    /// Serializes the value. Extensions and typed arrays have the form that `rmp_serde` expects for
    /// extensions. In human-readable formats, a typed array becomes nested arrays of numbers, as
    /// with numpy's `tolist`, and loses its element type.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => to.serialize_unit(),
            Self::Bool(truth) => to.serialize_bool(*truth),
            Self::Int(number) => to.serialize_i64(*number),
            Self::UInt(number) => to.serialize_u64(*number),
            Self::Float(number) => to.serialize_f64(*number),
            Self::String(text) => to.serialize_str(text),
            Self::Bytes(bytes) => to.serialize_bytes(bytes),
            Self::Array(values) => to.collect_seq(values),
            Self::Map(pairs) => to.collect_map(pairs.iter().map(|(key, value)| (key, value))),
            Self::Typed(array) if to.is_human_readable() => {
                SubArray::from_array(array).serialize(to)
            }
            Self::Typed(array) => serialize_ext(to, TYPED_ARRAY_EXT, &array.extension_payload()),
            Self::Ext(TYPED_ARRAY_EXT, _) => {
                Err(serde::ser::Error::custom(super::EncodeError::ReservedExt))
            }
            Self::Ext(number, bytes) => serialize_ext(to, *number, bytes),
        }
    }
}

fn serialize_ext<S: Serializer>(to: S, number: i8, bytes: &[u8]) -> Result<S::Ok, S::Error> {
    to.serialize_newtype_struct(
        rmp_serde::MSGPACK_EXT_STRUCT_NAME,
        &(number, SerializedBytes(bytes)),
    )
}

struct SerializedBytes<'a>(&'a [u8]);

impl Serialize for SerializedBytes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0)
    }
}

/// A part of a typed array, such as one row: the elements whose first indices have given values. It
/// is serialized as a nested array or, if it is a single element, as a number.
struct SubArray<'a> {
    dtype: DType,
    shape: &'a [u32],
    bytes: &'a [u8],
}

impl<'a> SubArray<'a> {
    fn from_array(array: &'a TypedArray) -> Self {
        // WHY: a shape such as 4294967295 × 0 would become four billion empty arrays.
        let shape = if array.is_empty() {
            &[0]
        } else {
            array.shape()
        };
        Self {
            dtype: array.dtype(),
            shape,
            bytes: array.bytes(),
        }
    }

    fn serialize_single_element<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.dtype {
            // WHY: a single is written as a single, so that 0.1 is shown as 0.1.
            DType::F32 => to.serialize_f32(f32::from_bytes_le(self.bytes)),
            DType::F16 => to.serialize_f32(f16_to_f32(u16::from_bytes_le(self.bytes))),
            DType::BF16 => to.serialize_f32(bf16_to_f32(u16::from_bytes_le(self.bytes))),
            _ => super::typed::element_value(self.dtype, self.bytes).serialize(to),
        }
    }
}

impl Serialize for SubArray<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some((count, shape)) = self.shape.split_first() else {
            return self.serialize_single_element(to);
        };
        let count = usize::try_from(*count).unwrap_or(usize::MAX);
        let mut rows = to.serialize_seq(Some(count))?;
        if let Some(bytes) = self
            .bytes
            .len()
            .checked_div(count)
            .filter(|bytes| *bytes > 0)
        {
            for bytes in self.bytes.chunks_exact(bytes) {
                rows.serialize_element(&SubArray {
                    dtype: self.dtype,
                    shape,
                    bytes,
                })?;
            }
        }
        rows.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Reads a value from any self-describing format.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        Value::deserialize(from)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::from(bytes))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Value, E> {
        Ok(Value::Bytes(bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let announced = seq.size_hint().unwrap_or(0).min(PREALLOCATED_ELEMENTS_MAX);
        let mut values = Vec::with_capacity(announced);
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let announced = map.size_hint().unwrap_or(0).min(PREALLOCATED_ELEMENTS_MAX);
        let mut pairs = Vec::with_capacity(announced);
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Value::Map(pairs))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(ExtVisitor)
    }
}

/// Reads an extension, which `rmp_serde` presents as a sequence of its number and its bytes.
struct ExtVisitor;

impl<'de> Visitor<'de> for ExtVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number and the bytes of an extension")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let missing = |index| de::Error::invalid_length(index, &self);
        let number = seq.next_element::<i8>()?.ok_or_else(|| missing(0))?;
        let Some(Value::Bytes(bytes)) = seq.next_element()? else {
            return Err(missing(1));
        };
        match number {
            TYPED_ARRAY_EXT => {
                let view = TypedView::new(&bytes);
                let wrong = |problem| format!("a typed array with {problem}");
                let view = view.map_err(|problem| de::Error::custom(wrong(problem)))?;
                Ok(TypedArray::from(view).into())
            }
            number => Ok(Value::Ext(number, bytes)),
        }
    }
}
