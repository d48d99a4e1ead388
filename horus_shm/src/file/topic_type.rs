//! The type of a topic: what its messages are, and what a full lane means to its publishers.

use std::borrow::Cow;

/// What both ends must agree on about a message: its schema, opaque to this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// The type's name, at most 128 bytes.
    pub name: Cow<'static, str>,
    /// The schema text, at most 15 KiB; stored in the file for tools.
    pub schema: Cow<'static, str>,
    /// Hash of the schema text; what is compared.
    pub hash: [u8; 16],
    /// Size of a message, in bytes; of the largest one if `sized`.
    pub bytes: u64,
    /// Alignment of a message, in bytes.
    pub align: u32,
    /// Messages have a length of their own.
    pub sized: bool,
}

impl TypeInfo {
    /// Plain bytes of the size and alignment of `T`, for rings between ends that share its source.
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

/// What a full lane means to a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The writer never waits; a slow reader loses messages and counts them.
    #[default]
    BestEffort,
    /// Readers may register gates, and a send that would overrun one is refused.
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
