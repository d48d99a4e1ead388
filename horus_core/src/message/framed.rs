//! Messages of variable length: a header and its data, such as images, point clouds and tensors.

mod array;
mod audio_frame;
mod buffer;
mod bytes;
mod compressed_image;
mod counted_tail;
mod depth_image;
mod encoding;
mod grid;
mod image;
mod joint_state_array;
mod kind;
mod lidar_scan;
mod log_line;
mod point_cloud;
mod raster;
mod scheduler_status;
mod segmentation_mask;
mod tensor;
mod too_large;

use std::fmt;
use std::ops::Deref;

use horus_shm::internals::layout::STRIDE_MAX;
use horus_shm::{RawLoan, RawSample, TypeInfo};

pub use array::ArrayLayout;
pub use audio_frame::{AudioFrame, AudioFrameHeader};
pub use buffer::Buffer;
pub use bytes::{Bytes, BytesHeader};
pub use compressed_image::{CompressedImage, CompressedImageHeader};
pub use depth_image::{DepthImage, DepthImageHeader};
pub use encoding::Encoding;
pub use grid::{CostMap, CostMapHeader, Grid, MapMetaData, OccupancyGrid, OccupancyGridHeader};
pub use image::{Image, ImageHeader};
pub use joint_state_array::{Joint, JointStateArray, JointStateArrayHeader};
pub use kind::{FRAMED_KINDS, FramedKind};
pub use lidar_scan::{LidarScan, LidarScanHeader};
pub use log_line::{LogLine, LogLineHeader};
pub use point_cloud::{FieldView, POINT_FIELDS_MAX, PointCloud, PointCloudHeader, PointField};
pub use raster::Raster;
pub use scheduler_status::{SchedulerStatus, SchedulerStatusHeader};
pub use segmentation_mask::{SegmentationMask, SegmentationMaskHeader};
pub use tensor::{TENSOR_DIMENSIONS_MAX, Tensor, TensorError, TensorHeader};
pub use too_large::TooLarge;

use super::{DType, Message, Schema, Tail};
use crate::topic::error::{SendError, TopicLabel, WriteError};
use crate::topic::{Encoded, encoded_payload, published_ns};

/// The fixed part of a message of variable length. It describes the data that follow it.
///
/// ```
/// use horus_core::message::{Header, Primitive, Tail};
///
/// horus_core::message! {
///     /// Echoes of one ping.
///     pub struct SonarHeader {
///         /// Send time, by CLOCK_REALTIME: nanoseconds.
///         pub timestamp_ns: u64,
///         /// Number of echoes that follow: count.
///         pub echoes: u64,
///     }
/// }
///
/// impl Header for SonarHeader {
///     const NAME: &str = "Sonar";
///     const TRAILING_DATA: Tail = Tail { name: "strengths", primitive: Primitive::F32 };
///     const MAX_MESSAGE_BYTES: u64 = 64 * 1024;
///
///     fn data_bytes(&self) -> u64 {
///         self.echoes.saturating_mul(4)
///     }
/// }
/// ```
pub trait Header: Message + fmt::Debug + PartialEq {
    /// The name of the whole message (header and data), such as `Image`.
    const NAME: &'static str;
    /// The name of the data that follow the header, and the type of the numbers of which the data
    /// consist.
    const TRAILING_DATA: Tail;
    /// Initial capacity of a publisher's slots: the size in bytes of the longest message that fits,
    /// header included. The slots grow when the publisher sends a longer message.
    const MAX_MESSAGE_BYTES: u64;

    /// Returns the number of data bytes that must follow this header; `u64::MAX` on overflow.
    fn data_bytes(&self) -> u64;

    /// Checks that the header is consistent. Its bytes may come from any process.
    ///
    /// # Errors
    ///
    /// A description of the contradiction in the header.
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the layout of the data as an array of numbers, or `None` if the data are not such an
    /// array. The default implementation returns one dimension of contiguous numbers.
    fn array_layout(&self) -> Option<ArrayLayout> {
        let dtype = DType::from_primitive(Self::TRAILING_DATA.primitive)?;
        let size = dtype.size() as u64;
        Some(ArrayLayout::new(dtype, &[(self.data_bytes() / size, size)]))
    }

    /// Sets those fields that are 0 and can be computed from the other fields, such as the step of
    /// an image. The default implementation does nothing.
    fn fill_computed_fields(&mut self) {}

