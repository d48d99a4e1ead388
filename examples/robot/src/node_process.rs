//! Runs the scheduler of a process with one node that sends a message in each tick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{NodeBuilder, Rate, RunError};

use crate::report::Report;

/// Time limit of a tick, which a watchdog supervises. A tick usually takes much less; only a busy
/// machine can make one this long.
const TICK_MAX: Duration = Duration::from_secs(1);

/// Number of messages that the node of this process has sent outside of its ticks.
pub(crate) static SENT_OUTSIDE_OF_TICKS: AtomicU64 = AtomicU64::new(0);

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
    build(scheduler.node(name).rate(rate).watchdog(TICK_MAX))?;
    // The count is reported after a failure too.
    let report = scheduler.run().or_else(RunError::into_report)?;
    let nodes = report.nodes.iter();
    let sent_in_ticks: u64 = nodes
        .map(|node| sent_count(node.metrics.ticks, node.metrics.failures))
        .sum();
    Report::Published {
        topic: topic.into(),
        sent: sent_in_ticks + SENT_OUTSIDE_OF_TICKS.load(Ordering::Relaxed),
    }
    .print();
    report.into_result()?;
    crate::report::check_ledgers()
}

/// Returns the number of ticks that have sent a message. A tick ends with the sending, so one that
/// failed has not sent its message. A failure may also be one of another method.
const fn sent_count(ticks: u64, failures: u64) -> u64 {
    ticks.saturating_sub(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_tick_has_sent_nothing() {
        assert_eq!(sent_count(7, 0), 7);
        assert_eq!(sent_count(7, 1), 6);
        // The node has failed in its `init`.
        assert_eq!(sent_count(0, 1), 0);
    }
}
