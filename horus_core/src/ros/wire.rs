//! The field types of `.msg` files, with ROS's names, and their mapping to Rust types.

#![allow(non_camel_case_types, reason = "named as in .msg files")]

use std::borrow::Cow;

use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr};
use crate::message::{DType, Text};

type Written = Result<(), CdrWriteError>;
type Read = Result<(), CdrError>;

/// A ROS field type whose values have the type `T` here.
pub(super) trait Wire<T: ?Sized> {
    /// The smallest size of a value on the wire, in bytes.
    const BYTES_MIN: usize;

    /// Writes the value of a field.
    fn write(value: &T, field: &'static str, out: &mut CdrWriter<'_>) -> Written;

    /// Reads the value of a field.
    fn read(value: &mut T, field: &'static str, from: &mut CdrReader<'_>) -> Read;
}

macro_rules! numbers {
    ($($wire:ident $number:ident),+) => {$(
        pub(super) enum $wire {}

        impl Wire<$number> for $wire {
            const BYTES_MIN: usize = size_of::<$number>();

            fn write(value: &$number, _: &'static str, out: &mut CdrWriter<'_>) -> Written {
                out.$number(*value);
                Ok(())
            }

            fn read(value: &mut $number, _: &'static str, from: &mut CdrReader<'_>) -> Read {
                *value = from.$number()?;
                Ok(())
            }
        }
    )+};
}
numbers! {
    uint8 u8, int8 i8, uint16 u16, uint32 u32, float32 f32, float64 f64
}

/// The old ROS name of `uint8`.
pub(super) type byte = uint8;

/// A flag; any number except 0 is written as 1.
pub(super) enum bool {}

impl Wire<u8> for bool {
    const BYTES_MIN: usize = 1;

    fn write(value: &u8, _: &'static str, out: &mut CdrWriter<'_>) -> Written {
        out.bool(*value != 0);
        Ok(())
    }

    fn read(value: &mut u8, _: &'static str, from: &mut CdrReader<'_>) -> Read {
        *value = from.bool()?.into();
        Ok(())
    }
}

/// A single in the horus message that is a double in ROS.
pub(super) enum float64_of_f32 {}

impl Wire<f32> for float64_of_f32 {
    const BYTES_MIN: usize = 8;

    fn write(value: &f32, _: &'static str, out: &mut CdrWriter<'_>) -> Written {
        out.f64(f64::from(*value));
        Ok(())
    }

    fn read(value: &mut f32, field: &'static str, from: &mut CdrReader<'_>) -> Read {
        let found = from.f64()?;
        *value = found as f32;
        if found.is_finite() && !value.is_finite() {
            return Err(CdrError::NoPlace { at: from.at(), field, found: format!("{found:?}") });
        }
        Ok(())
    }
}

/// `builtin_interfaces/Time` as nanoseconds since the epoch.
pub(super) enum time {}

const NS: u64 = 1_000_000_000;

impl Wire<u64> for time {
    const BYTES_MIN: usize = 8;

    fn write(value: &u64, field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        let error = CdrWriteError::Time { field, found_ns: *value };
        out.i32(i32::try_from(value / NS).map_err(|_| error)?);
        out.u32((value % NS) as u32);
        Ok(())
    }

    fn read(value: &mut u64, field: &'static str, from: &mut CdrReader<'_>) -> Read {
        let at = from.at_length();
        let (sec, nanosec) = (from.i32()?, from.u32()?);
        match u64::try_from(sec) {
            Ok(seconds) if u64::from(nanosec) < NS => *value = seconds * NS + u64::from(nanosec),
            _ => return Err(CdrError::Time { at, field, sec, nanosec }),
        }
        Ok(())
    }
}

/// A string: of any length for a `String`, of at most `N` bytes for a [`Text`].
pub(super) enum string {}

impl<const N: usize> Wire<Text<N>> for string {
    const BYTES_MIN: usize = 4;

    fn write(value: &Text<N>, field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        let ended = value.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
        if value.as_str().len() != ended.len() {
            return Err(CdrWriteError::Text { field });
        }
        out.string_of(field, value.as_str())
    }

    fn read(value: &mut Text<N>, field: &'static str, from: &mut CdrReader<'_>) -> Read {
        let at = from.at_length();
        let too_long = |found, limit| CdrError::TooLong { at, field, found, limit, of: "bytes" };
        let text = Text::new(from.string()?);
        *value = text.map_err(|error| too_long(error.bytes, error.bytes_max))?;
        Ok(())
    }
}

impl Wire<String> for string {
    const BYTES_MIN: usize = 4;

