//! Cards: what an endpoint shows of itself, from which any process tells which publishers and readers
//! match.

use std::fmt;

use crate::file::topic_type::Reliability;

/// The card of an endpoint. That of a publisher is in the headers of its lane files, that of a reader
/// in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// The identity of the type that it sends or reads.
    pub type_identity: [u64; 2],
    /// What it offers or requests.
    pub reliability: Reliability,
}

/// The reason why no message of a publisher reaches a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The publisher sends messages of another type.
    Type,
    /// The reader requests reliable, and the publisher offers best effort.
    Reliability,
}

impl Card {
    /// Returns the reason why messages of the publisher with this card do not reach the reader with
    /// the card `reader`, if they do not.
    ///
    /// Every process judges a pair by this function, from the two cards alone, so that the order in
    /// which the two came decides nothing.
    #[must_use]
    pub fn mismatch(&self, reader: &Self) -> Option<Mismatch> {
        let is_refused = self.reliability == Reliability::BestEffort;
        if self.type_identity != reader.type_identity {
            Some(Mismatch::Type)
        } else if is_refused && reader.reliability == Reliability::Reliable {
            Some(Mismatch::Reliability)
        } else {
            None
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Type => {
                "all live publishers send messages of another type than this subscriber reads: use \
                 the same message in all programs"
            }
            Self::Reliability => {
                "this subscriber requests reliable, and all live publishers offer best effort: \
                 request best effort, or let a publisher offer reliable"
            }
        })
    }
}
