//! Events, metrics and commands of schedulers and their nodes.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{DiagnosticStatus, Text, timestamp_now_ns};

crate::message! {
    /// An event of a node, or of the scheduler that runs it: an entry of a log, and of the black
    /// box. No ROS type.
    #[derive(Default)]
    pub struct NodeEvent {
        /// Time of the event, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Time of the event, by CLOCK_MONOTONIC: nanoseconds.
        pub monotonic_ns: u64,
        /// Number of the tick, counted from 0: count.
        pub tick: u64,
        /// Duration or delay, depending on the kind of event; 0 without one: nanoseconds.
        pub value_ns: u64,
        /// Name of the node, empty for the scheduler itself: text.
        pub node: Text<64>,
        /// Details, such as an error or the message of a panic: text.
        pub text: Text<128>,
        /// Process id, in its own PID namespace: no unit.
        pub process_id: u32,
        /// One of the constants of this message, such as `STARTED`: no unit.
        pub kind: u8,
        /// One of the constants of [`DiagnosticStatus`], such as `OK`: no unit.
        pub level: u8,
        /// Reserved, 0: no unit.
        pub _reserved: u16,
    }

    /// The node started.
    pub const STARTED: u8 = 1;
    /// The node ended.
    pub const FINISHED: u8 = 2;
    /// A tick returned an error, which is in `text`.
    pub const FAILED: u8 = 3;
    /// A tick panicked with the message in `text`.
    pub const PANICKED: u8 = 4;
    /// A tick exceeded a limit by `value_ns`; `text` is `deadline` if it ended too late, and
    /// `budget` if it took too long.
    pub const MISSED: u8 = 5;
    /// A tick does not end, and has run for `value_ns`.
    pub const STUCK: u8 = 6;
    /// A tick that was stuck ended after `value_ns`.
    pub const RECOVERED: u8 = 7;
    /// The node entered its safe state.
    pub const SAFE_STATE_ENTERED: u8 = 8;
    /// The node left its safe state.
    pub const SAFE_STATE_LEFT: u8 = 9;
    /// The node is paused until it is resumed.
    pub const PAUSED: u8 = 10;
    /// The node continues after a pause.
    pub const RESUMED: u8 = 11;
    /// The node ended because of a command.
    pub const STOPPED: u8 = 12;
    /// The node has a new rate, with the period `value_ns`.
    pub const RATE_CHANGED: u8 = 13;
    /// Another node has replaced this one.
    pub const SWAPPED: u8 = 14;
    /// A replacement by another node failed and changed nothing; the reason is in `text`.
    pub const SWAP_FAILED: u8 = 15;
    /// An input had no message for longer than its timeout; `text` names the topic and the times.
    pub const STALE_INPUT: u8 = 16;
    /// All inputs of the node have had a message within their timeouts again.
    pub const FRESH_INPUT: u8 = 17;
    /// A checkpoint was passed out of order, too early or not at all; `text` says which.
    pub const CHECKPOINT: u8 = 18;
    /// The emergency stop was engaged; `text` says by whom and why.
    pub const EMERGENCY_STOP: u8 = 19;
    /// The emergency stop was released; `text` says by whom and why.
    pub const EMERGENCY_OVER: u8 = 20;
    /// The system refused a setting of the thread, such as a core or a priority; `text` says which.
    pub const REFUSED: u8 = 21;
    /// A [`NodeCommand`] was not executed; `text` has the command and the reason.
    pub const COMMAND: u8 = 22;
    /// The scheduler started.
    pub const SCHEDULER_STARTED: u8 = 23;
    /// The scheduler ended; the reason is in `text`.
    pub const SCHEDULER_STOPPED: u8 = 24;
    /// A subscriber of the node cannot map the memory of a publisher, and misses its messages;
    /// `text` has the reason and the topic.
    pub const LANE_NOT_MAPPED: u8 = 25;
    /// The subscriber of the topic `text` can map the memory of all publishers again.
    pub const LANE_MAPPED: u8 = 26;
    /// A subscriber of the node gets nothing from any live publisher, because they send another
    /// message or offer less than it requests; `text` has the reason and the topic.
    pub const INCOMPATIBLE: u8 = 27;
    /// The subscriber of the topic `text` matches a live publisher again, or the topic has no live
    /// publisher any more.
    pub const COMPATIBLE: u8 = 28;
    /// The file of the topic `text` was removed or replaced, and the subscriber of the node
    /// continues in the file that has the name now.
    pub const TOPIC_MOVED: u8 = 29;
    /// The namespace of the topic `text` was removed or replaced: publishers that open the topic
    /// from now on do not reach the subscriber of the node.
    pub const NAMESPACE_REMOVED: u8 = 30;
}
layout! {
    NodeEvent = 232 {
        timestamp_ns: 0, monotonic_ns: 8, tick: 16, value_ns: 24, node: 32, text: 96,
        process_id: 224, kind: 228, level: 229, _reserved: 230,
    }
}

