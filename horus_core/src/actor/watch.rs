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

/// The actor that watches another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watcher {
    /// A parent: it learns the end of its child besides any other watch.
    Parent,
    /// An actor that was not made anew.
    First(ActorId),
    /// An actor that was made anew, and may watch the other one already.
    Renewed(ActorId),
}

/// A watch of one actor over another one, which reports the end when it is dropped. WHY so: it may
/// still wait in the mailbox of the watched actor when that ends.
pub(crate) struct Watch {
    watched: ActorId,
    watcher: Watcher,
    reason: DownReason,
    report: Box<dyn FnMut(Down) + Send>,
}

impl Watch {
    /// Makes the watch of `watcher` over an actor; `report` sends the report to it.
    pub(crate) const fn new(
        watched: ActorId,
        watcher: Watcher,
        report: Box<dyn FnMut(Down) + Send>,
    ) -> Self {
        Self {
            watched,
            watcher,
            reason: DownReason::Ended,
            report,
        }
    }

    /// Adds this watch to those of the watched actor. One that its watcher has had since before it
    /// was made anew is replaced, so that the end is reported once.
    ///
    /// WHY only then: a search for each watch would take long for an actor that many watch.
    pub(crate) fn add_to(self, watches: &mut Vec<Self>) {
        let Watcher::Renewed(id) = self.watcher else {
            return watches.push(self);
        };
        let own = [Watcher::First(id), Watcher::Renewed(id)];
        let former = watches
            .iter_mut()
            .find(|other| own.contains(&other.watcher));
        match former {
            Some(former) => std::mem::replace(former, self).discard(),
            None => watches.push(self),
        }
    }

    /// Drops the watch without a report.
    fn discard(mut self) {
        self.report = Box::new(drop);
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
