//! Watches: notifies an actor when another actor has ended.

use std::fmt;

/// The identity of an actor, which can be compared with other identities. When no address of the
/// actor is left, the same identity may be given to another actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActorId(pub(crate) usize);

impl ActorId {
    /// Returns the identity as a number, which can be stored or logged.
    #[must_use]
    pub const fn number(self) -> usize {
        self.0
    }
}

/// The report to a watching actor that another actor has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Down {
    id: ActorId,
    reason: DownReason,
}

/// The reason for which an actor has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownReason {
    /// The actor stopped or had no address left; or it had already ended when the watch began.
    Ended,
    /// The actor failed with this error, and was not restarted.
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

/// The report to a parent that one of its children has ended.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    /// The number of the child in its parent's list of children. WHY not its identity: a later
    /// child may get the same identity.
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

/// The actor that is notified when a watched actor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watcher {
    /// The parent of the watched actor. It may also watch that actor as `First` or `Renewed`.
    Parent,
    /// An actor that watches, and has never been restarted or replaced.
    First(ActorId),
    /// An actor that has been restarted or replaced. It may already have watched the same actor
    /// before that.
    Renewed(ActorId),
}

/// A watch of one actor over another one. When the watch is dropped, it reports that the watched
/// actor has ended. WHY on drop: the watch may still wait in the mailbox of the watched actor when
/// that actor ends.
pub(crate) struct ActorWatch {
    watched: ActorId,
    watcher: Watcher,
    reason: DownReason,
    report: Box<dyn FnMut(Down) + Send>,
}

impl ActorWatch {
    /// Creates the watch of `watcher` over `watched`. `report` sends the report to the watcher.
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

    /// Adds this watch to `watches`, the list of the watched actor. If the watcher has been
    /// restarted or replaced, this watch replaces its earlier one, so that the end is reported only
    /// once.
    ///
    /// WHY only then: if an actor has many watchers, searching the list for each new watch would
    /// take long.
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

    /// Drops the watch without a report to the watching actor.
    fn discard(mut self) {
        self.report = Box::new(drop);
    }

    /// Reports to the watching actor that the watched one has ended for the reason `reason`.
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
