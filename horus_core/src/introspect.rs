//! Shows the topics of a namespace: their types, participants, rates and losses.
//!
//! Inspecting does not disturb a topic: an inspector only reads, takes no participant slot, and is
//! invisible to the participants. It shows counters that the participants always keep in the
//! topic's memory.
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

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub use horus_shm::internals::telemetry::{Latencies, MESSAGES_PER_SAMPLE};
pub use horus_shm::{
    LaneCounters, LivenessCache, MatchSettings, Offer, Participant, ProcessInfo, ReaderCounters,
    UnmatchedPair,
};
use horus_shm::{Namespace, OpenError, Reliability, Segment, TopicName, TypeInfo, topic_names};

use crate::topic::Backend;
use crate::topic::error::TopicError;

/// Returns the sorted names of the topics that exist, whether processes use them or not.
///
/// # Errors
///
/// Returns [`OpenError::Io`] if the namespace's directory cannot be read.
pub fn topics(namespace: &Namespace) -> Result<Vec<String>, OpenError> {
    let names = topic_names(namespace)?;
    let mut names: Vec<_> = names.iter().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    Ok(names)
}

/// Returns all live processes that have opened a namespace, including the calling process and those
/// that only inspect the namespace or have no topic yet. The `owner_id` of a process is the same as
/// in [`Inspector::publishers`] and [`Inspector::subscribers`].
///
/// Makes one system call for each process. A process that dies during this call may be included.
///
/// # Errors
///
/// Returns [`OpenError::Io`] if the namespace's registry cannot be read, and
/// [`OpenError::Forked`] in a forked child.
pub fn processes(namespace: &Namespace) -> Result<Vec<Participant>, OpenError> {
    Participant::all(namespace)
}

/// The size in bytes of one block, the unit in which `st_blocks` of stat(2) counts a file's memory.
const ST_BLOCKS_UNIT_BYTES: u64 = 512;

/// The total size of a topic's file and its lane files, and the age of the topic's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicFile {
    /// Total length of the topic's file and its lane files, in bytes.
    pub bytes: u64,
    /// Memory that the topic's file and its lane files occupy, in bytes. Lanes that were never used
    /// occupy none.
    pub allocated_bytes: u64,
    /// The time at which the topic's file was created; `None` if the file system does not store it.
    pub created: Option<SystemTime>,
}

/// A read-only view of one topic of any message type.
#[derive(Debug, Clone)]
pub struct Inspector {
    segment: Arc<Segment>,
    type_info: TypeInfo,
}

impl Inspector {
    /// Opens the topic `name` of the current namespace, which must exist.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the name is invalid, or the topic does not exist or is unreadable.
    pub fn open(name: &str) -> Result<Self, TopicError> {
        let namespace = Namespace::current().map_err(|e| TopicError::new(name, e.into()))?;
        Self::open_in(&namespace, name)
    }

    /// Opens the topic `name` of the given namespace, like [`Self::open`].
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the name is invalid, or the topic does not exist or is unreadable.
    pub fn open_in(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let open = || Segment::inspect(namespace, &TopicName::new(name)?);
        let segment = open().map_err(|error| TopicError::new(name, error))?;
        let type_info = segment.present_type();
        Ok(Self { segment, type_info })
    }

    /// Returns the name of the message type, as it was when this inspector was opened. It is the
    /// type of the first live publisher. Without a live publisher, it is the type of the messages
    /// that the topic keeps. If the topic keeps no messages, it is the type with which the topic
    /// was created. See [`Self::offers`] for the types of all publishers.
    #[must_use]
    pub fn message_type(&self) -> &str {
        &self.type_info.name
    }