    fn write(value: &String, field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        out.string_of(field, value)
    }

    fn read(value: &mut String, _: &'static str, from: &mut CdrReader<'_>) -> Read {
        *value = from.string()?.to_owned();
        Ok(())
    }
}

/// A fixed array, or a struct of as many numbers of one type.
pub(super) struct Array<W>(std::marker::PhantomData<W>);

impl<T, W: Wire<T>, const N: usize> Wire<[T; N]> for Array<W> {
    const BYTES_MIN: usize = N * W::BYTES_MIN;

    fn write(value: &[T; N], field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        value.iter().try_for_each(|element| W::write(element, field, out))
    }

    fn read(value: &mut [T; N], field: &'static str, from: &mut CdrReader<'_>) -> Read {
        value.iter_mut().try_for_each(|element| W::read(element, field, from))
    }
}

pub(super) type Point = Array<float64>;
pub(super) type Vector3 = Array<float64>;
pub(super) type Quaternion = Array<float64>;

/// A struct with its own description.
pub(super) enum Nested {}

impl<M: FromCdr<Frames = ()>> Wire<M> for Nested {
    // WHY: it has at least one field. A larger minimum would only refuse truncated input earlier.
    const BYTES_MIN: usize = 1;

    fn write(value: &M, _: &'static str, out: &mut CdrWriter<'_>) -> Written {
        value.write_cdr(&(), out)
    }

    fn read(value: &mut M, _: &'static str, from: &mut CdrReader<'_>) -> Read {
        (*value, ()) = M::read_cdr(from)?;
        Ok(())
    }
}

pub(super) type KeyValue = Nested;
pub(super) type MapMetaData = Nested;
pub(super) type PointField = Nested;
pub(super) type RegionOfInterest = Nested;

/// A sequence: the first `count` elements of an array.
pub(super) struct Sequence<W>(std::marker::PhantomData<W>);

impl<W> Sequence<W> {
    pub(super) fn write<T, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> Written
    where
        W: Wire<T>,
    {
        let found = *count as usize;
        let too_long = CdrWriteError::TooLong { field, found, limit: N, of: "elements" };
        let values = values.get(..found).ok_or(too_long)?;
        out.u32(*count);
        values.iter().try_for_each(|element| W::write(element, field, out))
    }

    pub(super) fn read<T, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> Read
    where
        W: Wire<T>,
    {
        let at = from.at_length();
        let found = from.count(W::BYTES_MIN)?;
        let too_long = CdrError::TooLong { at, field, found, limit: N, of: "elements" };
        let values = values.get_mut(..found).ok_or(too_long)?;
        *count = found as u32;
        values.iter_mut().try_for_each(|element| W::read(element, field, from))
    }
}

/// A sequence that only the ROS type has: written empty, and ignored when read.
pub(super) struct Ignored<W>(std::marker::PhantomData<W>);

impl<W> Ignored<W> {
    pub(super) fn write(out: &mut CdrWriter<'_>) -> Written {
        out.u32(0);
        Ok(())
    }

    pub(super) fn read<T: Default>(from: &mut CdrReader<'_>) -> Read
    where
        W: Wire<T>,
    {
        let count = from.count(W::BYTES_MIN)?;
        (0..count).try_for_each(|_| W::read(&mut T::default(), "", from))
    }
}

/// Defines the value of an element that is not measured.
pub(super) trait Absent: Copy {
    const ABSENT: Self;
    /// The value of elements behind the last one.
    const NONE: Self;

    fn is_absent(&self) -> std::primitive::bool;
}

impl Absent for f32 {
    const ABSENT: Self = Self::NAN;
    const NONE: Self = 0.0;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_nan()
    }
}

impl Absent for f64 {
    const ABSENT: Self = Self::NAN;
    const NONE: Self = 0.0;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_nan()
    }
}

impl<const N: usize> Absent for Text<N> {
    const ABSENT: Self = Self::EMPTY;
    const NONE: Self = Self::EMPTY;

    fn is_absent(&self) -> std::primitive::bool {
        self.is_empty()
    }
}

/// One of several sequences with a common count, each of which may be empty.
pub(super) struct Parallel<W>(std::marker::PhantomData<W>);

impl<W> Parallel<W> {
    /// Writes the first `count` elements, or an empty sequence if all of them are absent.
    pub(super) fn write<T: Absent, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> Written
    where
        W: Wire<T>,
    {
        let given = values.iter().take(*count as usize).any(|element| !element.is_absent());
        let count = if given { *count } else { 0 };
        Sequence::<W>::write(values, &count, field, out)
    }

