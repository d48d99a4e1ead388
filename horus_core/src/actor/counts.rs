//! The counters of a group of actors, as users read them.

/// Counters of a group of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ActorCounts {
    /// Number of actors and inboxes that exist.
    pub alive: u64,
    /// Number of messages that were handled, also those whose handler failed.
    pub handled: u64,
    /// Number of errors and panics in the code of actors, such as a handler or `shutdown`.
    pub failures: u64,
    /// Number of panics in the code of actors; `failures` includes them.
    pub panics: u64,
    /// Number of messages that were accepted, and dropped at the end of their actor.
    pub undelivered: u64,
}
