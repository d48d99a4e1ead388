//! State of the robot and its programs, after `diagnostic_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{Text, clamp_count, monotonic_now_ns, timestamp_now_ns};

crate::message! {
    /// A periodic message that shows that its sender runs. No ROS type.
    #[derive(Default)]
    pub struct Heartbeat {
        /// Send time, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the sender: text.
        pub source: Text<32>,
        /// Sequence number, one more for each message: count.
        pub sequence: u64,
        /// Time until the next heartbeat, from this one: nanoseconds.
        pub period_ns: u64,
    }
}
layout! { Heartbeat = 56 { timestamp_ns: 0, source: 8, sequence: 40, period_ns: 48 } }

impl Heartbeat {
    /// Returns a heartbeat of the program `source`, stamped with the current time.
    #[must_use]
    pub fn new(source: Text<32>, sequence: u64, period_ns: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            source,
            sequence,
            period_ns,
        }
    }
}

impl fmt::Display for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.source, self.sequence)
    }
}

crate::message! {
    /// A heartbeat of a node with its timing. No ROS type; the states are those of
    /// `lifecycle_msgs/State`.
    #[derive(Default)]
    pub struct NodeHeartbeat {
        /// Send time, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the node: text.
        pub name: Text<32>,
        /// Number of ticks: count.
        pub tick_count: u64,
        /// Period of the ticks, 0 without a fixed one: nanoseconds.
        pub period_ns: u64,
        /// Duration of the last tick: nanoseconds.
        pub tick_duration_ns: u64,
        /// Duration of the longest tick: nanoseconds.
        pub tick_duration_max_ns: u64,
        /// Number of ticks that ended after their deadline: count.
        pub missed_deadlines: u64,
        /// Time since the start of the node: nanoseconds.
        pub uptime_ns: u64,
        /// Process id, in its own PID namespace: no unit.
        pub process_id: u32,
        /// One of the `STATE_` constants: no unit.
        pub state: u8,
        /// One of the constants of [`DiagnosticStatus`], such as `OK`: no unit.
        pub level: u8,
        /// Reserved, 0: no unit.
        pub _reserved: u16,
    }

    /// The state is unknown.
    pub const STATE_UNKNOWN: u8 = 0;
    /// The node exists and is not set up.
    pub const STATE_UNCONFIGURED: u8 = 1;
    /// The node is set up and does not tick.
    pub const STATE_INACTIVE: u8 = 2;
    /// The node ticks.
    pub const STATE_ACTIVE: u8 = 3;
    /// The node has ended.
    pub const STATE_FINALIZED: u8 = 4;
}
layout! {
    NodeHeartbeat = 96 {
        timestamp_ns: 0, name: 8, tick_count: 40, period_ns: 48, tick_duration_ns: 56,
        tick_duration_max_ns: 64, missed_deadlines: 72, uptime_ns: 80, process_id: 88, state: 92,
        level: 93, _reserved: 94,
    }
}

impl fmt::Display for NodeHeartbeat {
    /// Formats the heartbeat like `planner active, tick 42 in 0.310 ms, 0 missed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            Self::STATE_UNCONFIGURED => "unconfigured",
            Self::STATE_INACTIVE => "inactive",
            Self::STATE_ACTIVE => "active",
            Self::STATE_FINALIZED => "finalized",
            _ => "in an unknown state",
        };
        let Self {
            name,
            tick_count,
            missed_deadlines,
            ..
        } = self;
        let ms = self.tick_duration_ns as f64 / 1e6;
        write!(
            f,
            "{name} {state}, tick {tick_count} in {ms:.3} ms, {missed_deadlines} missed"
        )
    }
}

crate::message! {
    /// A named value of a part of the robot, like `diagnostic_msgs/KeyValue`. It has no timestamp:
    /// it is for use inside [`DiagnosticStatus`].
    #[derive(Default)]
    pub struct DiagnosticValue {
        /// Name of the value: text.
        pub key: Text<32>,
        /// The value with its unit: text.
        pub value: Text<64>,
    }
}
layout! { DiagnosticValue = 96 { key: 0, value: 32 } }

