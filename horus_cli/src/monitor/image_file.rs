//! Pictures: camera images as files that a browser can show. Uncompressed images are reduced to the
//! width that the page requests.

use horus_core::message::{DType, Encoding};
use horus_core::value::Value;

/// Maximum width and maximum height of a picture, in pixels.
pub(super) const PICTURE_SIDE_MAX: usize = 1280;

/// Total size of the two headers of a BMP file, in bytes.
const HEADER_BYTES: usize = 14 + 40;

/// The kinds of compressed images that are passed on: the first bytes of their files, and their
/// content types.
const COMPRESSED_FORMATS: [(&[u8], &str); 2] = [
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
];

/// A camera image as a file that a browser can show.
#[derive(Debug)]
pub(super) struct ImageFile {
    pub(super) content_type: &'static str,
    pub(super) file: Vec<u8>,
    /// A text about the original image for the page: its size and format, in ASCII.
    pub(super) description: String,
}

/// An uncompressed image in a message. It borrows the bytes of the message.
#[derive(Debug)]
struct RawImage<'a> {
    width: usize,
    height: usize,
    /// Number of bytes from the start of one row of pixels to the start of the next row.
    step: usize,
    encoding: Encoding,
    is_bigendian: bool,
    data: &'a [u8],
}

/// The way in which the bytes of a pixel encode its colour.
#[derive(Debug, Clone, Copy)]
enum PixelColors {
    /// Each colour has one byte. The values are the indices of the bytes of red, green and blue in
    /// a pixel.
    Bytes([usize; 3]),
    /// The pixel is one number, which is shown as grey. The lowest number in the image is black,
    /// and the highest is white.
    Number,
}

impl ImageFile {
    /// Returns the picture of the image in `message`. A compressed image is not changed; another
    /// one is reduced to a width of at most `width` pixels.
    ///
    /// # Errors
    ///
    /// A sentence that says which property of the image is not supported.
    pub(super) fn of(message: &Value, width: usize) -> Result<Self, String> {
        if message.get("format").is_some() && message.get("encoding").is_none() {
            return find_compressed(message);
        }
        let (file, description) = encode_bmp(message, width)?;
        Ok(Self {
            content_type: "image/bmp",
            file,
            description,
        })
    }
}

/// Returns the compressed image in `message`, unchanged.
///
/// WHY it detects the type of the image by the first bytes, and not by the name of the format in
/// the message: only these types may reach the browser, whatever the message contains.
fn find_compressed(message: &Value) -> Result<ImageFile, String> {
    let file = image_data(message).ok_or("the message is no image")?;
    let known = COMPRESSED_FORMATS
        .iter()
        .find(|(magic, _)| file.starts_with(magic));
    let (_, content_type) = known.ok_or("only JPEG and PNG are shown of compressed images")?;
    Ok(ImageFile {
        content_type,
        file: file.to_vec(),
        description: format!("{} bytes of {content_type}", file.len()),
    })
}

/// Returns the bytes of the image in a message, without the fields that describe the image; `None`
/// if the message has no such field.
fn image_data(message: &Value) -> Option<&[u8]> {
    match message.get("data")? {
        Value::Bytes(bytes) => Some(bytes),
        Value::Typed(array) => Some(array.bytes()),
        _ => None,
    }
}

/// Returns an image as a BMP file that is at most `width` pixels wide and high, and a description
/// of the original image.
fn encode_bmp(message: &Value, width: usize) -> Result<(Vec<u8>, String), String> {
    let image = RawImage::of(message)?;
    let description = format!("{}x{} {}", image.width, image.height, image.encoding);
    let colors = image.colors()?;
    let side = image.width.max(image.height);
    let wanted = width.clamp(1, PICTURE_SIDE_MAX);
    // Every n-th pixel of every n-th row.
    let every = side.div_ceil(wanted).max(1);
    let (columns, rows) = (image.width.div_ceil(every), image.height.div_ceil(every));
    let range = image.shown_value_range(colors, every);
    let row_bytes = (3 * columns).next_multiple_of(4);
    let mut file = bmp_header(columns, rows, row_bytes);
    // BMP begins with the last row.
    for row in (0..rows).rev() {
        for column in 0..columns {
            let pixel = image.pixel(column * every, row * every);
            let [red, green, blue] = match colors {
                PixelColors::Bytes(order) => order.map(|index| pixel[index]),
                PixelColors::Number => [image.pixel_grey(pixel, range); 3],
            };
            file.extend_from_slice(&[blue, green, red]);
        }
        file.resize(file.len() + row_bytes - 3 * columns, 0);
    }
    Ok((file, description))
}