    /// Returns the schema text of the message type: one line for each field of the message.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.type_info.schema
    }

    /// Returns the size of a message in bytes. If messages differ in size, returns the size of the
    /// longest message that a publisher can send now.
    #[must_use]
    pub fn message_bytes(&self) -> u64 {
        let offers = self.segment.offers();
        let longest = offers.iter().map(|(_, offer)| offer.type_info.bytes);
        longest.max().unwrap_or(self.type_info.bytes)
    }

    /// Returns the hash of the schema text. Publishers and subscribers compare these hashes to find
    /// out whether their message types are the same.
    #[must_use]
    pub fn schema_hash(&self) -> u128 {
        u128::from_be_bytes(self.type_info.hash)
    }

    /// Returns true if messages of the topic differ in length, and false if all have one fixed
    /// size.
    #[must_use]
    pub fn has_variable_size(&self) -> bool {
        self.type_info.sized
    }

    /// Returns the history length of the publisher that keeps the most messages for subscribers
    /// that join later, in messages; 0 without publishers.
    #[must_use]
    pub fn history(&self) -> u32 {
        let offers = self.segment.offers();
        offers
            .iter()
            .map(|(_, offer)| offer.history)
            .max()
            .unwrap_or(0)
    }

    /// Returns true if a publisher offers a history that stays after the publisher has left. In
    /// this case, the topic also stays after its last process has exited.
    #[must_use]
    pub fn persists(&self) -> bool {
        self.segment
            .offers()
            .iter()
            .any(|(_, offer)| offer.persists)
    }

    /// Returns the largest number of publishers that the topic can have at the same time.
    #[must_use]
    pub fn publishers_max(&self) -> u32 {
        self.segment.shape().lane_limit()
    }

    /// Returns the largest number of subscribers that the topic can have at the same time.
    #[must_use]
    pub fn subscribers_max(&self) -> u32 {
        self.segment.shape().reader_limit()
    }

    /// Returns the size and age of the topic's file and its lane files. Makes two system calls, and
    /// one more for each lane file.
    ///
    /// # Errors
    ///
    /// Returns the system error, for instance if `/proc` is not mounted.
    pub fn file(&self) -> io::Result<TopicFile> {
        let metadata = self.metadata()?;
        let lanes = self.segment.lane_paths().map_err(io::Error::other)?;
        let lanes: Vec<_> = lanes.iter().flat_map(fs::metadata).collect();
        let files = || lanes.iter().chain([&metadata]);
        Ok(TopicFile {
            bytes: files().map(Metadata::len).sum(),
            allocated_bytes: files()
                .map(|file| file.blocks() * ST_BLOCKS_UNIT_BYTES)
                .sum(),
            created: metadata.created().ok(),
        })
    }

    /// Returns true if the topic was removed, or removed and re-created. In this case, this
    /// inspector still shows the old topic: open a new inspector. Makes a few system calls; if one
    /// of them fails, the topic counts as removed.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        let identity = |file: Metadata| (file.dev(), file.ino());
        let named = fs::metadata(self.segment.path()).map(identity);
        !matches!((self.metadata().map(identity), named), (Ok(own), Ok(named)) if own == named)
    }

    /// Returns the metadata of the topic's open file, even if the file was removed from its
    /// directory.
    fn metadata(&self) -> io::Result<Metadata> {
        let fd = self.segment.fd().ok_or(io::ErrorKind::NotFound)?;
        // WHY not a copy of the descriptor: this opens and closes nothing, so it cannot affect a
        // lock of the file.
        fs::metadata(format!("/proc/self/fd/{}", fd.as_raw_fd()))
    }

    /// Returns the number of slots of the topic's longest lane; 0 if no publisher has ever joined.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        let offers = self.segment.offers();
        let capacities = offers.iter().map(|(_, offer)| offer.shape.capacity());
        capacities.max().unwrap_or(0)
    }

    /// Returns [`Reliability::Reliable`] if any publisher offers reliable delivery, and
    /// [`Reliability::BestEffort`] otherwise.
    #[must_use]
    pub fn reliability(&self) -> Reliability {
        let offers = self.segment.offers();
        let is_reliable = |(_, offer): &(u32, Offer)| offer.reliability == Reliability::Reliable;
        if offers.iter().any(is_reliable) {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        }
    }

    /// Returns the offer of each publisher (number of slots, reliability and history), with the
    /// index of its lane. For a lane without a publisher, returns the offer of its last publisher.
    /// Makes some system calls for each lane.
    #[must_use]
    pub fn offers(&self) -> Vec<(u32, Offer)> {
        self.segment.offers()
    }

    /// Returns the kind of ring buffer that the topic uses with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        let segment = &self.segment;
        Backend::between(segment.publisher_count(), segment.subscriber_count())
    }

    /// Returns the counters of all lanes that were ever used. Each has the publisher that uses the
    /// lane, if that publisher is alive.
    #[must_use]
    pub fn publishers(&self) -> Vec<LaneCounters> {
        self.segment.lane_counters()
    }

    /// Returns the counters of all live subscribers. Observers are not included.
    #[must_use]
    pub fn subscribers(&self) -> Vec<ReaderCounters> {
        self.segment.reader_counters()
    }

    /// Returns the same as [`Self::publishers`], but does not check again whether the processes in
    /// `cache` are alive. Adds the other live processes to `cache`.
    #[must_use]
    pub fn publishers_with(&self, cache: &mut LivenessCache) -> Vec<LaneCounters> {
        self.segment.lane_counters_with(cache)
    }

    /// Returns the same as [`Self::subscribers`], but does not check again whether the processes in
    /// `cache` are alive. Adds the other live processes to `cache`.
    #[must_use]
    pub fn subscribers_with(&self, cache: &mut LivenessCache) -> Vec<ReaderCounters> {
        self.segment.reader_counters_with(cache)
    }

    /// Returns the pairs of a live publisher and a live subscriber that do not match. Each pair has
    /// the reason why no message passes from one to the other. Observers are not included, nor are
    /// subscribers that are just joining. Makes some system calls for each publisher.
    #[must_use]
    pub fn unmatched_pairs(&self) -> Vec<UnmatchedPair> {
        self.segment.unmatched_pairs()
    }

    /// Takes a snapshot of the counters. [`Snapshot::change_until`] compares it with a later
    /// snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let lanes = self.publishers();
        let readers = self.subscribers();
        Snapshot {
            at: Instant::now(),
            sent: lanes.iter().map(|lane| lane.sent).sum(),
            refused: lanes.iter().map(|lane| lane.refused).sum(),
            received: readers.iter().map(|reader| reader.received).sum(),
            lost: readers.iter().map(|reader| reader.lost).sum(),
        }
    }
}

