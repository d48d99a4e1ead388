//! Generates random values, with many edge cases.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use fastrand::Rng;
use horus_core::message::DType;
use horus_core::value::{TYPED_ARRAY_EXT, TypedArray, Value};

/// Returns 64 random bits.
pub fn word(rng: &mut Rng) -> u64 {
    (rng.usize(..1 << 32) as u64) << 32 | rng.usize(..1 << 32) as u64
}

/// Returns a number with a random number of zero upper bits; the lower bits are often all 0 or all
/// 1.
pub fn edge(rng: &mut Rng) -> u64 {
    let width = rng.usize(..65) as u32;
    let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
    match rng.usize(..3) {
        0 => mask,
        1 => mask.wrapping_add(1),
        _ => word(rng) & mask,
    }
}

/// Returns random bytes, fewer than `bound`.
pub fn bytes(rng: &mut Rng, bound: usize) -> Vec<u8> {
    (0..rng.usize(..bound)).map(|_| rng.u8(..)).collect()
}

/// Returns random text with characters of one to four bytes.
pub fn text(rng: &mut Rng, bound: usize) -> String {
    (0..rng.usize(..bound))
        .map(|_| ['a', '"', '\n', 'ß', '€', '𝄞', '\0'][rng.usize(..7)])
        .collect()
}

/// Returns a number of elements, often one at which MessagePack changes its encoding.
fn length(rng: &mut Rng) -> usize {
    match rng.usize(..40) {
        0 => [15, 16, 31, 32, 33, 255, 256][rng.usize(..7)],
        _ => rng.usize(..4),
    }
}

/// Returns a random typed array.
pub fn typed(rng: &mut Rng) -> TypedArray {
    let dtype = DType::ALL[rng.usize(..DType::ALL.len())];
    let shape: Vec<u32> = (0..rng.usize(..4)).map(|_| rng.usize(..4) as u32).collect();
    let count: u32 = shape.iter().product();
    let size = count as usize * dtype.size();
    let bytes = (0..size).map(|_| rng.u8(..)).collect();
    TypedArray::new(dtype, shape, bytes).expect("as many bytes as the shape asks for")
}

/// Returns a random value, nested at most `depth` deep.
pub fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.usize(..if depth == 0 { 9 } else { 11 }) {
        0 => Value::Nil,
        1 => Value::Bool(rng.usize(..2) == 0),
        2 => Value::Int(edge(rng).cast_signed()),
        3 => Value::from(edge(rng)),
        4 => Value::Float(f64::from_bits(word(rng))),
        5 => Value::String(text(rng, 40)),
        6 => Value::Bytes(bytes(rng, 300)),
        7 => typed(rng).into(),
        8 => match rng.u8(..) as i8 {
            TYPED_ARRAY_EXT => Value::Nil,
            number => Value::Ext(number, bytes(rng, 20)),
        },
        9 => Value::Array((0..length(rng)).map(|_| value(rng, depth - 1)).collect()),
        _ => {
            let pair = |rng: &mut Rng| (value(rng, depth.min(2) - 1), value(rng, depth - 1));
            Value::Map((0..length(rng)).map(|_| pair(rng)).collect())
        }
    }
}
