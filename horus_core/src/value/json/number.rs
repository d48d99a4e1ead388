//! Elements of typed arrays as numbers of JSON, and back.

use crate::message::{DType, Element, bf16_to_f32, f16_to_f32, f64_to_f32};
use crate::value::{Value, typed};

const NAN_TEXT: &str = "NaN";
const INFINITY_TEXT: &str = "Infinity";
const NEGATIVE_INFINITY_TEXT: &str = "-Infinity";

/// Prefix of the text for a NaN whose bits differ from those of the usual NaN. The bits follow the
/// prefix, in hexadecimal.
const NAN_BITS_PREFIX: &str = "NaN:";

/// Converts the bytes of an element to a JSON number or boolean. A number that JSON does not have,
/// such as NaN, becomes a text.
pub(super) fn element_to_json(dtype: DType, bytes: &[u8]) -> Value {
    let single = match (dtype, bytes) {
        (DType::F16, &[a, b]) => f16_to_f32(u16::from_le_bytes([a, b])),
        (DType::BF16, &[a, b]) => bf16_to_f32(u16::from_le_bytes([a, b])),
        (DType::F32, bytes) => f32::from_bytes_le(bytes),
        (DType::F64, bytes) => return float_to_json(f64::from_bytes_le(bytes), bytes, dtype),
        // WHY: any byte except 0 is true, and only 1 is written for true.
        (DType::Bool, &[byte]) if byte > 1 => return byte.into(),
        _ => return typed::element_value(dtype, bytes),
    };
    if single.is_finite() {
        f64_with_shortest_decimal(single).into()
    } else {
        float_to_json(single.into(), bytes, dtype)
    }
}

/// Returns a double that is `number` when it is rounded to single precision, with as few digits as
/// possible: 0.1 and not 0.10000000149011612.
pub(crate) fn f64_with_shortest_decimal(number: f32) -> f64 {
    let short = format!("{number:?}").parse::<f64>();
    let short = short.ok().filter(|short| *short as f32 == number);
    short.unwrap_or_else(|| number.into())
}

fn float_to_json(number: f64, bytes: &[u8], dtype: DType) -> Value {
    if number.is_finite() {
        return number.into();
    }
    if number.is_infinite() {
        let text = if number > 0.0 {
            INFINITY_TEXT
        } else {
            NEGATIVE_INFINITY_TEXT
        };
        return text.into();
    }
    if bytes == canonical_nan_bytes(dtype) {
        return NAN_TEXT.into();
    }
    let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
    Value::String(NAN_BITS_PREFIX.to_owned() + &digits.collect::<String>())
}

/// Returns the little-endian bytes of the usual NaN of the type `dtype`: positive, quiet and with
/// the payload 0.
fn canonical_nan_bytes(dtype: DType) -> &'static [u8] {
    match dtype {
        DType::F16 => &[0, 0x7e],
        DType::BF16 => &[0xc0, 0x7f],
        DType::F32 => &[0, 0, 0xc0, 0x7f],
        _ => &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
    }
}

/// Converts a JSON value to an element of the type `dtype`, and appends its bytes to `bytes`.
/// Returns `None` if `json` does not represent an element of this type.
pub(super) fn element_from_json(dtype: DType, json: &Value, bytes: &mut Vec<u8>) -> Option<()> {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => float_from_json(dtype, json, bytes),
        DType::Bool => {
            let byte = match json {
                Value::Bool(truth) => u8::from(*truth),
                number => u8::try_from(number.as_u64()?).ok()?,
            };
            bytes.push(byte);
            Some(())
        }
        _ => {
            let size = dtype.size();
            let number = match json {
                Value::Int(number) => i128::from(*number),
                Value::UInt(number) => i128::from(*number),
                _ => return None,
            };
            let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
            let bits = 8 * size as u32 - u32::from(is_signed);
            let min = if is_signed { -(1 << bits) } else { 0 };
            let fits = (min..1 << bits).contains(&number);
            // WHY: in two's complement the lower bytes are those of any narrower type.
            fits.then(|| bytes.extend_from_slice(&number.to_le_bytes()[..size]))
        }
    }
}

