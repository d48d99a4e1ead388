//! Lanes, and the memory they run on.

mod consumer;
mod contract;
pub mod copy;
mod error;
mod fork;
pub mod gate;
pub mod header;
pub mod lane;
pub mod layout;
mod liveness;
pub mod memory;
mod name;
mod namespace;
mod open;
pub mod owner;
pub mod presence;
mod producer;
mod region;
pub mod ring;
mod segment;
pub mod shape;
mod sweep;
pub mod sync;
mod sys;
pub mod takeover;

pub use bytemuck::{Pod, Zeroable, bytes_of};

pub use consumer::{Consumer, RawConsumer, ReadStats, Reading};
pub use contract::{Contract, Reliability, Request, TypeInfo, WakeEdge};
pub use error::OpenError;
pub use fork::fork_epoch;
pub use liveness::{Owner, ProcessInfo, Registry, RegistryError, RegistryFault};
pub use name::{NameError, NameKind, NamespaceName, TopicName};
pub use namespace::{Namespace, NamespaceConfig, NamespaceError, NamespaceRemoveError};
pub use producer::{OnStalled, Producer, RawProducer, SendError};
pub use region::Access;
pub use ring::{FanoutShm, MpscShm, PodShm, RingOptions, SpscShm};
pub use segment::Segment;
pub use sweep::{SweepReport, sweep};
