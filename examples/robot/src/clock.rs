//! A ticker with a period that does not drift, and a check of the clock that provides the
//! timestamps of messages.

use std::time::{Duration, Instant};

use horus_core::message::timestamp_now_ns;

/// Repeated deadlines at a fixed period of the monotonic clock. A loop that sleeps *until* the next
/// deadline keeps its period. If it slept *for* one period after each turn, the duration of the
/// turn would be added every time.
#[derive(Debug)]
pub(crate) struct Ticker {
    period: Duration,
    deadline: Instant,
}

impl Ticker {
    /// Creates a ticker whose first deadline is one `period` from now.
    pub(crate) fn every(period: Duration) -> Self {
        Self {
            period,
            deadline: Instant::now() + period,
        }
    }

    /// Returns true if the deadline has passed, and then sets the next one. Never blocks.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.deadline;
        if due {
            self.deadline = first_deadline_after(self.deadline, now, self.period);
        }
        due
    }
}

/// Returns the first deadline after `now`. Missed deadlines are skipped, so a late sensor does not
/// send a burst of messages.
fn first_deadline_after(deadline: Instant, now: Instant, period: Duration) -> Instant {
    let late_ns = now.saturating_duration_since(deadline).as_nanos();
    let missed = u32::try_from(late_ns / period.as_nanos()).unwrap_or(u32::MAX);
    deadline + period * missed.saturating_add(1)
}

/// Detects changes of CLOCK_REALTIME. They make latencies meaningless, because a latency is the
/// difference between readings of this clock in two processes.
#[derive(Debug)]
pub(crate) struct ClockChangeDetector {
    start: Instant,
    start_ns: u64,
}

impl ClockChangeDetector {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            start_ns: timestamp_now_ns(),
        }
    }

    /// Returns by how much CLOCK_REALTIME was set forwards or backwards since the start. This is
    /// the change of the clock without the time that passed.
    pub(crate) fn clock_change_since_start(&self) -> Duration {
        let elapsed = self.start.elapsed();
        let shown = Duration::from_nanos(timestamp_now_ns().saturating_sub(self.start_ns));
        shown.abs_diff(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_stay_on_the_grid_and_missed_ones_are_skipped() {
        let period = Duration::from_millis(10);
        let deadline = Instant::now();
        for (late_ms, next_ms) in [(0, 10), (3, 10), (9, 10), (10, 20), (47, 50)] {
            let now = deadline + Duration::from_millis(late_ms);
            let next = deadline + Duration::from_millis(next_ms);
            assert_eq!(
                first_deadline_after(deadline, now, period),
                next,
                "{late_ms} ms late"
            );
        }
    }
}
