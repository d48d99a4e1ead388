//! Shares the newest sample of the namespace, as JSON, with all open pages.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_core::namespace::Namespace;
use serde::Serialize;

use super::http::to_json;
use crate::output::with_format_version;
use crate::sample::{Node, Sample, SchedulerEvent, Topic};

/// Number of events that are kept for pages that are opened later. Older events are dropped.
const EVENTS_MAX: usize = 200;

/// Maximum number of pages that can be open at the same time. Further pages get an error.
const PAGES_MAX: usize = 8;

/// Shares the newest sample between the threads of all pages. A page that reads slowly misses the
/// samples in between.
#[derive(Debug)]
pub(super) struct SampleBroadcast {
    allows_control: bool,
    newest: Mutex<NewestSample>,
    pages: AtomicUsize,
}

/// The newest sample of the namespace, together with the last events.
#[derive(Debug, Default)]
pub(super) struct NewestSample {
    /// The number of the sample. Numbers start at 1. A page sends a sample only if its number
    /// differs from that of the last one.
    pub(super) version: u64,
    /// The sample as JSON, without its events.
    pub(super) state: Arc<[u8]>,
    /// The last events, oldest first, at most [`EVENTS_MAX`].
    events: VecDeque<NumberedEvent>,
    /// The number of events since the server was started. It is also the number of the last event.
    events_number: u64,
    /// The namespace, and the names of its topics that are in use. Pages need them to read messages
    /// and to send commands.
    pub(super) known: Arc<NamespaceTopics>,
}

/// A namespace, and the names of its topics that are in use.
#[derive(Debug, Default)]
pub(super) struct NamespaceTopics {
    /// The namespace; `None` if it does not exist.
    pub(super) namespace: Option<Arc<Namespace>>,
    /// The names of the topics that have a publisher or a subscriber, or keep a message for later
    /// subscribers.
    pub(super) used_topics: BTreeSet<String>,
}

/// An event and its number. Numbers start at 1.
#[derive(Debug, Serialize)]
struct NumberedEvent {
    number: u64,
    message: String,
    tone: &'static str,
    #[serde(flatten)]
    event: SchedulerEvent,
}

#[derive(Debug, Serialize)]
struct PageState<'a> {
    allow_control: bool,
    #[serde(flatten)]
    sample: &'a Sample,
    /// The histograms of the nodes. They are in the same order as `sample.nodes`.
    histograms: Vec<NodeHistograms<'a>>,
}

#[derive(Debug, Serialize)]
struct NodeHistograms<'a> {
    durations: &'a [u64],
    lateness: &'a [u64],
}

impl<'a> NodeHistograms<'a> {
    const fn of(node: &'a Node) -> Self {
        Self {
            durations: &node.durations,
            lateness: &node.lateness,
        }
    }
}

/// A guard that counts a page as open until the guard is dropped.
#[derive(Debug)]
pub(super) struct OpenPageGuard<'a>(&'a SampleBroadcast);

impl SampleBroadcast {
    pub(super) fn new(allows_control: bool) -> Self {
        Self {
            allows_control,
            newest: Mutex::default(),
            pages: AtomicUsize::new(0),
        }
    }

    /// Replaces the newest sample by `sample`, and adds the events of `sample` to the events kept.
    pub(super) fn publish(&self, mut sample: Sample, namespace: Option<&Arc<Namespace>>) {
        let events = std::mem::take(&mut sample.events);
        let state = to_json(with_format_version(PageState {
            allow_control: self.allows_control,
            sample: &sample,
            histograms: sample.nodes.iter().map(NodeHistograms::of).collect(),
        }));
        let is_used = |topic: &&Topic| {
            let details = &topic.details;
            details.publishers + details.subscribers > 0 || topic.settings.latched
        };
        let used_topics = sample.topics.iter().filter(is_used);
        let known = NamespaceTopics {
            namespace: namespace.map(Arc::clone),
            used_topics: used_topics.map(|topic| topic.name.clone()).collect(),
        };
        let mut newest = self.lock_newest_sample();
        newest.version += 1;
        newest.state = state.into();
        newest.known = Arc::new(known);
        for event in events {
            newest.events_number += 1;
            let event = NumberedEvent {
                number: newest.events_number,
                message: event.text.clone(),
                tone: event.tone.name(),
                event,
            };
            newest.events.push_back(event);
        }
        let excess = newest.events.len().saturating_sub(EVENTS_MAX);
        newest.events.drain(..excess);
    }

