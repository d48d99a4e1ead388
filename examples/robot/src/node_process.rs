//! Runs the scheduler of a process with one node that sends a message in each tick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{NodeBuilder, Rate, RunError};

use crate::report::Report;

/// Time limit of a tick, which a watchdog supervises. A tick usually takes much less; only a busy
/// machine can make one this long.
const TICK_TIME_LIMIT: Duration = Duration::from_secs(1);

/// Number of messages that the node of this process has sent outside of its ticks.
pub(crate) static MESSAGES_SENT_OUTSIDE_OF_TICKS: AtomicU64 = AtomicU64::new(0);

/// Creates a node with `build` and runs it at `rate` until the process receives SIGTERM or SIGINT.
/// Then reports the number of messages sent on `topic`: one in each tick that did not fail, and
/// those outside of ticks.
pub(crate) fn run_node(
    name: &str,
    topic: &str,
    rate: Rate,
    build: impl FnOnce(NodeBuilder<'_>) -> horus_core::Result<()>,
) -> crate::Result<()> {
    let mut scheduler = Scheduler::new();
    scheduler.name(name);
    // Prints no events: they are in the black box, see `horus blackbox`.
    scheduler.on_event(|_| {});
    scheduler.stop_on_signals();
    build(scheduler.node(name).rate(rate).watchdog(TICK_TIME_LIMIT))?;
    // The count is reported after a failure too.
    let report = scheduler.run().or_else(RunError::into_report)?;
    let nodes = report.nodes.iter();
    let sent_in_ticks: u64 = nodes
        .map(|node| messages_sent_in_ticks(node.metrics.ticks, node.metrics.failures))
        .sum();
    Report::Published {
        topic: topic.into(),
        sent: sent_in_ticks + MESSAGES_SENT_OUTSIDE_OF_TICKS.load(Ordering::Relaxed),
    }
    .print();
    report.into_result()?;
    crate::report::check_reported_ledgers()
}

/// Returns the number of ticks that have sent a message. A tick ends with the sending, so one that
/// failed has not sent its message. A failure may also be one of another method.
const fn messages_sent_in_ticks(ticks: u64, failed_ticks: u64) -> u64 {
    ticks.saturating_sub(failed_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_tick_has_sent_nothing() {
        assert_eq!(messages_sent_in_ticks(7, 0), 7);
        assert_eq!(messages_sent_in_ticks(7, 1), 6);
        // The node has failed in its `init`.
        assert_eq!(messages_sent_in_ticks(0, 1), 0);
    }
}
