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
    /// The watching actor, to which the report is sent.
    watching_actor: Box<dyn WatchingActor>,
    /// True if the end of the watched actor is not to be reported.
    is_discarded: bool,
}

/// An actor that watches another one, as the watch sees it.
pub(crate) trait WatchingActor: Send {
    /// Sends the actor the report that the watched one has ended.
    fn report(&self, down: Down);

    /// Returns true if the actor has ended itself.
    fn has_ended(&self) -> bool;
}

impl ActorWatch {
    /// Creates the watch of `watcher`, to which `watching_actor` leads, over `watched`.
    pub(crate) const fn new(
        watched: ActorId,
        watcher: Watcher,
        watching_actor: Box<dyn WatchingActor>,
    ) -> Self {
        Self {
            watched,
            watcher,
            reason: DownReason::Ended,
            watching_actor,
            is_discarded: false,
        }
    }

    /// Adds this watch to `watches`, the list of the watched actor. If the watcher has been
    /// restarted or replaced, this watch replaces its earlier one, so that the end is reported only
    /// once.
    ///
    /// WHY only then: if an actor has many watchers, searching the list for each new watch would
    /// take long.
    pub(crate) fn add_or_replace_in(self, watches: &mut Vec<Self>) {
        let Watcher::Renewed(id) = self.watcher else {
            return self.append_to(watches);
        };
        let own = [Watcher::First(id), Watcher::Renewed(id)];
        let former = watches
            .iter_mut()
            .find(|other| own.contains(&other.watcher));
        match former {
            Some(former) => std::mem::replace(former, self).drop_without_report(),
            None => self.append_to(watches),
        }
    }

    /// Appends this watch to `watches`. If that list is full, removes the watches of actors that
    /// have ended first, as each of them holds the memory of its actor.
    fn append_to(self, watches: &mut Vec<Self>) {
        if watches.len() == watches.capacity() {
            watches.retain(|other| !other.watching_actor.has_ended());
            // WHY as many: the time for each watch stays the same, whatever their number.
            watches.reserve(watches.len().max(4));
        }
        watches.push(self);
    }

    /// Drops the watch without a report to the watching actor.
    fn drop_without_report(mut self) {
        self.is_discarded = true;
    }

    /// Reports to the watching actor that the watched one has ended for the reason `reason`.
    pub(crate) fn report_end(mut self, reason: DownReason) {
        self.reason = reason;
    }
}

impl Drop for ActorWatch {
    fn drop(&mut self) {
        let reason = std::mem::replace(&mut self.reason, DownReason::Ended);
        if !self.is_discarded {
            let id = self.watched;
            self.watching_actor.report(Down { id, reason });
        }
    }
}

impl fmt::Debug for ActorWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorWatch")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// An actor that has ended once the word is true.
    struct Ending(Arc<AtomicBool>);

    impl WatchingActor for Ending {
        fn report(&self, _: Down) {}

        fn has_ended(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// The list of an actor that many short-lived actors watch holds those that live.
    #[test]
    fn watches_of_actors_that_have_ended_are_removed() {
        let mut watches = Vec::new();
        let mut watch = |number| {
            let ended = Arc::<AtomicBool>::default();
            let to = Box::new(Ending(Arc::clone(&ended)));
            let watcher = Watcher::First(ActorId(number));
            ActorWatch::new(ActorId(0), watcher, to).add_or_replace_in(&mut watches);
            (ended, watches.len())
        };
        let living: Vec<_> = (1..=10).map(|number| watch(number).0).collect();
        for number in 11..1000 {
            let (ended, count) = watch(number);
            assert!(count <= 4 * living.len(), "{count} watches");
            ended.store(true, Ordering::Relaxed);
        }
        let kept = watches
            .iter()
            .filter(|watch| !watch.watching_actor.has_ended());
        assert_eq!(kept.count(), living.len(), "only those of ended actors");
    }
}