impl DiagnosticValue {
    /// Returns a value with this key and value; each text is truncated if it is too long.
    #[must_use]
    pub const fn truncated(key: &str, value: &str) -> Self {
        Self {
            key: Text::truncated(key),
            value: Text::truncated(value),
        }
    }
}

impl fmt::Display for DiagnosticValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.value)
    }
}

/// The maximum number of values in a [`DiagnosticStatus`]. WHY 16: so many fit on a screen together
/// with other information.
pub const DIAGNOSTIC_VALUES_MAX: usize = 16;

crate::message! {
    /// State of a part of the robot, like `diagnostic_msgs/DiagnosticStatus`.
    #[derive(Default)]
    pub struct DiagnosticStatus {
        /// Time of this state, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// `OK`, `WARN`, `ERROR` or `STALE`; any other number means `ERROR`: no unit.
        pub level: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Number of values, which are the first elements of `values`: count.
        pub count: u32,
        /// Name of the part, such as `base: left motor`: text.
        pub name: Text<64>,
        /// Description of the state, for people to read: text.
        pub message: Text<128>,
        /// Identifier of the hardware, such as a serial number: text.
        pub hardware_id: Text<32>,
        /// Further values of the part.
        pub values: [DiagnosticValue; DIAGNOSTIC_VALUES_MAX],
    }

    /// The part works.
    pub const OK: u8 = 0;
    /// The part works, but needs attention.
    pub const WARN: u8 = 1;
    /// The part does not work.
    pub const ERROR: u8 = 2;
    /// The part has not reported for too long.
    pub const STALE: u8 = 3;
}
layout! {
    DiagnosticStatus = 1776 {
        timestamp_ns: 0, level: 8, _reserved: 9, count: 12, name: 16, message: 80,
        hardware_id: 208, values: 240,
    }
}

impl DiagnosticStatus {
    /// Returns a status stamped with the current time. `name` and `message` are truncated if they
    /// are too long.
    ///
    /// ```
    /// use horus_core::message::{DiagnosticStatus, DiagnosticValue};
    ///
    /// let mut status = DiagnosticStatus::new(DiagnosticStatus::WARN, "left motor", "hot");
    /// assert!(status.push(DiagnosticValue::truncated("temperature", "81 °C")));
    /// assert_eq!(status.to_string(), "WARN left motor: hot (temperature: 81 °C)");
    /// ```
    #[must_use]
    pub fn new(level: u8, name: &str, message: &str) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let name = Text::truncated(name);
        let message = Text::truncated(message);
        Self {
            timestamp_ns,
            level,
            name,
            message,
            ..Self::default()
        }
    }

    /// Returns the values in use: the first `count` elements of the array, or all elements if the
    /// sender's count is larger.
    #[must_use]
    pub fn values(&self) -> &[DiagnosticValue] {
        &self.values[..clamp_count(self.count, DIAGNOSTIC_VALUES_MAX)]
    }

    /// Adds a value at the end. Returns `false`, and adds nothing, if there is no room.
    #[must_use = "there may be no room"]
    pub fn push(&mut self, value: DiagnosticValue) -> bool {
        let at = clamp_count(self.count, DIAGNOSTIC_VALUES_MAX);
        let Some(free) = self.values.get_mut(at) else {
            return false;
        };
        *free = value;
        self.count = at as u32 + 1;
        true
    }
}

impl fmt::Display for DiagnosticStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Self::OK => "OK",
            Self::WARN => "WARN",
            Self::STALE => "STALE",
            _ => "ERROR",
        };
        write!(f, "{level} {}: {}", self.name, self.message)?;
        for (index, value) in self.values().iter().enumerate() {
            write!(f, "{}{value}", if index == 0 { " (" } else { ", " })?;
        }
        f.write_str(if self.values().is_empty() { "" } else { ")" })
    }
}

