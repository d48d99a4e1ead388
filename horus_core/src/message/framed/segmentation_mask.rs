//! Segmentation masks: the class of each pixel.

use super::raster::{raster, rows_columns_and_channels};
use super::{ArrayLayout, Framed, Header, Raster, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, timestamp_now_ns};

crate::message! {
    /// The header of a [`SegmentationMask`]: rows of class numbers, a byte for each pixel, top row
    /// first.
    #[derive(Default)]
    pub struct SegmentationMaskHeader {
        /// Time at which the segmented image was taken, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of rows: count.
        pub height: u32,
        /// Number of columns: count.
        pub width: u32,
        /// Stride from one row to the next: bytes.
        pub step: u32,
        /// Number of classes, which are numbered from 0: count.
        pub class_count: u32,
        /// Optical frame of the camera (z forward, x right, y down): text.
        pub frame_id: FrameId,
        /// Reserved, 0: no unit.
        pub _reserved: u64,
    }
}
layout! {
    SegmentationMaskHeader = 64 {
        timestamp_ns: 0, height: 8, width: 12, step: 16, class_count: 20, frame_id: 24,
        _reserved: 56,
    }
}

/// The class number of each pixel of an image, one byte each, like the `mono8` images that
/// segmentation nodes of ROS publish. By convention 0 is the background.
pub type SegmentationMask<D = super::Buffer> = Framed<SegmentationMaskHeader, D>;

impl SegmentationMaskHeader {
    /// Returns the header of a mask without padding, stamped with the current time.
    #[must_use]
    pub fn new(width: u32, height: u32, class_count: u32) -> Self {
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            height,
            width,
            step: width,
            class_count,
            ..Self::default()
        }
    }

    /// Sets the name of the camera's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }
}

impl<D: AsRef<[u8]>> Framed<SegmentationMaskHeader, D> {
    /// Returns the class number of the pixel in column `x` of row `y`; `None` for a pixel outside
    /// the mask.
    pub fn class(&self, x: u32, y: u32) -> Option<u8> {
        self.pixel(x, y).map(|pixel| pixel[0])
    }
}

impl Header for SegmentationMaskHeader {
    const NAME: &str = "SegmentationMask";
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
        Some(self.pixel_layout(DType::U8, 1))
    }

    fn fill_computed_fields(&mut self) {
        if self.step == 0 {
            self.step = self.width;
        }
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let pixels =
            rows_columns_and_channels(shape).filter(|pixels| pixels.2 == 1 && dtype == DType::U8);
        let refused = || array_error_text(Self::NAME, "rows and columns of u8", dtype, shape);
        let (height, width, _) = pixels.ok_or_else(refused)?;
        (self.height, self.width, self.step) = (height, width, width);
        Ok(())
    }
}

raster! { SegmentationMaskHeader, |_| Some(1) }