    /// Reads `count` elements, or any number if `count` is 0, or an empty sequence.
    pub(super) fn read<T: Absent, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> Read
    where
        W: Wire<T>,
    {
        let (at, mut found) = (from.at_length(), 0);
        Sequence::<W>::read(values, &mut found, field, from)?;
        match (found, *count) {
            (0, _) => *values = [T::ABSENT; N],
            (_, 0) => *count = found,
            (_, wanted) if wanted == found => {}
            (_, wanted) => {
                let (found, wanted) = (found as usize, wanted as usize);
                return Err(CdrError::Uneven { at, field, found, wanted });
            }
        }
        Ok(())
    }
}

/// The first of those sequences, which must not be omitted, since its length is the count.
pub(super) struct First<W>(std::marker::PhantomData<W>);

impl<W> First<W> {
    pub(super) fn write<T, const N: usize>(
        values: &[T; N],
        count: &u32,
        field: &'static str,
        out: &mut CdrWriter<'_>,
    ) -> Written
    where
        W: Wire<T>,
    {
        Sequence::<W>::write(values, count, field, out)
    }

    pub(super) fn read<T: Absent, const N: usize>(
        values: &mut [T; N],
        count: &mut u32,
        field: &'static str,
        from: &mut CdrReader<'_>,
    ) -> Read
    where
        W: Wire<T>,
    {
        Parallel::<W>::read(values, count, field, from)
    }
}

/// Resets the elements behind the count after all sequences of a [`Parallel`] group are read.
pub(super) struct Trimmed;

impl Trimmed {
    pub(super) const fn write<T, const N: usize>(_: &[T; N], _: &u32) {}

    pub(super) fn read<T: Absent, const N: usize>(values: &mut [T; N], count: &u32) {
        values.iter_mut().skip(*count as usize).for_each(|element| *element = T::NONE);
    }
}

/// The data behind a header, as a sequence of bytes.
pub(super) struct Tail;

impl Tail {
    pub(super) fn write(data: &&[u8], field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        let (found, limit) = (data.len(), u32::MAX as usize);
        let too_long = CdrWriteError::TooLong { field, found, limit, of: "bytes" };
        out.u32(u32::try_from(found).map_err(|_| too_long)?);
        out.bytes(data);
        Ok(())
    }

    pub(super) fn read<'a>(data: &mut &'a [u8], _: &'static str, from: &mut CdrReader<'a>) -> Read {
        let count = from.count(1)?;
        *data = from.bytes(count)?;
        Ok(())
    }
}

/// A number that only the horus message has; it is computed when read.
pub(super) struct Implied;

impl Implied {
    pub(super) const fn write<T: Copy>(_: &T, _: T) {}

    pub(super) fn read<T>(place: &mut T, value: T) {
        *place = value;
    }
}

/// A double that only the ROS type has: written as 0, and any other value is an error.
pub(super) struct Zero;

impl Zero {
    pub(super) fn write(_: &'static str, out: &mut CdrWriter<'_>) -> Written {
        out.f64(0.0);
        Ok(())
    }

    pub(super) fn read(field: &'static str, from: &mut CdrReader<'_>) -> Read {
        match from.f64()? {
            0.0 => Ok(()),
            found => Err(CdrError::NoPlace { at: from.at(), field, found: format!("{found:?}") }),
        }
    }
}

/// The number types of a point cloud, at the index that `sensor_msgs/PointField` gives them.
const DATATYPES: [Option<DType>; 9] = [
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

/// The code of a [`DType`], numbered as in `sensor_msgs/PointField`.
pub(super) enum datatype {}

impl Wire<u8> for datatype {
    const BYTES_MIN: usize = 1;

    fn write(value: &u8, field: &'static str, out: &mut CdrWriter<'_>) -> Written {
        let dtype = DType::from_code(*value);
        let known = DATATYPES.iter().position(|known| known.is_some() && *known == dtype);
        let name = || dtype.map_or(Cow::Owned(value.to_string()), |dtype| dtype.name().into());
        let no_place = || CdrWriteError::NoPlace { field, found: name().into_owned() };
        out.u8(known.ok_or_else(no_place)? as u8);
        Ok(())
    }

    fn read(value: &mut u8, field: &'static str, from: &mut CdrReader<'_>) -> Read {
        let code = from.u8()?;
        let dtype = DATATYPES.get(usize::from(code)).copied().flatten();
        let no_place = || CdrError::NoPlace { at: from.at(), field, found: code.to_string() };
        *value = dtype.ok_or_else(no_place)?.code();
        Ok(())
    }
}