impl<'a> RawImage<'a> {
    fn of(message: &'a Value) -> Result<Self, String> {
        let field = |name: &str| message.get(name).and_then(Value::as_u64);
        let size = |name: &str| field(name).and_then(|size| usize::try_from(size).ok());
        let none = || "the message is no image".to_owned();
        let encoding = message.get("encoding").and_then(Value::as_str);
        let encoding = encoding.ok_or_else(none)?;
        let known = Encoding::from_name(encoding);
        let encoding = known.ok_or_else(|| format!("the encoding '{encoding}' is unknown"))?;
        let data = image_data(message).ok_or_else(none)?;
        let image = Self {
            width: size("width").ok_or_else(none)?,
            height: size("height").ok_or_else(none)?,
            step: size("step").ok_or_else(none)?,
            encoding,
            is_bigendian: field("is_bigendian").unwrap_or(0) != 0,
            data,
        };
        let row = image.width.checked_mul(encoding.pixel_bytes());
        let rows = image.step.checked_mul(image.height);
        let is_whole = row.is_some_and(|row| row <= image.step)
            && rows.is_some_and(|rows| rows <= data.len())
            && image.width > 0
            && image.height > 0;
        if is_whole {
            Ok(image)
        } else {
            Err(format!(
                "the image has no {}×{} pixels",
                image.width, image.height
            ))
        }
    }

    fn colors(&self) -> Result<PixelColors, String> {
        let encoding = self.encoding;
        Ok(
            match (encoding.name(), encoding.dtype(), encoding.channels()) {
                ("bgr8" | "bgra8", ..) => PixelColors::Bytes([2, 1, 0]),
                // Only the brightness, which is beside each colour.
                ("uyvy" | "yuv422", ..) => PixelColors::Bytes([1, 1, 1]),
                ("yuyv" | "yuv422_yuy2", ..) => PixelColors::Bytes([0, 0, 0]),
                (_, DType::U8, 1) => PixelColors::Bytes([0, 0, 0]),
                (_, DType::U8, 3 | 4) => PixelColors::Bytes([0, 1, 2]),
                (_, DType::U16 | DType::I16 | DType::F32, 1) => PixelColors::Number,
                _ => return Err(format!("images with encoding '{encoding}' are not shown")),
            },
        )
    }

    fn pixel(&self, column: usize, row: usize) -> &'a [u8] {
        let bytes = self.encoding.pixel_bytes();
        let begin = row * self.step + column * bytes;
        &self.data[begin..begin + bytes]
    }

    /// Returns the lowest and the highest value of the pixels that are shown. These are every
    /// `pixel_step`-th pixel of every `pixel_step`-th row.
    fn shown_value_range(&self, colors: PixelColors, pixel_step: usize) -> (f32, f32) {
        let mut range = (f32::INFINITY, f32::NEG_INFINITY);
        if matches!(colors, PixelColors::Bytes(_)) {
            return range;
        }
        for row in (0..self.height).step_by(pixel_step) {
            for column in (0..self.width).step_by(pixel_step) {
                let number = self.pixel_number(self.pixel(column, row));
                if number.is_finite() {
                    range = (range.0.min(number), range.1.max(number));
                }
            }
        }
        range
    }

    fn pixel_number(&self, pixel: &[u8]) -> f32 {
        match (self.encoding.dtype(), pixel) {
            (DType::U16, &[a, b]) if self.is_bigendian => u16::from_be_bytes([a, b]).into(),
            (DType::I16, &[a, b]) if self.is_bigendian => i16::from_be_bytes([a, b]).into(),
            (DType::U16, &[a, b]) => u16::from_le_bytes([a, b]).into(),
            (DType::I16, &[a, b]) => i16::from_le_bytes([a, b]).into(),
            (DType::F32, &[a, b, c, d]) if self.is_bigendian => f32::from_be_bytes([a, b, c, d]),
            (DType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            _ => f32::NAN,
        }
    }

    fn pixel_grey(&self, pixel: &[u8], (lowest, highest): (f32, f32)) -> u8 {
        let number = self.pixel_number(pixel);
        // WHY no check of the range: a conversion to u8 saturates, and NaN becomes 0, which is
        // black.
        ((number - lowest) / (highest - lowest) * 255.0) as u8
    }
}

