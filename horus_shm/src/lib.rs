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
//! The algorithms are in `lane`, `gate` and `takeover`, generic over their `memory`, so that all of
//! them also run in the loom models; the bytes are in `layout` and `shape`. None of them is public:
//! safe code that wrote them could change a message that somebody borrows.

#[cfg(test)]
use horus_testing as _;

pub mod clock;
mod consumer;
mod contract;
mod copy;
mod ending;
mod ends;
mod error;
mod fault;
mod figures;
mod fork;
mod gate;
mod handle;
mod header;
mod heap;
mod lane;
mod layout;
mod liveness;
mod loan;
mod memory;
mod name;
mod namespace;
mod open;
mod owner;
mod place;
mod presence;
mod producer;
mod region;
pub mod ring;
pub mod rt;
mod sample;
mod segment;
mod shape;
mod sweep;
mod sync;
mod sys;
mod takeover;
mod telemetry;
mod ticket;
mod wait;

pub use bytemuck::{Pod, Zeroable, bytes_of};

pub use consumer::{Alarm, Consumer, Key, RawConsumer, ReadStats, Reading, Watch};
pub use contract::{Contract, PINNABLE_BYTES, Reliability, Request, TypeInfo, WakeEdge};
pub use error::{LaneNotMapped, OpenError, RecvError};
pub use figures::{LaneFigures, Participant, ReaderFigures};
pub use fork::fork_epoch;
pub use liveness::{Holder, Owner, ProcessInfo, Registry, RegistryError, RegistryFault};
pub use loan::{Loan, LoanError, RawLoan};
pub use name::{NameError, NameKind, NamespaceName, TopicName};
pub use namespace::{Namespace, NamespaceConfig, NamespaceError, NamespaceRemoveError};
pub use place::BORROWS_MAX;
pub use producer::{LoanMemory, OnStalled, Producer, RawProducer, SendError};
pub use region::Access;
pub use ring::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};
pub use sample::{BorrowError, RawSample, Sample};
pub use segment::Segment;
pub use sweep::{SweepReport, remove_topic, sweep, topic_names};
pub use telemetry::Latencies;
pub use wait::Patience;

/// Re-exports the parts of this crate that its models, its tests and the other crates of this
/// workspace use.
///
/// Nothing here is for users or stable: a call out of order breaks what other processes borrow.
#[doc(hidden)]
pub mod internals {
    pub use crate::segment::Blocks;
    pub use crate::sys::descriptor::above_standard;

    macro_rules! reexport {
        ($($module:ident)*) => {$(
            #[allow(missing_docs, reason = "each module has its own documentation")]
            pub mod $module {
                pub use crate::$module::*;
            }
        )*};
    }

    reexport! {
        copy ending ends gate handle header heap lane layout memory owner presence shape sync
        takeover telemetry ticket wait
    }
}