crate::message! {
    /// State of the emergency stop. No ROS type.
    ///
    /// Every value of `engaged` except 0 means that everything has to stand still, so that a
    /// damaged message does not release the stop.
    pub struct EmergencyStop {
        /// Time at which the stop was engaged or released, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// 0 if released, else the stop is engaged: no unit.
        pub engaged: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 7],
        /// Name of the part that engaged or released the stop: text.
        pub source: Text<32>,
        /// Reason why it was engaged or released, for people to read: text.
        pub reason: Text<64>,
        /// Time at which the stop was engaged or released, by CLOCK_MONOTONIC, 0 if unknown; it
        /// shows which message of several publishers is the last one: nanoseconds.
        pub monotonic_ns: u64,
    }
}
layout! {
    EmergencyStop = 120 {
        timestamp_ns: 0, engaged: 8, _reserved: 9, source: 16, reason: 48, monotonic_ns: 112,
    }
}

impl EmergencyStop {
    /// Returns the message of an emergency stop that is engaged, stamped with the current time.
    /// `source` and `reason` are truncated if they are too long.
    ///
    /// ```
    /// use horus_core::message::EmergencyStop;
    ///
    /// let stop = EmergencyStop::engage("bumper", "front hit");
    /// assert_eq!(stop.to_string(), "EMERGENCY STOP by bumper: front hit");
    /// assert!(stop.is_engaged() && EmergencyStop::default().is_engaged());
    /// ```
    #[must_use]
    pub fn engage(source: &str, reason: &str) -> Self {
        Self::new(1, source, reason).with_current_time()
    }

    /// Returns the message of an emergency stop that is released, stamped with the current time.
    /// `source` and `reason` are truncated if they are too long.
    #[must_use]
    pub fn release(source: &str, reason: &str) -> Self {
        Self::new(0, source, reason).with_current_time()
    }

    fn with_current_time(self) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            monotonic_ns: monotonic_now_ns(),
            ..self
        }
    }

    const fn new(engaged: u8, source: &str, reason: &str) -> Self {
        let source = Text::truncated(source);
        let reason = Text::truncated(reason);
        Self {
            timestamp_ns: 0,
            engaged,
            _reserved: [0; 7],
            source,
            reason,
            monotonic_ns: 0,
        }
    }

    /// Returns true if the emergency stop is engaged, so that nothing may move.
    #[must_use]
    pub const fn is_engaged(&self) -> bool {
        self.engaged != 0
    }
}

impl Default for EmergencyStop {
    /// Returns the message of an emergency stop that is engaged, with time 0. WHY engaged: a
    /// message without content must not set a robot in motion.
    fn default() -> Self {
        Self::new(1, "", "")
    }
}

impl fmt::Display for EmergencyStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_engaged() {
            "EMERGENCY STOP"
        } else {
            "released"
        };
        write!(f, "{what} by {}", self.source)?;
        if self.reason.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.reason)
    }
}

crate::message! {
    /// Motion that the safety functions allow at the moment. No ROS type; the modes are after ISO
    /// 10218.
    ///
    /// A message of all zeros allows nothing.
    #[derive(Default)]
    pub struct SafetyStatus {
        /// Time of this state, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// One of the `MODE_` constants; any other number means `MODE_FAULT`: no unit.
        pub mode: u8,
        /// 1 if the drives are powered: no unit.
        pub enabled: u8,
        /// 1 if all watchdogs were served in time: no unit.
        pub watchdog_ok: u8,
        /// 1 if positions, speeds and forces are within their limits: no unit.
        pub limits_ok: u8,
        /// Fault code of the safety controller, 0 if there is none: no unit.
        pub fault_code: u32,
        /// Limit of the speed of every part; +∞ without a limit: metres per second.
        pub speed_max: f64,
        /// Reason for the mode, for people to read: text.
        pub message: Text<64>,
    }

    /// The mode is unknown; the robot must stand still.
    pub const MODE_UNKNOWN: u8 = 0;
    /// The robot may move freely.
    pub const MODE_NORMAL: u8 = 1;
    /// The robot may move at reduced speed, see `speed_max`.
    pub const MODE_REDUCED: u8 = 2;
    /// A safety function stopped the robot, which may move again when the cause is gone.
    pub const MODE_PROTECTIVE_STOP: u8 = 3;
    /// A person stopped the robot, which may move again when a person releases it.
    pub const MODE_EMERGENCY_STOP: u8 = 4;
    /// A safety function does not work.
    pub const MODE_FAULT: u8 = 5;
}
layout! {
    SafetyStatus = 88 {
        timestamp_ns: 0, mode: 8, enabled: 9, watchdog_ok: 10, limits_ok: 11, fault_code: 12,
        speed_max: 16, message: 24,
    }
}

