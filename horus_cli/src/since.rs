//! The option `--since`, which selects the records of the last seconds.

use std::time::Duration;

use horus_core::message::{monotonic_now_ns, timestamp_now_ns};

/// The time from which on records are selected, by two clocks.
///
/// WHY two: the real-time clock can be set. On a machine without a battery it begins in 1970, and
/// NTP sets it later. The monotonic clock stands still while the machine sleeps, and containers can
/// have monotonic clocks of their own. Rather too many records are selected than too few.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    timestamp_ns: u64,
    monotonic_ns: u64,
}

impl Since {
    /// Returns the time that lies `age`, the value of the option, before now. Without the option,
    /// all records are selected.
    pub(crate) fn new(age: Option<Duration>) -> Self {
        let age_ns = age.map_or(u64::MAX, |age| age.as_nanos() as u64);
        Self {
            timestamp_ns: timestamp_now_ns().saturating_sub(age_ns),
            monotonic_ns: monotonic_now_ns().saturating_sub(age_ns),
        }
    }

    /// Returns true if a record with these times of CLOCK_REALTIME and CLOCK_MONOTONIC, in
    /// nanoseconds, is selected: it is young enough by one of the clocks.
    pub(crate) fn selects(self, timestamp_ns: u64, monotonic_ns: u64) -> bool {
        // A monotonic time of 0 is unknown, and a later one than now is that of another clock.
        let is_known = (1..=monotonic_now_ns()).contains(&monotonic_ns);
        timestamp_ns >= self.timestamp_ns || (is_known && monotonic_ns >= self.monotonic_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_clocks_is_enough() {
        let since = Since::new(Some(Duration::from_secs(60)));
        let (real, monotonic) = (timestamp_now_ns(), monotonic_now_ns());
        let (old_real, old_monotonic) = (since.timestamp_ns - 1, since.monotonic_ns - 1);
        assert!(since.selects(real, monotonic));
        assert!(since.selects(old_real, monotonic));
        assert!(since.selects(real, old_monotonic));
        assert!(!since.selects(old_real, old_monotonic));
        for foreign in [0, u64::MAX] {
            assert!(!since.selects(old_real, foreign), "{foreign}");
        }
        assert!(Since::new(None).selects(0, 0));
    }
}
