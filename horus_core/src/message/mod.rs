//! Messages: plain data with a compile-time table of its fields, declared by [`message!`], and the
//! standard messages.
//!
//! If ROS 2 has a corresponding type, a standard message has the same names, units and order of
//! fields. The fixed size of messages requires some differences, which are the same in all
//! messages:
//!
//! * `timestamp_ns` comes first in every message that is sent by itself, in nanoseconds by
//!   CLOCK_REALTIME. Types called `…Stamped`, and types whose meaning depends on a frame, contain
//!   the name of that frame.
//! * A vector is `[f64; 3]`, a quaternion `[f64; 4]` as x, y, z, w. Covariances are row-major. A
//!   covariance of zeros means unknown; −1 as the first element means not provided.
//! * A list is a count and an array of `…_MAX` elements, with a method that returns the used part
//!   and limits the count to the length of the array. Text is [`Text`]. A flag is a `u8` of 0 or 1,
//!   an enumeration a `u8` with constants.
//! * There is no padding. Where alignment requires it, there is a field `_reserved`, which is 0.
//! * The values of [`Default`] are valid: quaternions are the identity, covariances are unknown or
//!   not provided, and velocities are 0. Constructors set the timestamp to the current time.
//!
//! [`STANDARD`] lists the standard messages, and [`export`] writes their layouts for other
//! languages. [`import`] reads messages from the `.msg` files of ROS.
//!
//! [`message!`]: crate::message!

#[macro_use]
mod layout;
#[macro_use]
mod standard;

mod declare;
mod describe;
mod doc;
mod dtype;
pub mod export;
mod framed;
pub mod import;
mod schema;
mod text;

use std::any::TypeId;
use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use horus_shm::clock;

macro_rules! export {
    ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
        $(pub use standard::$domain::{$($name),+};)+
    };
}
standard_messages!(export);

pub use bytemuck::{Pod, Zeroable};
#[doc(hidden)]
pub use declare::type_of;
pub use describe::{DESCRIBED_BYTES_PER_BYTE, FieldError, Layout, LayoutError};
pub use dtype::{DType, Element};
pub(crate) use dtype::{bf16_to_f32, f16_to_f32, f32_to_f64, f64_to_f32};
pub use framed::{
    ArrayLayout, AudioFrame, AudioFrameHeader, Buffer, Bytes, BytesHeader, CompressedImage,
    CompressedImageHeader, CostMap, CostMapHeader, DepthImage, DepthImageHeader, Encoding,
    FRAMED_KINDS, FieldView, Framed, FramedKind, FramedLoan, FramedSample, Grid, Header,
    HeaderError, Image, ImageHeader, Joint, JointStateArray, JointStateArrayHeader, LidarScan,
    LidarScanHeader, LoanedData, LogLine, LogLineHeader, MapMetaData, OccupancyGrid,
    OccupancyGridHeader, POINT_FIELDS_MAX, PointCloud, PointCloudHeader, PointField, Raster,
    SampleData, SchedulerStatus, SchedulerStatusHeader, SegmentationMask, SegmentationMaskHeader,
    TENSOR_DIMENSIONS_MAX, Tensor, TensorError, TensorHeader, TooLarge, ViewError,
};
pub use schema::{
    ARRAY_NESTING_MAX, FieldShape, ParsedField, ParsedSchema, ParsedTail, SCHEMA_TEXT_BYTES_MAX,
    SchemaDifference, SchemaTextError, first_difference, fnv1a_128,
};
pub use standard::control::JOINTS_MAX;
pub use standard::diagnostics::DIAGNOSTIC_VALUES_MAX;
pub use standard::geometry::{FRAME_ID_BYTES, FrameId};
pub use standard::input::{JOYSTICK_AXES_MAX, JOYSTICK_BUTTONS_MAX};
pub use standard::navigation::NAV_PATH_WAYPOINTS_MAX;
pub use standard::perception::DISTORTION_MAX;
pub use standard::scheduling::NODE_METRICS_BUCKETS;
pub use standard::sensor::{BATTERY_CELLS_MAX, LASER_RANGES_MAX, TAXELS_MAX};
#[cfg(feature = "glam")]
pub use standard::transform::{NotARotation, TransformError};
pub use standard::{Domain, STANDARD, STANDARD_DOMAINS, standard_default, standard_default_of};
pub use text::{Text, TextTooLong};