    /// Locks the newest sample. The guard must not be kept for long.
    pub(super) fn lock_newest_sample(&self) -> MutexGuard<'_, NewestSample> {
        // Each change is complete whenever the lock is free, also after a panic.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if at least one page is open.
    pub(super) fn has_open_page(&self) -> bool {
        // Relaxed: the number stands alone, here and below.
        self.pages.load(Ordering::Relaxed) > 0
    }

    /// Counts one more open page. Returns `None` if [`PAGES_MAX`] pages are already open.
    pub(super) fn open_page(&self) -> Option<OpenPageGuard<'_>> {
        let more = |pages| (pages < PAGES_MAX).then_some(pages + 1);
        let relaxed = Ordering::Relaxed;
        self.pages.fetch_update(relaxed, relaxed, more).ok()?;
        Some(OpenPageGuard(self))
    }
}

impl NewestSample {
    /// Returns the events whose numbers are larger than `number`, as JSON, oldest first. Also
    /// returns the number of the last event. Returns `None` if there are no such events.
    pub(super) fn events_after(&self, number: u64) -> Option<(Vec<u8>, u64)> {
        let new = self.events.iter().filter(|event| event.number > number);
        let new: Vec<_> = new.collect();
        let last = new.last()?.number;
        Some((to_json(new), last))
    }
}

impl Drop for OpenPageGuard<'_> {
    fn drop(&mut self) {
        self.0.pages.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use horus_core::message::NodeEvent;

    use super::*;

    fn sample(events: usize) -> Sample {
        let event = NodeEvent::default();
        let event = || SchedulerEvent::new("arm".to_owned(), &event);
        Sample {
            namespace: "default".to_owned(),
            events: (0..events).map(|_| event()).collect(),
            ..Sample::default()
        }
    }

    #[test]
    fn each_page_gets_the_events_that_it_has_not_seen() {
        let broadcast = SampleBroadcast::new(false);
        broadcast.publish(sample(2), None);
        let (json, last) = broadcast.lock_newest_sample().events_after(0).unwrap();
        assert_eq!(last, 2);
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json.matches("\"number\":").count(), 2, "{json}");
        assert!(broadcast.lock_newest_sample().events_after(last).is_none());
        broadcast.publish(sample(3), None);
        assert_eq!(broadcast.lock_newest_sample().version, 2);
        let (json, last) = broadcast.lock_newest_sample().events_after(last).unwrap();
        assert!(json.starts_with(b"[{\"number\":3,"), "{last}");
        assert_eq!(last, 5);
        // Old ones are forgotten, also for new pages.
        broadcast.publish(sample(EVENTS_MAX), None);
        let (json, last) = broadcast.lock_newest_sample().events_after(0).unwrap();
        assert!(json.starts_with(b"[{\"number\":6,"), "{last}");
        let state = String::from_utf8(broadcast.lock_newest_sample().state.to_vec()).unwrap();
        assert!(state.contains("\"events\":[]"), "{state}");
    }

    #[test]
    fn pages_are_counted_up_to_a_limit() {
        let broadcast = SampleBroadcast::new(false);
        assert!(!broadcast.has_open_page());
        let mut pages: Vec<_> = (0..PAGES_MAX)
            .map(|_| broadcast.open_page().unwrap())
            .collect();
        assert!(broadcast.open_page().is_none());
        pages.pop();
        assert!(broadcast.open_page().is_some());
        pages.clear();
        assert!(!broadcast.has_open_page());
    }
}
