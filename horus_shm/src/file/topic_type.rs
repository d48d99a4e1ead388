//! Topic types: the format of a topic's messages, and the outcome of a send when a lane is full.

use std::borrow::Cow;

/// The message type, on which publisher and subscriber must agree. This crate does not interpret
/// the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// The type's name, at most 128 bytes.
    pub name: Cow<'static, str>,
    /// The schema text, at most 15 KiB; stored in the file for tools.
    pub schema: Cow<'static, str>,
    /// Hash of the schema text. Two types are the same if their hashes are equal.
    pub hash: [u8; 16],
    /// Size of a message, in bytes. If `sized`, the size of the longest message.
    pub bytes: u64,
    /// Alignment of a message, in bytes.
    pub align: u32,
    /// True if each message has a length of its own.
    pub sized: bool,
}

impl TypeInfo {
    /// Returns true if messages of both types are read alike. The length of the longest message
    /// does not matter.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let same_size = self.sized || self.bytes == other.bytes;
        self.hash == other.hash
            && self.sized == other.sized
            && self.align == other.align
            && same_size
    }

    /// Returns two words that are equal for types whose messages are read alike. A reader publishes
    /// them in its block, so that publishers of other types do not wait for it.
    #[must_use]
    pub fn identity(&self) -> [u64; 2] {
        let half = |at: usize| {
            let bytes = self.hash[at..].first_chunk();
            bytes.copied().map_or(0, u64::from_le_bytes)
        };
        let bytes = if self.sized { 0 } else { self.bytes };
        let format = u64::from(self.align) << 1 | u64::from(self.sized);
        [half(0) ^ bytes, half(8) ^ format]
    }

    /// Returns a type that says only the size and alignment of `T`, for rings whose endpoints are
    /// compiled from the same source code.
    #[must_use]
    pub fn opaque<T>() -> Self {
        let bytes = size_of::<T>() as u64;
        let align = align_of::<T>() as u32;
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&bytes.to_le_bytes());
        hash[8..12].copy_from_slice(&align.to_le_bytes());
        let schema = format!("opaque size={bytes} align={align}\n");
        Self {
            name: "opaque".into(),
            schema: schema.into(),
            hash,
            bytes,
            align,
            sized: false,
        }
    }
}

/// The outcome of a send when the publisher's lane is full of messages that a reader has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The send overwrites the oldest message. A slow reader loses messages, and counts them.
    #[default]
    BestEffort,
    /// Readers may be gated. A send that would overwrite a message that such a reader has not
    /// read is refused.
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
