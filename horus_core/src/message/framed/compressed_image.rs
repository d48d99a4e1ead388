//! Compressed images.

use super::{Framed, Header, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// The header of a [`CompressedImage`], after `sensor_msgs/CompressedImage`: the output of a
    /// codec.
    #[derive(Default)]
    pub struct CompressedImageHeader {
        /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Length of the compressed data that follow: bytes.
        pub bytes: u64,
        /// The codec, such as `jpeg` or `png`, or ROS's longer form `rgb8; jpeg compressed bgr8`:
        /// text.
        pub format: Text<64>,
        /// Optical frame of the camera (z forward, x right, y down): text.
        pub frame_id: FrameId,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 16],
    }
}
layout! {
    CompressedImageHeader = 128 {
        timestamp_ns: 0, bytes: 8, format: 16, frame_id: 80, _reserved: 112,
    }
}

/// A compressed image, like `sensor_msgs/CompressedImage`.
///
/// If the length is unknown before the codec has finished, loan a slot for the longest one. Then
/// write the true length into the header: the message is published with that length.
///
/// ```no_run
/// use horus_core::message::{CompressedImage, CompressedImageHeader, Text};
/// use horus_core::prelude::*;
///
/// # fn compress(_: &mut [u8]) -> usize { 0 }
/// # fn main() -> horus_core::Result<()> {
/// let mut camera: Publisher<CompressedImage> = Publisher::new("camera/jpeg")?;
/// let header = CompressedImageHeader::new(Text::literal("jpeg"), 500_000);
/// let mut image = camera.loan(header)?;
/// let bytes = compress(image.data_mut());
/// image.header_mut().bytes = bytes as u64;
/// image.publish()?;
/// # Ok(())
/// # }
/// ```
pub type CompressedImage<D = super::Buffer> = Framed<CompressedImageHeader, D>;

impl CompressedImageHeader {
    /// Returns the header of an image whose compressed data have `bytes` bytes and this format. It
    /// is stamped with the current time.
    #[must_use]
    pub fn new(format: Text<64>, bytes: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            bytes,
            format,
            ..Self::default()
        }
    }
}

impl Header for CompressedImageHeader {
    const NAME: &str = "CompressedImage";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        self.bytes
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        match *shape {
            [bytes] if dtype == DType::U8 => self.bytes = bytes,
            _ => return Err(array_error_text(Self::NAME, "u8 in a row", dtype, shape)),
        }
        Ok(())
    }
}
