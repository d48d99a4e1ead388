//! Messages that end in as many data as they need: images, point clouds, tensors.

mod array;
mod audio_frame;
mod buffer;
mod bytes;
mod compressed_image;
mod depth_image;
mod encoding;
mod grid;
mod image;
mod kind;
mod point_cloud;
mod raster;
mod scheduler_status;
mod segmentation_mask;
mod tensor;

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
pub use kind::{FRAMED_KINDS, FramedKind};
pub use point_cloud::{FieldView, POINT_FIELDS_MAX, PointCloud, PointCloudHeader, PointField};
pub use raster::Raster;
pub use scheduler_status::{SchedulerStatus, SchedulerStatusHeader};
pub use segmentation_mask::{SegmentationMask, SegmentationMaskHeader};
pub use tensor::{TENSOR_DIMENSIONS_MAX, Tensor, TensorError, TensorHeader};

use super::{DType, Message, Schema, Tail};
use crate::topic::error::{SendError, TopicLabel, WriteError};
use crate::topic::{Encoded, encoded_payload, published_ns};

/// The fixed part of a message whose data follow it: what they are, and how many.
///
/// ```
/// use horus_core::message::{Header, Primitive, Tail};
///
/// horus_core::message! {
///     /// The echoes of one ping.
///     pub struct SonarHeader {
///         /// When it was sent: CLOCK_REALTIME, nanoseconds.
///         pub timestamp_ns: u64,
///         /// How many echoes follow.
///         pub echoes: u64,
///     }
/// }
///
/// impl Header for SonarHeader {
///     const NAME: &str = "Sonar";
///     const TAIL: Tail = Tail { name: "strengths", primitive: Primitive::F32 };
///     const MAX_MESSAGE_BYTES: u64 = 64 * 1024;
///
///     fn data_bytes(&self) -> u64 {
///         self.echoes.saturating_mul(4)
///     }
/// }
/// ```
pub trait Header: Message + fmt::Debug + PartialEq {
    /// Name of the whole message, as `Image`.
    const NAME: &'static str;
    /// What the data are.
    const TAIL: Tail;
    /// Bytes of the longest message of a topic whose creator says nothing else.
    const MAX_MESSAGE_BYTES: u64;

    /// How many bytes of data this header promises; `u64::MAX` where that overflows.
    fn data_bytes(&self) -> u64;

    /// Whether the header makes sense in itself. Anybody may have written it.
    ///
    /// # Errors
    ///
    /// What is wrong, for a person.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// How the data are an array of numbers, if they are one. By default they lie side by side.
    fn array(&self) -> Option<ArrayLayout> {
        let dtype = DType::of_primitive(Self::TAIL.primitive)?;
        let size = dtype.size() as u64;
        Some(ArrayLayout::new(dtype, &[(self.data_bytes() / size, size)]))
    }

    /// Fills in what follows from the rest and is 0 so far, as how far the rows of an image are
    /// apart. By default nothing does.
    fn complete(&mut self) {}

    /// Makes the header that of data which are a row-major array of this type and shape, and leaves
    /// the rest as it is. By default there is none.
    ///
    /// # Errors
    ///
    /// Why there is no such message; the header may hold anything then.
    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        Err(no_array(Self::NAME, "fields only", dtype, shape))
    }

    /// Bytes of a whole message with this header.
    fn message_bytes(&self) -> u64 {
        self.data_bytes().saturating_add(size_of::<Self>() as u64)
    }
}

/// A header and its data, which lie in a [`Buffer`] of their own, in a slot on loan
/// ([`FramedLoan`]) or in one that is borrowed ([`FramedSample`]).
///
/// The fields of the header can be read right here: `image.width`.
#[derive(Clone)]
pub struct Framed<H, D = Buffer> {
    header: H,
    data: D,
}

/// A message that is being written where its subscribers will read it.
pub type FramedLoan<'a, H> = Framed<H, LoanedData<'a>>;

/// A message that is read where it was written. Its publisher spares it while this value lives.
pub type FramedSample<H> = Framed<H, SampleData>;

impl<H: Header> Framed<H> {
    /// The whole message: the header's fields, then the data.
    pub const SCHEMA: Schema = H::SCHEMA.framed(H::NAME, H::TAIL);

