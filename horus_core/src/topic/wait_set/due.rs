//! The times at which timers and deadlines of a wait set are due.

use std::time::{Duration, Instant};

/// Returns `from` plus `duration`, or plus a hundred years if `duration` is longer.
pub(super) fn saturating_add(from: Instant, duration: Duration) -> Instant {
    /// A hundred years: longer than any wait, and short enough for an [`Instant`].
    const FAR_FUTURE: Duration = Duration::from_secs(100 * 365 * 86_400);
    from + duration.min(FAR_FUTURE)
}

/// Returns the first time after `now` that is a whole number of periods after `due`. Also returns
/// the number of whole periods from `due` to `now`, which were missed. `due` must not be after
/// `now`.
pub(super) fn next_due_and_missed_count(
    due: Instant,
    period: Duration,
    now: Instant,
) -> (Instant, u64) {
    let late = (now - due).as_nanos();
    let period_ns = period.as_nanos();
    let missed = u64::try_from(late / period_ns).unwrap_or(u64::MAX);
    let rest = Duration::from_nanos(u64::try_from(late % period_ns).unwrap_or(0));
    (saturating_add(now, period.saturating_sub(rest)), missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_timer_keeps_its_phase_and_counts_what_it_missed() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        for (late_ms, missed, next_ms) in [(0, 0, 10), (9, 0, 10), (10, 1, 20), (57, 5, 60)] {
            let (due, skipped) = next_due_and_missed_count(start, ms(10), start + ms(late_ms));
            assert_eq!(
                (due - start, skipped),
                (ms(next_ms), missed),
                "{late_ms} ms late"
            );
        }
    }

    #[test]
    fn a_period_beyond_the_clock_is_far_away() {
        let start = Instant::now();
        assert!(saturating_add(start, Duration::MAX) > start + Duration::from_secs(86_400));
        assert_eq!(next_due_and_missed_count(start, Duration::MAX, start).1, 0);
    }
}
