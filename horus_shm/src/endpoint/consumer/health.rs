//! The state of a consumer that watches report to users: whether it can receive, and from whom.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::file::counters::MismatchedPublisher;
use crate::file::error::LaneNotMapped;
use crate::file::match_settings::Mismatch;
use crate::file::name_watch::NameState;
use crate::file::segment::Segment;
use crate::protocol::sync::Word;

/// The part of a consumer's state that stays the same when the consumer moves to another topic
/// file.
#[derive(Debug, Default)]
pub(crate) struct ConsumerHealth {
    /// Not 0 after the consumer has been dropped.
    pub(super) closed: AtomicU64,
    /// The error of a lane that cannot be mapped, so that the consumer misses the lane's messages;
    /// `None` if there is no such lane.
    pub(super) unmapped: Mutex<Option<LaneNotMapped>>,
    /// The reason why the consumer matches no live publisher, and one of these publishers. `None`
    /// if the consumer matches a live publisher, or if there is none.
    pub(super) mismatch: Mutex<Option<(Mismatch, Option<Box<MismatchedPublisher>>)>>,
    /// Number of times that the consumer has moved to another topic file.
    pub(super) moves: AtomicU64,
    /// Not 0 if the consumer has found that its namespace (the directory of its topic) was removed.
    pub(super) namespace_removed: AtomicU64,
    /// The file that the consumer reads now. Empty until a [`ConsumerHealthWatch`] is made.
    segment: Mutex<Weak<Segment>>,
    /// Not 0 if the consumer has found that the memory of its topic is lost.
    pub(super) lost: AtomicU64,
}

impl ConsumerHealth {
    /// Records the file that the consumer reads from now on.
    pub(super) fn set_segment(&self, segment: &Arc<Segment>) {
        let mut present = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        *present = Arc::downgrade(segment);
    }

    /// Returns true if the namespace of the file that the consumer reads was removed.
    fn has_lost_namespace(&self) -> bool {
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = segment.upgrade();
        segment.is_some_and(|segment| segment.name_state() == NameState::NamespaceRemoved)
    }
}

/// Reports the health of a [`RawConsumer`](crate::RawConsumer): whether it misses messages because
/// it cannot map a publisher's lane, whether it matches no live publisher, and whether it can still
/// receive.
///
/// It is `Send` and `Sync`. It keeps neither the consumer nor the topic open.
#[derive(Debug, Clone)]
pub struct ConsumerHealthWatch {
    health: Weak<ConsumerHealth>,
}

impl ConsumerHealthWatch {
    pub(super) fn new(health: &Arc<ConsumerHealth>, segment: &Arc<Segment>) -> Self {
        health.set_segment(segment);
        let health = Arc::downgrade(health);
        Self { health }
    }

    /// Returns the error of a lane that the consumer could not map in its last receive call; `None`
    /// if there is no such lane, or if the consumer has been dropped. Takes a lock that the
    /// consumer takes only when it searches for publishers.
    #[must_use]
    pub fn unmapped_lane(&self) -> Option<LaneNotMapped> {
        let health = self.health.upgrade()?;
        *health
            .unmapped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the consumer matches no live publisher, as found by its last receive
    /// call that searched for publishers. Returns `None` if it matches one, if there is no
    /// publisher, or if the consumer has been dropped.
    #[must_use]
    pub fn reason_for_no_match(&self) -> Option<Mismatch> {
        let health = self.health.upgrade()?;
        let mismatch = health.mismatch.lock();
        let mismatch = mismatch.unwrap_or_else(PoisonError::into_inner);
        mismatch.as_ref().map(|(cause, _)| *cause)
    }

    /// Returns a publisher that did not match when the result of [`Self::reason_for_no_match`] last
    /// changed, with the message types of both endpoints. Returns `None` if the consumer matches a
    /// publisher, or if the publisher could not be found any more.
    #[must_use]
    pub fn mismatched_publisher(&self) -> Option<MismatchedPublisher> {
        let health = self.health.upgrade()?;
        let mismatch = health.mismatch.lock();
        let mismatch = mismatch.unwrap_or_else(PoisonError::into_inner);
        mismatch.as_ref()?.1.as_deref().cloned()
    }

    /// Returns the number of times that the consumer has moved to another file because its own file
    /// had lost the topic's name.
    #[must_use]
    pub fn file_move_count(&self) -> u64 {
        // Relaxed: for people.
        let health = self.health.upgrade();
        health.map_or(0, |health| health.moves.get())
    }

    /// Returns true if the namespace of the consumer's topic was removed or replaced, even if the
    /// consumer makes no call. Takes a lock that the consumer takes only when it moves.
    #[must_use]
    pub fn is_namespace_removed(&self) -> bool {
        let Some(health) = self.health.upgrade() else {
            return false;
        };
        // Relaxed: for people.
        health.namespace_removed.get() != 0 || health.has_lost_namespace()
    }

    /// Returns true if a call of the consumer has found that the topic's memory is lost: its file
    /// was truncated, or the program closed descriptors of this library. The consumer can never
    /// receive again.
    #[must_use]
    pub fn is_memory_lost(&self) -> bool {
        // Relaxed: for people.
        let health = self.health.upgrade();
        health.is_some_and(|health| health.lost.get() != 0)
    }

    /// Returns true if the watched consumer has been dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Relaxed: nothing is read because of it.
        self.health
            .upgrade()
            .is_none_or(|health| health.closed.get() != 0)
    }

    /// Returns true if `self` and `other` watch the same consumer.
    #[must_use]
    pub fn is_of_same_consumer(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.health, &other.health)
    }
}
