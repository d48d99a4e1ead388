//! A table of the message types of variable length, for language bindings that know message types
//! only at run time.

use super::counted_tail::CountedTail;
use super::{
    ArrayLayout, AudioFrameHeader, BytesHeader, CompressedImageHeader, CostMapHeader,
    DepthImageHeader, Framed, Header, HeaderError, ImageHeader, JointStateArrayHeader,
    LidarScanHeader, LogLineHeader, OccupancyGridHeader, PointCloudHeader, SchedulerStatusHeader,
    SegmentationMaskHeader, TensorHeader, checked_data_bytes,
};
use crate::message::{DType, Schema};
use crate::topic::DynamicType;

/// A message type of variable length that is chosen at run time. Its methods take headers as bytes.
/// The number of bytes must be the `size` in [`schema`](Self::schema).
///
/// ```
/// use horus_core::message::{DType, FRAMED_KINDS};
///
/// let image = FRAMED_KINDS.iter().find(|kind| kind.schema().name == "Image").unwrap();
/// let mut header = image.default_header();
/// image.reshape(&mut header, DType::U8, &[480, 640, 3])?;
/// assert_eq!(image.data_bytes(&header), Ok(480 * 640 * 3));
/// let array = image.array_layout(&header, 480 * 640 * 3).unwrap();
/// assert_eq!(array.strides(), [640 * 3, 3, 1]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FramedKind {
    schema: &'static Schema,
    form: HeaderInterpretation,
}

/// The way in which a header is interpreted.
#[derive(Debug, Clone, Copy)]
enum HeaderInterpretation {
    /// The header is a type of this crate; its [`Header`] implementation interprets it.
    Typed(HeaderFunctions),
    /// Only the schema is known: one field of the header counts the numbers after the header.
    Counted(CountedTail),
}

#[derive(Debug, Clone, Copy)]
struct HeaderFunctions {
    payload: fn() -> DynamicType,
    default_header: fn() -> Box<[u8]>,
    data_bytes: fn(&[u8]) -> Result<usize, HeaderError>,
    array_layout: fn(&[u8]) -> Option<ArrayLayout>,
    fill_computed_fields: fn(&mut [u8]),
    reshape: fn(&mut [u8], DType, &[u64]) -> Result<(), String>,
}

impl FramedKind {
    const fn new<H: Header + Default>() -> Self {
        Self {
            schema: &Framed::<H>::SCHEMA,
            form: HeaderInterpretation::Typed(HeaderFunctions {
                payload: DynamicType::of::<Framed<H>>,
                default_header: || bytemuck::bytes_of(&H::default()).into(),
                data_bytes: |header| checked_data_bytes(&header_from_bytes::<H>(header)),
                array_layout: |header| header_from_bytes::<H>(header).array_layout(),
                fill_computed_fields: |header| {
                    let _ = update_header::<H>(header, |header| {
                        header.fill_computed_fields();
                        Ok(())
                    });
                },
                reshape: |header, dtype, shape| {
                    update_header::<H>(header, |header| header.reshape(dtype, shape))
                },
            }),
        }
    }

    /// Returns the kind of messages that have this schema, which may be known only at run time. In
    /// such messages, numbers follow the header, and one field of the header contains how many.
    /// `count` is the name of that field.
    ///
    /// ```
    /// use horus_core::message::{Framed, FramedKind, Header, LidarScanHeader};
    ///
    /// let scan = FramedKind::counted(&Framed::<LidarScanHeader>::SCHEMA, "count")?;
    /// let header = bytemuck::bytes_of(&LidarScanHeader::new(3)).to_vec();
    /// assert_eq!(scan.data_bytes(&header), Ok(12));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A text with the reason: the schema has no trailing data, or the header has no unsigned
    /// integer field of this name.
    pub fn counted(schema: &'static Schema, count: &str) -> Result<Self, String> {
        Ok(Self {
            schema,
            form: HeaderInterpretation::Counted(CountedTail::new(schema, count)?),
        })
    }

    /// Returns true if the type was made by [`counted`](Self::counted), so that a field of its
    /// header counts the trailing numbers.
    #[must_use]
    pub const fn is_counted(&self) -> bool {
        matches!(self.form, HeaderInterpretation::Counted(_))
    }

