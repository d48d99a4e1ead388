//! Watches: an actor learns that another one has ended.

use std::fmt;

/// The identity of an actor, to compare. Another actor may get the same identity once no address of
/// this actor exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActorId(pub(crate) usize);

impl ActorId {
    /// Returns the identity as a number.
    #[must_use]
    pub const fn number(self) -> usize {
        self.0
    }
}

/// The report that an actor has ended, for an actor that watches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Down {
    id: ActorId,
    reason: DownReason,
}

/// The reason for which an actor has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownReason {
    /// The actor stopped, had no address any more, or had ended before it was watched.
    Ended,
    /// The actor failed for good, with the text of this error.
    Failed(String),
}

impl Down {
    /// Returns the identity of the ended actor, as in [`Address::id`](crate::actor::Address::id).
    #[must_use]
    pub const fn id(&self) -> ActorId {
        self.id
    }

    /// Returns the reason for which the actor has ended.
    #[must_use]
    pub const fn reason(&self) -> &DownReason {
        &self.reason
    }
}

/// The report that a child has ended, for its parent.
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
    /// A parent of the watched actor. It may also watch its child in the other ways.
    Parent,
    /// An actor that has not been restarted.
    First(ActorId),
    /// An actor that has been restarted, and may have watched the other one before that.
    Renewed(ActorId),
}

/// A watch of one actor over another one. When the watch is dropped, it reports that the watched
/// actor has ended. WHY so: it may still wait in the mailbox of the watched actor when that ends.
pub(crate) struct ActorWatch {
    watched: ActorId,
    watcher: Watcher,
    reason: DownReason,
    report: Box<dyn FnMut(Down) + Send>,
}

impl ActorWatch {
    /// Makes the watch of `watcher` over `watched`; `report` sends the report to the watcher.
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

    /// Adds this watch to those of the watched actor. If the watcher has been restarted, this watch
    /// replaces the one that it had before, so that the end is reported once.
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
    pub(crate) fn report_end(mut self, reason: DownReason) {
        self.reason = reason;
    }
}

impl Drop for ActorWatch {
    fn drop(&mut self) {
        let reason = std::mem::replace(&mut self.reason, DownReason::Ended);
        (self.report)(Down {
            id: self.watched,
            reason,
        });
    }
}

impl fmt::Debug for ActorWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorWatch")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}
