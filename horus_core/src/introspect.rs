//! Introspection: the topics of a namespace, their types, participants, rates and losses.
//!
//! An inspector does not disturb the topic: it takes no participant slot, writes nothing, and is
//! invisible to participants. Its numbers are counters that the participants keep in the topic's
//! memory anyway.
//!
//! ```
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # let dir = dir.path().join("horus");
//! use horus_core::introspect::{Inspector, topics};
//! use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
//! use horus_core::prelude::*;
//!
//! let config = NamespaceConfig::new(dir, NamespaceName::new("robot")?);
//! let namespace = Namespace::open(&config)?;
//! let mut topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace).topic()?;
//! topic.send(CmdVel::new(0.5, 0.1))?;
//!
//! for name in topics(&namespace)? {
//!     let topic = Inspector::open_in(&namespace, &name)?;
//!     println!("{name}: {} of {} bytes", topic.message_type(), topic.message_bytes());
//!     for lane in topic.publishers() {
//!         println!("  publisher {:?} sent {}", lane.publisher, lane.sent);
//!     }
//! }
//! # Ok::<(), horus_core::Error>(())
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use horus_shm::internals::telemetry::Latencies;
pub use horus_shm::{LaneCounters, Participant, ReaderCounters};
use horus_shm::{Namespace, OpenError, Reliability, Segment, TopicName, topic_names};

use crate::topic::Backend;
use crate::topic::error::TopicError;

/// Returns the names of the existing topics, sorted: those in use and those that persist.
///
/// # Errors
///
/// [`OpenError::Io`] if the namespace's directory cannot be read.
pub fn topics(namespace: &Namespace) -> Result<Vec<String>, OpenError> {
    let names = topic_names(namespace)?;
    let mut names: Vec<_> = names.iter().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    Ok(names)
}

/// A read-only view of one topic, whatever it carries.
#[derive(Debug, Clone)]
pub struct Inspector {
    segment: Arc<Segment>,
}

impl Inspector {
    /// Opens the topic `name` of the current namespace, which must exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open(name: &str) -> Result<Self, TopicError> {
        let namespace = Namespace::current().map_err(|e| TopicError::new(name, e.into()))?;
        Self::open_in(&namespace, name)
    }

    /// [`Self::open`] in another namespace.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open_in(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let open = || Segment::inspect(namespace, &TopicName::new(name)?);
        let segment = open().map_err(|error| TopicError::new(name, error))?;
        Ok(Self { segment })
    }

    /// Returns the name of the message type.
    #[must_use]
    pub fn message_type(&self) -> &str {
        &self.segment.contract().type_info.name
    }

    /// Returns the schema text: a line for each field of the message.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.segment.contract().type_info.schema
    }

    /// Returns the size of a message in bytes, or of the longest one if sizes differ.
    #[must_use]
    pub fn message_bytes(&self) -> u64 {
        self.segment.contract().type_info.bytes
    }

    /// Returns the number of slots of each publisher's lane, in messages.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.segment.shape().capacity()
    }

    /// Returns what a publisher does when its lane is full: overwrite or refuse.
    #[must_use]
    pub fn reliability(&self) -> Reliability {
        self.segment.contract().reliability
    }

    /// Returns the kind of ring that the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(&self.segment)
    }

    /// Returns the lanes that were ever used, with their publishers if those are alive.
    #[must_use]
    pub fn publishers(&self) -> Vec<LaneCounters> {
        self.segment.lane_counters()
    }

    /// Returns the live subscribers, without observers.
    #[must_use]
    pub fn subscribers(&self) -> Vec<ReaderCounters> {
        self.segment.reader_counters()
    }

    /// Takes a snapshot of the counters, to be compared with a later one by [`Snapshot::until`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let (lanes, readers) = (self.publishers(), self.subscribers());
        Snapshot {
            at: Instant::now(),
            sent: lanes.iter().map(|lane| lane.sent).sum(),
            refused: lanes.iter().map(|lane| lane.refused).sum(),
            received: readers.iter().map(|reader| reader.received).sum(),
            lost: readers.iter().map(|reader| reader.lost).sum(),
        }
    }
}

/// The counters of a topic at one moment, summed over all of its participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The time of the snapshot.
    pub at: Instant,
    /// Messages sent since the topic was created.
    pub sent: u64,
    /// Sends refused.
    pub refused: u64,
    /// Messages delivered to the present subscribers since they joined.
    pub received: u64,
    /// Messages lost by the present subscribers.
    pub lost: u64,
}

impl Snapshot {
    /// Returns the change from this snapshot to a later one. The counts of a subscriber that left
    /// in between are gone with it; if a sum got smaller, its change is reported as 0.
    #[must_use]
    pub fn until(&self, later: &Self) -> Change {
        Change {
            took: later.at.saturating_duration_since(self.at),
            sent: later.sent.saturating_sub(self.sent),
            refused: later.refused.saturating_sub(self.refused),
            received: later.received.saturating_sub(self.received),
            lost: later.lost.saturating_sub(self.lost),
        }
    }
}

/// The change between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The time between them.
    pub took: Duration,
    /// Messages sent.
    pub sent: u64,
    /// Sends refused.
    pub refused: u64,
    /// Messages delivered.
    pub received: u64,
    /// Messages lost.
    pub lost: u64,
}

impl Change {
    /// Returns the number of messages sent per second; 0 if no time passed.
    #[must_use]
    pub fn sent_hz(&self) -> f64 {
        let seconds = self.took.as_secs_f64();
        if seconds > 0.0 { self.sent as f64 / seconds } else { 0.0 }
    }
}
