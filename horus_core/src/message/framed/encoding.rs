//! Pixel formats of images, with the names that ROS uses.

use std::fmt;

use crate::message::{DType, Text};

/// The format of a pixel: the type and the number of its interleaved channels.
///
/// The names are those of `sensor_msgs/image_encodings.hpp`. Planar formats (`nv21`, `nv24`) are
/// not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    name: &'static str,
    dtype: DType,
    channels: u8,
}

macro_rules! encodings {
    ($($constant:ident $name:literal $dtype:ident $channels:literal),+ $(,)?) => {
        impl Encoding {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self =
                    Self { name: $name, dtype: DType::$dtype, channels: $channels };
            )+

            /// All pixel formats that this version of the library knows.
            pub const ALL: &[Self] = &[$(Self::$constant),+];
        }
    };
}

encodings! {
    RGB8 "rgb8" U8 3, RGBA8 "rgba8" U8 4, RGB16 "rgb16" U16 3, RGBA16 "rgba16" U16 4,
    BGR8 "bgr8" U8 3, BGRA8 "bgra8" U8 4, BGR16 "bgr16" U16 3, BGRA16 "bgra16" U16 4,
    MONO8 "mono8" U8 1, MONO16 "mono16" U16 1,
    BAYER_RGGB8 "bayer_rggb8" U8 1, BAYER_BGGR8 "bayer_bggr8" U8 1,
    BAYER_GBRG8 "bayer_gbrg8" U8 1, BAYER_GRBG8 "bayer_grbg8" U8 1,
    BAYER_RGGB16 "bayer_rggb16" U16 1, BAYER_BGGR16 "bayer_bggr16" U16 1,
    BAYER_GBRG16 "bayer_gbrg16" U16 1, BAYER_GRBG16 "bayer_grbg16" U16 1,
    YUV422 "yuv422" U8 2, UYVY "uyvy" U8 2, YUV422_YUY2 "yuv422_yuy2" U8 2, YUYV "yuyv" U8 2,
    TYPE_8UC1 "8UC1" U8 1, TYPE_8UC2 "8UC2" U8 2, TYPE_8UC3 "8UC3" U8 3, TYPE_8UC4 "8UC4" U8 4,
    TYPE_8SC1 "8SC1" I8 1, TYPE_8SC2 "8SC2" I8 2, TYPE_8SC3 "8SC3" I8 3, TYPE_8SC4 "8SC4" I8 4,
    TYPE_16UC1 "16UC1" U16 1, TYPE_16UC2 "16UC2" U16 2,
    TYPE_16UC3 "16UC3" U16 3, TYPE_16UC4 "16UC4" U16 4,
    TYPE_16SC1 "16SC1" I16 1, TYPE_16SC2 "16SC2" I16 2,
    TYPE_16SC3 "16SC3" I16 3, TYPE_16SC4 "16SC4" I16 4,
    TYPE_32SC1 "32SC1" I32 1, TYPE_32SC2 "32SC2" I32 2,
    TYPE_32SC3 "32SC3" I32 3, TYPE_32SC4 "32SC4" I32 4,
    TYPE_32FC1 "32FC1" F32 1, TYPE_32FC2 "32FC2" F32 2,
    TYPE_32FC3 "32FC3" F32 3, TYPE_32FC4 "32FC4" F32 4,
    TYPE_64FC1 "64FC1" F64 1, TYPE_64FC2 "64FC2" F64 2,
    TYPE_64FC3 "64FC3" F64 3, TYPE_64FC4 "64FC4" F64 4,
}

impl Encoding {
    /// The encodings that are searched first if only the type and the number of channels of a pixel
    /// are known. [`Self::ALL`] is searched after them.
    pub(super) const SEARCHED_FIRST: &[Self] = &[
        Self::MONO8,
        Self::RGB8,
        Self::RGBA8,
        Self::MONO16,
        Self::RGB16,
        Self::RGBA16,
        Self::TYPE_8UC2,
    ];

    /// Returns the encoding with this name, or `None` if the name is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|encoding| encoding.name == name)
    }

    /// Returns the name of the encoding, as ROS and the messages spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the name of the encoding as a [`Text`], which can be stored in the field of a
    /// message.
    #[must_use]
    pub const fn text(self) -> Text<16> {
        Text::literal(self.name)
    }

    /// Returns the type of the number in one channel of a pixel.
    #[must_use]
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// Returns the number of channels of a pixel.
    #[must_use]
    pub const fn channels(self) -> usize {
        self.channels as usize
    }

    /// Returns the size of a pixel in bytes.
    #[must_use]
    pub const fn pixel_bytes(self) -> usize {
        self.dtype.size() * self.channels as usize
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
