//! Limits the events about ticks and handlers that do not end.

use crate::scheduler::run::event_limit::REPEATED_EVENT_PERIOD_NS;

/// Decides which stuck ticks of a node, or stuck handlers of a worker, are recorded: at most ten in
/// a second. The return of a tick is recorded if its `STUCK` was. WHY a limit: a node that is
/// always too slow would displace all other events from the black box.
#[derive(Debug, Clone, Default)]
pub(super) struct StuckEventRateLimiter {
    /// The time of the last recorded event in nanoseconds; 0 before the first one.
    recorded_ns: u64,
    /// The number of stuck ticks that have ended since then and were not recorded.
    left_out: u64,
    /// True if the present stuck tick was recorded.
    is_recorded: bool,
}

impl StuckEventRateLimiter {
    /// Decides whether the present tick, which is stuck, has to be recorded now. If so, returns the
    /// number of stuck ticks that were left out before it. Returns `Some` at most once for a tick.
    /// A tick that was left out is recorded later if it does not end.
    pub(super) fn take_left_out_count_if_due(&mut self, now_ns: u64) -> Option<u64> {
        let next_ns = self.recorded_ns.saturating_add(REPEATED_EVENT_PERIOD_NS);
        if self.is_recorded || (self.recorded_ns != 0 && now_ns < next_ns) {
            return None;
        }
        self.recorded_ns = now_ns;
        self.is_recorded = true;
        Some(std::mem::take(&mut self.left_out))
    }

    /// Counts the present stuck tick as ended. Returns true if the end has to be recorded in the
    /// event log, because its beginning was.
    pub(super) fn end_stuck_tick_and_must_record(&mut self) -> bool {
        let is_recorded = std::mem::take(&mut self.is_recorded);
        self.left_out += u64::from(!is_recorded);
        is_recorded
    }
}
