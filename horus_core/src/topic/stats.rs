//! The ledger of a subscriber.

use horus_shm::ReadStats;

/// The ledger of a subscriber since it joined, in messages:
/// `sent == received + malformed + lost + skipped + waiting`, exactly, whenever the publishers
/// rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Delivered to the caller.
    pub received: u64,
    /// Received, but not what the topic carries: bytes in which there is no such message.
    pub malformed: u64,
    /// Overwritten before this subscriber came to them.
    pub lost: u64,
    /// Passed over by asking for the latest only.
    pub skipped: u64,
    /// Published since this subscriber joined and not yet passed by it.
    pub waiting: u64,
    /// Published since this subscriber joined: the sum of the other five, once the writers rest.
    pub sent: u64,
    /// Calls that gave up because the writer was faster; the message was not lost by that.
    pub busy: u64,
    /// Publishers whose messages this process has no memory to map; they count as waiting. See
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
