//! The field types of `.msg` files, under the names that ROS gives them, and their mapping to Rust
//! types.

#![allow(non_camel_case_types, reason = "named as in .msg files")]

use std::borrow::Cow;

use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr};
use crate::message::{DType, Text};

type WriteResult = Result<(), CdrWriteError>;
type ReadResult = Result<(), CdrError>;

/// A field type of ROS, with the code that writes and reads it as CDR. `T` is the type of the field
/// in the horus message.
pub(super) trait RosField<T: ?Sized> {
    /// Minimum number of bytes that a value of this type takes in CDR.
    const ENCODED_BYTES_MIN: usize;

    /// Writes `value` as CDR. `field` is the name that errors contain.
    fn write(value: &T, field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult;

    /// Reads CDR into `value`. `field` is the name that errors contain.
    fn read(value: &mut T, field: &'static str, from: &mut CdrReader<'_>) -> ReadResult;
}

macro_rules! numbers {
    ($($wire:ident $number:ident),+) => {$(
        pub(super) enum $wire {}

        impl RosField<$number> for $wire {
            const ENCODED_BYTES_MIN: usize = size_of::<$number>();

            fn write(value: &$number, _: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
                out.$number(*value);
                Ok(())
            }

            fn read(value: &mut $number, _: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
                *value = from.$number()?;
                Ok(())
            }
        }
    )+};
}
numbers! {
    uint8 u8, int8 i8, uint16 u16, uint32 u32, float32 f32, float64 f64
}

/// Another name for `uint8`, which ROS once used.
pub(super) type byte = uint8;

/// A boolean in ROS, stored as a `u8` in the horus message. Any number except 0 is written as 1.
pub(super) enum RosBool {}

/// The name of [`RosBool`] in the definitions of ROS messages.
pub(super) type bool = RosBool;

impl RosField<u8> for RosBool {
    const ENCODED_BYTES_MIN: usize = 1;

    fn write(value: &u8, _: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        out.bool(*value != 0);
        Ok(())
    }

    fn read(value: &mut u8, _: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        *value = from.bool()?.into();
        Ok(())
    }
}

/// A `float64` in ROS, stored as an `f32` in the horus message.
pub(super) enum float64_stored_as_f32 {}

impl RosField<f32> for float64_stored_as_f32 {
    const ENCODED_BYTES_MIN: usize = 8;

    fn write(value: &f32, _: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        out.f64(f64::from(*value));
        Ok(())
    }

    fn read(value: &mut f32, field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        let found = from.f64()?;
        *value = found as f32;
        if found.is_finite() && !value.is_finite() {
            return Err(CdrError::NotRepresentable {
                at: from.at(),
                field,
                found: format!("{found:?}"),
            });
        }
        Ok(())
    }
}

/// `builtin_interfaces/Time` in ROS, stored as nanoseconds since the epoch in the horus message.
pub(super) enum time {}

const NS_PER_SECOND: u64 = 1_000_000_000;

impl RosField<u64> for time {
    const ENCODED_BYTES_MIN: usize = 8;

    fn write(value: &u64, field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        let error = CdrWriteError::Time {
            field,
            found_ns: *value,
        };
        out.i32(i32::try_from(value / NS_PER_SECOND).map_err(|_| error)?);
        out.u32((value % NS_PER_SECOND) as u32);
        Ok(())
    }

    fn read(value: &mut u64, field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        let at = from.next_length_offset();
        let sec = from.i32()?;
        let nanosec = from.u32()?;
        match u64::try_from(sec) {
            Ok(seconds) if u64::from(nanosec) < NS_PER_SECOND => {
                *value = seconds * NS_PER_SECOND + u64::from(nanosec)
            }
            _ => {
                return Err(CdrError::Time {
                    at,
                    field,
                    sec,
                    nanosec,
                });
            }
        }
        Ok(())
    }
}

/// A string. Stored in a `String`, it may have any length; stored in a [`Text`], at most `N` bytes.
pub(super) enum string {}

impl<const N: usize> RosField<Text<N>> for string {
    const ENCODED_BYTES_MIN: usize = 4;

    fn write(value: &Text<N>, field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        let ended = value
            .as_bytes()
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        if value.as_str().len() != ended.len() {
            return Err(CdrWriteError::Text { field });
        }
        out.string_in_field(field, value.as_str())
    }

    fn read(value: &mut Text<N>, field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        let at = from.next_length_offset();
        let too_long = |found, limit| CdrError::TooLong {
            at,
            field,
            found,
            limit,
            of: "bytes",
        };
        let text = Text::new(from.string()?);
        *value = text.map_err(|error| too_long(error.bytes, error.bytes_max))?;
        Ok(())
    }
}

impl RosField<String> for string {
    const ENCODED_BYTES_MIN: usize = 4;

    fn write(value: &String, field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        out.string_in_field(field, value)
    }

    fn read(value: &mut String, _: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        *value = from.string()?.to_owned();
        Ok(())
    }
}

/// A fixed array of elements of the ROS type `W`, or a struct of several such elements, such as
/// `Point`.
pub(super) struct Array<W>(std::marker::PhantomData<W>);

impl<T, W: RosField<T>, const N: usize> RosField<[T; N]> for Array<W> {
    const ENCODED_BYTES_MIN: usize = N * W::ENCODED_BYTES_MIN;

