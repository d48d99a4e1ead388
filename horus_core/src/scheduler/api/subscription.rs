//! Checks whether each subscriber can map the memory of all publishers, and is compatible with at
//! least one of them.

use horus_shm::{ConsumerHealthWatch, LaneNotMapped, Mismatch};

use crate::message::{NodeEvent, Text, first_difference};
use crate::topic::Watchable;

/// A subscriber that the builder of a node created, or that was declared to the builder, with the
/// state of the subscriber that was last reported.
#[derive(Debug)]
pub(crate) struct Subscription {
    topic: String,
    watch: ConsumerHealthWatch,
    had_unmapped_publisher: bool,
    matched_no_publisher: bool,
    /// Number of moves of the subscriber to another file of its topic that have been reported.
    moves: u64,
    is_namespace_removed: bool,
    is_lost: bool,
}

/// A change of a subscriber, which is recorded as an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscriptionEvent {
    /// The kind of the [`NodeEvent`].
    pub(crate) kind: u8,
    pub(crate) text: Text<128>,
}

impl Subscription {
    pub(crate) fn new(topic: &str, subscriber: &impl Watchable) -> Self {
        Self {
            topic: topic.to_owned(),
            watch: subscriber.health_watch(),
            had_unmapped_publisher: false,
            matched_no_publisher: false,
            moves: 0,
            is_namespace_removed: false,
            is_lost: false,
        }
    }

    pub(crate) fn has_same_subscriber(&self, other: &Self) -> bool {
        self.watch.is_of_same_consumer(&other.watch)
    }

    /// Returns true if the last receive call of the subscriber could not map the memory of a
    /// publisher.
    pub(crate) fn has_unmapped_publisher(&self) -> bool {
        self.watch.unmapped_lane().is_some()
    }

    /// Returns an event if one of these changes has happened since the last call; `None`
    /// otherwise:
    ///
    /// * The subscriber has failed to map a publisher's memory, or has mapped all that was missing.
    /// * It has become incompatible with all live publishers, or is no longer incompatible.
    /// * It has moved to another file of its topic, or its namespace was removed.
    /// * The memory of its topic is lost, so that it can never receive again.
    ///
    /// Each call returns one event. If several changes have happened, the next calls return them.
    pub(crate) fn next_change(&mut self) -> Option<SubscriptionEvent> {
        self.mapping_change()
            .or_else(|| self.compatibility_change())
            .or_else(|| self.file_change())
            .or_else(|| self.memory_loss())
    }

    /// Returns an event whose text is the name of the topic.
    fn event_about_topic(&self, kind: u8) -> SubscriptionEvent {
        SubscriptionEvent {
            kind,
            text: Text::truncated(&self.topic),
        }
    }

    fn memory_loss(&mut self) -> Option<SubscriptionEvent> {
        if self.is_lost || !self.watch.is_memory_lost() {
            return None;
        }
        self.is_lost = true;
        let text = Text::format(format_args!(
            "it receives nothing any more: a file was truncated, or descriptors closed: topic '{}'",
            self.topic
        ));
        Some(SubscriptionEvent {
            kind: NodeEvent::FAILED,
            text,
        })
    }

    fn file_change(&mut self) -> Option<SubscriptionEvent> {
        let moves = self.watch.file_move_count();
        if moves > self.moves {
            self.moves = moves;
            return Some(self.event_about_topic(NodeEvent::TOPIC_MOVED));
        }
        if self.is_namespace_removed || !self.watch.is_namespace_removed() {
            return None;
        }
        self.is_namespace_removed = true;
        Some(self.event_about_topic(NodeEvent::NAMESPACE_REMOVED))
    }

    fn compatibility_change(&mut self) -> Option<SubscriptionEvent> {
        let cause = self.watch.reason_for_no_match();
        let is_gone = cause.is_none() && self.watch.is_closed();
        if is_gone || cause.is_some() == self.matched_no_publisher {
            return None;
        }
        self.matched_no_publisher = cause.is_some();
        let topic = &self.topic;
        let text = match cause {
            None => return Some(self.event_about_topic(NodeEvent::COMPATIBLE)),
            Some(Mismatch::Type) => self.type_mismatch_text(),
            Some(Mismatch::Reliability) => Text::format(format_args!(
                "it requests reliable, they offer best effort: topic '{topic}'"
            )),
        };
        Some(SubscriptionEvent {
            kind: NodeEvent::INCOMPATIBLE,
            text,
        })
    }

    fn type_mismatch_text(&self) -> Text<128> {
        let topic = &self.topic;
        let Some(found) = self.watch.mismatched_publisher() else {
            return Text::format(format_args!(
                "it reads another message than they send: topic '{topic}'"
            ));
        };
        let difference = first_difference(&found.wanted.schema, &found.offered.schema);
        Text::format(format_args!(
            "it reads another message than they send: topic '{topic}': {difference}"
        ))
    }

    fn mapping_change(&mut self) -> Option<SubscriptionEvent> {
        let error = self.watch.unmapped_lane();
        // WHY: a subscriber that was dropped has not regained its publisher.
        let is_gone = error.is_none() && self.watch.is_closed();
        if is_gone || error.is_some() == self.had_unmapped_publisher {
            return None;
        }
        self.had_unmapped_publisher = error.is_some();
        Some(match error {
            Some(error) => SubscriptionEvent {
                kind: NodeEvent::LANE_NOT_MAPPED,
                text: describe_failed_mapping(&self.topic, error),
            },
            None => self.event_about_topic(NodeEvent::LANE_MAPPED),
        })
    }
}

/// Returns a text that describes why memory could not be mapped. The topic's name comes last in the
/// text, so that a long name is cut off, and not the numbers.
fn describe_failed_mapping(topic: &str, error: LaneNotMapped) -> Text<128> {
    let LaneNotMapped {
        lane,
        bytes,
        errno,
        limit,
        ..
    } = error;
    match limit {
        Some((name, at)) => Text::format(format_args!(
            "{bytes} bytes of lane {lane} cannot be mapped, {name} is {at}: topic '{topic}'"
        )),
        None => Text::format(format_args!(
            "{bytes} bytes of lane {lane} cannot be mapped, errno {errno}: topic '{topic}'"
        )),
    }
}
