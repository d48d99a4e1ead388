//! What kind of ring a topic is at the moment: observed from its live participants.

use std::fmt;

use horus_shm::Segment;

/// The ring that a topic amounts to with its present participants. Nothing migrates between them:
/// a topic is always a lane a publisher and a cursor a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// At most one publisher and one subscriber.
    SpscShm,
    /// Several publishers, at most one subscriber.
    MpscShm,
    /// At most one publisher, several subscribers.
    SpmcShm,
    /// Several of both.
    FanoutShm,
}

impl Backend {
    pub(crate) fn of(segment: &Segment) -> Self {
        match (segment.publisher_count(), segment.subscriber_count()) {
            (0 | 1, 0 | 1) => Self::SpscShm,
            (_, 0 | 1) => Self::MpscShm,
            (0 | 1, _) => Self::SpmcShm,
            _ => Self::FanoutShm,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
