//! Topic types: the format of a topic's messages, and the effect of a send into a full lane.

use std::array;
use std::borrow::Cow;

use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::TYPE_PREFIXES_MAX;

/// A description of a message type, on which publisher and subscriber must agree. This crate does
/// not interpret the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// The name of the message type, at most 128 bytes.
    pub name: Cow<'static, str>,
    /// The schema text (list of fields) of the message type, at most 15 KiB. It is stored in the
    /// file so that tools can read it.
    pub schema: Cow<'static, str>,
    /// Hash of the schema text. Types whose hashes differ are different types.
    pub hash: [u8; 16],
    /// Size of a message in bytes. If `sized` is true, the size of the longest message.
    pub bytes: u64,
    /// Alignment of a message, in bytes.
    pub align: u32,
    /// True if messages vary in length; false if all have the length `bytes`.
    pub sized: bool,
    /// The list of fields, by which shorter and longer versions of this type are recognised; empty
    /// if the type matches only itself.
    pub growth: FieldPrefixes,
}

/// The prefixes of a message type's list of fields: the whole list, the list without its last
/// field, and so on. A comparison of prefixes shows whether a type is a shorter or longer version
/// of another one. Empty if the type matches only itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldPrefixes {
    longest_first: Vec<FieldPrefix>,
    head_bytes: u32,
}

/// A list of the first fields of a message type, or of all its fields, represented by a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldPrefix {
    /// The hash of the message's name and of the fields in the list; never 0.
    pub hash: u64,
    /// Number of bytes from the beginning of a message to the end of the last field in the list.
    pub bytes: u64,
}

impl FieldPrefixes {
    /// Creates a `FieldPrefixes` from the prefixes of the list of fields, longest first: the first
    /// prefix is the whole list. Only the 17 longest prefixes are kept.
    #[must_use]
    pub fn new(longest_first: impl IntoIterator<Item = FieldPrefix>) -> Self {
        let is_valid = |prefix: &FieldPrefix| prefix.hash != 0;
        let valid = longest_first.into_iter().take_while(is_valid);
        Self {
            longest_first: valid.take(TYPE_PREFIXES_MAX + 1).collect(),
            head_bytes: 0,
        }
    }

    /// Sets the length of the head, in bytes. The head consists of the fields that precede data of
    /// variable length in each message.
    #[must_use]
    pub const fn with_head(mut self, bytes: u32) -> Self {
        self.head_bytes = bytes;
        self
    }

    /// Returns the length in bytes of the fields before data of variable length, as
    /// [`Self::with_head`] has set it; 0 if it was not called.
    #[must_use]
    pub const fn head_bytes(&self) -> u32 {
        self.head_bytes
    }

    /// Returns the list of all fields, and then its prefixes (lists of the first fields), longest
    /// first.
    #[must_use]
    pub fn prefixes(&self) -> &[FieldPrefix] {
        &self.longest_first
    }

    fn hash(&self, at: usize) -> u64 {
        self.longest_first.get(at).map_or(0, |prefix| prefix.hash)
    }

    /// Returns the end of the last field of the prefix with the hash `hash`, in bytes; `None` if
    /// there is no such prefix.
    fn bytes_of_prefix(&self, hash: u64) -> Option<u64> {
        let mut all = self.longest_first.iter();
        let found = all.find(|prefix| prefix.hash == hash);
        found.map(|found| found.bytes)
    }
}

impl TypeInfo {
    /// Returns true if messages of both types have the same format. The length of the longest
    /// message may differ.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let same_size = self.sized || self.bytes == other.bytes;
        self.hash == other.hash
            && self.sized == other.sized
            && self.align == other.align
            && same_size
    }

    /// Returns the words from which any process can tell whether two types match. A reader
    /// publishes them in its block, so that publishers of types that do not match do not wait for
    /// it.
    #[must_use]
    pub fn identity(&self) -> TypeIdentity {
        let half = |at: usize| {
            let bytes = self.hash[at..].first_chunk();
            bytes.copied().map_or(0, u64::from_le_bytes)
        };
        let bytes = if self.sized { 0 } else { self.bytes };
        let format = u64::from(self.align) << 1 | u64::from(self.sized);
        // WHY not without a head: there is no end of the fields to put defaults behind.
        let grows = !self.sized || self.growth.head_bytes > 0;
        let prefix = |at| if grows { self.growth.hash(at) } else { 0 };
        TypeIdentity {
            exact: [half(0) ^ bytes, half(8) ^ format],
            fields: prefix(0),
            prefixes: array::from_fn(|at| prefix(at + 1)),
        }
    }

    /// Compares this type, that of a reader, with the type `sent_type` of a publisher. Returns how
    /// many bytes at the beginning of a message have the same meaning in both. If data of variable
    /// length follows the fields, only the fields count. The reader fills the rest with its
    /// defaults.
    #[must_use]
    pub fn shared_bytes(&self, sent_type: &Self) -> u64 {
        let least = if self.sized {
            sent_type
                .growth
                .head_bytes
                .min(self.growth.head_bytes)
                .into()
        } else {
            self.bytes.min(sent_type.bytes)
        };
        if self.is_same_as(sent_type) {
            return least;
        }
        // WHY not what `sent_type` says: that is input.
        let end = self.growth.bytes_of_prefix(sent_type.growth.hash(0));
        end.or_else(|| self.fields_end_bytes())
            .unwrap_or(least)
            .min(least)
    }

    /// Returns the end of the last field of this type, in bytes, without the padding that follows
    /// it; `None` if this type matches only itself.
    pub(crate) fn fields_end_bytes(&self) -> Option<u64> {
        let fields = self.growth.longest_first.first();
        fields.map(|fields| fields.bytes)
    }

    /// Returns a type that contains only the size and alignment of `T`, for rings whose endpoints
    /// are compiled from the same source code.
    #[must_use]
    pub fn opaque<T>() -> Self {
        let bytes = size_of::<T>() as u64;
        let align = align_of::<T>() as u32;
        let schema = format!("opaque size={bytes} align={align}\n");
        // WHY not the two numbers themselves: `identity` combines them with the hash once more, so
        // that they would cancel out.
        let mut hash = [0; 16];
        let low = fnv1a_64(FNV_OFFSET_BASIS, schema.as_bytes());
        hash[..8].copy_from_slice(&low.to_le_bytes());
        hash[8..].copy_from_slice(&fnv1a_64(low, schema.as_bytes()).to_le_bytes());
        Self {
            name: "opaque".into(),
            schema: schema.into(),
            hash,
            bytes,
            align,
            sized: false,
            growth: FieldPrefixes::default(),
        }
    }
}

/// The value with which a 64-bit FNV-1a hash begins.
const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Computes the 64-bit FNV-1a hash of `bytes`, beginning with the value `basis`:
/// <https://datatracker.ietf.org/doc/html/rfc9923>.
fn fnv1a_64(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The effect of a send while the publisher's lane is full of messages that a reader has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The send succeeds and overwrites the oldest message. A slow reader loses messages, which it
    /// counts.
    #[default]
    BestEffort,
    /// The send is refused if it would overwrite a message that a reliable (gated) reader has not
    /// read.
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
