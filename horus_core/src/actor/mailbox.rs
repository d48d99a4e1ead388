//! The kinds of mailboxes.

use horus_shm::internals::heap::Mail;

/// The kind of an actor's mailbox. Default: bounded by 1024 messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mailbox(Mail);

impl Mailbox {
    /// The most messages that a bounded mailbox can hold.
    pub const CAPACITY_MAX: u16 = 32_767;

    /// Returns a mailbox of up to `capacity` messages, at least 1 and at most
    /// [`Self::CAPACITY_MAX`], including the one that is being handled. The mailbox counts handled
    /// messages in steps, so it may refuse messages although up to an eighth of it is free.
    #[must_use]
    pub const fn bounded(capacity: u16) -> Self {
        Self(Mail::Bounded(capacity))
    }

    /// Returns a mailbox of any number of messages.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self(Mail::Unbounded)
    }

    /// Returns a mailbox that keeps the latest message: a newer one replaces it.
    #[must_use]
    pub const fn latest() -> Self {
        Self(Mail::Latest)
    }

    pub(crate) const fn mail(self) -> Mail {
        self.0
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self::bounded(1024)
    }
}
