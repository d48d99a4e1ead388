//! A topic from which a scheduler receives emergency stops or commands. If its memory is lost, it
//! is opened again.

use std::io;

use crate::message::{NodeEvent, Text};
use crate::scheduler::api::subscription::{Subscription, SubscriptionEvent};
use crate::topic::error::{RecvError, TopicError};
use crate::topic::{Payload, Subscriber, WaitSet};

/// The text of an emergency stop that begins because a publisher's memory cannot be mapped.
const PUBLISHER_UNMAPPED_TEXT: &str = "until all publishers of 'emergency_stop' can be read: free \
                                       memory, raise the limit, or end the publisher";
/// The text of an emergency stop that begins because the topic cannot be opened again.
const TOPIC_NOT_REOPENED_TEXT: &str =
    "until 'emergency_stop' can be opened again: end the other programs that have it open";
/// The text of an emergency stop that begins because the namespace was removed or replaced.
const NAMESPACE_REMOVED_TEXT: &str =
    "until its program is started again: the namespace was removed";

/// The state of the preparation of a topic's present file, see [`ControlTopic::prepare_file`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePreparation {
    /// The file is prepared.
    Done,
    /// The file is new.
    Due,
    /// The attempt to prepare the file has failed, and is made again.
    Failed,
}

/// A topic from which a scheduler receives emergency stops or commands.
pub(crate) struct ControlTopic<T: Payload> {
    topic: String,
    open: Box<dyn Fn() -> Result<Subscriber<T>, TopicError> + Send>,
    /// The subscriber, and its last reported state; `None` while the topic cannot be opened again.
    subscriber: Option<(Subscriber<T>, Subscription)>,
    /// The number of messages that the subscriber had lost when [`Self::take_lost_message_count`]
    /// was last called.
    lost: u64,
    preparation: FilePreparation,
}

impl<T: Payload> std::fmt::Debug for ControlTopic<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlTopic")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

impl<T: Payload> ControlTopic<T> {
    /// Opens the topic with `open`, which is also used to open it again.
    pub(crate) fn open(
        topic: &str,
        open: impl Fn() -> Result<Subscriber<T>, TopicError> + Send + 'static,
    ) -> Result<Self, TopicError> {
        let subscriber = open()?;
        let subscription = Subscription::new(topic, &subscriber);
        Ok(Self {
            topic: topic.to_owned(),
            open: Box::new(open),
            subscriber: Some((subscriber, subscription)),
            lost: 0,
            preparation: FilePreparation::Due,
        })
    }

    /// Returns the subscriber; `None` while the topic cannot be opened again.
    pub(crate) fn subscriber(&mut self) -> Option<&mut Subscriber<T>> {
        self.subscriber.as_mut().map(|(subscriber, _)| subscriber)
    }

    /// Returns the next message, if there is one.
    pub(crate) fn recv(&mut self) -> Option<T> {
        self.subscriber()?.recv()
    }

    /// Returns the number of messages that were overwritten before they were received, since the
    /// last call.
    pub(crate) fn take_lost_message_count(&mut self) -> u64 {
        let lost = self.subscriber().map_or(0, |subscriber| subscriber.lost());
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }

    /// Returns the last message, if there is a new one.
    pub(crate) fn latest(&mut self) -> Option<T> {
        self.subscriber()?.latest()
    }

    /// Adds the topic to `wait_set`, unless it cannot be opened.
    pub(crate) fn add_to_wait_set(&self, wait_set: &mut WaitSet) {
        if let Some((subscriber, _)) = &self.subscriber {
            // WHY ignored: a wait set has room for the few topics of a scheduler.
            let _ = wait_set.add(subscriber);
        }
    }

    /// Returns true if nothing can be received any more, until [`Self::reopen`] has opened the
    /// topic again.
    pub(crate) fn is_lost(&self) -> bool {
        let lost = |subscriber: &Subscriber<T>| {
            matches!(subscriber.check(), Err(RecvError::RegionLost { .. }))
        };
        self.subscriber
            .as_ref()
            .is_none_or(|(subscriber, _)| lost(subscriber))
    }

    /// Opens a topic again that is lost. Returns an event about a success, or about the first
    /// failure. Watches of the subscriber must have been dropped, because they keep the
    /// lost file open.
    pub(crate) fn reopen(&mut self) -> Option<SubscriptionEvent> {
        let is_new = self.subscriber.take().is_some();
        match (self.open)() {
            Ok(subscriber) => {
                let subscription = Subscription::new(&self.topic, &subscriber);
                self.subscriber = Some((subscriber, subscription));
                self.lost = 0;
                self.preparation = FilePreparation::Due;
                Some(SubscriptionEvent {
                    kind: NodeEvent::TOPIC_MOVED,
                    text: Text::truncated(&self.topic),
                })
            }
            Err(error) => {
                let text = || Text::format(format_args!("lost, and not opened again: {error}"));
                is_new.then(|| SubscriptionEvent {
                    kind: NodeEvent::FAILED,
                    text: text(),
                })
            }
        }
    }

    /// Returns true if the last receive call could not map the memory of a publisher. Messages of
    /// this publisher end each wait for the topic at once, although they cannot be received.
    pub(crate) fn has_unmapped_publisher(&self) -> bool {
        let subscription = self
            .subscriber
            .as_ref()
            .map(|(_, subscription)| subscription);
        subscription.is_some_and(Subscription::has_unmapped_publisher)
    }

    /// Returns an event if the state of the subscriber has changed since the last call, as
    /// [`Subscription::next_change`] does.
    pub(crate) fn next_change(&mut self) -> Option<SubscriptionEvent> {
        let event = self.subscriber.as_mut()?.1.next_change();
        if event.is_some_and(|event| event.kind == NodeEvent::TOPIC_MOVED) {
            self.preparation = FilePreparation::Due;
        }
        event
    }

    /// Prepares the topic's present file with `prepare`, unless an earlier call has done it. Does
    /// the same again at the next call if it fails. Returns the error of the first failure in a
    /// file. Does nothing while the topic cannot be opened again.
    pub(crate) fn prepare_file<E>(&mut self, prepare: impl FnOnce() -> Result<(), E>) -> Option<E> {
        if self.preparation == FilePreparation::Done || self.subscriber.is_none() {
            return None;
        }
        match prepare() {
            Ok(()) => {
                self.preparation = FilePreparation::Done;
                None
            }
            Err(error) => {
                let before = std::mem::replace(&mut self.preparation, FilePreparation::Failed);
                (before == FilePreparation::Due).then_some(error)
            }
        }
    }

    /// Returns the text of an emergency stop if the scheduler may miss messages of the topic, so
    /// that it does not know whether one has been sent; `None` if it receives all messages.
    pub(crate) fn reason_for_missed_messages(&self) -> Option<Text<128>> {
        let Some((subscriber, subscription)) = &self.subscriber else {
            return Some(Text::truncated(TOPIC_NOT_REOPENED_TEXT));
        };
        match subscriber.check() {
            Err(RecvError::NamespaceRemoved { .. }) => {
                Some(Text::truncated(NAMESPACE_REMOVED_TEXT))
            }
            Err(RecvError::NameLost { errno, .. }) => Some(Text::format(format_args!(
                "until the new file of '{}' can be opened: {}",
                self.topic,
                io::Error::from_raw_os_error(errno)
            ))),
            _ if subscription.has_unmapped_publisher() => {
                Some(Text::truncated(PUBLISHER_UNMAPPED_TEXT))
            }
            _ => None,
        }
    }
}