/// Plain data of a fixed size that may cross a process boundary, with a table of its fields.
///
/// [`message!`](crate::message!) declares such a type and proves at compile time that the table is
/// correct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not declared with `message!`",
    note = "declare it as `horus_core::message! {{ pub struct Name {{ pub field: f64 }} }}`",
    note = "or carry anything that implements serde's traits as `Serde<{Self}>`"
)]
pub trait Message: Pod + Send + Sync + 'static {
    /// The description of the message type: its name, size, alignment and fields.
    const SCHEMA: Schema;

    /// The hash of the schema's canonical text. It is the same in Rust, C++ and Python.
    const HASH: u128 = Self::SCHEMA.hash();

    /// Returns the message whose fields have their default values, or 0 if they have none. Fields
    /// that are messages have the defaults of these. For the standard messages, these are the
    /// values of [`Default`]. If a publisher's message has fewer fields, a subscriber takes the
    /// missing ones from this message.
    #[must_use]
    fn defaults() -> Self {
        let mut message = Self::zeroed();
        if let Some(bytes) = Self::default_bytes() {
            bytemuck::bytes_of_mut(&mut message).copy_from_slice(&bytes);
        }
        message
    }

    /// Returns the bytes of [`Self::defaults`]; `None` if all are 0. WHY bytes: a large message
    /// does not fit on the stack.
    #[doc(hidden)]
    #[must_use]
    fn default_bytes() -> Option<Box<[u8]>> {
        None
    }
}

/// Returns the bytes of [`Message::defaults`]; `None` if all are 0. For a standard message, these
/// are the bytes of its [`Default`]. For other messages, `set_fields` sets those fields that have
/// defaults.
#[doc(hidden)]
pub fn build_default_bytes<M: Message>(
    set_fields: impl FnOnce(&mut Option<Box<[u8]>>),
) -> Option<Box<[u8]>> {
    if let Some(name) = standard::standard_type_name(TypeId::of::<M>()) {
        return standard_default(name).filter(|bytes| bytes.iter().any(|byte| *byte != 0));
    }
    let mut bytes = None;
    set_fields(&mut bytes);
    bytes
}

/// Sets the default value of the field at `offset` in the bytes of a message of type `M`. The first
/// call allocates the bytes; all other bytes are then 0.
#[doc(hidden)]
pub fn set_default<M: Message, T: Pod>(bytes: &mut Option<Box<[u8]>>, offset: usize, value: T) {
    let bytes = bytes.get_or_insert_with(|| vec![0; size_of::<M>()].into());
    bytes[offset..offset + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
}

/// Sets the field at `offset`, of the type `T`, to the defaults of the messages that it consists
/// of, as [`set_default`] does. Does nothing if it consists of numbers or texts.
#[doc(hidden)]
pub fn set_nested_defaults<M: Message, T: FieldType>(bytes: &mut Option<Box<[u8]>>, offset: usize) {
    let Some(element) = T::element_default_bytes() else {
        return;
    };
    let bytes = bytes.get_or_insert_with(|| vec![0; size_of::<M>()].into());
    for each in bytes[offset..offset + size_of::<T>()].chunks_exact_mut(element.len()) {
        each.copy_from_slice(&element);
    }
}

/// A message's name, size, alignment and fields, in order of their offsets.
///
/// A schema does not depend on the module or crate that declares the message. Declarations of the
/// same message in several languages and programs therefore have equal schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The name of the struct without its path, such as `CmdVel`.
    pub name: &'static str,
    /// Size of the message in bytes. For a message of variable length, the size without its
    /// trailing data.
    pub size: usize,
    /// Alignment of the message in bytes.
    pub align: usize,
    /// The fields in order of their offsets. There are no gaps between them.
    pub fields: &'static [Field],
    /// The numbers that follow the fields in a message of variable length; `None` for a fixed size.
    pub tail: Option<Tail>,
    /// The doc comment of the struct in its declaration. It is not part of the schema text or the
    /// hash.
    pub doc: &'static str,
    /// The constants, in order of declaration. They are not part of the schema text or the hash.
    pub constants: &'static [Constant],
}