    /// Makes the header describe a row-major array of this type and shape, and leaves other fields
    /// unchanged. The default implementation refuses every array.
    ///
    /// # Errors
    ///
    /// A text with the reason why this message cannot hold the array. The contents of the header
    /// are then unspecified.
    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        Err(array_error_text(Self::NAME, "fields only", dtype, shape))
    }

    /// Returns the size in bytes of a whole message with this header: the header and its data.
    fn message_bytes(&self) -> u64 {
        self.data_bytes().saturating_add(size_of::<Self>() as u64)
    }
}

/// A message of variable length: a header and its data.
///
/// The data are in an owned [`Buffer`], in a loaned slot ([`FramedLoan`]) or in a borrowed slot
/// ([`FramedSample`]). The fields of the header can be read directly: `image.width`.
#[derive(Clone)]
pub struct Framed<H, D = Buffer> {
    header: H,
    data: D,
}

/// A message that is written in place, in the slot that its subscribers will read.
pub type FramedLoan<'a, H> = Framed<H, LoanedData<'a>>;

/// A message that is read in place. Its publisher does not overwrite the slot while this value
/// lives.
pub type FramedSample<H> = Framed<H, SampleData>;

impl<H: Header> Framed<H> {
    /// The schema of the whole message: the header's fields, then the data.
    pub const SCHEMA: Schema = H::SCHEMA.framed(H::NAME, H::TRAILING_DATA);

    /// Allocates a message with this header and zeroed data.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if the header contradicts itself, or announces more data than fit in a
    /// message of 64 MiB.
    pub fn zeroed(header: H) -> Result<Self, HeaderError> {
        let bytes = checked_data_bytes(&header)?;
        Ok(Self {
            header,
            data: Buffer::zeroed(bytes),
        })
    }

    /// Makes a message from a header and a copy of the data.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if the header contradicts itself, or announces a number of bytes that
    /// differs from the length of `data`.
    pub fn new(header: H, data: &[u8]) -> Result<Self, HeaderError> {
        match checked_data_bytes(&header)? {
            bytes if bytes == data.len() => Ok(Self {
                header,
                data: data.into(),
            }),
            wanted => Err(HeaderError::Length {
                message: H::NAME,
                found: data.len(),
                wanted,
            }),
        }
    }
}

impl<H: Header> Framed<H> {
    /// Makes a message from a header and a copy of these elements, which are numbers or plain
    /// structs of numbers.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new).
    pub fn from_elements<T: bytemuck::Pod>(header: H, elements: &[T]) -> Result<Self, HeaderError> {
        Self::new(header, bytemuck::cast_slice(elements))
    }
}

impl<H: Header, D: AsRef<[u8]>> Framed<H, D> {
    /// Returns the header of the message.
    pub const fn header(&self) -> &H {
        &self.header
    }

    /// Returns the data. Their length is what the header announced when this value was made.
    pub fn data(&self) -> &[u8] {
        self.data.as_ref()
    }

    /// Returns the data as a slice of numbers, or of plain structs of numbers.
    ///
    /// # Errors
    ///
    /// [`ViewError`] if the length of the data is not a multiple of the size of `T`, or if their
    /// address is not aligned for `T`.
    pub fn data_as<T: bytemuck::Pod>(&self) -> Result<&[T], ViewError> {
        bytemuck::try_cast_slice(self.data()).map_err(|_| ViewError::for_type::<T>(self.data()))
    }

    /// Checks that the header is consistent, and that the message has exactly as many data bytes as
    /// the header announces.
    pub(crate) fn check_length(&self) -> Result<(), HeaderError> {
        match (checked_data_bytes(&self.header)?, self.data().len()) {
            (wanted, found) if wanted == found => Ok(()),
            (wanted, found) => Err(HeaderError::Length {
                message: H::NAME,
                found,
                wanted,
            }),
        }
    }

    /// Returns a copy of the message with an owned buffer. Allocates memory.
    #[must_use]
    pub fn copied(&self) -> Framed<H> {
        Framed {
            header: self.header,
            data: self.data().into(),
        }
    }
}

impl<H: Header, D: AsRef<[u8]> + AsMut<[u8]>> Framed<H, D> {
    /// Returns a mutable reference to the header. The header may announce fewer data than the
    /// message has, but not more: then the message cannot be published.
    pub const fn header_mut(&mut self) -> &mut H {
        &mut self.header
    }

    /// Returns the data bytes of the message, for writing.
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.data.as_mut()
    }

    /// Returns the data as a mutable slice of numbers, or of plain structs of numbers.
    ///
    /// # Errors
    ///
    /// The errors of [`data_as`](Self::data_as).
    pub fn data_as_mut<T: bytemuck::Pod>(&mut self) -> Result<&mut [T], ViewError> {
        let error = ViewError::for_type::<T>(self.data());
        bytemuck::try_cast_slice_mut(self.data.as_mut()).map_err(|_| error)
    }
}

