//! Clocks that are not this machine's.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{Text, timestamp_now_ns};

crate::message! {
    /// The time by which a simulation or a recording runs, as `rosgraph_msgs/Clock`.
    pub struct Clock {
        /// When it was sent, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// What the clock shows: nanoseconds.
        pub clock_ns: u64,
        /// How fast it is meant to run, 1 as real time, 0 while it stands: no unit.
        pub rate: f64,
    }
}
layout! { Clock = 24 { timestamp_ns: 0, clock_ns: 8, rate: 16 } }

impl Clock {
    /// A clock that shows `clock_ns` and runs as real time, stamped with the current time.
    #[must_use]
    pub fn new(clock_ns: u64) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), clock_ns, rate: 1.0 }
    }
}

impl Default for Clock {
    /// 0, and stands.
    fn default() -> Self {
        Self::zeroed()
    }
}

impl fmt::Display for Clock {
    /// As `12.500000000 s, × 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = (self.clock_ns / 1_000_000_000, self.clock_ns % 1_000_000_000);
        write!(f, "{seconds}.{ns:09} s, × {}", self.rate)
    }
}

crate::message! {
    /// What another clock showed at a time of this one, as `sensor_msgs/TimeReference`.
    #[derive(Default)]
    pub struct TimeReference {
        /// When it was read, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// What the other clock showed: nanoseconds.
        pub time_ref_ns: u64,
        /// Which clock, as `gps`: text.
        pub source: Text<32>,
    }
}
layout! { TimeReference = 48 { timestamp_ns: 0, time_ref_ns: 8, source: 16 } }

impl TimeReference {
    /// What `source` shows now, stamped with the current time.
    #[must_use]
    pub fn new(source: Text<32>, time_ref_ns: u64) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), time_ref_ns, source }
    }

    /// How far the other clock is ahead, in nanoseconds; the nearest `i64` if that is too far.
    ///
    /// ```
    /// use horus_core::message::TimeReference;
    ///
    /// let behind = TimeReference { timestamp_ns: 5, time_ref_ns: 3, ..Default::default() };
    /// assert_eq!(behind.offset_ns(), -2);
    /// ```
    #[must_use]
    pub fn offset_ns(&self) -> i64 {
        let offset = i128::from(self.time_ref_ns) - i128::from(self.timestamp_ns);
        i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX })
    }
}