impl NodeEvent {
    /// Makes an event of `node` at `monotonic_ns` (CLOCK_MONOTONIC), stamped with the current time.
    ///
    /// A long name is truncated. The level is the usual one for this kind of event. Does not
    /// allocate.
    ///
    /// ```
    /// use horus_core::message::NodeEvent;
    ///
    /// let stuck = NodeEvent::new(NodeEvent::STUCK, "controller", 0).with_value_ns(24_000_000);
    /// assert_eq!(stuck.to_string(), "controller: stuck, a tick has lasted 24 ms");
    /// ```
    #[must_use]
    pub fn new(kind: u8, node: &str, monotonic_ns: u64) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let level = Self::default_level(kind);
        Self {
            timestamp_ns,
            monotonic_ns,
            node: Text::truncated(node),
            kind,
            level,
            ..Self::default()
        }
    }

    /// Sets the duration or delay that the event reports. `value_ns` is in nanoseconds.
    #[must_use]
    pub const fn with_value_ns(mut self, value_ns: u64) -> Self {
        self.value_ns = value_ns;
        self
    }

    /// Sets the number of the tick in which the event happened.
    #[must_use]
    pub const fn with_tick(mut self, tick: u64) -> Self {
        self.tick = tick;
        self
    }

    /// Sets the details of the event to the first line of `text`. A long line is truncated.
    #[must_use]
    pub const fn with_text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut end = 0;
        while end < bytes.len() && bytes[end] != b'\n' {
            end += 1;
        }
        self.text = Text::truncated(text.split_at(end).0);
        self
    }

    const fn default_level(kind: u8) -> u8 {
        match kind {
            Self::FAILED | Self::PANICKED | Self::STUCK | Self::SAFE_STATE_ENTERED => {
                DiagnosticStatus::ERROR
            }
            Self::EMERGENCY_STOP
            | Self::SWAP_FAILED
            | Self::LANE_NOT_MAPPED
            | Self::INCOMPATIBLE
            | Self::NAMESPACE_REMOVED => DiagnosticStatus::ERROR,
            Self::MISSED | Self::CHECKPOINT | Self::REFUSED | Self::COMMAND | Self::TOPIC_MOVED => {
                DiagnosticStatus::WARN
            }
            Self::STALE_INPUT => DiagnosticStatus::STALE,
            _ => DiagnosticStatus::OK,
        }
    }

    /// Returns the words that describe the kind of event and, if this kind of event uses
    /// `value_ns`, the words to put before that value. Returns `None` for an unknown kind.
    fn description_and_value_label(&self) -> Option<(&'static str, Option<&'static str>)> {
        Some(match self.kind {
            Self::STARTED => ("started", None),
            Self::FINISHED => ("finished", None),
            Self::FAILED => ("failed", None),
            Self::PANICKED => ("panicked", None),
            Self::MISSED if self.text.as_str().starts_with("budget") => {
                ("exceeded its budget", Some(" by "))
            }
            Self::MISSED => ("missed its deadline", Some(" by ")),
            Self::STUCK => ("stuck", Some(", a tick has lasted ")),
            Self::RECOVERED => ("recovered", Some(", the tick lasted ")),
            Self::SAFE_STATE_ENTERED => ("in its safe state", None),
            Self::SAFE_STATE_LEFT => ("out of its safe state", None),
            Self::PAUSED => ("paused", None),
            Self::RESUMED => ("resumed", None),
            Self::STOPPED => ("stopped", None),
            Self::RATE_CHANGED => ("at another rate", Some(", a tick every ")),
            Self::SWAPPED => ("replaced", None),
            Self::SWAP_FAILED => ("not replaced", None),
            Self::STALE_INPUT => ("without input", None),
            Self::FRESH_INPUT => ("has input again", None),
            Self::CHECKPOINT => ("passed a checkpoint out of turn", Some(" after ")),
            Self::EMERGENCY_STOP => ("EMERGENCY STOP until 'horus estop release'", None),
            Self::EMERGENCY_OVER => ("emergency stop released", None),
            Self::REFUSED => ("has not got what it asked for", None),
            Self::COMMAND => ("command not carried out", None),
            Self::SCHEDULER_STARTED => ("scheduler started", None),
            Self::SCHEDULER_STOPPED => ("scheduler stopped", None),
            Self::LANE_NOT_MAPPED => ("misses a publisher", None),
            Self::LANE_MAPPED => ("misses no publisher any more", None),
            Self::INCOMPATIBLE => ("incompatible with all publishers", None),
            Self::COMPATIBLE => ("not incompatible any more", None),
            Self::TOPIC_MOVED => ("moved to a new file of its topic", None),
            Self::NAMESPACE_REMOVED => ("in a namespace that was removed", None),
            _ => return None,
        })
    }
}

