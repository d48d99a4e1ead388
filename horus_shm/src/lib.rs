//! Lanes, and the memory that they use: rings in memory-mapped files, shared between processes.
//!
//! A ring is made of *lanes*. A lane is an array of slots, each with a stamp, and is written by one
//! producer. A producer never waits for a lock, a consumer or another producer. If a process is
//! killed or stopped at any instruction, all others continue to work. The typed views are in
//! [`ring`]; topics with schemas and quality of service are in `horus_core`, which is built on this
//! crate.
//!
//! ```
//! use horus_shm::{FanoutShm, Namespace, NamespaceConfig, NamespaceName, RingOptions};
//!
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::new("doc")?);
//! // In one process (here with a `config`; `Namespace::current()` reads the environment):
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
//! The algorithms are in `lane`, `gate` and `takeover`. They are generic over their `memory`, so
//! that the loom models run the same code. The layout of the files is in `layout` and `shape`. None
//! of these modules is public: with them, safe code could change a message that is borrowed
//! elsewhere.

#[cfg(test)]
use horus_testing as _;

mod endpoint;
mod file;
mod heap;
mod os;
mod process;
mod protocol;
mod wait;

pub use bytemuck::{Pod, Zeroable, bytes_of};

pub use endpoint::consumer::{
    Consumer, ConsumerHealthWatch, Key, MessageAlarm, RawConsumer, ReadMode, ReadStats, Watch,
};
pub use endpoint::loan::{Loan, LoanError, RawLoan};
pub use endpoint::producer::{LoanMemory, OnStalled, Producer, RawProducer, SendError};
pub use endpoint::publisher_progress::PublisherProgress;
pub use endpoint::reader_slot::BORROWS_MAX;
pub use endpoint::ring;
pub use endpoint::ring::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};
pub use endpoint::sample::{BorrowError, RawSample, Sample};
pub use file::counters::{
    JoinedReader, LaneCounters, MismatchedPublisher, Participant, ReaderCounters, UnmatchedPair,
};
pub use file::error::{LaneNotMapped, OpenError, RecvError};
pub use file::label::TopicLabel;
pub use file::latch_key::LatchKey;
pub use file::liveness_cache::LivenessCache;
pub use file::match_settings::{MatchSettings, Mismatch};
pub use file::name::{NameError, NameKind, NamespaceName, TopicName};
pub use file::name_watch::{NameLost, NameState, set_on_name_lost};
pub use file::namespace::error::NamespaceError;
pub use file::namespace::{Namespace, NamespaceConfig, NamespaceRemoveError};
pub use file::offer::{Offer, PINNABLE_BYTES_MIN, Request};
pub use file::segment::{Segment, TopicMemory};
pub use file::session::{EndpointEnd, EndpointId};
pub use file::sweep::{SweepReport, remove_topic, remove_topic_if_unused, sweep, topic_names};
pub use file::topic_files::{LiveEndpoint, TopicFiles};
pub use file::topic_type::{FieldPrefix, FieldPrefixes, Reliability, TypeInfo};
pub use os::access::AccessRule;
pub use os::clock;
pub use os::cpu::{Features, Machine, machine};
pub use os::region::Access;
pub use process::fork::fork_epoch;
pub use process::liveness::{Holder, Owner, ProcessInfo, Registry, RegistryError, RegistryFault};
pub use protocol::identity::TypeIdentity;
pub use protocol::telemetry::Latencies;
pub use protocol::tuning::{Pauses, Tuning, Vectors};
pub use wait::{WaitPolicy, WakeBarrier};

/// Real-time settings: the CPU and the priority of a thread, memory that is never paged out, and
/// CPUs that do not enter sleep states.
pub mod rt {
    pub use crate::os::rt::{lock_memory, pin_thread_to, prefault_stack, set_fifo_priority};
    pub use crate::process::cpu_awake::CpuAwakeRequest;
}

/// Re-exports the parts of this crate that its models, its tests and the other crates of this
/// workspace use.
///
/// Nothing here is meant for users of the crate, and nothing is stable: a call in the wrong order
/// corrupts messages that other processes have borrowed.
#[doc(hidden)]
pub mod internals {
    pub use crate::file::name_watch::{check_names_now, forbid_name_watch_thread};
    pub use crate::file::segment::TopicBlocks;
    pub use crate::os::child;
    pub use crate::os::cpu::set_tuning;
    pub use crate::os::descriptor::with_standard_streams_open;
    pub use crate::os::once::SetOnce;
    pub use crate::os::remaining_threads::{RemainingThreads, remaining_threads};
    pub use crate::os::signal_action::SignalAction;
    pub use crate::os::stderr;
    pub use crate::os::thread;
    pub use crate::process::fork::{ForkLocal, set_fork_child_hook};
    pub use crate::wait::{can_execute_process_barrier, execute_process_barrier};

    pub use crate::file::header;
    pub use crate::process::termination;
    pub use crate::protocol::{
        answer, copy, deaths, depot, endpoint_counts, gate, holders, identity, lane, latest,
        layout, life, mailbox, memory, owner, pins, presence, reading, shape, sync, takeover,
        telemetry, ticket,
    };

    macro_rules! reexport {
        ($($room:ident)*) => {$(
            #[allow(missing_docs, reason = "each room has its own documentation")]
            pub mod $room {
                pub use crate::$room::*;
            }
        )*};
    }

    reexport! { heap wait }
}
