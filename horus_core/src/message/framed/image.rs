//! Images: rows of pixels.

use super::raster::{raster, rows_columns_and_channels, unpadded_row_bytes};
use super::{ArrayLayout, Encoding, Framed, Header, Raster, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, Text, timestamp_now_ns};

/// True if this program is compiled for a big-endian machine.
const IS_MACHINE_BIG_ENDIAN: bool = cfg!(target_endian = "big");

crate::message! {
    /// The header of an [`Image`], after `sensor_msgs/Image`: rows of pixels, top row first.
    #[derive(Default)]
    pub struct ImageHeader {
        /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of rows: count.
        pub height: u32,
        /// Number of columns: count.
        pub width: u32,
        /// Stride from one row to the next: bytes.
        pub step: u32,
        /// 1 if channels of several bytes are big-endian, else 0: no unit.
        pub is_bigendian: u8,
        /// Reserved, 0: no unit.
        pub _reserved0: [u8; 3],
        /// Name of the pixel format, as in ROS, see [`Encoding`]: text.
        pub encoding: Text<16>,
        /// Optical frame of the camera (z forward, x right, y down): text.
        pub frame_id: FrameId,
        /// Reserved, 0: no unit.
        pub _reserved1: [u64; 7],
    }
}
layout! {
    ImageHeader = 128 {
        timestamp_ns: 0, height: 8, width: 12, step: 16, is_bigendian: 20, _reserved0: 21,
        encoding: 24, frame_id: 40, _reserved1: 72,
    }
}

/// An uncompressed image, like `sensor_msgs/Image`: top row first, left pixel first.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::message::{Encoding, Image, ImageHeader};
/// use horus_core::prelude::*;
///
/// let mut camera: Publisher<Image> = Publisher::new("camera/rgb")?;
/// let mut viewer: Subscriber<Image> = Subscriber::new("camera/rgb")?;
///
/// // Written in shared memory …
/// let mut image = camera.loan(ImageHeader::new(640, 480, Encoding::RGB8))?;
/// image.data_mut().fill(0);
/// image.pixel_mut(320, 240).unwrap().copy_from_slice(&[255, 0, 0]);
/// image.publish()?;
///
/// // … and read there.
/// let image = viewer.borrow()?.expect("an image was published");
/// assert_eq!((image.width, image.height), (640, 480));
/// assert_eq!(image.pixel(320, 240), Some(&[255, 0, 0][..]));
/// # Ok(())
/// # }
/// ```
pub type Image<D = super::Buffer> = Framed<ImageHeader, D>;

impl ImageHeader {
    /// Returns the header of an image without padding, stamped with the current time. `step`
    /// saturates on overflow.
    #[must_use]
    pub fn new(width: u32, height: u32, encoding: Encoding) -> Self {
        let step = width.saturating_mul(encoding.pixel_bytes() as u32);
        Self {
            encoding: encoding.text(),
            ..Self::default()
        }
        .with_size(width, height, step)
    }

    /// Sets the name of the camera's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }

    /// Sets the distance from the start of one row to the start of the next, in bytes.
    #[must_use]
    pub const fn with_step(mut self, step: u32) -> Self {
        self.step = step;
        self
    }

    fn with_size(self, width: u32, height: u32, step: u32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            width,
            height,
            step,
            ..self
        }
    }

    /// Returns the pixel format; `None` if this version of the library does not know the format's
    /// name.
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding> {
        Encoding::from_name(self.encoding.as_str())
    }
}

impl Header for ImageHeader {
    const NAME: &str = "Image";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        self.rows_bytes()
    }

    fn validate(&self) -> Result<(), String> {
        self.check_rows()
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        let Some(encoding) = self.encoding() else {
            // WHY: if the encoding is unknown, a row is an array of bytes.
            let rows = (self.height.into(), self.step.into());
            return Some(ArrayLayout::new(DType::U8, &[rows, (self.step.into(), 1)]));
        };
        let in_order =
            encoding.dtype().size() == 1 || (self.is_bigendian != 0) == IS_MACHINE_BIG_ENDIAN;
        in_order.then(|| self.pixel_layout(encoding.dtype(), encoding.channels() as u64))
    }

    fn fill_computed_fields(&mut self) {
        if let (0, Some(pixel)) = (self.step, self.pixel_bytes()) {
            self.step = unpadded_row_bytes(self.width, pixel);
        }
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused = |wanted: &str| array_error_text(Self::NAME, wanted, dtype, shape);
        let (height, width, channels) = rows_columns_and_channels(shape)
            .ok_or_else(|| refused("rows, columns and perhaps channels"))?;
        let fits = |encoding: &&Encoding| {
            encoding.dtype() == dtype && encoding.channels() as u64 == channels
        };
        let encoding = match self.encoding() {
            Some(encoding) if fits(&&encoding) => encoding,
            _ if self.encoding.is_empty() => {
                let known = Encoding::SEARCHED_FIRST
                    .iter()
                    .chain(Encoding::ALL)
                    .find(fits);
                *known.ok_or_else(|| refused("an encoding that has such pixels"))?
            }
            _ => {
                let wanted = format!("other pixels where the encoding is '{}'", self.encoding);
                return Err(refused(&wanted));
            }
        };
        (self.height, self.width, self.encoding) = (height, width, encoding.text());
        self.step = unpadded_row_bytes(width, encoding.pixel_bytes());
        self.is_bigendian = IS_MACHINE_BIG_ENDIAN.into();
        Ok(())
    }
}

raster! { ImageHeader, |header| header.encoding().map(Encoding::pixel_bytes) }