impl fmt::Display for NodeEvent {
    /// Formats the event as a line of a log without the time, like `controller: failed in tick 7:
    /// no such port`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.node.is_empty() {
            write!(f, "{}: ", self.node)?;
        }
        // The text says itself how long the stop lasts, if no release ends it.
        if self.kind == Self::EMERGENCY_STOP && self.text.as_str().starts_with("until ") {
            return write!(f, "EMERGENCY STOP {}", self.text);
        }
        let value = match self.description_and_value_label() {
            Some((what, value)) => {
                f.write_str(what)?;
                value.unwrap_or_default()
            }
            None => {
                write!(f, "event of kind {}", self.kind)?;
                ", "
            }
        };
        if self.value_ns > 0 && !value.is_empty() {
            write!(f, "{value}{}", DisplayNanoseconds(self.value_ns))?;
        }
        if self.tick > 0 {
            write!(f, " in tick {}", self.tick)?;
        }
        let text = self.text.as_str();
        // The description says already that the node panicked, or which limit was missed.
        if self.kind == Self::PANICKED
            && let Some(rest) = text.strip_prefix("panicked")
        {
            return f.write_str(rest);
        }
        let limit = ["budget", "deadline"]
            .into_iter()
            .find_map(|limit| text.strip_prefix(limit));
        let text = match limit.filter(|_| self.kind == Self::MISSED) {
            Some(rest) => rest.trim_start_matches("; "),
            None => text,
        };
        if text.is_empty() {
            Ok(())
        } else {
            write!(f, ": {text}")
        }
    }
}

/// A duration in nanoseconds, which is displayed in a suitable unit with three decimals.
struct DisplayNanoseconds(u64);

impl fmt::Display for DisplayNanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_ns, unit) = match self.0 {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let value = self.0 as f64 / f64::from(unit_ns);
        write!(f, "{} {unit}", (value * 1e3).round() / 1e3)
    }
}

/// Number of buckets of each histogram in [`NodeMetrics`].
pub const NODE_METRICS_BUCKETS: usize = 40;

crate::message! {
    /// Metrics of a node since its scheduler started. It has no timestamp: it is for use inside
    /// `SchedulerStatus`. No ROS type.
    pub struct NodeMetrics {
        /// Name of the node: text.
        pub name: Text<64>,
        /// Text of the last failure: text.
        pub last_error: Text<128>,
        /// Number of ticks that have ended: count.
        pub ticks: u64,
        /// Period of the ticks, 0 without a rate: nanoseconds.
        pub period_ns: u64,
        /// Duration of the last tick: nanoseconds.
        pub last_ns: u64,
        /// Duration of the longest tick: nanoseconds.
        pub max_ns: u64,
        /// Number of misses, which are ticks that ended too late, took too long, began too soon or
        /// passed their checkpoints in a wrong order, and inputs found too old: count.
        pub misses: u64,
        /// Number of ticks that were skipped because the node was still busy or late: count.
        pub skipped_ticks: u64,
        /// Number of ticks that returned an error or panicked: count.
        pub failures: u64,
        /// Number of ticks that panicked: count.
        pub panics: u64,
        /// Histogram of the durations: element i counts the ticks below 2^i nanoseconds that no
        /// earlier element counts. The last element counts all others: count.
        pub durations: [u64; NODE_METRICS_BUCKETS],
        /// Histogram of the delays between due time and start of the ticks, like `durations`:
        /// count.
        pub lateness: [u64; NODE_METRICS_BUCKETS],
        /// Execution class, one of the `CLASS_` constants: no unit.
        pub node_class: u8,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// One of the constants of [`DiagnosticStatus`], such as `OK`: no unit.
        pub level: u8,
        /// 1 while a command pauses the node, also if `state` is another one, such as `STATE_SAFE`
        /// in an emergency stop: no unit.
        pub is_paused: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 4],
    }

    /// The class is unknown.
    pub const CLASS_UNKNOWN: u8 = 0;
    /// The node has its own thread, which wakes at absolute times.
    pub const CLASS_REAL_TIME: u8 = 1;
    /// The thread pool runs the node's ticks.
    pub const CLASS_COMPUTE: u8 = 2;
    /// The node has a thread that sleeps until a topic has a message.
    pub const CLASS_EVENT: u8 = 3;
    /// The node is a task that waits for files and networks.
    pub const CLASS_ASYNC_IO: u8 = 4;
    /// The thread that runs the scheduler also runs the node's ticks.
    pub const CLASS_BEST_EFFORT: u8 = 5;
    /// The node is a group of actors, which has threads of its own. A tick is a message that an
    /// actor has handled.
    pub const CLASS_ACTORS: u8 = 6;

    /// The state is unknown.
    pub const STATE_UNKNOWN: u8 = 0;
    /// The node ticks.
    pub const STATE_ACTIVE: u8 = 1;
    /// The node is paused by a command.
    pub const STATE_PAUSED: u8 = 2;
    /// The node backs off after a failure.
    pub const STATE_BACKING_OFF: u8 = 3;
    /// The node is in its safe state.
    pub const STATE_SAFE: u8 = 4;
    /// The node has ended.
    pub const STATE_STOPPED: u8 = 5;
    /// The node is in a tick that does not end.
    pub const STATE_STUCK: u8 = 6;
}
layout! {
    NodeMetrics = 904 {
        name: 0, last_error: 64, ticks: 192, period_ns: 200, last_ns: 208, max_ns: 216,
        misses: 224, skipped_ticks: 232, failures: 240, panics: 248, durations: 256, lateness: 576,
        node_class: 896, state: 897, level: 898, is_paused: 899,
        _reserved: 900,
    }
}

