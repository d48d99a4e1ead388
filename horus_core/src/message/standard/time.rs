//! Clocks other than the clock of this machine.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{Text, timestamp_now_ns};

crate::message! {
    /// The time of a simulation or a replayed recording, like `rosgraph_msgs/Clock`.
    pub struct Clock {
        /// Send time, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Time of the clock: nanoseconds.
        pub clock_ns: u64,
        /// Nominal rate of the clock, 1 for real time, 0 if it is stopped: no unit.
        pub rate: f64,
    }
}
layout! { Clock = 24 { timestamp_ns: 0, clock_ns: 8, rate: 16 } }

impl Clock {
    /// Returns a message which says that a clock shows `clock_ns` and runs in real time. It is
    /// stamped with the current time.
    #[must_use]
    pub fn new(clock_ns: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            clock_ns,
            rate: 1.0,
        }
    }
}

impl Default for Clock {
    /// Returns a message of a clock that stands still at 0.
    fn default() -> Self {
        Self::zeroed()
    }
}

impl fmt::Display for Clock {
    /// Formats the message like `12.500000000 s, × 1`: the time of the clock, and its rate relative
    /// to real time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.clock_ns / 1_000_000_000;
        let ns = self.clock_ns % 1_000_000_000;
        write!(f, "{seconds}.{ns:09} s, × {}", self.rate)
    }
}

crate::message! {
    /// A reading of another clock, like `sensor_msgs/TimeReference`.
    #[derive(Default)]
    pub struct TimeReference {
        /// Time of the reading, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Time of the other clock: nanoseconds.
        pub time_ref_ns: u64,
        /// Name of the other clock, such as `gps`: text.
        pub source: Text<32>,
    }
}
layout! { TimeReference = 48 { timestamp_ns: 0, time_ref_ns: 8, source: 16 } }

impl TimeReference {
    /// Returns a message which says that the clock `source` shows `time_ref_ns`. It is stamped with
    /// the current time.
    #[must_use]
    pub fn new(source: Text<32>, time_ref_ns: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            time_ref_ns,
            source,
        }
    }

    /// Returns the time of the other clock minus the time of this machine's clock, in nanoseconds.
    /// Saturates on overflow.
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
