//! A table of the messages of variable length, for bindings that know their types only at run time.

use super::{
    ArrayLayout, AudioFrameHeader, BytesHeader, CompressedImageHeader, CostMapHeader,
    DepthImageHeader, Framed, Header, HeaderError, ImageHeader, OccupancyGridHeader,
    PointCloudHeader, SchedulerStatusHeader, SegmentationMaskHeader, TensorHeader,
    checked_data_bytes,
};
use crate::message::{DType, Schema};
use crate::topic::PayloadType;

/// One message type of variable length. Its methods take headers as bytes, exactly as many as
/// [`schema`](Self::schema) defines for the header.
///
/// ```
/// use horus_core::message::{DType, FRAMED_KINDS};
///
/// let image = FRAMED_KINDS.iter().find(|kind| kind.schema().name == "Image").unwrap();
/// let mut header = image.default_header();
/// image.reshape(&mut header, DType::U8, &[480, 640, 3])?;
/// assert_eq!(image.data_bytes(&header), Ok(480 * 640 * 3));
/// let array = image.array(&header, 480 * 640 * 3).unwrap();
/// assert_eq!(array.strides(), [640 * 3, 3, 1]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FramedKind {
    schema: &'static Schema,
    payload: fn() -> PayloadType,
    default_header: fn() -> Box<[u8]>,
    data_bytes: fn(&[u8]) -> Result<usize, HeaderError>,
    array: fn(&[u8]) -> Option<ArrayLayout>,
    complete: fn(&mut [u8]),
    reshape: fn(&mut [u8], DType, &[u64]) -> Result<(), String>,
}

impl FramedKind {
    const fn of<H: Header + Default>() -> Self {
        Self {
            schema: &Framed::<H>::SCHEMA,
            payload: PayloadType::of::<Framed<H>>,
            default_header: || bytemuck::bytes_of(&H::default()).into(),
            data_bytes: |header| checked_data_bytes(&read::<H>(header)),
            array: |header| read::<H>(header).array(),
            complete: |header| {
                let _ = change::<H>(header, |header| {
                    header.complete();
                    Ok(())
                });
            },
            reshape: |header, dtype, shape| {
                change::<H>(header, |header| header.reshape(dtype, shape))
            },
        }
    }

    /// Returns the schema of the whole message: the header's fields, then the data.
    #[must_use]
    pub const fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// Returns the payload type of a topic of these messages.
    #[must_use]
    pub fn payload(&self) -> PayloadType {
        (self.payload)()
    }

    /// Returns a header without data.
    #[must_use]
    pub fn default_header(&self) -> Box<[u8]> {
        (self.default_header)()
    }

    /// Returns the number of data bytes after a header of any origin.
    ///
    /// # Errors
    ///
    /// The header contradicts itself, or announces more data than a message can have.
    ///
    /// # Panics
    ///
    /// This method and those below panic if the header has the wrong number of bytes.
    pub fn data_bytes(&self, header: &[u8]) -> Result<usize, HeaderError> {
        (self.data_bytes)(header)
    }

    /// Returns the array layout of `data_bytes` bytes behind this header. It is `None` if they are
    /// not an array, or too few.
    #[must_use]
    pub fn array(&self, header: &[u8], data_bytes: usize) -> Option<ArrayLayout> {
        (self.array)(header).filter(|array| array.extent_bytes() <= data_bytes as u64)
    }

    /// Calls [`Header::complete`].
    pub fn complete(&self, header: &mut [u8]) {
        (self.complete)(header);
    }

    /// Calls [`Header::reshape`].
    ///
    /// # Errors
    ///
    /// As for that method; the header is unchanged then.
    pub fn reshape(&self, header: &mut [u8], dtype: DType, shape: &[u64]) -> Result<(), String> {
        (self.reshape)(header, dtype, shape)
    }
}

fn read<H: Header>(header: &[u8]) -> H {
    bytemuck::pod_read_unaligned(header)
}

fn change<H: Header>(
    bytes: &mut [u8],
    change: impl FnOnce(&mut H) -> Result<(), String>,
) -> Result<(), String> {
    let mut header = read::<H>(bytes);
    change(&mut header)?;
    bytes.copy_from_slice(bytemuck::bytes_of(&header));
    Ok(())
}

/// All standard messages of variable length.
pub const FRAMED_KINDS: &[FramedKind] = &[
    FramedKind::of::<ImageHeader>(),
    FramedKind::of::<DepthImageHeader>(),
    FramedKind::of::<CompressedImageHeader>(),
    FramedKind::of::<SegmentationMaskHeader>(),
    FramedKind::of::<PointCloudHeader>(),
    FramedKind::of::<TensorHeader>(),
    FramedKind::of::<OccupancyGridHeader>(),
    FramedKind::of::<CostMapHeader>(),
    FramedKind::of::<AudioFrameHeader>(),
    FramedKind::of::<BytesHeader>(),
    FramedKind::of::<SchedulerStatusHeader>(),
];
