//! Match settings: the settings of an endpoint that decide whether a publisher and a reader match.
//! Any process can compare those of two endpoints.

use std::fmt;

use crate::file::topic_type::Reliability;
use crate::protocol::identity::TypeIdentity;

/// The settings of an endpoint that decide which other endpoints it matches. Those of a publisher
/// are in the headers of its lane files, those of a reader in the reader's block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchSettings {
    /// The identity of the message type that the endpoint sends or reads: see
    /// [`TypeInfo::identity`](crate::TypeInfo::identity).
    pub type_identity: TypeIdentity,
    /// The reliability that a publisher offers, or that a reader requests.
    pub reliability: Reliability,
}

/// The reason why a publisher and a reader do not match, so that no message passes between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The publisher's messages have a different type, which is neither a shorter nor a longer
    /// version of the reader's type.
    Type,
    /// The reader requests reliable messages, but the publisher offers only best effort.
    Reliability,
}

impl MatchSettings {
    /// Returns the reason why the publisher with these settings does not match the reader with the
    /// settings `reader`; `None` if they match.
    ///
    /// Every process decides by this function, so the result does not depend on which of the two
    /// endpoints came first. In addition, a reader of messages of fixed length refuses a publisher
    /// of messages of variable length, and the reverse. Their types differ anyway, unless a header
    /// is forged.
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
                "this subscriber requests reliable, and no live publisher of its type offers that: \
                 request best effort, or let a publisher offer reliable"
            }
        })
    }
}
