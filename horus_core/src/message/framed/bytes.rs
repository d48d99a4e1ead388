//! Plain bytes with the name of their format.

use super::{Framed, Header, array_error_text};
use crate::message::{DType, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// The header of [`Bytes`]: any data, with the name of their format.
    #[derive(Default)]
    pub struct BytesHeader {
        /// Time of creation, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Length of the data that follow: bytes.
        pub bytes: u64,
        /// Format of the data, preferably a media type such as `application/cbor`: text.
        pub format: Text<48>,
    }
}
layout! { BytesHeader = 64 { timestamp_ns: 0, bytes: 8, format: 16 } }

/// Bytes of any length and meaning.
///
/// ```
/// use horus_core::message::{Bytes, BytesHeader, Text};
///
/// let header = BytesHeader::new(3).with_format(Text::literal("text/plain"));
/// let bytes = Bytes::new(header, b"abc")?;
/// assert_eq!((bytes.data(), bytes.format.as_str()), (&b"abc"[..], "text/plain"));
/// # Ok::<(), horus_core::message::HeaderError>(())
/// ```
pub type Bytes<D = super::Buffer> = Framed<BytesHeader, D>;

impl BytesHeader {
    /// Returns the header for a message with `bytes` data bytes, stamped with the current time.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            bytes,
            format: Text::EMPTY,
        }
    }

    /// Sets the name of the format of the data, by which subscribers know how to read them.
    #[must_use]
    pub const fn with_format(mut self, format: Text<48>) -> Self {
        self.format = format;
        self
    }
}

impl Header for BytesHeader {
    const NAME: &str = "Bytes";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

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