/// Returns the headers of a BMP file with 24 bits per pixel. `row_bytes` is the size of a row in
/// the file, in bytes.
fn bmp_header(columns: usize, rows: usize, row_bytes: usize) -> Vec<u8> {
    let bytes = HEADER_BYTES + row_bytes * rows;
    let mut file = Vec::with_capacity(bytes);
    let number = |number: usize| (number as u32).to_le_bytes();
    file.extend_from_slice(b"BM");
    file.extend_from_slice(&number(bytes));
    file.extend_from_slice(&number(0));
    file.extend_from_slice(&number(HEADER_BYTES));
    file.extend_from_slice(&number(40));
    file.extend_from_slice(&number(columns));
    file.extend_from_slice(&number(rows));
    // One plane, and 24 bits for each pixel.
    file.extend_from_slice(&[1, 0, 24, 0]);
    file.resize(HEADER_BYTES, 0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(encoding: &str, width: i64, height: i64, step: i64, data: Vec<u8>) -> Value {
        Value::from([
            ("width", Value::from(width)),
            ("height", Value::from(height)),
            ("step", Value::from(step)),
            ("encoding", Value::from(encoding)),
            ("data", Value::Bytes(data)),
        ])
    }

    #[test]
    fn pixels_keep_their_places_and_colours() {
        // Two rows of two pixels, and two bytes of padding at the end of each row.
        let data = vec![1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0];
        let (file, text) = encode_bmp(&image("rgb8", 2, 2, 8, data.clone()), 100).unwrap();
        assert_eq!(text, "2x2 rgb8");
        assert_eq!(file.len(), HEADER_BYTES + 16);
        assert_eq!(file[2..6], (file.len() as u32).to_le_bytes());
        let pixels = &file[HEADER_BYTES..];
        assert_eq!(pixels, [9, 8, 7, 12, 11, 10, 0, 0, 3, 2, 1, 6, 5, 4, 0, 0]);
        let (file, _) = encode_bmp(&image("bgr8", 2, 2, 8, data.clone()), 100).unwrap();
        assert_eq!(file[HEADER_BYTES..][..3], [7, 8, 9]);
        // Half the size: the first pixel only.
        let (file, _) = encode_bmp(&image("rgb8", 2, 2, 8, data), 1).unwrap();
        assert_eq!(file[HEADER_BYTES..], [3, 2, 1, 0]);
    }

    #[test]
    fn numbers_become_grey() {
        let depths = [0_u16, 500, 1000, 250];
        let data = depths
            .iter()
            .flat_map(|depth| depth.to_le_bytes())
            .collect();
        let (file, _) = encode_bmp(&image("16UC1", 4, 1, 8, data), 100).unwrap();
        let greys: Vec<u8> = file[HEADER_BYTES..].iter().step_by(3).copied().collect();
        assert_eq!(greys, [0, 127, 255, 63]);
        let flat = vec![0; 16];
        assert!(encode_bmp(&image("32FC1", 2, 2, 8, flat), 100).is_ok());
    }

    #[test]
    fn compressed_images_are_known_by_their_first_bytes() {
        let picture = |data: &[u8]| {
            let format = ("format", Value::from("jpeg"));
            let message = Value::from([format, ("data", Value::Bytes(data.to_vec()))]);
            ImageFile::of(&message, 100).map(|picture| picture.content_type)
        };
        assert_eq!(picture(b"\xff\xd8\xff\xe0"), Ok("image/jpeg"));
        assert_eq!(picture(b"\x89PNG\r\n\x1a\n"), Ok("image/png"));
        for other in [&b"<svg onload=alert(1)>"[..], b"GIF89a", b""] {
            assert!(picture(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let table = [
            ("rgb8", 2, 2, 8, 15),
            ("rgb8", 3, 2, 8, 16),
            ("rgb8", 0, 2, 8, 16),
            ("rgb8", i64::MAX, 2, 8, 16),
            ("rgb8", 2, i64::MAX, 8, 16),
            ("rgb8", -1, 2, 8, 16),
            ("nonsense", 2, 2, 8, 16),
            ("64FC4", 1, 1, 32, 32),
        ];
        for (encoding, width, height, step, bytes) in table {
            let image = image(encoding, width, height, step, vec![0; bytes]);
            assert!(
                encode_bmp(&image, 100).is_err(),
                "{encoding} {width} {height}"
            );
        }
        assert!(encode_bmp(&Value::Nil, 100).is_err());
    }
}
