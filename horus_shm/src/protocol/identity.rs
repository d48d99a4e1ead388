//! Identities of message types: a few words by which any process can decide whether a reader can
//! read a publisher's messages.

use super::layout::{ReaderBlock, TYPE_PREFIXES_MAX};
use super::sync::Word;

/// The identity of a message type: words that differ between types, and hashes of the shorter types
/// that this type extends by more fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeIdentity {
    /// Two words that are equal for two types if and only if the messages of both have the same
    /// format. Both words are 0 if there is no type.
    pub exact: [u64; 2],
    /// Hash of the list of all fields of the type; 0 if the type is compatible only with itself.
    pub fields: u64,
    /// Hashes of the shorter types that this type extends by more fields, the longest type first.
    /// Each is the hash of the list of the shorter type's fields. Unused elements at the end are 0.
    pub prefixes: [u64; TYPE_PREFIXES_MAX],
}

impl TypeIdentity {
    /// The identity that means "no type".
    pub const NONE: Self = Self {
        exact: [0; 2],
        fields: 0,
        prefixes: [0; TYPE_PREFIXES_MAX],
    };

    /// Returns true if messages of one of the two types can be read as messages of the other. This
    /// is so if the types are equal, or if the fields of one type are a prefix of the fields of the
    /// other.
    ///
    /// The relation is symmetric, but not transitive: two types that match a third one need not
    /// match each other.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.exact == other.exact || self.extends(other) || other.extends(self)
    }

    /// Returns true if the fields of `other` are the first fields of this type.
    fn extends(&self, other: &Self) -> bool {
        let is_part = self.fields == other.fields || self.prefixes.contains(&other.fields);
        other.fields != 0 && is_part
    }

    /// Returns the identity of the type that a reader expects, from the reader's block.
    #[must_use]
    pub fn of_reader<W: Word>(block: &ReaderBlock<W>) -> Self {
        // Relaxed: a process that needs the present type has acquired a cursor, which the reader
        // stored later.
        Self {
            exact: [0, 1].map(|half| block.type_identity[half].get()),
            fields: block.type_fields.get(),
            prefixes: std::array::from_fn(|at| block.type_prefixes[at].get()),
        }
    }

    /// Returns true if a reader reads messages of this type, as [`Self::matches`] says. The caller
    /// must have loaded a cursor of that reader with
    /// [`CURSOR_SEE`](crate::protocol::sync::edge::CURSOR_SEE) before.
    #[must_use]
    pub fn matches_reader<W: Word>(&self, block: &ReaderBlock<W>) -> bool {
        // Relaxed: as in `of_reader`. WHY first: a reliable publisher checks its readers at each
        // lap, and most of them read exactly its type.
        let is_same = |half: usize| block.type_identity[half].get() == self.exact[half];
        is_same(0) && is_same(1) || self.matches(&Self::of_reader(block))
    }

    /// Stores this identity in a reader's block, as that of the type that the reader expects.
    pub fn store<W: Word>(&self, block: &ReaderBlock<W>) {
        let words = block.type_identity.iter().zip(self.exact);
        let words = words.chain([(&block.type_fields, self.fields)]);
        for (word, value) in words.chain(block.type_prefixes.iter().zip(self.prefixes)) {
            // ORDERING(cursor): the first cursor of this reader, which follows, orders it.
            word.set(value);
        }
    }

    /// Returns true if this value is [`Self::NONE`].
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.exact == [0; 2]
    }
}
