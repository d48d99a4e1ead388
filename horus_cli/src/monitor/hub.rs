//! Holds the newest sample, as JSON, for all pages that are open.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_core::namespace::Namespace;
use serde::Serialize;

use super::http::to_json;
use crate::output::versioned;
use crate::sample::{Node, Sample, SchedulerEvent, Topic};

/// The number of events that are kept for pages that are opened later.
const EVENTS_MAX: usize = 200;

/// The largest number of pages that may be open at the same time.
const PAGES_MAX: usize = 8;

/// Holds the newest sample, for the threads of all pages. A page that reads slowly misses the
/// samples in between.
#[derive(Debug)]
pub(super) struct Hub {
    allows_control: bool,
    newest: Mutex<NewestSample>,
    pages: AtomicUsize,
}

/// A sample, and the last events up to it.
#[derive(Debug, Default)]
pub(super) struct NewestSample {
    /// The number of the sample, from 1.
    pub(super) version: u64,
    /// The sample without its events, as JSON.
    pub(super) state: Arc<[u8]>,
    /// The events, oldest first.
    events: VecDeque<NumberedEvent>,
    /// The number of events so far, which is also the number of the last one.
    events_number: u64,
    /// The namespace and the names of the topics in use. They are needed to read messages and to
    /// send commands.
    pub(super) known: Arc<NamespaceTopics>,
}

/// The namespace, and the names of the topics in use.
#[derive(Debug, Default)]
pub(super) struct NamespaceTopics {
    /// The namespace, if it exists.
    pub(super) namespace: Option<Arc<Namespace>>,
    /// The names of the topics that have a publisher or a subscriber, or are latched.
    pub(super) used_topics: BTreeSet<String>,
}

/// An event and its number, from 1.
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
    /// The histograms of the nodes, in the order of `sample.nodes`.
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

/// A guard that counts an open page until it is dropped.
#[derive(Debug)]
pub(super) struct OpenPageGuard<'a>(&'a Hub);

impl Hub {
    pub(super) fn new(allows_control: bool) -> Self {
        Self {
            allows_control,
            newest: Mutex::default(),
            pages: AtomicUsize::new(0),
        }
    }

    /// Replaces the newest sample.
    pub(super) fn publish(&self, mut sample: Sample, namespace: Option<&Arc<Namespace>>) {
        let events = std::mem::take(&mut sample.events);
        let state = to_json(versioned(PageState {
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
        let mut newest = self.newest();
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
    pub(super) fn newest(&self) -> MutexGuard<'_, NewestSample> {
        // Each change is complete whenever the lock is free, also after a panic.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a page is open.
    pub(super) fn is_watched(&self) -> bool {
        // Relaxed: the number stands alone, here and below.
        self.pages.load(Ordering::Relaxed) > 0
    }

    /// Adds an open page to the count; returns `None` if [`PAGES_MAX`] pages are open already.
    pub(super) fn open_page(&self) -> Option<OpenPageGuard<'_>> {
        let more = |pages| (pages < PAGES_MAX).then_some(pages + 1);
        let relaxed = Ordering::Relaxed;
        self.pages.fetch_update(relaxed, relaxed, more).ok()?;
        Some(OpenPageGuard(self))
    }
}

impl NewestSample {
    /// Returns the events whose numbers are larger than `number` as JSON, oldest first, and the
    /// number of the last event. Returns `None` if there are none.
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
        let hub = Hub::new(false);
        hub.publish(sample(2), None);
        let (json, last) = hub.newest().events_after(0).unwrap();
        assert_eq!(last, 2);
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json.matches("\"number\":").count(), 2, "{json}");
        assert!(hub.newest().events_after(last).is_none());
        hub.publish(sample(3), None);
        assert_eq!(hub.newest().version, 2);
        let (json, last) = hub.newest().events_after(last).unwrap();
        assert!(json.starts_with(b"[{\"number\":3,"), "{last}");
        assert_eq!(last, 5);
        // Old ones are forgotten, also for new pages.
        hub.publish(sample(EVENTS_MAX), None);
        let (json, last) = hub.newest().events_after(0).unwrap();
        assert!(json.starts_with(b"[{\"number\":6,"), "{last}");
        let state = String::from_utf8(hub.newest().state.to_vec()).unwrap();
        assert!(state.contains("\"events\":[]"), "{state}");
    }

    #[test]
    fn pages_are_counted_up_to_a_limit() {
        let hub = Hub::new(false);
        assert!(!hub.is_watched());
        let mut pages: Vec<_> = (0..PAGES_MAX).map(|_| hub.open_page().unwrap()).collect();
        assert!(hub.open_page().is_none());
        pages.pop();
        assert!(hub.open_page().is_some());
        pages.clear();
        assert!(!hub.is_watched());
    }
}