fn float_from_json(dtype: DType, json: &Value, bytes: &mut Vec<u8>) -> Option<()> {
    let number = match json.as_str() {
        None => json.as_f64()?,
        Some(INFINITY_TEXT) => f64::INFINITY,
        Some(NEGATIVE_INFINITY_TEXT) => f64::NEG_INFINITY,
        Some(NAN_TEXT) => {
            bytes.extend_from_slice(canonical_nan_bytes(dtype));
            return Some(());
        }
        Some(text) => {
            let digits = text.strip_prefix(NAN_BITS_PREFIX)?;
            let is_whole = digits.len() == 2 * dtype.size() && digits.is_ascii();
            let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_whole)?;
            bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.size()]);
            return Some(());
        }
    };
    match dtype {
        DType::F64 => number.append_bytes_le(bytes),
        DType::F32 => f64_to_f32(number).append_bytes_le(bytes),
        DType::F16 => f16_bits_from_f32(round_to_odd(number)).append_bytes_le(bytes),
        _ => bf16_bits_from_f32(round_to_odd(number)).append_bytes_le(bytes),
    }
    Some(())
}

/// Converts a number to single precision. If it lies between two single-precision numbers, returns
/// the one whose last bit is 1.
///
/// WHY not the nearest one: the caller rounds the result once more, to 16 bits. The nearest one may
/// be exactly in the middle between two 16-bit numbers although `number` is not, and the second
/// rounding would then go the wrong way. A number whose last bit is 1 is never such a middle.
fn round_to_odd(number: f64) -> f32 {
    let nearest = f64_to_f32(number);
    let error = f64::from(nearest).abs() - number.abs();
    let bits = nearest.to_bits();
    if bits & 1 == 1 || error == 0.0 || !number.is_finite() {
        nearest
    } else if error > 0.0 {
        f32::from_bits(bits - 1)
    } else {
        f32::from_bits(bits + 1)
    }
}

/// Rounds a number, which must not be NaN, to the nearest number of half precision, and returns its
/// bits.
fn f16_bits_from_f32(number: f32) -> u16 {
    /// The largest single-precision number that is rounded to a finite half-precision number, and
    /// not to infinity.
    const F16_MAX: f32 = 65519.996;
    /// The smallest normal number of half precision, 2^-14. Below it, neighbouring numbers differ
    /// by `F16_SUBNORMAL_STEP`, 2^-24.
    const F16_NORMAL_MIN: f32 = f32::from_bits((127 - 14) << 23);
    const F16_SUBNORMAL_STEP: f32 = f32::from_bits((127 - 24) << 23);

    let sign = (number.to_bits() >> 31 << 15) as u16;
    let size = number.abs();
    let bits = if size > F16_MAX {
        0x7c00
    } else if size < F16_NORMAL_MIN {
        (size / F16_SUBNORMAL_STEP).round_ties_even() as u16
    } else {
        shift_right_rounded(size.to_bits() - (112 << 23), 13) as u16
    };
    sign | bits
}

/// Rounds a number, which must not be NaN, to the nearest number of bfloat16, and returns its bits.
fn bf16_bits_from_f32(number: f32) -> u16 {
    shift_right_rounded(number.to_bits(), 16) as u16
}

/// Removes the lower `count` bits of `bits`, rounding to the nearest number. If two numbers are
/// equally near, returns the even one.
const fn shift_right_rounded(bits: u32, count: u32) -> u32 {
    let half = 1 << (count - 1);
    let rest = bits & ((1 << count) - 1);
    let kept = bits >> count;
    let goes_up = rest > half || (rest == half && kept & 1 == 1);
    kept + goes_up as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_precision_number_comes_back() {
        for bits in 0..=u16::MAX {
            for dtype in [DType::F16, DType::BF16] {
                let json = element_to_json(dtype, &bits.to_le_bytes());
                let mut bytes = Vec::new();
                element_from_json(dtype, &json, &mut bytes).unwrap();
                assert_eq!(bytes, bits.to_le_bytes(), "{dtype} {bits:04x}: {json}");
            }
        }
    }

    #[test]
    fn other_numbers_are_rounded_to_the_nearest() {
        let table = [
            (0.1, 0x2e66),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (-1e9, 0xfc00),
            (2.9e-8, 0),
            (3e-8, 1),
            (6.103e-5, 0x0400),
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
        ];
        for (number, bits) in table {
            assert_eq!(f16_bits_from_f32(number), bits, "{number}");
        }
        assert_eq!(bf16_bits_from_f32(1.0), 0x3f80);
        assert_eq!(bf16_bits_from_f32(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(bf16_bits_from_f32(f32::from_bits(0x3f81_8000)), 0x3f82);
    }
}
