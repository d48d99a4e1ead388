//! Observers: read the messages of a topic without subscribing to it, even if the topic is removed
//! and re-created in between.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use horus_core::introspect::Inspector;
use horus_core::namespace::Namespace;
use horus_core::topic::DynamicSubscriber;

use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::{find_replacement_namespace, replacement_namespace_note};

/// Time between two checks of whether another process still uses the topic.
const USE_CHECK_PERIOD: Duration = Duration::from_millis(100);

/// Time between two checks of a topic for new messages.
pub(super) const OBSERVER_POLL_PERIOD: Duration = Duration::from_millis(1);

/// Maximum time for which a command reads messages before it looks at the time and at signals
/// again. WHY a limit: messages may come faster than they are read.
pub(super) const READ_TIME_MAX: Duration = Duration::from_millis(10);

/// An observer, which reads the messages of a topic without being a subscriber of it.
///
/// It maps the topic read-only, never slows a publisher and is not counted as a subscriber. It
/// closes a topic that all other processes have closed, and opens it again when it exists again. If
/// the namespace was removed, it goes on in the one that has the name.
#[derive(Debug)]
pub(crate) struct Observer {
    namespace: Arc<Namespace>,
    name: String,
    open: Option<(Inspector, DynamicSubscriber)>,
    next_check: Instant,
    /// True if another namespace has the path of the former one since
    /// [`Self::take_namespace_change_note`].
    has_moved: bool,
    /// Number of messages lost on the topics that were closed before. The current subscriber counts
    /// later losses.
    lost_before: u64,
}

impl Observer {
    /// Opens the topic `name`. Returns a failure if the topic does not exist.
    pub(crate) fn open(
        context: &Context,
        namespace: &Arc<Namespace>,
        name: &str,
    ) -> Result<Self, Failure> {
        let inspector = context.open_inspector(namespace, name)?;
        let subscriber = DynamicSubscriber::observe(namespace, name)
            .map_err(|error| context.topic_failure(namespace, name, &error))?;
        Ok(Self {
            namespace: Arc::clone(namespace),
            name: name.to_owned(),
            open: Some((inspector, subscriber)),
            next_check: Instant::now() + USE_CHECK_PERIOD,
            has_moved: false,
            lost_before: 0,
        })
    }

    /// Returns true if this observer reads a topic of `namespace`, and not of one that had its path
    /// before.
    pub(crate) fn reads_topic_of(&self, namespace: &Arc<Namespace>) -> bool {
        Arc::ptr_eq(&self.namespace, namespace)
    }

    /// Returns the subscriber that reads the topic; `None` while no process uses the topic.
    pub(crate) fn subscriber(&mut self) -> Option<&mut DynamicSubscriber> {
        if Instant::now() >= self.next_check {
            self.next_check = Instant::now() + USE_CHECK_PERIOD;
            self.open_or_close_topic();
        }
        self.open.as_mut().map(|(_, subscriber)| subscriber)
    }

    /// Returns a note for the user if this observer has moved to a new namespace since the last
    /// call; otherwise `None`.
    pub(crate) fn take_namespace_change_note(&mut self) -> Option<String> {
        let has_moved = mem::take(&mut self.has_moved);
        has_moved.then(|| replacement_namespace_note(&self.namespace))
    }

    /// Returns the number of messages that were overwritten before the observer read them.
    pub(crate) fn lost(&self) -> u64 {
        let now = self
            .open
            .as_ref()
            .map_or(0, |(_, subscriber)| subscriber.lost());
        self.lost_before + now
    }

    /// Closes the topic if no other process uses it. Opens it if it was closed and other processes
    /// use it again.
    ///
    /// WHY: a topic exists as long as a process has it open, and a program that only reads must not
    /// keep it.
    fn open_or_close_topic(&mut self) {
        // It is tried again later if the new namespace cannot be opened.
        let replacement = find_replacement_namespace(&self.namespace).ok().flatten();
        if replacement.is_none() && self.is_topic_in_use() {
            return;
        }
        if let Some(namespace) = replacement {
            self.namespace = namespace;
            self.has_moved = true;
        }
        self.lost_before = self.lost();
        // Closed first, so that it can be removed.
        self.open = None;
        let inspector = Inspector::open_in(&self.namespace, &self.name).ok();
        let subscriber = DynamicSubscriber::observe(&self.namespace, &self.name).ok();
        self.open = inspector.zip(subscriber);
    }

    /// Returns true if the topic is open and used. If another file has the name of the topic now,
    /// that file is used; returns false if it has another message type.
    fn is_topic_in_use(&mut self) -> bool {
        let Some((inspector, subscriber)) = &mut self.open else {
            return false;
        };
        if inspector.is_retired()
            && let Ok(present) = Inspector::open_in(&self.namespace, &self.name)
        {
            if !has_same_type(inspector, &present) {
                return false;
            }
            // WHY not a new subscriber: this one moves there itself, and knows which of the
            // messages that publishers repeat in the new file it has received.
            *inspector = present;
        }
        // What was sent before the publisher left is read first.
        inspector.persists()
            || subscriber.publisher_count() > 0
            || subscriber.subscriber_count() > 0
            || subscriber.stats().waiting > 0
    }
}

fn has_same_type(one: &Inspector, other: &Inspector) -> bool {
    let message_type = |topic: &Inspector| {
        let (hash, has_variable_size) = (topic.schema_hash(), topic.has_variable_size());
        (topic.message_type().to_owned(), hash, has_variable_size)
    };
    message_type(one) == message_type(other)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::thread;

    use horus_core::message::CmdVel;
    use horus_core::topic::{Publisher, Qos, Topic};

    use super::*;
    use crate::testing::private_namespace;

    /// The publisher sends its history again in the new file.
    #[test]
    fn a_message_that_a_publisher_repeats_after_a_move_is_not_read_again() {
        let (_dir, namespace) = private_namespace();
        let topic = Topic::<CmdVel>::builder("moved").namespace(&namespace);
        let mut publisher: Publisher<CmdVel> =
            topic.qos(Qos::new().history(4)).publisher().unwrap();
        let inspector = Inspector::open_in(&namespace, "moved").unwrap();
        let subscriber = DynamicSubscriber::observe(&namespace, "moved").unwrap();
        let mut observer = Observer {
            namespace: Arc::clone(&namespace),
            name: "moved".to_owned(),
            open: Some((inspector, subscriber)),
            next_check: Instant::now(),
            has_moved: false,
            lost_before: 0,
        };
        let path = namespace.topics_path().join("moved");
        let mut sent = 0;
        let mut send = || {
            sent += 1;
            publisher.send(CmdVel::new(sent as f32, 0.25)).unwrap();
            sent as usize
        };
        let mut read = Vec::new();
        let mut read_all = || {
            observer.next_check = Instant::now();
            if let Some(subscriber) = observer.subscriber() {
                while let Some(message) = subscriber.recv_bytes() {
                    read.push(message.to_vec());
                }
            }
            let different: HashSet<_> = read.iter().collect();
            assert_eq!(different.len(), read.len(), "a message was read twice");
            read.len()
        };
        for _ in 0..5 {
            assert_eq!(send(), read_all());
        }
        fs::remove_file(&path).unwrap();
        // WHY a pause: this process notices after 0.1 s at most that the name is lost, and the
        // publisher then moves with its next message.
        while !path.exists() {
            thread::sleep(Duration::from_millis(200));
            send();
        }
        // The observer may notice the new file later.
        let mut sent = send();
        while read_all() < sent {
            sent = send();
            thread::sleep(Duration::from_millis(1));
        }
    }
}
