//! Rows of pixels or cells: what images, depth images and masks have in common.

use super::{ArrayLayout, Framed, Header};
use crate::message::DType;

/// The fixed part of a message whose data are rows of the same length, the top one first.
pub trait Raster: Header {
    /// Pixels in a row.
    fn width(&self) -> u32;

    /// Rows.
    fn height(&self) -> u32;

    /// Bytes from one row to the next.
    fn step(&self) -> u32;

    /// Bytes of a pixel, if this program knows.
    fn pixel_bytes(&self) -> Option<usize>;

    /// Pixels as an array: rows, columns and, if there are several, channels of this type.
    fn pixels(&self, dtype: DType, channels: u64) -> ArrayLayout {
        let size = dtype.size() as u64;
        let rows = (self.height().into(), self.step().into());
        let columns = (self.width().into(), channels * size);
        match channels {
            1 => ArrayLayout::new(dtype, &[rows, columns]),
            _ => ArrayLayout::new(dtype, &[rows, columns, (channels, size)]),
        }
    }

    /// Bytes of all rows.
    fn rows_bytes(&self) -> u64 {
        u64::from(self.step()) * u64::from(self.height())
    }

    /// Whether a row has room for its pixels.
    ///
    /// # Errors
    ///
    /// What is wrong.
    fn check_rows(&self) -> Result<(), String> {
        let Some(pixel) = self.pixel_bytes() else { return Ok(()) };
        let (width, step) = (self.width(), self.step());
        match u64::from(width) * pixel as u64 {
            row if row > u64::from(step) && self.height() > 0 => {
                Err(format!("rows are {step} bytes apart, and {width} pixels need {row}"))
            }
            _ => Ok(()),
        }
    }
}

/// Rows, columns and channels of an array that is to be rows of pixels, if it can be.
pub(super) fn pixels_of(shape: &[u64]) -> Option<(u32, u32, u64)> {
    let (height, width, channels) = match *shape {
        [height, width] => (height, width, 1),
        [height, width, channels] => (height, width, channels),
        _ => return None,
    };
    Some((height.try_into().ok()?, width.try_into().ok()?, channels))
}

/// Bytes from one row to the next where there is no padding; saturates.
pub(super) fn packed(width: u32, pixel_bytes: usize) -> u32 {
    u32::try_from(u64::from(width) * pixel_bytes as u64).unwrap_or(u32::MAX)
}

/// Implements [`Raster`] for a header with the fields `width`, `height` and `step`, and the size of
/// a pixel that a closure says.
macro_rules! raster {
    ($header:ident, $pixel_bytes:expr) => {
        impl $crate::message::Raster for $header {
            fn width(&self) -> u32 {
                self.width
            }

            fn height(&self) -> u32 {
                self.height
            }

            fn step(&self) -> u32 {
                self.step
            }

            fn pixel_bytes(&self) -> Option<usize> {
                let pixel_bytes: fn(&Self) -> Option<usize> = $pixel_bytes;
                pixel_bytes(self)
            }
        }
    };
}
pub(super) use raster;

impl<H: Raster, D: AsRef<[u8]>> Framed<H, D> {
    /// The pixels of row `y`, counted from the top, without the padding behind them; all of the
    /// row where the size of a pixel is not known. `None` below the last one.
    pub fn row(&self, y: u32) -> Option<&[u8]> {
        let (start, bytes) = self.row_span(y)?;
        self.data().get(start..start + bytes)
    }

    /// The rows, as [`row`](Self::row) gives them.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.height()).map_while(|y| self.row(y))
    }

    /// The bytes of the pixel in column `x` of row `y`; `None` outside, and where the size of a
    /// pixel is not known.
    pub fn pixel(&self, x: u32, y: u32) -> Option<&[u8]> {
        let (start, bytes) = self.pixel_span(x)?;
        self.row(y)?.get(start..start + bytes)
    }

    /// Whether no padding follows the rows.
    pub fn is_contiguous(&self) -> bool {
        let row = self.row_span(0).map_or(0, |(_, bytes)| bytes);
        row == self.step() as usize || self.height() < 2
    }

    fn row_span(&self, y: u32) -> Option<(usize, usize)> {
        let step = self.step() as usize;
        let row = self.pixel_bytes().map_or(step, |pixel| pixel * self.width() as usize);
        (y < self.height()).then(|| (step * y as usize, row))
    }

    fn pixel_span(&self, x: u32) -> Option<(usize, usize)> {
        let pixel = self.pixel_bytes()?;
        (x < self.width()).then(|| (pixel * x as usize, pixel))
    }
}

impl<H: Raster, D: AsRef<[u8]> + AsMut<[u8]>> Framed<H, D> {
    /// The pixels of row `y`, to be written.
    pub fn row_mut(&mut self, y: u32) -> Option<&mut [u8]> {
        let (start, bytes) = self.row_span(y)?;
        self.data_mut().get_mut(start..start + bytes)
    }

    /// The bytes of a pixel, to be written.
    pub fn pixel_mut(&mut self, x: u32, y: u32) -> Option<&mut [u8]> {
        let (start, bytes) = self.pixel_span(x)?;
        self.row_mut(y)?.get_mut(start..start + bytes)
    }
}