    /// A message with this header and zeros as data. Allocates them.
    ///
    /// # Errors
    ///
    /// The header makes no sense, or promises more data than a message can have: 64 MiB.
    pub fn zeroed(header: H) -> Result<Self, HeaderError> {
        let bytes = checked_data_bytes(&header)?;
        Ok(Self { header, data: Buffer::zeroed(bytes) })
    }

    /// A message of these parts. Copies the data.
    ///
    /// # Errors
    ///
    /// The header makes no sense, or promises another amount of data.
    pub fn new(header: H, data: &[u8]) -> Result<Self, HeaderError> {
        match checked_data_bytes(&header)? {
            bytes if bytes == data.len() => Ok(Self { header, data: data.into() }),
            wanted => Err(HeaderError::Length { message: H::NAME, found: data.len(), wanted }),
        }
    }
}

impl<H: Header, D: AsRef<[u8]>> Framed<H, D> {
    /// The header.
    pub const fn header(&self) -> &H {
        &self.header
    }

    /// The data: as many bytes as the header promised when this was made.
    pub fn data(&self) -> &[u8] {
        self.data.as_ref()
    }

    /// The data as numbers of one type, or as plain structs of them.
    ///
    /// # Errors
    ///
    /// They are no whole number of those, or do not lie on a multiple of its alignment.
    pub fn data_as<T: bytemuck::Pod>(&self) -> Result<&[T], ViewError> {
        bytemuck::try_cast_slice(self.data()).map_err(|_| ViewError::of::<T>(self.data()))
    }

    /// Whether the header makes sense and promises the data that there are.
    pub(crate) fn check_length(&self) -> Result<(), HeaderError> {
        match (checked_data_bytes(&self.header)?, self.data().len()) {
            (wanted, found) if wanted == found => Ok(()),
            (wanted, found) => Err(HeaderError::Length { message: H::NAME, found, wanted }),
        }
    }

    /// A copy in memory of its own. Allocates.
    #[must_use]
    pub fn copied(&self) -> Framed<H> {
        Framed { header: self.header, data: self.data().into() }
    }
}

impl<H: Header, D: AsRef<[u8]> + AsMut<[u8]>> Framed<H, D> {
    /// The header, to be changed: what it promises then must be there when it is published.
    pub const fn header_mut(&mut self) -> &mut H {
        &mut self.header
    }

    /// The data.
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.data.as_mut()
    }

    /// The data as numbers of one type, or as plain structs of them.
    ///
    /// # Errors
    ///
    /// They are no whole number of those, or do not lie on a multiple of its alignment.
    pub fn data_as_mut<T: bytemuck::Pod>(&mut self) -> Result<&mut [T], ViewError> {
        let error = ViewError::of::<T>(self.data());
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
        f.debug_struct("Framed").field("header", &self.header).field("data_bytes", &bytes).finish()
    }
}

/// The data of a message on loan.
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
    /// A slot on loan, which has room for a message with this header.
    pub(crate) fn on_loan(header: H, loan: RawLoan<'a>) -> Self {
        let room = loan.capacity_bytes() - size_of::<H>();
        let bytes = usize::try_from(header.data_bytes()).map_or(room, |bytes| bytes.min(room));
        Self { header, data: LoanedData { loan, start: size_of::<H>(), bytes } }
    }

    /// Returns the label of the topic, for errors.
    pub(crate) fn label(&self) -> TopicLabel {
        self.data.loan.label()
    }

    /// Publishes the message. Does not block, and copies nothing but the header.
    ///
    /// A header that promises less than when the loan was made shortens the message.
    ///
    /// # Errors
    ///
    /// [`SendError::Forked`], [`SendError::RegionLost`]; [`SendError::Unencodable`] if the header
    /// makes no sense, or promises more data than were lent.
    pub fn publish(self) -> Result<(), SendError<()>> {
        let Self { header, data: LoanedData { mut loan, start, bytes: lent } } = self;
        let found = checked_data_bytes(&header).and_then(|bytes| match bytes {
            bytes if bytes <= lent => Ok(bytes),
            wanted => Err(HeaderError::Length { message: H::NAME, found: lent, wanted }),
        });
        let refused = |error| WriteError::from(error).refuses(loan.label(), 0);
        let bytes = found.map_err(refused)?;
        loan.bytes_mut()[..start].copy_from_slice(bytemuck::bytes_of(&header));
        Ok(loan.publish(start + bytes)?)
    }
}

