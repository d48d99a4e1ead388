//! Introspection: what a namespace's topics carry, who takes part, how fast, and what was lost.
//!
//! Looking disturbs nobody: no place is taken, nothing is written, and no participant notices. The
//! figures are counters that the participants keep in the topic's memory anyway.
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

/// The names of the topics that there are, sorted: those in use and those that persist.
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

/// A look at one topic from outside, whatever it carries.
#[derive(Debug, Clone)]
pub struct Inspector {
    segment: Arc<Segment>,
}

impl Inspector {
    /// Looks at the topic `name` of the current namespace, which must be there.
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

    /// The message type's name.
    #[must_use]
    pub fn message_type(&self) -> &str {
        &self.segment.contract().type_info.name
    }

    /// The schema text: a line for each field of the message.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.segment.contract().type_info.schema
    }

    /// Size of a message, of the longest one if they differ.
    #[must_use]
    pub fn message_bytes(&self) -> u64 {
        self.segment.contract().type_info.bytes
    }

    /// Slots of each publisher's lane, in messages.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.segment.shape().capacity()
    }

    /// What a full lane means to a publisher.
    #[must_use]
    pub fn reliability(&self) -> Reliability {
        self.segment.contract().reliability
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(&self.segment)
    }

    /// The lanes that were ever used, and their publishers as far as they live.
    #[must_use]
    pub fn publishers(&self) -> Vec<LaneCounters> {
        self.segment.lane_figures()
    }

    /// The subscribers that live, observers apart.
    #[must_use]
    pub fn subscribers(&self) -> Vec<ReaderCounters> {
        self.segment.reader_figures()
    }

    /// What was counted until now, to be compared with a later look by [`Snapshot::until`].
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

/// The counts of a topic at a moment, over all of its participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// When.
    pub at: Instant,
    /// Messages sent since the topic was made.
    pub sent: u64,
    /// Sends refused.
    pub refused: u64,
    /// Messages delivered to the present subscribers since they joined.
    pub received: u64,
    /// Messages lost by the present subscribers.
    pub lost: u64,
}

impl Snapshot {
    /// What happened from this snapshot to a later one. Counts that a subscriber took away with it
    /// when it left show as none.
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

/// What happened between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Time between them.
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
    /// Messages sent, per second; 0 if no time passed.
    #[must_use]
    pub fn sent_hz(&self) -> f64 {
        let seconds = self.took.as_secs_f64();
        if seconds > 0.0 { self.sent as f64 / seconds } else { 0.0 }
    }
}