impl NodeMetrics {
    /// Makes the metrics of a node that has not ticked yet. A long name is truncated.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: Text::truncated(name),
            ..Self::default()
        }
    }

    const fn state_name(&self) -> &'static str {
        match self.state {
            Self::STATE_ACTIVE => "active",
            Self::STATE_PAUSED => "paused",
            Self::STATE_BACKING_OFF => "backing off",
            Self::STATE_SAFE => "in its safe state",
            Self::STATE_STOPPED => "stopped",
            Self::STATE_STUCK => "stuck",
            _ => "in an unknown state",
        }
    }
}

impl Default for NodeMetrics {
    /// Returns the metrics of a node without a name that has not ticked yet.
    fn default() -> Self {
        Self::zeroed()
    }
}

impl fmt::Display for NodeMetrics {
    /// Formats the metrics like `planner active, 42 ticks, the last in 310 µs, the longest in 1.2
    /// ms, 0 missed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            ticks,
            misses,
            ..
        } = self;
        let state = self.state_name();
        let paused = if self.is_paused != 0 && self.state != Self::STATE_PAUSED {
            " and paused"
        } else {
            ""
        };
        let last = DisplayNanoseconds(self.last_ns);
        let longest = DisplayNanoseconds(self.max_ns);
        write!(
            f,
            "{name} {state}{paused}, {ticks} ticks, the last in {last}, the longest in {longest}, "
        )?;
        write!(f, "{misses} missed")
    }
}

crate::message! {
    /// A command to a node or a whole scheduler. No ROS type.
    #[derive(Default)]
    pub struct NodeCommand {
        /// Send time, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the node, empty for all nodes of the scheduler: text.
        pub node: Text<64>,
        /// New rate, for `SET_RATE`: hertz.
        pub rate_hz: f64,
        /// One of the constants of this message, such as `PAUSE`: no unit.
        pub kind: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 7],
    }

    /// Pauses the node until it is resumed.
    pub const PAUSE: u8 = 1;
    /// Resumes a paused node.
    pub const RESUME: u8 = 2;
    /// Ends the node after its current tick.
    pub const STOP: u8 = 3;
    /// Changes the rate of the node.
    pub const SET_RATE: u8 = 4;
    /// Ends all nodes and the scheduler.
    pub const STOP_SCHEDULER: u8 = 5;
}
layout! {
    NodeCommand = 88 { timestamp_ns: 0, node: 8, rate_hz: 72, kind: 80, _reserved: 81 }
}

impl NodeCommand {
    /// Makes a command to `node`, or to all nodes if the name is empty, stamped with the current
    /// time.
    #[must_use]
    pub fn new(kind: u8, node: Text<64>) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            node,
            kind,
            ..Self::default()
        }
    }

    /// Sets the rate that the command demands, in hertz.
    #[must_use]
    pub const fn with_rate_hz(mut self, rate_hz: f64) -> Self {
        self.rate_hz = rate_hz;
        self
    }
}

impl fmt::Display for NodeCommand {
    /// Formats the command like `pause controller` or `run all nodes at 50 Hz`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = if self.node.is_empty() {
            "all nodes"
        } else {
            self.node.as_str()
        };
        match self.kind {
            Self::PAUSE => write!(f, "pause {node}"),
            Self::RESUME => write!(f, "resume {node}"),
            Self::STOP => write!(f, "stop {node}"),
            Self::SET_RATE => write!(f, "run {node} at {} Hz", self.rate_hz),
            Self::STOP_SCHEDULER => f.write_str("stop the scheduler"),
            kind => write!(f, "command of kind {kind} to {node}"),
        }
    }
}
