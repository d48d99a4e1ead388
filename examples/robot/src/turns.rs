//! Turns: the scheduler of a process whose one node sends a message in each tick.

use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{NodeBuilder, Rate, RunError};

use crate::leash::Leash;
use crate::report::Report;

/// How long a tick may last: longer than any does, since what delays one here is the machine.
const TICK_MAX: Duration = Duration::from_secs(1);

/// Runs a node at this rate until the leash is cut; then says what it sent on `topic`.
pub(crate) fn take(
    name: &str,
    topic: &str,
    rate: Rate,
    build: impl FnOnce(NodeBuilder<'_>) -> horus_core::Result<()>,
) -> crate::Result<()> {
    let mut scheduler = Scheduler::new();
    scheduler.name(name);
    // The launcher shows at the end what the black boxes say.
    scheduler.on_event(|_| {});
    build(scheduler.node(name).rate(rate).watchdog(TICK_MAX))?;
    let handle = scheduler.handle();
    let _leash = Leash::hold_until(move || handle.stop());
    // What was sent is reported in any case.
    let report = scheduler.run().or_else(RunError::into_report)?;
    let sent = report.nodes.iter().map(|node| node.metrics.ticks).sum();
    Report::Published { topic: topic.into(), sent }.send();
    report.into_result()?;
    Ok(())
}