impl SafetyStatus {
    /// Returns true if the robot may move at all.
    #[must_use]
    pub const fn may_move(&self) -> bool {
        let free = matches!(self.mode, Self::MODE_NORMAL | Self::MODE_REDUCED);
        free && self.enabled == 1 && self.watchdog_ok == 1 && self.limits_ok == 1
    }
}

impl fmt::Display for SafetyStatus {
    /// Formats the status like `reduced, at most 0.25 m/s: gate open`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mode {
            Self::MODE_UNKNOWN => "unknown",
            Self::MODE_NORMAL => "normal",
            Self::MODE_REDUCED => "reduced",
            Self::MODE_PROTECTIVE_STOP => "protective stop",
            Self::MODE_EMERGENCY_STOP => "emergency stop",
            _ => "fault",
        })?;
        if self.may_move() && self.speed_max.is_finite() {
            write!(f, ", at most {:.2} m/s", self.speed_max)?;
        }
        if self.fault_code != 0 {
            write!(f, ", fault {}", self.fault_code)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

crate::message! {
    /// Use of a computer's resources. No ROS type.
    pub struct ResourceUsage {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the computer or the process: text.
        pub source: Text<32>,
        /// Load of all processors together: the number of processors that are in use on average,
        /// from 0 to `cpu_count`: no unit.
        pub cpu_load: f32,
        /// Temperature, NaN if not measured: degrees Celsius.
        pub cpu_temperature: f32,
        /// Memory in use: bytes.
        pub memory_used_bytes: u64,
        /// Total memory: bytes.
        pub memory_total_bytes: u64,
        /// Disk space in use: bytes.
        pub disk_used_bytes: u64,
        /// Total disk space: bytes.
        pub disk_total_bytes: u64,
        /// Data received from networks since the start of `source`: bytes.
        pub network_received_bytes: u64,
        /// Data sent to networks since the start of `source`: bytes.
        pub network_sent_bytes: u64,
        /// Time since the start of `source`: nanoseconds.
        pub uptime_ns: u64,
        /// Number of threads: count.
        pub thread_count: u32,
        /// Number of processors: count.
        pub cpu_count: u32,
    }
}
layout! {
    ResourceUsage = 112 {
        timestamp_ns: 0, source: 8, cpu_load: 40, cpu_temperature: 44, memory_used_bytes: 48,
        memory_total_bytes: 56, disk_used_bytes: 64, disk_total_bytes: 72,
        network_received_bytes: 80, network_sent_bytes: 88, uptime_ns: 96, thread_count: 104,
        cpu_count: 108,
    }
}

impl Default for ResourceUsage {
    /// Returns a message with all usage values 0, no temperature, and time 0.
    fn default() -> Self {
        Self {
            cpu_temperature: f32::NAN,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for ResourceUsage {
    /// Formats the message like `jetson: 2.5 of 8 processors, 3.1 of 16.0 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Self {
            source,
            cpu_load,
            cpu_count,
            ..
        } = self;
        let used = gib(self.memory_used_bytes);
        let total = gib(self.memory_total_bytes);
        write!(
            f,
            "{source}: {cpu_load:.1} of {cpu_count} processors, {used:.1} of {total:.1} GiB"
        )
    }
}
