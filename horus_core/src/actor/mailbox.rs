//! The kinds of mailboxes.

use horus_shm::internals::heap::MailLimit;

/// The kind of an actor's mailbox. Default: bounded by 1024 messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxKind(MailLimit);

impl MailboxKind {
    /// The maximum capacity of a bounded mailbox, in messages.
    pub const CAPACITY_MAX: u16 = 32_767;

    /// Returns the kind of mailbox that holds up to `capacity` messages, including the one that is
    /// being handled. A capacity below 1 or above [`Self::CAPACITY_MAX`] is changed to that limit.
    /// The mailbox counts handled messages in steps, so it may refuse messages although up to an
    /// eighth of it is free.
    #[must_use]
    pub const fn bounded(capacity: u16) -> Self {
        Self(MailLimit::Bounded(capacity))
    }

    /// Returns the kind of mailbox without a limit on the number of messages.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self(MailLimit::Unbounded)
    }

    /// Returns the kind of mailbox that keeps only the latest message: a new message replaces one
    /// that still waits.
    #[must_use]
    pub const fn latest() -> Self {
        Self(MailLimit::Latest)
    }

    pub(crate) const fn limit(self) -> MailLimit {
        self.0
    }
}

impl Default for MailboxKind {
    fn default() -> Self {
        Self::bounded(1024)
    }
}
