//! The kind of ring buffer that a topic acts as, derived from its live participants.

use std::fmt;

use horus_shm::TopicFiles;

/// The kind of ring buffer to which a topic corresponds: it tells whether the topic has one or
/// several publishers and subscribers at present. No data moves when the kind changes, because a
/// topic always has one lane per publisher and one cursor per subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The topic has at most one publisher and at most one subscriber.
    SpscShm,
    /// The topic has several publishers and at most one subscriber.
    MpscShm,
    /// The topic has at most one publisher and several subscribers.
    SpmcShm,
    /// The topic has several publishers and several subscribers.
    FanoutShm,
}

impl Backend {
    pub(crate) fn from_files(files: &TopicFiles) -> Self {
        Self::between(files.publisher_count(), files.subscriber_count())
    }

    /// Returns the kind of ring buffer to which a topic with these numbers of publishers and
    /// subscribers corresponds.
    #[must_use]
    pub const fn between(publishers: usize, subscribers: usize) -> Self {
        match (publishers, subscribers) {
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