/// The counters of a topic at one moment. Each counter is a sum over all participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The time at which the counters were read.
    pub at: Instant,
    /// Number of messages sent since the topic was created.
    pub sent: u64,
    /// Number of sends that were refused because a reliable subscriber had not yet read old
    /// messages.
    pub refused: u64,
    /// Number of messages delivered to the present subscribers since they joined.
    pub received: u64,
    /// Number of messages that were overwritten before the present subscribers received them.
    pub lost: u64,
}

impl Snapshot {
    /// Returns the change from this snapshot to a later one. The sums do not include the counts of
    /// subscribers that have left; if a sum became smaller for that reason, its change is 0.
    #[must_use]
    pub fn change_until(&self, later: &Self) -> CounterChange {
        CounterChange {
            took: later.at.saturating_duration_since(self.at),
            sent: later.sent.saturating_sub(self.sent),
            refused: later.refused.saturating_sub(self.refused),
            received: later.received.saturating_sub(self.received),
            lost: later.lost.saturating_sub(self.lost),
        }
    }
}

/// The change of a topic's counters between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterChange {
    /// The time between the two snapshots.
    pub took: Duration,
    /// Number of messages sent between the two snapshots.
    pub sent: u64,
    /// Number of sends that were refused between the two snapshots.
    pub refused: u64,
    /// Number of messages delivered between the two snapshots.
    pub received: u64,
    /// Number of messages lost between the two snapshots.
    pub lost: u64,
}

impl CounterChange {
    /// Returns the number of messages sent per second; 0 if no time passed.
    #[must_use]
    pub fn sent_hz(&self) -> f64 {
        let seconds = self.took.as_secs_f64();
        if seconds > 0.0 {
            self.sent as f64 / seconds
        } else {
            0.0
        }
    }
}