    /// Returns the schema of the whole message: the header's fields, then the data.
    #[must_use]
    pub const fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// Returns the description of this type that endpoints need to open a topic with its messages.
    #[must_use]
    pub fn payload(&self) -> DynamicType {
        match self.form {
            HeaderInterpretation::Typed(header) => (header.payload)(),
            HeaderInterpretation::Counted(_) => {
                DynamicType::parse(&self.schema.text()).expect("the text of a schema is canonical")
            }
        }
    }

    /// Returns the header with its default values, which announces no data. For a
    /// [`counted`](Self::counted) type, all its bytes are 0.
    #[must_use]
    pub fn default_header(&self) -> Box<[u8]> {
        match self.form {
            HeaderInterpretation::Typed(header) => (header.default_header)(),
            HeaderInterpretation::Counted(_) => vec![0; self.schema.size].into(),
        }
    }

    /// Returns the number of data bytes that an untrusted header announces.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if the header contradicts itself, or announces more data than a message can
    /// have.
    ///
    /// # Panics
    ///
    /// If the number of bytes of `header` is not the size of a header. The other methods that take
    /// a header panic in this case, too.
    pub fn data_bytes(&self, header: &[u8]) -> Result<usize, HeaderError> {
        match self.form {
            HeaderInterpretation::Typed(functions) => (functions.data_bytes)(header),
            HeaderInterpretation::Counted(tail) => tail.data_bytes(self.schema.name, header),
        }
    }

    /// Returns the array layout of the `data_bytes` bytes that follow this header. Returns `None`
    /// if they are not an array, or too few for it.
    #[must_use]
    pub fn array_layout(&self, header: &[u8], data_bytes: usize) -> Option<ArrayLayout> {
        let layout = match self.form {
            HeaderInterpretation::Typed(functions) => (functions.array_layout)(header),
            HeaderInterpretation::Counted(tail) => Some(tail.array_layout(header)),
        };
        layout.filter(|array| array.extent_bytes() <= data_bytes as u64)
    }

    /// Sets those fields of a header that can be computed from others, as
    /// [`Header::fill_computed_fields`] does. Does nothing for a [`counted`](Self::counted) type.
    pub fn fill_computed_fields(&self, header: &mut [u8]) {
        match self.form {
            HeaderInterpretation::Typed(functions) => (functions.fill_computed_fields)(header),
            HeaderInterpretation::Counted(_) => {}
        }
    }

    /// Makes a header describe an array, as [`Header::reshape`] does. For a
    /// [`counted`](Self::counted) type, sets the field that counts the elements.
    ///
    /// # Errors
    ///
    /// Returns a text with the reason why the message cannot hold the array.
    pub fn reshape(&self, header: &mut [u8], dtype: DType, shape: &[u64]) -> Result<(), String> {
        match self.form {
            HeaderInterpretation::Typed(functions) => (functions.reshape)(header, dtype, shape),
            HeaderInterpretation::Counted(tail) => {
                tail.reshape(self.schema.name, header, (dtype, shape))
            }
        }
    }
}

fn header_from_bytes<H: Header>(header: &[u8]) -> H {
    bytemuck::pod_read_unaligned(header)
}

fn update_header<H: Header>(
    bytes: &mut [u8],
    change: impl FnOnce(&mut H) -> Result<(), String>,
) -> Result<(), String> {
    let mut header = header_from_bytes::<H>(bytes);
    change(&mut header)?;
    bytes.copy_from_slice(bytemuck::bytes_of(&header));
    Ok(())
}

/// The kinds of all standard messages of variable length.
pub const FRAMED_KINDS: &[FramedKind] = &[
    FramedKind::new::<ImageHeader>(),
    FramedKind::new::<DepthImageHeader>(),
    FramedKind::new::<CompressedImageHeader>(),
    FramedKind::new::<SegmentationMaskHeader>(),
    FramedKind::new::<PointCloudHeader>(),
    FramedKind::new::<TensorHeader>(),
    FramedKind::new::<OccupancyGridHeader>(),
    FramedKind::new::<CostMapHeader>(),
    FramedKind::new::<AudioFrameHeader>(),
    FramedKind::new::<BytesHeader>(),
    FramedKind::new::<SchedulerStatusHeader>(),
    FramedKind::new::<LidarScanHeader>(),
    FramedKind::new::<JointStateArrayHeader>(),
    FramedKind::new::<LogLineHeader>(),
];
