//! Observers: read the messages of a topic without subscribing to it, even if the topic is removed
//! and re-created in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use horus_core::introspect::Inspector;
use horus_core::namespace::Namespace;
use horus_core::topic::DynamicSubscriber;

use crate::context::Context;
use crate::failure::Failure;

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
/// closes a topic that all other processes have closed, and opens it again when it exists again.
#[derive(Debug)]
pub(crate) struct Observer {
    namespace: Arc<Namespace>,
    name: String,
    open: Option<(Inspector, DynamicSubscriber)>,
    next_check: Instant,
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
            lost_before: 0,
        })
    }

    /// Returns true if this observer reads a topic of `namespace`, and not of one that had its path
    /// before.
    pub(crate) fn is_in(&self, namespace: &Arc<Namespace>) -> bool {
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
        let is_used = |(inspector, subscriber): &(Inspector, DynamicSubscriber)| {
            let is_needed = inspector.persists()
                || subscriber.publisher_count() > 0
                || subscriber.subscriber_count() > 0;
            // What was sent before the publisher left is read first.
            (is_needed || subscriber.stats().waiting > 0) && !inspector.is_retired()
        };
        if self.open.as_ref().is_some_and(is_used) {
            return;
        }
        self.lost_before = self.lost();
        // Closed first, so that it can be removed.
        self.open = None;
        let inspector = Inspector::open_in(&self.namespace, &self.name).ok();
        let subscriber = DynamicSubscriber::observe(&self.namespace, &self.name).ok();
        self.open = inspector.zip(subscriber);
    }
}
