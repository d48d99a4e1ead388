//! The check for an engaged emergency stop, which may be left over from an earlier run.

use std::sync::Arc;
use std::time::Duration;

use horus_core::message::{EmergencyStop, timestamp_now_ns};
use horus_core::namespace::Namespace;

use super::Finding;
use crate::estop::read_last_stop_message;
use crate::failure::Failure;
use crate::namespace::live::{live_schedulers, scheduler_names};
use crate::output::format::{date_time, hours_minutes_seconds, visible};

/// Returns a fault if the emergency stop of the namespace is engaged; otherwise nothing.
pub(super) fn check_emergency_stop(namespace: &Arc<Namespace>) -> Result<Vec<Finding>, Failure> {
    const CHECK_NAME: &str = "emergency stop";
    let stop = match read_last_stop_message(namespace)? {
        Some(stop) if stop.is_engaged() => stop,
        _ => return Ok(Vec::new()),
    };
    let schedulers = live_schedulers(namespace)?;
    let held = if schedulers.is_empty() {
        "no scheduler runs, and each that starts is held".to_owned()
    } else {
        format!("it holds the schedulers {}", scheduler_names(&schedulers))
    };
    let found = format!("{}; {held}", emergency_stop_text(&stop));
    let advice = format!(
        "no node ticks until it is released. If that is safe: horus -N {} estop release",
        namespace.config().name()
    );
    Ok(vec![Finding::fault(CHECK_NAME, found, advice)])
}

/// Returns a text about who engaged the emergency stop, when and why.
fn emergency_stop_text(stop: &EmergencyStop) -> String {
    let EmergencyStop { source, reason, .. } = stop;
    let source = match source.as_str() {
        "" => "a sender without a name".to_owned(),
        source => visible(source),
    };
    let time = match stop.timestamp_ns {
        0 => "at an unknown time".to_owned(),
        time => {
            let age = Duration::from_nanos(timestamp_now_ns().saturating_sub(time));
            format!(
                "at {} ({} ago)",
                date_time(time),
                hours_minutes_seconds(age)
            )
        }
    };
    let reason = match reason.as_str() {
        "" => "without a reason".to_owned(),
        reason => format!("reason: {}", visible(reason)),
    };
    format!("engaged by {source} {time}, {reason}")
}
