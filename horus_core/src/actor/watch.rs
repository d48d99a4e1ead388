//! Watches: an actor learns that another one has ended.

use std::fmt;

/// The identity of an actor, to compare. It may be used again once no address of the actor exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActorId(pub(crate) usize);

impl ActorId {
    /// Returns the identity as a number.
    #[must_use]
    pub const fn number(self) -> usize {
        self.0
    }
}

/// The end of an actor, as the actors learn it that watch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Down {
    id: ActorId,
    reason: DownReason,
}

/// The reason for which an actor has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownReason {
    /// It stopped, had no address any more, or had ended before it was watched.
    Ended,
    /// It failed for good, with the text of this error.
    Failed(String),
}

impl Down {
    /// Returns the identity of the actor: [`Address::id`](crate::actor::Address::id).
    #[must_use]
    pub const fn id(&self) -> ActorId {
        self.id
    }

    /// Returns the reason for which it has ended.
    #[must_use]
    pub const fn reason(&self) -> &DownReason {
        &self.reason
    }
}

/// The end of a child, as its parent learns it.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    /// The number of the child. WHY not its identity: a later child may have the same.
    pub(super) number: u64,
    pub(super) down: Down,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("it ended"),
            Self::Failed(error) => write!(f, "it failed: {error}"),
        }
    }
}

/// A watch of one actor over another one, which reports the end when it is dropped. WHY so: it may
/// still wait in the mailbox of the watched actor when that ends.
pub(crate) struct Watch {
    watched: ActorId,
    reason: DownReason,
    report: Box<dyn FnMut(Down) + Send>,
}

impl Watch {
    /// Makes the watch over an actor; `report` sends the report to the one that watches.
    pub(crate) const fn new(watched: ActorId, report: Box<dyn FnMut(Down) + Send>) -> Self {
        Self {
            watched,
            reason: DownReason::Ended,
            report,
        }
    }

    /// Reports that the watched actor has ended for this reason.
    pub(crate) fn end(mut self, reason: DownReason) {
        self.reason = reason;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let reason = std::mem::replace(&mut self.reason, DownReason::Ended);
        (self.report)(Down {
            id: self.watched,
            reason,
        });
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}
