//! A subscriber of a node, and a check for publishers that it cannot map.

use horus_shm::{LaneNotMapped, LaneWatch};

use crate::message::{NodeEvent, Text};
use crate::topic::Watchable;

/// A subscriber that the scheduler knows to belong to a node.
#[derive(Debug)]
pub(crate) struct Subscription {
    topic: String,
    watch: LaneWatch,
    is_incomplete: bool,
}

impl Subscription {
    pub(crate) fn new(topic: &str, subscriber: &impl Watchable) -> Self {
        Self { topic: topic.to_owned(), watch: subscriber.lane_watch(), is_incomplete: false }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.watch.is_same(&other.watch)
    }

    /// Returns the kind and the text of an event if the subscriber has come to miss a publisher
    /// since the last call, or misses none any more.
    pub(crate) fn look(&mut self) -> Option<(u8, Text<128>)> {
        let error = self.watch.unmapped();
        // WHY: a subscriber that was dropped has not regained its publisher.
        let is_gone = error.is_none() && self.watch.is_closed();
        if is_gone || error.is_some() == self.is_incomplete {
            return None;
        }
        self.is_incomplete = error.is_some();
        Some(match error {
            Some(error) => (NodeEvent::LANE_NOT_MAPPED, describe(&self.topic, error)),
            None => (NodeEvent::LANE_MAPPED, Text::cut(&self.topic)),
        })
    }
}

/// Describes the failed mapping. The topic comes last: a long name is cut, the numbers are not.
fn describe(topic: &str, error: LaneNotMapped) -> Text<128> {
    let LaneNotMapped { lane, bytes, errno, limit, .. } = error;
    match limit {
        Some((name, at)) => Text::format(format_args!(
            "{bytes} bytes of lane {lane} cannot be mapped, {name} is {at}: topic '{topic}'"
        )),
        None => Text::format(format_args!(
            "{bytes} bytes of lane {lane} cannot be mapped, errno {errno}: topic '{topic}'"
        )),
    }
}