impl<H, D> Deref for Framed<H, D> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.header
    }
}

impl<H: PartialEq, D: AsRef<[u8]>, E: AsRef<[u8]>> PartialEq<Framed<H, E>> for Framed<H, D> {
    fn eq(&self, other: &Framed<H, E>) -> bool {
        self.header == other.header && self.data.as_ref() == other.data.as_ref()
    }
}

impl<H: fmt::Debug, D: AsRef<[u8]>> fmt::Debug for Framed<H, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.data.as_ref().len();
        f.debug_struct("Framed")
            .field("header", &self.header)
            .field("data_bytes", &bytes)
            .finish()
    }
}

/// The data of a loaned message, which is written in place in shared memory.
#[derive(Debug)]
pub struct LoanedData<'a> {
    loan: RawLoan<'a>,
    start: usize,
    bytes: usize,
}

impl AsRef<[u8]> for LoanedData<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.loan.bytes()[self.start..][..self.bytes]
    }
}

impl AsMut<[u8]> for LoanedData<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.loan.bytes_mut()[self.start..][..self.bytes]
    }
}

impl<'a, H: Header> FramedLoan<'a, H> {
    /// Makes a message in a loaned slot, which must have room for a message with this header.
    pub(crate) fn from_loan(header: H, loan: RawLoan<'a>) -> Self {
        let room = loan.capacity_bytes() - size_of::<H>();
        let bytes = usize::try_from(header.data_bytes()).map_or(room, |bytes| bytes.min(room));
        Self {
            header,
            data: LoanedData {
                loan,
                start: size_of::<H>(),
                bytes,
            },
        }
    }

    /// Returns the label that identifies the topic in errors.
    pub(crate) fn topic_label(&self) -> TopicLabel {
        self.data.loan.label()
    }

    /// Publishes the message. It does not block, and copies only the header.
    ///
    /// If the header now announces fewer data than at the time of the loan, the published message
    /// is shorter.
    ///
    /// # Errors
    ///
    /// [`SendError::Forked`], [`SendError::RegionLost`]; [`SendError::Unencodable`] if the header
    /// contradicts itself, or announces more data than the loan has.
    pub fn publish(self) -> Result<(), SendError<()>> {
        let Self {
            header,
            data:
                LoanedData {
                    mut loan,
                    start,
                    bytes: lent,
                },
        } = self;
        let found = checked_data_bytes(&header).and_then(|bytes| match bytes {
            bytes if bytes <= lent => Ok(bytes),
            wanted => Err(HeaderError::Length {
                message: H::NAME,
                found: lent,
                wanted,
            }),
        });
        let refused = |error| WriteError::from(error).into_send_error(loan.label(), 0);
        let bytes = found.map_err(refused)?;
        loan.bytes_mut()[..start].copy_from_slice(bytemuck::bytes_of(&header));
        loan.publish(start + bytes)
    }
}

/// The data of a borrowed message, which is read in place in shared memory.
#[derive(Debug)]
pub struct SampleData {
    sample: RawSample,
    start: usize,
    bytes: usize,
}

impl AsRef<[u8]> for SampleData {
    fn as_ref(&self) -> &[u8] {
        &self.sample.bytes()[self.start..][..self.bytes]
    }
}

impl<H: Header> FramedSample<H> {
    /// Returns the message in a borrowed slot, or `None` if the slot does not contain a valid
    /// message.
    pub(crate) fn from_sample(sample: RawSample) -> Option<Self> {
        // WHY: the header is copied because it is checked once and must not change after that.
        let (header, bytes) = read_header::<H>(sample.bytes())?;
        Some(Self {
            header,
            data: SampleData {
                sample,
                start: size_of::<H>(),
                bytes,
            },
        })
    }

    /// Returns the sequence number of the message. Each publisher's lane counts its messages,
    /// starting at 1.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.data.sample.sequence()
    }
}

impl<H: Header> Encoded for Framed<H> {
    fn type_info() -> TypeInfo {
        let text = Self::SCHEMA.text();
        let growth = Schema::parse(&text).map(|schema| schema.field_prefixes());
        TypeInfo {
            name: H::NAME.into(),
            schema: text.into(),
            hash: const { Self::SCHEMA.hash() }.to_be_bytes(),
            bytes: H::MAX_MESSAGE_BYTES,
            // WHY: if the header is a multiple of a cache line, the data of a slot begin on a cache
            // line.
            align: 64,
            sized: true,
            growth: growth.unwrap_or_default(),
        }
    }

