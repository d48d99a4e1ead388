//! Cards: the settings of an endpoint from which any process tells which publishers and readers
//! match.

use std::fmt;

use crate::file::topic_type::Reliability;
use crate::protocol::identity::TypeIdentity;

/// The settings of an endpoint on which matching depends. Those of a publisher are in the headers
/// of its lane files, those of a reader in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointCard {
    /// The identity of the type that the endpoint sends or reads: see
    /// [`TypeInfo::identity`](crate::TypeInfo::identity).
    pub type_identity: TypeIdentity,
    /// The reliability that a publisher offers, or that a reader requests.
    pub reliability: Reliability,
}

/// The reason why a publisher and a reader do not match, so that no message passes between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The publisher sends messages of another type, neither shorter nor longer versions of those
    /// that the reader reads.
    Type,
    /// The reader requests reliable, and the publisher offers best effort.
    Reliability,
}

impl EndpointCard {
    /// Returns the reason why messages of the publisher with this card do not reach the reader with
    /// the card `reader`; `None` if they do.
    ///
    /// Every process judges a pair by this function, from the two cards alone. Therefore the order
    /// in which the two came decides nothing.
    #[must_use]
    pub fn mismatch(&self, reader: &Self) -> Option<Mismatch> {
        let needs_more = reader.reliability == Reliability::Reliable
            && self.reliability == Reliability::BestEffort;
        if !self.type_identity.matches(&reader.type_identity) {
            Some(Mismatch::Type)
        } else if needs_more {
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