impl Schema {
    /// Returns this schema with the given doc comment and constants in place of its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_docs(mut self, doc: &'static str, constants: &'static [Constant]) -> Self {
        self.doc = doc;
        self.constants = constants;
        self
    }
}

/// The data at the end of a message of variable length: numbers of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The name of the trailing data, such as `data` or `text`.
    pub name: &'static str,
    /// The type of each trailing number.
    pub primitive: Primitive,
}

/// A constant of a message: a named value for one of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    /// The name of the constant, such as `MODE_POSITION`.
    pub name: &'static str,
    /// The type of the constant, which is an integer.
    pub kind: Primitive,
    /// The value of the constant, in the range of its type.
    pub value: i128,
    /// The doc comment of the constant in its declaration.
    pub doc: &'static str,
}

impl Constant {
    /// Returns the description of a constant of type `T`, for the table of a message.
    #[doc(hidden)]
    #[must_use]
    pub const fn of<T: Integer>(name: &'static str, value: i128, doc: &'static str) -> Self {
        let FieldKind::Primitive(kind) = T::KIND else {
            panic!("an integer is a primitive")
        };
        Self {
            name: schema::name_without_raw_prefix(name),
            kind,
            value,
            doc,
        }
    }
}

/// The types that a message's constants may have: all integer types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a constant of a message",
    note = "constants are u8 to u64 or i8 to i64"
)]
pub trait Integer: FieldType {}

macro_rules! integers {
    ($($type:ident)+) => { $(impl Integer for $type {})+ };
}

integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// The description of one field of a message, in its [`Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name of the field, without the `r#` of a raw identifier.
    pub name: &'static str,
    /// The type of one element of the field.
    pub kind: FieldKind,
    /// Offset of the first element from the start of the struct, in bytes.
    pub offset: usize,
    /// Number of elements: 1, or all elements of an array of any number of dimensions.
    pub count: usize,
    /// The doc comment of the field in its declaration. It is not part of the schema text or the
    /// hash.
    pub doc: &'static str,
}

impl Field {
    /// Returns the description of a field of type `T`, for the table of a message. `name` may be a
    /// raw identifier such as `r#type`.
    #[doc(hidden)]
    #[must_use]
    pub const fn of<T: FieldType>(name: &'static str, offset: usize, doc: &'static str) -> Self {
        Self {
            name: schema::name_without_raw_prefix(name),
            kind: T::KIND,
            offset,
            count: T::ELEMENT_COUNT,
            doc,
        }
    }
}

/// The type of one element of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// The element is a number.
    Primitive(Primitive),
    /// A [`Text`] of this many bytes; a schema text writes it as `char` with that count.
    Text(usize),
    /// The element is another message, which is stored in place.
    Message(&'static Schema),
}

impl FieldKind {
    /// Returns the size of one element in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::Text(bytes) => bytes,
            Self::Message(schema) => schema.size,
        }
    }

    const fn align(self) -> usize {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::Text(_) => 1,
            Self::Message(schema) => schema.align,
        }
    }
}

/// The types that a field of a message may have. Only `message!` implements this trait for further
/// types.
///
/// They are integers and floats of a fixed width, [`Text`], other messages, and arrays of these
/// types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a message",
    label = "not plain data of a fixed size in every language",
    note = "fields are u8 to u64, i8 to i64, f32, f64, `Text<N>`, `message!` structs, and arrays",
    note = "write a flag or an enumeration as `u8`, a length as `u32` or `u64`, text as `Text<N>`"
)]
pub trait FieldType: Pod {
    /// The type of one element of the field.
    #[doc(hidden)]
    const KIND: FieldKind;
    /// Number of elements of the field.
    #[doc(hidden)]
    const ELEMENT_COUNT: usize;

    /// Returns the default bytes of one element of the field, if it is a message; `None` if all are
    /// 0.
    #[doc(hidden)]
    #[must_use]
    fn element_default_bytes() -> Option<Box<[u8]>> {
        None
    }
}

