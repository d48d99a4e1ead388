//! Topic types: the format of a topic's messages, and the effect of a full lane on publishers.

use std::borrow::Cow;

/// The message type, on which both endpoints must agree; the schema is opaque to this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// The type's name, at most 128 bytes.
    pub name: Cow<'static, str>,
    /// The schema text, at most 15 KiB; stored in the file for tools.
    pub schema: Cow<'static, str>,
    /// Hash of the schema text; types are compared by it.
    pub hash: [u8; 16],
    /// Size of a message, in bytes; of the longest one if `sized`.
    pub bytes: u64,
    /// Alignment of a message, in bytes.
    pub align: u32,
    /// True if messages have lengths of their own.
    pub sized: bool,
}

impl TypeInfo {
    /// Describes plain bytes of the size and alignment of `T`, for rings whose endpoints share
    /// source code.
    #[must_use]
    pub fn opaque<T>() -> Self {
        let (bytes, align) = (size_of::<T>() as u64, align_of::<T>() as u32);
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&bytes.to_le_bytes());
        hash[8..12].copy_from_slice(&align.to_le_bytes());
        let schema = format!("opaque size={bytes} align={align}\n");
        Self { name: "opaque".into(), schema: schema.into(), hash, bytes, align, sized: false }
    }
}

/// The effect of a full lane on a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The writer never waits. A slow reader loses messages and counts them.
    #[default]
    BestEffort,
    /// Readers may register gates. A send that would overrun one is refused.
    Reliable,
}

impl std::fmt::Display for Reliability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BestEffort => "best effort",
            Self::Reliable => "reliable",
        })
    }
}
