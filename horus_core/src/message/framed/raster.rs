//! Messages with rows of pixels: the common part of images, depth images and masks.

use super::{ArrayLayout, Framed, Header};
use crate::message::DType;

/// A header of a message whose data are rows of pixels, such as an image. All rows have the same
/// length, and the top row comes first.
pub trait Raster: Header {
    /// Returns the number of pixels in a row.
    fn width(&self) -> u32;

    /// Returns the number of rows.
    fn height(&self) -> u32;

    /// Returns the distance from the start of one row to the start of the next, in bytes.
    fn step(&self) -> u32;

    /// Returns the size of a pixel in bytes, or `None` if this program does not know it.
    fn pixel_bytes(&self) -> Option<usize>;

    /// Returns the layout of the pixels as an array. Its dimensions are row, column and, if there
    /// are several channels, channel. `dtype` is the type of a channel.
    fn pixel_layout(&self, dtype: DType, channels: u64) -> ArrayLayout {
        let size = dtype.size() as u64;
        let rows = (self.height().into(), self.step().into());
        let columns = (self.width().into(), channels * size);
        match channels {
            1 => ArrayLayout::new(dtype, &[rows, columns]),
            _ => ArrayLayout::new(dtype, &[rows, columns, (channels, size)]),
        }
    }

    /// Returns the total size of all rows in bytes, including their padding.
    fn rows_bytes(&self) -> u64 {
        u64::from(self.step()) * u64::from(self.height())
    }

    /// Checks that the stride between rows is large enough for the pixels of a row.
    fn check_rows(&self) -> Result<(), String> {
        let Some(pixel) = self.pixel_bytes() else {
            return Ok(());
        };
        let width = self.width();
        let step = self.step();
        match u64::from(width) * pixel as u64 {
            row if row > u64::from(step) && self.height() > 0 => Err(format!(
                "rows are {step} bytes apart, and {width} pixels need {row}"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the numbers of rows, columns and channels of an image whose pixels are an array of this
/// shape. Returns `None` if an array of pixels cannot have this shape.
pub(super) fn rows_columns_and_channels(shape: &[u64]) -> Option<(u32, u32, u64)> {
    let (height, width, channels) = match *shape {
        [height, width] => (height, width, 1),
        [height, width, channels] => (height, width, channels),
        _ => return None,
    };
    Some((height.try_into().ok()?, width.try_into().ok()?, channels))
}

/// Returns the stride in bytes from one row to the next, if rows have no padding. Saturates on
/// overflow.
pub(super) fn unpadded_row_bytes(width: u32, pixel_bytes: usize) -> u32 {
    u32::try_from(u64::from(width) * pixel_bytes as u64).unwrap_or(u32::MAX)
}

/// Implements [`Raster`] for a header with the fields `width`, `height` and `step`. The second
/// argument is a closure that returns the size of a pixel in bytes.
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
    /// Returns the pixels of row `y`, counted from the top, without padding. If the size of a pixel
    /// is unknown, returns the row with its padding. Returns `None` if there is no such row.
    pub fn row(&self, y: u32) -> Option<&[u8]> {
        let (start, bytes) = self.row_offset_and_bytes(y)?;
        self.data().get(start..start + bytes)
    }

    /// Returns an iterator over the rows, each as [`row`](Self::row) returns it.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.height()).map_while(|y| self.row(y))
    }

    /// Returns the bytes of the pixel in column `x` of row `y`. Returns `None` if there is no such
    /// pixel, or if the size of a pixel is unknown.
    pub fn pixel(&self, x: u32, y: u32) -> Option<&[u8]> {
        let (start, bytes) = self.pixel_offset_and_bytes(x)?;
        self.row(y)?.get(start..start + bytes)
    }

    /// Returns true if the rows follow each other without padding.
    pub fn is_contiguous(&self) -> bool {
        let row = self.row_offset_and_bytes(0).map_or(0, |(_, bytes)| bytes);
        row == self.step() as usize || self.height() < 2
    }

    fn row_offset_and_bytes(&self, y: u32) -> Option<(usize, usize)> {
        let step = self.step() as usize;
        let row = self
            .pixel_bytes()
            .map_or(step, |pixel| pixel * self.width() as usize);
        (y < self.height()).then(|| (step * y as usize, row))
    }

    fn pixel_offset_and_bytes(&self, x: u32) -> Option<(usize, usize)> {
        let pixel = self.pixel_bytes()?;
        (x < self.width()).then(|| (pixel * x as usize, pixel))
    }
}

impl<H: Raster, D: AsRef<[u8]> + AsMut<[u8]>> Framed<H, D> {
    /// Returns the pixels of row `y` as a mutable slice; `None` if there is no such row.
    pub fn row_mut(&mut self, y: u32) -> Option<&mut [u8]> {
        let (start, bytes) = self.row_offset_and_bytes(y)?;
        self.data_mut().get_mut(start..start + bytes)
    }

    /// Returns the bytes of the pixel in column `x` of row `y` as a mutable slice. Returns `None`
    /// in the same cases as [`pixel`](Self::pixel).
    pub fn pixel_mut(&mut self, x: u32, y: u32) -> Option<&mut [u8]> {
        let (start, bytes) = self.pixel_offset_and_bytes(x)?;
        self.row_mut(y)?.get_mut(start..start + bytes)
    }
}
