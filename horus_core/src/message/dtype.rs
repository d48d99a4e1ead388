//! The element types of typed arrays, tensors and images.

use std::fmt;

use super::Primitive;

/// The type of one element of a typed array or tensor, little-endian in memory.
///
/// Its [`code`](Self::code) is part of the format of messages: a code is never reused for another
/// type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum DType {
    /// An unsigned integer of 8 bits.
    U8 = 1,
    /// A signed integer of 8 bits, in two's complement.
    I8 = 2,
    /// An unsigned integer of 16 bits.
    U16 = 3,
    /// A signed integer of 16 bits, in two's complement.
    I16 = 4,
    /// An unsigned integer of 32 bits.
    U32 = 5,
    /// A signed integer of 32 bits, in two's complement.
    I32 = 6,
    /// An unsigned integer of 64 bits.
    U64 = 7,
    /// A signed integer of 64 bits, in two's complement.
    I64 = 8,
    /// A floating-point number of 16 bits: IEEE 754 half precision.
    F16 = 9,
    /// bfloat16, the upper half of an IEEE 754 single: 8 bits of exponent and 7 bits of mantissa.
    BF16 = 10,
    /// A floating-point number of 32 bits: IEEE 754 single precision.
    F32 = 11,
    /// A floating-point number of 64 bits: IEEE 754 double precision.
    F64 = 12,
    /// A boolean of one byte: 0 is false, every other value is true.
    Bool = 13,
}

impl DType {
    /// All element types, in order of their codes.
    pub const ALL: &[Self] = &[
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::Bool,
    ];

    /// Returns the number that stands for this type in messages.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the type with this code, or `None` if this version of the library does not know the
    /// code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.code() == code)
    }

    /// Returns the size of one element in bytes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Returns the name of the type, such as `f32`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bool => "bool",
        }
    }

    /// Returns numpy's name of the type, such as `<f4`.
    ///
    /// Plain numpy has no type for [`BF16`](Self::BF16); its name is `<u2`, the type of its bits.
    #[must_use]
    pub const fn numpy(self) -> &'static str {
        match self {
            Self::U8 => "|u1",
            Self::I8 => "|i1",
            Self::U16 | Self::BF16 => "<u2",
            Self::I16 => "<i2",
            Self::U32 => "<u4",
            Self::I32 => "<i4",
            Self::U64 => "<u8",
            Self::I64 => "<i8",
            Self::F16 => "<f2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::Bool => "|b1",
        }
    }

    /// Returns `code` and `bits`, the two numbers that describe this type in a `DLDataType` of
    /// DLPack.
    #[must_use]
    pub const fn dlpack(self) -> (u8, u8) {
        let bits = match self.size() {
            1 => 8,
            2 => 16,
            4 => 32,
            _ => 64,
        };
        let code = match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => 0,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => 1,
            Self::F16 | Self::F32 | Self::F64 => 2,
            Self::BF16 => 4,
            Self::Bool => 6,
        };
        (code, bits)
    }

    /// Returns the type that corresponds to `primitive`; `None` for [`Primitive::Char`].
    #[must_use]
    pub fn from_primitive(primitive: Primitive) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|dtype| dtype.name() == primitive.name())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Implemented for the Rust types that can be elements of typed arrays.
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// The [`DType`] that corresponds to this Rust type.
    const DTYPE: DType;

    /// Converts the little-endian bytes of an element to its value.
    ///
    /// # Panics
    ///
    /// If the number of bytes is not the size of the element.
    #[doc(hidden)]
    #[must_use]
    fn from_bytes_le(bytes: &[u8]) -> Self;

    /// Appends the little-endian bytes of the element to `out`.
    #[doc(hidden)]
    fn append_bytes_le(self, out: &mut Vec<u8>);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ident $dtype:ident),+) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn from_bytes_le(bytes: &[u8]) -> Self {
                let bytes = bytes.try_into().expect("as many bytes as the element has");
                Self::from_le_bytes(bytes)
            }

            fn append_bytes_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )+};
}

elements! {
    u8 U8, i8 I8, u16 U16, i16 I16, u32 U32, i32 I32, u64 U64, i64 I64, f32 F32, f64 F64
}

/// 2^-24, the smallest half-precision number above 0.
///
/// WHY not `powi`: its result may differ in the last bit from one computer to another.
const F16_SUBNORMAL_UNIT: f32 = f32::from_bits((127 - 24) << 23);

/// Converts a half-precision number, given as bits, to single precision without rounding.
#[must_use]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let mantissa = u32::from(bits) & 0x3ff;
    match exponent {
        // WHY: 0 and subnormals have an exponent of 0, and their mantissa counts units of 2^-24.
        0 => f32::from_bits(sign | (mantissa as f32 * F16_SUBNORMAL_UNIT).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
    }
}

/// Converts a number to double precision. The payload of a NaN is kept.
///
/// A signalling NaN stays signalling. The conversion instructions of processors do not guarantee
/// that.
#[must_use]
pub(crate) fn f32_to_f64(number: f32) -> f64 {
    if !number.is_nan() {
        return f64::from(number);
    }
    let bits = u64::from(number.to_bits());
    f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
}

/// Rounds a number to the nearest number of single precision. For a result of [`f32_to_f64`], it
/// returns the original bits.
#[must_use]
pub(crate) fn f64_to_f32(number: f64) -> f32 {
    if !number.is_nan() {
        return number as f32;
    }
    let bits = number.to_bits();
    let sign = (bits >> 63) as u32;
    let payload = (bits >> 29) as u32 & 0x7f_ffff;
    // WHY: if only a double can hold the payload, the payload of the single would be that of
    // infinity.
    let payload = if payload == 0 { 1 << 22 } else { payload };
    f32::from_bits(sign << 31 | 0xff << 23 | payload)
}

/// Converts a bfloat16 number, given as bits, to single precision without rounding.
#[must_use]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
