//! Identities of message types: the words from which any process tells which messages a reader can
//! read.

use super::layout::{PREFIXES_MAX, ReaderBlock};
use super::sync::Word;

/// The identity of a message type: words that differ between types, and hashes of the shorter types
/// that it extends by more fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeIdentity {
    /// Two words that are equal if and only if the messages of two types have the same format. Both
    /// are 0 for no type.
    pub exact: [u64; 2],
    /// Hash of the list of fields; 0 if the type matches only itself.
    pub fields: u64,
    /// Hashes of the proper prefixes of the list of fields, longest first. Zeros follow the last
    /// hash.
    pub prefixes: [u64; PREFIXES_MAX],
}

impl TypeIdentity {
    /// The identity that stands for no type.
    pub const NONE: Self = Self {
        exact: [0; 2],
        fields: 0,
        prefixes: [0; PREFIXES_MAX],
    };

    /// Returns true if messages of one type can be read as messages of the other: the types are
    /// equal, or the fields of one are a prefix of the fields of the other.
    ///
    /// The relation is symmetric, but not transitive: two types that match a third one need not
    /// match each other.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.exact == other.exact || self.extends(other) || other.extends(self)
    }

    /// Returns true if this type has the fields of `other`, and perhaps more behind them.
    fn extends(&self, other: &Self) -> bool {
        let is_part = self.fields == other.fields || self.prefixes.contains(&other.fields);
        other.fields != 0 && is_part
    }

    /// Returns the identity of the type that a reader reads.
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
    /// has acquired a cursor of that reader.
    #[must_use]
    pub fn matches_reader<W: Word>(&self, block: &ReaderBlock<W>) -> bool {
        // Relaxed: as in `of_reader`. WHY first: a reliable publisher checks its readers at each
        // lap, and most of them read exactly its type.
        let is_same = |half: usize| block.type_identity[half].get() == self.exact[half];
        is_same(0) && is_same(1) || self.matches(&Self::of_reader(block))
    }

    /// Stores this identity in the block of a reader, as that of the type that it reads.
    pub fn store<W: Word>(&self, block: &ReaderBlock<W>) {
        let words = block.type_identity.iter().zip(self.exact);
        let words = words.chain([(&block.type_fields, self.fields)]);
        for (word, value) in words.chain(block.type_prefixes.iter().zip(self.prefixes)) {
            // ORDERING(cursor): the first cursor of this reader, which follows, orders it.
            word.set(value);
        }
    }

    /// Returns true if no type has this identity.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.exact == [0; 2]
    }
}
