//! Conversions from the usual Rust types to values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{TypedArray, Value};
use crate::message::f32_to_f64;

macro_rules! integers {
    ($($type:ident),+) => {$(
        impl From<$type> for Value {
            fn from(number: $type) -> Self {
                Self::Int(i64::from(number))
            }
        }
    )+};
}

integers! { i8, i16, i32, i64, u8, u16, u32 }

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::UInt(number), Self::Int)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        // WHY: no target has pointers of more than 64 bits.
        Self::from(number as u64)
    }
}

impl From<f32> for Value {
    fn from(number: f32) -> Self {
        Self::Float(f32_to_f64(number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Nil
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self::String(text.into_owned())
    }
}

impl From<&[u8]> for Value {
    /// Makes a value that contains bytes. It is not an array of numbers.
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    /// Makes a value that contains bytes. It is not an array of numbers.
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<TypedArray> for Value {
    fn from(array: TypedArray) -> Self {
        Self::Typed(Box::new(array))
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Self::Array(values)
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    /// Makes a value that contains bytes, for example from `b"ab"`. It is not an array of numbers.
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    /// Makes an array value with these elements.
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<K: Into<Value>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Value {
    /// Makes a map value with these pairs, in the given order.
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Into<Value>, V: Into<Value>> From<BTreeMap<K, V>> for Value {
    fn from(map: BTreeMap<K, V>) -> Self {
        map.into_iter().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nil, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    /// Makes an array value with these elements.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Value {
    /// Makes a map value with these pairs, in the given order.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self::Map(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}