/// The data of a message that is borrowed.
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
    /// The message in a slot that is borrowed, if there is one in it.
    pub(crate) fn in_place(sample: RawSample) -> Option<Self> {
        // WHY a copy of the header: it is checked once, and must not change after that.
        let (header, bytes) = read_header::<H>(sample.bytes())?;
        Some(Self { header, data: SampleData { sample, start: size_of::<H>(), bytes } })
    }

    /// Number of the message, counted by its publisher's lane from 1 on.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.data.sample.sequence()
    }
}

impl<H: Header> Encoded for Framed<H> {
    fn type_info() -> TypeInfo {
        TypeInfo {
            name: H::NAME.into(),
            schema: Self::SCHEMA.text().into(),
            hash: const { Self::SCHEMA.hash() }.to_be_bytes(),
            bytes: H::MAX_MESSAGE_BYTES,
            // The data of a slot then begin on a line if the header is a multiple of one.
            align: 64,
            sized: true,
        }
    }

    fn encode(&self, slot: &mut [u8]) -> Result<usize, WriteError> {
        self.check_length()?;
        let start = size_of::<H>();
        let bytes = start + self.data().len();
        let slot = slot.get_mut(..bytes).ok_or(WriteError::TooLong { bytes: bytes as u64 })?;
        slot[..start].copy_from_slice(bytemuck::bytes_of(&self.header));
        slot[start..].copy_from_slice(self.data());
        Ok(bytes)
    }

    fn decode(buffer: &mut Buffer, bytes: usize) -> Option<Self> {
        let (header, data) = read_header::<H>(buffer.as_ref().get(..bytes)?)?;
        let start = size_of::<H>();
        Some(Self { header, data: std::mem::take(buffer).narrow(start..start + data) })
    }

    fn published_ns(bytes: &[u8]) -> u64 {
        published_ns::<H>(bytes)
    }
}

encoded_payload!([H: Header] Framed<H>);

/// Why an array is not the data of a message, which has `wanted`.
fn no_array(message: &str, wanted: &str, dtype: DType, shape: &[u64]) -> String {
    format!("an array of {dtype} of the shape {shape:?} is no {message}: that takes {wanted}")
}

/// The header of a message and how many bytes of data follow it, if it makes sense and they do.
fn read_header<H: Header>(message: &[u8]) -> Option<(H, usize)> {
    let (header, data) = message.split_at_checked(size_of::<H>())?;
    let header = bytemuck::pod_read_unaligned::<H>(header);
    let bytes = checked_data_bytes(&header).ok()?;
    (bytes <= data.len()).then_some((header, bytes))
}

fn checked_data_bytes<H: Header>(header: &H) -> Result<usize, HeaderError> {
    header.check().map_err(|reason| HeaderError::Nonsense { message: H::NAME, reason })?;
    let bytes = header.data_bytes();
    // WHY: memory that cannot be had would end the program.
    let fits = usize::try_from(bytes).ok().filter(|_| bytes <= STRIDE_MAX);
    fits.ok_or(HeaderError::Endless { message: H::NAME, bytes })
}

/// Why a header and data are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The header contradicts itself.
    #[error("the header of the {message} makes no sense: {reason}")]
    Nonsense {
        /// Name of the message.
        message: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The header promises another amount of data than there is.
    #[error("the header of the {message} promises {wanted} bytes of data, and there are {found}")]
    Length {
        /// Name of the message.
        message: &'static str,
        /// Bytes that there are.
        found: usize,
        /// Bytes that are promised.
        wanted: usize,
    },
    /// No message can be that long.
    #[error(
        "the header of the {message} promises {bytes} bytes of data, and a message has fewer than \
         {STRIDE_MAX}"
    )]
    Endless {
        /// Name of the message.
        message: &'static str,
        /// Bytes that are promised.
        bytes: u64,
    },
}

impl From<HeaderError> for WriteError {
    fn from(error: HeaderError) -> Self {
        Self::Unencodable { reason: error.to_string() }
    }
}

/// The data cannot be seen as what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bytes} bytes of data at a multiple of {found_align} are no array of {wanted}, of {size} \
     bytes at multiples of {align}"
)]
#[non_exhaustive]
pub struct ViewError {
    /// What was asked for.
    pub wanted: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// Bytes that there are.
    pub bytes: usize,
    /// The power of two, at most 64, on a multiple of which they begin.
    pub found_align: usize,
}

impl ViewError {
    fn of<T>(data: &[u8]) -> Self {
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
