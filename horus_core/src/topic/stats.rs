//! The ledger of a subscriber: its counts of messages.

use horus_shm::ReadStats;

/// The ledger of a subscriber: its counts since it joined. While no publisher writes,
/// `sent == received + malformed + lost + skipped + waiting` holds exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of messages delivered to the caller of the receive methods.
    pub received: u64,
    /// Number of messages received whose bytes could not be decoded as a message of the topic's
    /// type.
    pub malformed: u64,
    /// Number of messages overwritten before this subscriber read them, including those that no
    /// call has noticed yet. Never shrinks.
    pub lost: u64,
    /// Number of messages that could still be read, but were skipped by a call that takes only the
    /// latest message.
    pub skipped: u64,
    /// Number of messages published since this subscriber joined that it can still read. The next
    /// receives deliver these messages, unless publishers overwrite them before.
    pub waiting: u64,
    /// Number of messages published since this subscriber joined. While no publisher writes, it is
    /// the sum of `received`, `malformed`, `lost`, `skipped` and `waiting`.
    pub sent: u64,
    /// Number of calls that gave up because the publisher overwrote messages faster than the call
    /// could copy them. Giving up does not lose a message by itself.
    pub busy: u64,
    /// Number of publishers whose memory this process could not map. Their messages cannot be
    /// received, but count as waiting. See
    /// [`RecvError::LaneNotMapped`](crate::RecvError::LaneNotMapped).
    pub unmapped: u64,
}

impl Stats {
    pub(super) const fn new(stats: ReadStats, malformed: u64) -> Self {
        Self {
            // WHY: messages of a lane that is ignored later are not received any more.
            received: stats.received.saturating_sub(malformed),
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
