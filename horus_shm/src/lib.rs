//! Lanes, and the memory they run on: rings in memory-mapped files between processes.
//!
//! A ring is made of *lanes*: arrays of slots that one producer each writes, with a stamp in every
//! slot. A producer never waits for a lock, a consumer or another producer, and killing or
//! stopping any process at any instruction leaves all others working. The typed views are in
//! [`ring`]; topics with schemas and quality of service are in `horus_core`, on top of this.
//!
//! ```
//! use horus_shm::{FanoutShm, Namespace, NamespaceConfig, NamespaceName, RingOptions};
//!
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::new("doc")?);
//! // In one process (here with a `config`; `Namespace::current()` asks the environment):
//! let namespace = Namespace::open(&config)?;
//! let ring = FanoutShm::<[f64; 3]>::create(&namespace, "position", &RingOptions::default())?;
//! let mut producer = ring.producer()?;
//!
//! // In another one:
//! let ring = FanoutShm::<[f64; 3]>::open(&namespace, "position", &RingOptions::default())?;
//! let mut consumer = ring.consumer()?;
//!
//! producer.send([1.0, 2.0, 3.0]).unwrap();
//! assert_eq!(consumer.recv(), Some([1.0, 2.0, 3.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The algorithms are in [`lane`], [`gate`] and [`takeover`], generic over their [`memory`], so
//! that all of them also run in the loom models; the bytes are in [`layout`] and [`shape`].

pub mod clock;
mod consumer;
mod contract;
pub mod copy;
pub mod ending;
pub mod ends;
mod error;
mod fault;
mod figures;
mod fork;
pub mod gate;
pub mod handle;
pub mod header;
pub mod heap;
pub mod lane;
pub mod layout;
mod liveness;
mod loan;
pub mod memory;
mod name;
mod namespace;
mod open;
pub mod owner;
mod place;
pub mod presence;
mod producer;
mod region;
pub mod ring;
pub mod rt;
mod sample;
mod segment;
pub mod shape;
mod sweep;
pub mod sync;
mod sys;
pub mod takeover;
pub mod telemetry;
pub mod ticket;
pub mod wait;

pub use bytemuck::{Pod, Zeroable, bytes_of};

pub use consumer::{Alarm, Consumer, Key, RawConsumer, ReadStats, Reading, Watch};
pub use contract::{Contract, PINNABLE_BYTES, Reliability, Request, TypeInfo, WakeEdge};
pub use error::{OpenError, RecvError};
pub use figures::{LaneFigures, Participant, ReaderFigures};
pub use fork::fork_epoch;
pub use liveness::{Owner, ProcessInfo, Registry, RegistryError, RegistryFault};
pub use loan::{Loan, LoanError, RawLoan};
pub use name::{NameError, NameKind, NamespaceName, TopicName};
pub use namespace::{Namespace, NamespaceConfig, NamespaceError, NamespaceRemoveError};
pub use place::BORROWS_MAX;
pub use producer::{OnStalled, Producer, RawProducer, SendError};
pub use region::Access;
pub use ring::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};
pub use sample::{BorrowError, RawSample, Sample};
pub use segment::Segment;
pub use sweep::{SweepReport, remove_topic, sweep, topic_names};
