//! A scheduler and all of its nodes, at one moment.

use std::fmt;

use super::{Framed, Header, ViewError};
use crate::message::{NodeMetrics, Primitive, Tail, Text, timestamp_now_ns};

crate::message! {
    /// The header of a [`SchedulerStatus`]: how a scheduler is. The metrics of its nodes follow,
    /// one `NodeMetrics` after the other.
    #[derive(Default)]
    pub struct SchedulerStatusHeader {
        /// When it was so, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// When it was so, by CLOCK_MONOTONIC: nanoseconds.
        pub monotonic_ns: u64,
        /// Since its start: nanoseconds.
        pub uptime_ns: u64,
        /// Name of the scheduler: text.
        pub scheduler: Text<64>,
        /// Of the process, in its own namespace: no unit.
        pub process_id: u32,
        /// Nodes that follow: count.
        pub count: u32,
        /// From one node to the next, the size of a `NodeMetrics`: bytes.
        pub node_bytes: u32,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// 0: no unit.
        pub _reserved: [u8; 27],
    }

    /// Not known.
    pub const STATE_UNKNOWN: u8 = 0;
    /// Sets its nodes up.
    pub const STATE_STARTING: u8 = 1;
    /// Runs them.
    pub const STATE_RUNNING: u8 = 2;
    /// Everything stands still until the emergency stop is released.
    pub const STATE_EMERGENCY_STOP: u8 = 3;
    /// Has them end.
    pub const STATE_STOPPING: u8 = 4;
    /// At its end.
    pub const STATE_STOPPED: u8 = 5;
}
layout! {
    SchedulerStatusHeader = 128 {
        timestamp_ns: 0, monotonic_ns: 8, uptime_ns: 16, scheduler: 24, process_id: 88, count: 92,
        node_bytes: 96, state: 100, _reserved: 101,
    }
}

/// How a scheduler and each of its nodes are, all at one moment. No ROS type.
///
/// The nodes follow the header as bytes: a schema text names numbers only there. They are whole
/// [`NodeMetrics`], and [`nodes`](Framed::nodes) shows them so.
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
    /// The header for so many nodes, stamped with the current time: as much of the name as fits.
    #[must_use]
    pub fn new(scheduler: &str, count: u32) -> Self {
        let (timestamp_ns, scheduler) = (timestamp_now_ns(), Text::cut(scheduler));
        let node_bytes = size_of::<NodeMetrics>() as u32;
        Self { timestamp_ns, scheduler, count, node_bytes, ..Self::default() }
    }
}

impl Header for SchedulerStatusHeader {
    const NAME: &str = "SchedulerStatus";
    const TAIL: Tail = Tail { name: "nodes", primitive: Primitive::U8 };
    /// 64 nodes.
    const MAX_MESSAGE_BYTES: u64 = (size_of::<Self>() + 64 * size_of::<NodeMetrics>()) as u64;

    fn data_bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.node_bytes)
    }

    fn check(&self) -> Result<(), String> {
        let wanted = size_of::<NodeMetrics>();
        match self.node_bytes as usize {
            found if found == wanted || self.count == 0 => Ok(()),
            found => Err(format!("its nodes are {found} bytes apart, and they have {wanted}")),
        }
    }

    fn complete(&mut self) {
        self.node_bytes = size_of::<NodeMetrics>() as u32;
    }
}

impl<D: AsRef<[u8]>> Framed<SchedulerStatusHeader, D> {
    /// The nodes, in the order in which they were started.
    ///
    /// # Errors
    ///
    /// The data lie where none can be seen in place; those of messages that were received or
    /// borrowed never do.
    pub fn nodes(&self) -> Result<&[NodeMetrics], ViewError> {
        self.data_as()
    }
}

impl<D: AsRef<[u8]>> fmt::Display for Framed<SchedulerStatusHeader, D> {
    /// As `arm running for 12.5 s, 3 nodes`.
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
        write!(f, "{} {state} for {seconds:.1} s, {} nodes", self.scheduler, self.count)
    }
}
