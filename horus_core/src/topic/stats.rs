//! The ledger of a subscriber.

use horus_shm::ReadStats;

/// The ledger of a subscriber since it joined, in messages. While no publisher writes, `sent ==
/// received + malformed + lost + skipped + waiting` holds exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Delivered to the caller.
    pub received: u64,
    /// Received, but the bytes are not a message of the topic's type.
    pub malformed: u64,
    /// Overwritten before this subscriber read them, up to now: also those that no call has come
    /// across yet. Never shrinks.
    pub lost: u64,
    /// Skipped by a call that takes only the latest, while they could still be read.
    pub skipped: u64,
    /// Published since this subscriber joined, not read yet, and still to be had: the next calls
    /// deliver them, unless publishers overwrite them before.
    pub waiting: u64,
    /// Published since this subscriber joined: the sum of the five counts above, while no publisher
    /// writes.
    pub sent: u64,
    /// Calls that gave up because the publisher was faster; they lost no message.
    pub busy: u64,
    /// Publishers whose memory this process could not map; their messages count as waiting. See
    /// [`RecvError::LaneNotMapped`](crate::RecvError::LaneNotMapped).
    pub unmapped: u64,
}

impl Stats {
    pub(super) const fn new(stats: ReadStats, malformed: u64) -> Self {
        Self {
            received: stats.received - malformed,
            malformed,
            lost: stats.lost,
            skipped: stats.skipped,
            waiting: stats.waiting,
            sent: stats.sent,
            busy: stats.busy,
            unmapped: stats.unmapped,
        }
    }
}
