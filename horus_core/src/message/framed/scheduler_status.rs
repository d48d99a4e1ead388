//! The state of a scheduler and all of its nodes at one moment.

use std::fmt;

use super::{Framed, Header, ViewError};
use crate::message::{NodeMetrics, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// The header of a [`SchedulerStatus`]: the state of a scheduler. The metrics of its nodes
    /// follow, one `NodeMetrics` after the other.
    #[derive(Default)]
    pub struct SchedulerStatusHeader {
        /// Time of this state, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Time of this state, by CLOCK_MONOTONIC: nanoseconds.
        pub monotonic_ns: u64,
        /// Time since the scheduler started: nanoseconds.
        pub uptime_ns: u64,
        /// Name of the scheduler: text.
        pub scheduler: Text<64>,
        /// Process id, in its own PID namespace: no unit.
        pub process_id: u32,
        /// Number of nodes that follow: count.
        pub count: u32,
        /// Stride from one node to the next, which is the size of a `NodeMetrics`: bytes.
        pub node_bytes: u32,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 27],
    }

    /// The state is unknown.
    pub const STATE_UNKNOWN: u8 = 0;
    /// The scheduler initialises its nodes.
    pub const STATE_STARTING: u8 = 1;
    /// The scheduler runs its nodes.
    pub const STATE_RUNNING: u8 = 2;
    /// The emergency stop is engaged, and nothing may move until it is released.
    pub const STATE_EMERGENCY_STOP: u8 = 3;
    /// The scheduler waits for its nodes to end.
    pub const STATE_STOPPING: u8 = 4;
    /// The scheduler has ended.
    pub const STATE_STOPPED: u8 = 5;
}
layout! {
    SchedulerStatusHeader = 128 {
        timestamp_ns: 0, monotonic_ns: 8, uptime_ns: 16, scheduler: 24, process_id: 88, count: 92,
        node_bytes: 96, state: 100, _reserved: 101,
    }
}

/// The state of a scheduler and of each of its nodes at one moment. No ROS type.
///
/// The nodes follow the header as bytes, because a schema text allows only numbers there. They are
/// whole [`NodeMetrics`], and [`nodes`](Framed::nodes) returns them as such.
///
/// ```
/// use horus_core::message::{NodeMetrics, SchedulerStatus, SchedulerStatusHeader};
///
/// let mut status = SchedulerStatus::zeroed(SchedulerStatusHeader::new("arm", 2))?;
/// status.data_as_mut::<NodeMetrics>()?[1] = NodeMetrics::new("controller");
/// assert_eq!(status.nodes()?[1].name, *"controller");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type SchedulerStatus<D = super::Buffer> = Framed<SchedulerStatusHeader, D>;

impl SchedulerStatusHeader {
    /// Returns the header for `count` nodes, stamped with the current time. A name that is too long
    /// is truncated.
    #[must_use]
    pub fn new(scheduler: &str, count: u32) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let scheduler = Text::truncated(scheduler);
        let node_bytes = size_of::<NodeMetrics>() as u32;
        Self {
            timestamp_ns,
            scheduler,
            count,
            node_bytes,
            ..Self::default()
        }
    }
}

impl Header for SchedulerStatusHeader {
    const NAME: &str = "SchedulerStatus";
    const TRAILING_DATA: Tail = Tail {
        name: "nodes",
        primitive: Primitive::U8,
    };
    /// Initial capacity of a slot: a message with 64 nodes. Slots grow when a publisher sends a
    /// longer message.
    const MAX_MESSAGE_BYTES: u64 = (size_of::<Self>() + 64 * size_of::<NodeMetrics>()) as u64;

    fn data_bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.node_bytes)
    }

    fn validate(&self) -> Result<(), String> {
        let wanted = size_of::<NodeMetrics>();
        match self.node_bytes as usize {
            found if found == wanted || self.count == 0 => Ok(()),
            found => Err(format!(
                "its nodes are {found} bytes apart, and they have {wanted}"
            )),
        }
    }

    fn fill_computed_fields(&mut self) {
        self.node_bytes = size_of::<NodeMetrics>() as u32;
    }
}

impl<D: AsRef<[u8]>> Framed<SchedulerStatusHeader, D> {
    /// Returns the nodes in the order in which they were started.
    ///
    /// # Errors
    ///
    /// [`ViewError`] if the data are not aligned for [`NodeMetrics`], or are not a whole number of
    /// nodes. This does not happen with received and borrowed messages.
    pub fn nodes(&self) -> Result<&[NodeMetrics], ViewError> {
        self.data_as()
    }
}

impl<D: AsRef<[u8]>> fmt::Display for Framed<SchedulerStatusHeader, D> {
    /// Writes a summary of the status, such as `arm running for 12.5 s, 3 nodes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            SchedulerStatusHeader::STATE_STARTING => "starting",
            SchedulerStatusHeader::STATE_RUNNING => "running",
            SchedulerStatusHeader::STATE_EMERGENCY_STOP => "in an emergency stop",
            SchedulerStatusHeader::STATE_STOPPING => "stopping",
            SchedulerStatusHeader::STATE_STOPPED => "stopped",
            _ => "in an unknown state",
        };
        let seconds = self.uptime_ns as f64 / 1e9;
        write!(
            f,
            "{} {state} for {seconds:.1} s, {} nodes",
            self.scheduler, self.count
        )
    }
}