    fn write(value: &[T; N], field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        value
            .iter()
            .try_for_each(|element| W::write(element, field, out))
    }

    fn read(value: &mut [T; N], field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        value
            .iter_mut()
            .try_for_each(|element| W::read(element, field, from))
    }
}

pub(super) type Point = Array<float64>;
pub(super) type Vector3 = Array<float64>;
pub(super) type Quaternion = Array<float64>;

/// A field that is itself a message, and whose type has its own `ros_message!` description.
pub(super) enum Nested {}

impl<M: FromCdr<FrameNames = ()>> RosField<M> for Nested {
    // WHY 1: such a message has at least one field. A larger minimum would only refuse truncated
    // input earlier.
    const ENCODED_BYTES_MIN: usize = 1;

    fn write(value: &M, _: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        value.write_cdr(&(), out)
    }

    fn read(value: &mut M, _: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        (*value, ()) = M::read_cdr(from)?;
        Ok(())
    }
}

pub(super) type KeyValue = Nested;
pub(super) type MapMetaData = Nested;
pub(super) type PointField = Nested;
pub(super) type RegionOfInterest = Nested;

/// A sequence in ROS. The horus message stores it in an array of fixed size, and a field `count`
/// holds its length.
pub(super) struct Sequence<W>(std::marker::PhantomData<W>);

impl<W> Sequence<W> {
    pub(super) fn write<T, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> WriteResult
    where
        W: RosField<T>,
    {
        let found = *count as usize;
        let too_long = CdrWriteError::TooLong {
            field,
            found,
            limit: N,
            of: "elements",
        };
        let values = values.get(..found).ok_or(too_long)?;
        out.u32(*count);
        values
            .iter()
            .try_for_each(|element| W::write(element, field, out))
    }

    pub(super) fn read<T, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> ReadResult
    where
        W: RosField<T>,
    {
        let at = from.next_length_offset();
        let found = from.count(W::ENCODED_BYTES_MIN)?;
        let too_long = CdrError::TooLong {
            at,
            field,
            found,
            limit: N,
            of: "elements",
        };
        let values = values.get_mut(..found).ok_or(too_long)?;
        *count = found as u32;
        values
            .iter_mut()
            .try_for_each(|element| W::read(element, field, from))
    }
}

/// A sequence that the horus message does not have. It is written as empty, and skipped when a
/// message is read.
pub(super) struct SequenceAbsentInHorus<W>(std::marker::PhantomData<W>);

impl<W> SequenceAbsentInHorus<W> {
    pub(super) fn write(out: &mut CdrWriter<'_>) -> WriteResult {
        out.u32(0);
        Ok(())
    }

    pub(super) fn read<T: Default>(from: &mut CdrReader<'_>) -> ReadResult
    where
        W: RosField<T>,
    {
        let count = from.count(W::ENCODED_BYTES_MIN)?;
        (0..count).try_for_each(|_| W::read(&mut T::default(), "", from))
    }
}

/// A type of array elements that has a value for "not measured".
pub(super) trait MaybeAbsent: Copy {
    const ABSENT_VALUE: Self;
    /// The value of the array elements that are not in use: those after the first `count` elements.
    const UNUSED_ELEMENT_VALUE: Self;

    fn is_absent(&self) -> std::primitive::bool;
}

impl MaybeAbsent for f32 {
    const ABSENT_VALUE: Self = Self::NAN;
    const UNUSED_ELEMENT_VALUE: Self = 0.0;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_nan()
    }
}

impl MaybeAbsent for f64 {
    const ABSENT_VALUE: Self = Self::NAN;
    const UNUSED_ELEMENT_VALUE: Self = 0.0;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_nan()
    }
}

impl<const N: usize> MaybeAbsent for Text<N> {
    const ABSENT_VALUE: Self = Self::EMPTY;
    const UNUSED_ELEMENT_VALUE: Self = Self::EMPTY;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_empty()
    }
}

/// A sequence of a group whose sequences have the same length or are empty, such as the positions
/// and velocities of joints. It is empty if its values were not measured. The first sequence of a
/// group is a [`CountedSequence`].
pub(super) struct ParallelSequence<W>(std::marker::PhantomData<W>);

impl<W> ParallelSequence<W> {
    /// Writes the first `count` elements as a sequence. Writes an empty sequence if none of them
    /// was measured.
    pub(super) fn write<T: MaybeAbsent, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> WriteResult
    where
        W: RosField<T>,
    {
        let given = values
            .iter()
            .take(*count as usize)
            .any(|element| !element.is_absent());
        let count = if given { *count } else { 0 };
        Sequence::<W>::write(values, &count, field, out)
    }

