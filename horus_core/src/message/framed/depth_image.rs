//! Depth images: the distance of each pixel.

use super::raster::{raster, rows_columns_and_channels, unpadded_row_bytes};
use super::{ArrayLayout, Encoding, Framed, Header, Raster, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// The header of a [`DepthImage`] (REP-118): rows of depths along the optical axis, top row
    /// first.
    #[derive(Default)]
    pub struct DepthImageHeader {
        /// Start of the exposure, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of rows: count.
        pub height: u32,
        /// Number of columns: count.
        pub width: u32,
        /// Stride from one row to the next: bytes.
        pub step: u32,
        /// Length that a depth of 1 in the data stands for, 0.001 for millimetres: metres.
        pub unit: f32,
        /// Smallest valid depth: metres.
        pub range_min: f32,
        /// Largest valid depth: metres.
        pub range_max: f32,
        /// `16UC1` or `32FC1` (REP-118), in the byte order of the machine: text.
        pub encoding: Text<16>,
        /// Optical frame of the camera (z forward, x right, y down): text.
        pub frame_id: FrameId,
        /// Reserved, 0: no unit.
        pub _reserved: [u64; 6],
    }
}
layout! {
    DepthImageHeader = 128 {
        timestamp_ns: 0, height: 8, width: 12, step: 16, unit: 20, range_min: 24, range_max: 28,
        encoding: 32, frame_id: 48, _reserved: 80,
    }
}

/// An image of depths: the distance of each pixel along the optical axis, as in REP-118 of ROS.
///
/// The depths are integers or floats. A pixel without a measurement is 0 as an integer, and NaN as
/// a float.
///
/// ```
/// use horus_core::message::{DepthImage, DepthImageHeader};
///
/// let mut depth = DepthImage::zeroed(DepthImageHeader::millimetres(2, 1))?;
/// depth.data_as_mut::<u16>()?[1] = 1500;
/// assert_eq!(depth.metres(0, 0), None);
/// assert!((depth.metres(1, 0).unwrap() - 1.5).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type DepthImage<D = super::Buffer> = Framed<DepthImageHeader, D>;

impl DepthImageHeader {
    /// Returns the header of an image of 16-bit millimetres without padding, stamped with the
    /// current time.
    #[must_use]
    pub fn millimetres(width: u32, height: u32) -> Self {
        Self::from_encoding(Encoding::TYPE_16UC1, 0.001, width, height)
    }

    /// Returns the header of an image of 32-bit floats in metres without padding, stamped with the
    /// current time.
    #[must_use]
    pub fn metres(width: u32, height: u32) -> Self {
        Self::from_encoding(Encoding::TYPE_32FC1, 1.0, width, height)
    }

    fn from_encoding(encoding: Encoding, unit: f32, width: u32, height: u32) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            height,
            width,
            step: width.saturating_mul(encoding.pixel_bytes() as u32),
            unit,
            range_max: f32::INFINITY,
            encoding: encoding.text(),
            ..Self::default()
        }
    }

    /// Sets the smallest and largest depth that the camera can measure, in metres.
    #[must_use]
    pub const fn with_range(mut self, min: f32, max: f32) -> Self {
        (self.range_min, self.range_max) = (min, max);
        self
    }

    /// Sets the name of the camera's coordinate frame.
    #[must_use]
    pub const fn in_frame(mut self, frame_id: FrameId) -> Self {
        self.frame_id = frame_id;
        self
    }

    fn dtype(&self) -> Option<DType> {
        let encoding = Encoding::from_name(self.encoding.as_str())?;
        let known = [Encoding::TYPE_16UC1, Encoding::MONO16, Encoding::TYPE_32FC1];
        known.contains(&encoding).then(|| encoding.dtype())
    }
}

impl<D: AsRef<[u8]>> Framed<DepthImageHeader, D> {
    /// Returns the depth of a pixel in metres. Returns `None` for a pixel outside the image, and if
    /// the depth is not valid.
    pub fn metres(&self, x: u32, y: u32) -> Option<f32> {
        let pixel = self.pixel(x, y)?;
        let raw = match self.dtype()? {
            DType::U16 => f32::from(u16::from_ne_bytes(pixel.try_into().ok()?)),
            _ => f32::from_ne_bytes(pixel.try_into().ok()?),
        };
        let depth = raw * self.unit;
        let is_valid = raw > 0.0 && (self.range_min..=self.range_max).contains(&depth);
        (is_valid && depth.is_finite()).then_some(depth)
    }
}

impl Header for DepthImageHeader {
    const NAME: &str = "DepthImage";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 2 * 1024 * 1024;

    fn data_bytes(&self) -> u64 {
        self.rows_bytes()
    }

    fn validate(&self) -> Result<(), String> {
        let encoding = self.encoding.as_str();
        self.dtype()
            .ok_or_else(|| format!("its encoding is '{encoding}', not 16UC1 or 32FC1"))?;
        self.check_rows()
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        Some(self.pixel_layout(self.dtype()?, 1))
    }

    fn fill_computed_fields(&mut self) {
        if let (0, Some(pixel)) = (self.step, self.pixel_bytes()) {
            self.step = unpadded_row_bytes(self.width, pixel);
        }
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused =
            || array_error_text(Self::NAME, "rows and columns of u16 or f32", dtype, shape);
        let (height, width, _) = rows_columns_and_channels(shape)
            .filter(|pixels| pixels.2 == 1)
            .ok_or_else(refused)?;
        let of = match dtype {
            DType::U16 => Self::millimetres(width, height),
            DType::F32 => Self::metres(width, height),
            _ => return Err(refused()),
        };
        (self.height, self.width, self.step) = (height, width, of.step);
        self.encoding = of.encoding;
        if self.unit == 0.0 {
            self.unit = of.unit;
        }
        if self.range_max == 0.0 {
            self.range_max = of.range_max;
        }
        Ok(())
    }
}

raster! { DepthImageHeader, |header| header.dtype().map(DType::size) }