impl<T: FieldType, const N: usize> FieldType for [T; N] {
    const KIND: FieldKind = T::KIND;
    const ELEMENT_COUNT: usize = N * T::ELEMENT_COUNT;

    fn element_default_bytes() -> Option<Box<[u8]>> {
        T::element_default_bytes()
    }
}

macro_rules! primitives {
    ($($variant:ident $type:ident $doc:literal),+) => {
        /// The number types, which have the same representation in Rust, C++ and Python.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Primitive {
            $(#[doc = $doc] $variant,)+
            /// A byte of a [`Text`]: UTF-8, padded with NUL.
            Char,
        }

        impl Primitive {
            /// All number types.
            pub const ALL: &[Self] = &[$(Self::$variant,)+ Self::Char];

            /// Returns the name of the number type in schema texts, such as `u16`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($type),)+ Self::Char => "char" }
            }

            /// Returns the size of the number type in bytes, which is also its alignment.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$variant => size_of::<$type>(),)+ Self::Char => 1 }
            }
        }

        $(impl FieldType for $type {
            const KIND: FieldKind = FieldKind::Primitive(Primitive::$variant);
            const ELEMENT_COUNT: usize = 1;
        })+
    };
}

primitives! {
    U8 u8 "8 bits, unsigned.", U16 u16 "16 bits, unsigned.",
    U32 u32 "32 bits, unsigned.", U64 u64 "64 bits, unsigned.",
    I8 i8 "8 bits, two's complement.", I16 i16 "16 bits, two's complement.",
    I32 i32 "32 bits, two's complement.", I64 i64 "64 bits, two's complement.",
    F32 f32 "IEEE 754 single precision.", F64 f64 "IEEE 754 double precision."
}

/// Returns the time of CLOCK_REALTIME, in nanoseconds since the epoch. Messages carry this time in
/// `timestamp_ns`.
///
/// Use it to date data. Do not measure durations with it, because this clock can be set. Returns 0
/// before 1970, and the simulated time in a simulated run.
#[must_use]
pub fn timestamp_now_ns() -> u64 {
    if let Some(simulated) = SIMULATED_TIME_NS.get() {
        return simulated;
    }
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the time of CLOCK_MONOTONIC, in nanoseconds. Messages carry this time in `monotonic_ns`.
///
/// This clock cannot be set. It therefore shows which of two messages from this machine is the
/// later one. Returns 0, which means unknown, in a simulated run.
#[must_use]
pub fn monotonic_now_ns() -> u64 {
    match SIMULATED_TIME_NS.get() {
        Some(_) => 0,
        None => clock::Clock::kernel().now_ns(),
    }
}

/// Returns the present times of CLOCK_REALTIME and CLOCK_MONOTONIC, in nanoseconds. In a simulated
/// run, both are the simulated time.
pub(crate) fn clocks_now_ns() -> (u64, u64) {
    if let Some(simulated) = SIMULATED_TIME_NS.get() {
        return (simulated, simulated);
    }
    // WHY several: the thread may lose its CPU between two clocks.
    let samples = (0..4).map(|_| {
        let before_ns = clock::Clock::kernel().now_ns();
        let timestamp_ns = timestamp_now_ns();
        let took_ns = clock::Clock::kernel().now_ns() - before_ns;
        (took_ns, timestamp_ns, before_ns)
    });
    let (_, timestamp_ns, monotonic_ns) = samples.min().unwrap_or_default();
    (timestamp_ns, monotonic_ns)
}

thread_local! {
    /// The simulated time of this thread, in nanoseconds; `None` if the thread uses the real
    /// clocks.
    static SIMULATED_TIME_NS: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Sets the simulated time of this thread, which then stamps all its messages. `None` switches back
/// to the real clocks.
pub(crate) fn simulate_time(timestamp_ns: Option<u64>) {
    SIMULATED_TIME_NS.set(timestamp_ns);
}

/// Limits `count`, which another process wrote, to `max`: the length of the array whose elements it
/// counts.
fn clamp_count(count: u32, max: usize) -> usize {
    usize::try_from(count).map_or(max, |count| count.min(max))
}