    /// Reads a sequence that must be empty or have `count` elements. If `count` is 0, the sequence
    /// may have any length, and `count` is set to that length.
    pub(super) fn read<T: MaybeAbsent, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> ReadResult
    where
        W: RosField<T>,
    {
        let at = from.next_length_offset();
        let mut found = 0;
        Sequence::<W>::read(values, &mut found, field, from)?;
        match (found, *count) {
            (0, _) => *values = [T::ABSENT_VALUE; N],
            (_, 0) => *count = found,
            (_, wanted) if wanted == found => {}
            (_, wanted) => {
                let found = found as usize;
                let wanted = wanted as usize;
                return Err(CdrError::LengthMismatch {
                    at,
                    field,
                    found,
                    wanted,
                });
            }
        }
        Ok(())
    }
}

/// The first sequence of a group of [`ParallelSequence`]s. It is written even if nothing was
/// measured, because its length is the number of elements of all sequences of the group.
pub(super) struct CountedSequence<W>(std::marker::PhantomData<W>);

impl<W> CountedSequence<W> {
    pub(super) fn write<T, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> WriteResult
    where
        W: RosField<T>,
    {
        Sequence::<W>::write(values, count, field, out)
    }

    pub(super) fn read<T: MaybeAbsent, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> ReadResult
    where
        W: RosField<T>,
    {
        ParallelSequence::<W>::read(values, count, field, from)
    }
}

/// Sets the array elements after the ones in use to [`MaybeAbsent::UNUSED_ELEMENT_VALUE`], once all
/// sequences of a [`ParallelSequence`] group have been read.
pub(super) struct UnusedElementReset;

impl UnusedElementReset {
    pub(super) const fn write<T, const N: usize>(_: &[T; N], _: &u32) {}

    pub(super) fn read<T: MaybeAbsent, const N: usize>(values: &mut [T; N], count: &u32) {
        values
            .iter_mut()
            .skip(*count as usize)
            .for_each(|element| *element = T::UNUSED_ELEMENT_VALUE);
    }
}

/// The bytes that follow the header of a horus message. In ROS they are a `uint8[]` sequence.
pub(super) struct TrailingData;

impl TrailingData {
    pub(super) fn write(data: &&[u8], field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        let found = data.len();
        let limit = u32::MAX as usize;
        let too_long = CdrWriteError::TooLong {
            field,
            found,
            limit,
            of: "bytes",
        };
        out.u32(u32::try_from(found).map_err(|_| too_long)?);
        out.bytes(data);
        Ok(())
    }

    pub(super) fn read<'a>(
        data: &mut &'a [u8],
        _: &'static str,
        from: &mut CdrReader<'a>,
    ) -> ReadResult {
        let count = from.count(1)?;
        *data = from.bytes(count)?;
        Ok(())
    }
}

/// A field that the ROS type does not have. It is not written. When a message is read, it gets a
/// given value.
pub(super) struct FieldAbsentInRos;

impl FieldAbsentInRos {
    pub(super) const fn write<T: Copy>(_: &T, _: T) {}

    pub(super) fn read<T>(field: &mut T, value: T) {
        *field = value;
    }
}

/// A `float64` that the horus message does not have. It is written as 0. Any other value is an
/// error when a message is read.
pub(super) struct ZeroFieldAbsentInHorus;

impl ZeroFieldAbsentInHorus {
    pub(super) fn write(_: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        out.f64(0.0);
        Ok(())
    }

    pub(super) fn read(field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        match from.f64()? {
            0.0 => Ok(()),
            found => Err(CdrError::NotRepresentable {
                at: from.at(),
                field,
                found: format!("{found:?}"),
            }),
        }
    }
}

/// The number types that the fields of a point cloud may have. The index in this array is the
/// number of the type in `sensor_msgs/PointField`.
const POINT_FIELD_DTYPES: [Option<DType>; 9] = [
    None,
    Some(DType::I8),
    Some(DType::U8),
    Some(DType::I16),
    Some(DType::U16),
    Some(DType::I32),
    Some(DType::U32),
    Some(DType::F32),
    Some(DType::F64),
];

/// The element type of a point cloud's field: a [`DType`] code in the horus message, a number of
/// `sensor_msgs/PointField` in ROS.
pub(super) enum point_field_datatype {}

impl RosField<u8> for point_field_datatype {
    const ENCODED_BYTES_MIN: usize = 1;

    fn write(value: &u8, field: &'static str, out: &mut CdrWriter<'_>) -> WriteResult {
        let dtype = DType::from_code(*value);
        let known = POINT_FIELD_DTYPES
            .iter()
            .position(|known| known.is_some() && *known == dtype);
        let name = || dtype.map_or(Cow::Owned(value.to_string()), |dtype| dtype.name().into());
        let no_place = || CdrWriteError::NotRepresentable {
            field,
            found: name().into_owned(),
        };
        out.u8(known.ok_or_else(no_place)? as u8);
        Ok(())
    }

    fn read(value: &mut u8, field: &'static str, from: &mut CdrReader<'_>) -> ReadResult {
        let code = from.u8()?;
        let dtype = POINT_FIELD_DTYPES.get(usize::from(code)).copied().flatten();
        let no_place = || CdrError::NotRepresentable {
            at: from.at(),
            field,
            found: code.to_string(),
        };
        *value = dtype.ok_or_else(no_place)?.code();
        Ok(())
    }
}