    fn encode(&self, slot: &mut [u8]) -> Result<usize, WriteError> {
        self.check_length()?;
        let start = size_of::<H>();
        let bytes = start + self.data().len();
        let slot = slot.get_mut(..bytes).ok_or(WriteError::TooLong {
            bytes: bytes as u64,
        })?;
        slot[..start].copy_from_slice(bytemuck::bytes_of(&self.header));
        slot[start..].copy_from_slice(self.data());
        Ok(bytes)
    }

    fn decode(buffer: &mut Buffer, bytes: usize) -> Option<Self> {
        let (header, data) = read_header::<H>(buffer.as_ref().get(..bytes)?)?;
        let start = size_of::<H>();
        Some(Self {
            header,
            data: buffer.take_range(start..start + data),
        })
    }

    fn default_bytes() -> Option<Box<[u8]>> {
        <H as Message>::default_bytes()
    }

    fn published_ns(bytes: &[u8]) -> u64 {
        published_ns::<H>(bytes)
    }
}

encoded_payload!([H: Header] Framed<H>);

/// Returns the error text for an array that cannot be the data of a message. `wanted` describes the
/// arrays that the message accepts.
fn array_error_text(message: &str, wanted: &str, dtype: DType, shape: &[u64]) -> String {
    format!("an array of {dtype} of the shape {shape:?} is no {message}: that takes {wanted}")
}

/// Reads the header of a message from the message's bytes. Returns the header and the number of
/// data bytes after it; `None` if the header is not valid.
fn read_header<H: Header>(message: &[u8]) -> Option<(H, usize)> {
    let (header, data) = message.split_at_checked(size_of::<H>())?;
    let header = bytemuck::pod_read_unaligned::<H>(header);
    let bytes = checked_data_bytes(&header).ok()?;
    (bytes <= data.len()).then_some((header, bytes))
}

fn checked_data_bytes<H: Header>(header: &H) -> Result<usize, HeaderError> {
    header
        .validate()
        .map_err(|reason| HeaderError::Inconsistent {
            message: H::NAME,
            reason,
        })?;
    let bytes = header.data_bytes();
    // WHY: an allocation that fails would abort the program.
    let fits = usize::try_from(bytes).ok().filter(|_| bytes <= STRIDE_MAX);
    fits.ok_or(HeaderError::TooLong {
        message: H::NAME,
        bytes,
    })
}

/// The reason why a header and some data do not form a valid message.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The fields of the header contradict each other.
    #[error("the header of the {message} contradicts itself: {reason}")]
    Inconsistent {
        /// Name of the message type, such as `Image`.
        message: &'static str,
        /// A description of the contradiction in the header.
        reason: String,
    },
    /// The number of data bytes that the header announces differs from the number of those present.
    #[error("the header of the {message} announces {wanted} bytes of data, but there are {found}")]
    Length {
        /// Name of the message type, such as `Image`.
        message: &'static str,
        /// Number of data bytes that are present.
        found: usize,
        /// Number of data bytes that the header announces.
        wanted: usize,
    },
    /// The header announces more data than fit in a message of 64 MiB.
    #[error(
        "the header of the {message} announces {bytes} bytes of data, but a message has fewer than \
         {STRIDE_MAX}"
    )]
    TooLong {
        /// Name of the message type, such as `Image`.
        message: &'static str,
        /// Number of data bytes that the header announces.
        bytes: u64,
    },
}

impl From<HeaderError> for WriteError {
    fn from(error: HeaderError) -> Self {
        Self::Unencodable {
            reason: error.to_string(),
        }
    }
}

/// The data cannot be viewed as a slice of the requested type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the data have {bytes} bytes and an alignment of {found_align}, so they cannot be viewed as \
     {wanted}, which has {size} bytes and an alignment of {align}"
)]
#[non_exhaustive]
pub struct ViewError {
    /// The name of the requested type.
    pub wanted: &'static str,
    /// Size of the requested type, in bytes.
    pub size: usize,
    /// Alignment of the requested type, in bytes.
    pub align: usize,
    /// Number of data bytes that are present.
    pub bytes: usize,
    /// The largest power of two, at most 64, that divides the address of the data.
    pub found_align: usize,
}

impl ViewError {
    fn for_type<T>(data: &[u8]) -> Self {
        let zeros = data.as_ptr().addr().trailing_zeros().min(6);
        Self {
            wanted: std::any::type_name::<T>(),
            size: size_of::<T>(),
            align: align_of::<T>(),
            bytes: data.len(),
            found_align: 1 << zeros,
        }
    }
}
