//! Formats values as human-readable text.

use std::fmt::{self, Display, Formatter, Write};

use super::{TypedArray, Value};
use crate::message::{DType, bf16_to_f32, f16_to_f32};

/// The number of spaces by which each nesting level is indented.
const INDENT_SPACES: usize = 2;

impl Display for Value {
    /// Formats the value like JSON, exactly and on one line; `{:#}` puts each element and pair on
    /// its own line.
    ///
    /// Values that JSON does not have are written as `NaN` and `Infinity`, bytes as `b"\x00ok"`,
    /// typed arrays as `f32[1.5, 2.0]` or, with a shape, `u8(2, 2)[1, 2, 3, 4]`, and extensions as
    /// `ext(5, b"\x00")`. The cost is proportional to the size of the value, and the recursion is
    /// as deep as its nesting.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_value(f, self, 0)
    }
}

fn write_value(f: &mut Formatter<'_>, value: &Value, level: usize) -> fmt::Result {
    match value {
        Value::Nil => f.write_str("null"),
        Value::Bool(truth) => write!(f, "{truth}"),
        Value::Int(number) => write!(f, "{number}"),
        Value::UInt(number) => write!(f, "{number}"),
        Value::Float(number) => write_f64(f, *number),
        Value::String(text) => write_text(f, text),
        Value::Bytes(bytes) => write_bytes(f, bytes),
        Value::Array(values) => write_list(f, ['[', ']'], level, values, |f, value| {
            write_value(f, value, level + 1)
        }),
        Value::Map(pairs) => write_list(f, ['{', '}'], level, pairs, |f, (key, value)| {
            write_value(f, key, level + 1)?;
            f.write_str(": ")?;
            write_value(f, value, level + 1)
        }),
        Value::Typed(array) => write_typed_array(f, array),
        Value::Ext(number, bytes) => {
            write!(f, "ext({number}, ")?;
            write_bytes(f, bytes)?;
            f.write_char(')')
        }
    }
}

fn write_list<T>(
    f: &mut Formatter<'_>,
    [open, close]: [char; 2],
    level: usize,
    elements: &[T],
    write: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    let line = |f: &mut Formatter<'_>, level: usize| match f.alternate() {
        true => write!(f, "\n{:1$}", "", level * INDENT_SPACES),
        false => Ok(()),
    };
    f.write_char(open)?;
    for (index, element) in elements.iter().enumerate() {
        match (index, f.alternate()) {
            (0, _) => {}
            (_, true) => f.write_char(',')?,
            (_, false) => f.write_str(", ")?,
        }
        line(f, level + 1)?;
        write(f, element)?;
    }
    if !elements.is_empty() {
        line(f, level)?;
    }
    f.write_char(close)
}

/// Writes a double-precision number as the shortest decimal that parses to the same number.
fn write_f64(f: &mut Formatter<'_>, number: f64) -> fmt::Result {
    match number {
        f64::INFINITY => f.write_str("Infinity"),
        f64::NEG_INFINITY => f.write_str("-Infinity"),
        number => write!(f, "{number:?}"),
    }
}

/// Writes a single-precision number as the shortest decimal that parses to the same number.
fn write_f32(f: &mut Formatter<'_>, number: f32) -> fmt::Result {
    match number {
        number if number.is_infinite() => write_f64(f, f64::from(number)),
        number => write!(f, "{number:?}"),
    }
}

fn write_text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            letter if letter.is_control() => write!(f, "\\u{:04x}", u32::from(letter))?,
            letter => f.write_char(letter)?,
        }
    }
    f.write_char('"')
}

fn write_bytes(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    write!(f, "b\"{}\"", bytes.escape_ascii())
}

fn write_typed_array(f: &mut Formatter<'_>, array: &TypedArray) -> fmt::Result {
    f.write_str(array.dtype().name())?;
    if array.shape().len() != 1 {
        f.write_char('(')?;
        for (index, count) in array.shape().iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            write!(f, "{count}")?;
        }
        f.write_char(')')?;
    }
    f.write_char('[')?;
    for (index, bytes) in array.bytes().chunks_exact(array.dtype().size()).enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        write_element(f, array.dtype(), bytes)?;
    }
    f.write_char(']')
}

fn write_element(f: &mut Formatter<'_>, dtype: DType, bytes: &[u8]) -> fmt::Result {
    match (dtype, bytes) {
        (DType::F32, &[a, b, c, d]) => write_f32(f, f32::from_le_bytes([a, b, c, d])),
        (DType::F16, &[a, b]) => write_f32(f, f16_to_f32(u16::from_le_bytes([a, b]))),
        (DType::BF16, &[a, b]) => write_f32(f, bf16_to_f32(u16::from_le_bytes([a, b]))),
        _ => write_value(f, &super::typed::element_value(dtype, bytes), 0),
    }
}
