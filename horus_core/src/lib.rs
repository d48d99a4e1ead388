//! Topics, messages and nodes: the API for robot programmers.
//!
//! A *message* is plain data of a fixed size, whose type [`message!`] declares with a description
//! of its fields. The standard types are in [`mod@message`]: [`CmdVel`](message::CmdVel),
//! [`Imu`](message::Imu), [`LaserScan`](message::LaserScan) and many others, with the names and
//! units of ROS 2 and REP-103. [`message::STANDARD`] lists them; `docs/messages.md` shows the byte
//! layout of each.
//!
//! A *topic* is a named stream of one message type between any number of processes: a
//! [`Publisher`](topic::Publisher), a [`Subscriber`](topic::Subscriber), or both in one
//! [`Topic`](topic::Topic).
//!
//! A *value* is data whose type is known only at run time: see [`value`].
//! [`Layout`](message::Layout) converts any message to a value, by means of its schema text.
//! [`ros`] reads and writes messages in the encoding of ROS 2.
//!
//! A *channel* carries messages of any type between the threads of one process: see [`channel`].
//!
//! An *actor* has private state and handles one message at a time, which it takes from its mailbox:
//! see [`actor`].
//!
//! These features are on by default: `async` for futures and streams of messages, `glam` for
//! calculations with poses, and `serde` for topics of any type that serde supports. The feature
//! `async-io`, for asynchronous nodes, is off by default.

// WHY not `forbid`: `message!` has the only exception, an `unsafe impl` that its own compile-time
// checks prove.
#![deny(unsafe_code)]

#[cfg(test)]
use horus_testing as _;

pub mod actor;
pub mod channel;
mod error;
/// A valid name of a topic. It is for the tools in this workspace; other programs pass names as
/// text.
#[doc(hidden)]
pub use horus_shm::TopicName;
#[doc(hidden)]
pub use horus_shm::fork_epoch;
/// Internal items that only the language bindings and the tools in this workspace may use.
#[doc(hidden)]
pub use horus_shm::internals::{
    ForkLocal, SignalAction, can_execute_process_barrier, child, execute_process_barrier,
    set_fork_child_hook, thread::become_library_thread, with_standard_streams_open,
};
#[doc(hidden)]
pub use horus_shm::rt::set_fifo_priority;
pub mod introspect;
pub mod log;
/// The features of this machine's CPU, and the settings that this process chose for it: how to copy
/// messages, and how long to pause between polls.
///
/// ```
/// let machine = horus_core::machine();
/// println!("{machine}");
/// assert!(machine.pause_ns > 0.0);
/// ```
pub mod machine {
    pub use horus_shm::{Features, Machine, Pauses, Tuning, Vectors};
}
pub mod message;
pub mod namespace;
pub mod ros;
pub mod scheduler;
pub mod topic;
pub mod value;

pub use error::{Error, Result};
#[doc(inline)]
pub use horus_shm::machine;
pub use topic::error::{
    BorrowError, EndpointError, EndpointWaitError, LaneNotMapped, LoanError, Mismatch, OpenError,
    PublishLentError, RecvError, RecvTimeoutError, SendError, TopicError, TopicLabel, WaitError,
    WaitSetFull, WriteError,
};

/// The types that most robot programs need; one `use` imports them all.
pub mod prelude {
    pub use crate::message::{
        CmdVel, Imu, JointCommand, JointState, LaserScan, Message, Odometry, Pose2D, Pose3D,
        PoseStamped, Quaternion, Text, Transform, TransformStamped, Twist,
    };
    pub use crate::scheduler::{Context, Hertz, Node, NodeResult, Scheduler};
    pub use crate::topic::{
        Backend, Publisher, Qos, Reliability, Stats, Subscriber, Topic, WaitSet,
    };
    #[cfg(feature = "serde")]
    pub use crate::value::Serde;
    pub use crate::value::Value;
    pub use crate::{Error, RecvError, RecvTimeoutError, Result, SendError, TopicError, message};
}

/// Holds the code examples of the README and of the guides, so that `cargo test` compiles them.
#[cfg(doctest)]
mod guide_examples {
    #[doc = include_str!("../../README.md")]
    struct ReadmeExamples;

    #[doc = include_str!("../../docs/actors.md")]
    struct ActorExamples;

    #[doc = include_str!("../../docs/channels.md")]
    struct ChannelExamples;

    #[doc = include_str!("../../docs/logging.md")]
    struct LoggingExamples;

    #[doc = include_str!("../../docs/own-messages.md")]
    struct OwnMessageExamples;

    #[doc = include_str!("../../docs/performance.md")]
    struct PerformanceExamples;

    #[doc = include_str!("../../docs/rust.md")]
    struct RustExamples;

    #[doc = include_str!("../../docs/scheduler.md")]
    struct SchedulerExamples;
}
