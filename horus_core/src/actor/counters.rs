//! The counters of a group of actors.

/// Counters of a group of actors: how many actors exist, and how many messages and failures there
/// were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ActorCounters {
    /// Number of actors and inboxes that exist.
    pub alive: u64,
    /// Number of messages that were handled, including those whose handler failed, and of the ends
    /// of other actors that were reported to a watcher.
    pub handled: u64,
    /// Number of errors and panics in the code of actors, such as a handler or `shutdown`.
    pub failures: u64,
    /// Number of panics in the code of actors. They are also counted in `failures`.
    pub panics: u64,
    /// Number of messages that a mailbox accepted, but that were dropped when their actor ended.
    pub undelivered: u64,
}
