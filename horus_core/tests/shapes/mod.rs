//! Generates random message declarations: their schema text, and messages with the corresponding
//! value.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::fmt::Write;

use fastrand::Rng;
use horus_core::message::{DType, Primitive};
use horus_core::value::{TypedArray, Value};

/// A message declaration: names, counts and contents of its fields.
#[derive(Debug)]
pub struct Shape {
    fields: Vec<(String, usize, Kind)>,
}

#[derive(Debug)]
enum Kind {
    Number(Primitive),
    Message(Shape),
}

impl Kind {
    fn size(&self) -> usize {
        match self {
            Self::Number(primitive) => primitive.size(),
            Self::Message(shape) => shape.size(),
        }
    }
}

/// Returns a message with messages in it, at most `depth` deep. Each has a number as a field, so
/// that the text shows which messages are arrays.
pub fn message(rng: &mut Rng, depth: usize) -> Shape {
    let count = |rng: &mut Rng| [1, 1, 2, 3][rng.usize(..4)];
    let is_number = |primitive: &Primitive| DType::from_primitive(*primitive).is_some();
    let numbers: Vec<_> = Primitive::ALL.iter().copied().filter(is_number).collect();
    let number = |rng: &mut Rng| Kind::Number(numbers[rng.usize(..numbers.len())]);
    let mut fields = vec![("n".to_owned(), count(rng), number(rng))];
    for index in 0..rng.usize(..4) {
        let kind = if depth > 0 && rng.usize(..2) == 0 {
            Kind::Message(message(rng, depth - 1))
        } else {
            number(rng)
        };
        fields.push((format!("f{index}"), count(rng), kind));
    }
    let first = rng.usize(..fields.len());
    fields.rotate_left(first);
    Shape { fields }
}

impl Shape {
    fn size(&self) -> usize {
        self.fields
            .iter()
            .map(|(_, count, kind)| count * kind.size())
            .sum()
    }

    /// Returns the schema text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "horus schema 1\nmessage Random\nsize {}\nalign 1\n",
            self.size()
        );
        self.write_fields(&mut text, "", 0, "");
        text
    }

    fn write_fields(&self, text: &mut String, path: &str, mut offset: usize, arrays: &str) {
        for (name, count, kind) in &self.fields {
            let path = format!("{path}{name}");
            match kind {
                Kind::Number(primitive) => {
                    let name = primitive.name();
                    writeln!(text, "field {path} {name} {offset} {count}{arrays}").unwrap();
                }
                Kind::Message(shape) => {
                    let array = format!("{arrays} {count}*{}", shape.size());
                    let arrays = if *count == 1 { arrays } else { &array };
                    shape.write_fields(text, &format!("{path}."), offset, arrays);
                }
            }
            offset += count * kind.size();
        }
    }

    /// Returns random bytes of such a message, and the corresponding value.
    pub fn random(&self, rng: &mut Rng) -> (Vec<u8>, Value) {
        let mut bytes = Vec::new();
        let value = self.write_random(rng, &mut bytes);
        (bytes, value)
    }

    fn write_random(&self, rng: &mut Rng, bytes: &mut Vec<u8>) -> Value {
        let mut pairs = Vec::new();
        for (name, count, kind) in &self.fields {
            let value = match kind {
                Kind::Number(primitive) => {
                    let start = bytes.len();
                    bytes.extend((0..count * primitive.size()).map(|_| rng.u8(..)));
                    let dtype = DType::from_primitive(*primitive).unwrap();
                    let shape = if *count == 1 {
                        vec![]
                    } else {
                        vec![*count as u32]
                    };
                    let array = TypedArray::new(dtype, shape, bytes[start..].to_vec()).unwrap();
                    if *count == 1 {
                        array.get(0).unwrap()
                    } else {
                        array.into()
                    }
                }
                Kind::Message(shape) if *count == 1 => shape.write_random(rng, bytes),
                Kind::Message(shape) => Value::Array(
                    (0..*count)
                        .map(|_| shape.write_random(rng, bytes))
                        .collect(),
                ),
            };
            pairs.push((name.as_str().into(), value));
        }
        Value::Map(pairs)
    }
}
