//! The metrics of a node, converted for tables and JSON.

use std::time::Duration;

use horus_core::message::NodeMetrics;
use serde::Serialize;

use crate::output::Tone;
use crate::output::format::{duration, rate};
use crate::scheduler::liveness::Liveness;

/// The metrics of a node in the form in which tables and JSON show them.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Metrics {
    pub(crate) scheduler: String,
    pub(crate) node: String,
    pub(crate) class: &'static str,
    pub(crate) rate_hz: Option<f64>,
    pub(crate) state: &'static str,
    /// True if a command has paused the node. A node in its safe state can be paused, too.
    pub(crate) is_paused: bool,
    pub(crate) ticks: u64,
    pub(crate) misses: u64,
    pub(crate) skipped_ticks: u64,
    pub(crate) failures: u64,
    pub(crate) panics: u64,
    pub(crate) last_ns: u64,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: u64,
    pub(crate) lateness_p50_ns: Option<u64>,
    pub(crate) lateness_p99_ns: Option<u64>,
    pub(crate) last_error: String,
}

impl Metrics {
    /// Converts the metrics of a node of `scheduler`. The state of the node is that of a scheduler
    /// that does not work: "stopped" if it has shut down, "dead" if its process has ended without
    /// that, and "not_responding" if it publishes no status any more.
    pub(crate) fn new(scheduler: &str, liveness: Liveness, node: &NodeMetrics) -> Self {
        // WHY: a percentile is the upper bound of a bucket, which may be above the longest tick.
        let percentile = |share| {
            let bound = histogram_percentile(&node.durations, share);
            bound.map(|ns| ns.min(node.max_ns))
        };
        let is_stopped = node.state == NodeMetrics::STATE_STOPPED;
        Self {
            scheduler: scheduler.to_owned(),
            node: node.name.to_string(),
            class: node_class_name(node.node_class),
            rate_hz: (node.period_ns > 0).then(|| 1e9 / node.period_ns as f64),
            state: match liveness {
                Liveness::Alive => node_state_name(node.state),
                Liveness::Stopped => "stopped",
                Liveness::NotResponding | Liveness::Dead if is_stopped => "stopped",
                Liveness::NotResponding => "not_responding",
                Liveness::Dead => "dead",
            },
            is_paused: liveness == Liveness::Alive && node.is_paused != 0,
            ticks: node.ticks,
            misses: node.misses,
            skipped_ticks: node.skipped_ticks,
            failures: node.failures,
            panics: node.panics,
            last_ns: node.last_ns,
            p50_ns: percentile(0.5),
            p99_ns: percentile(0.99),
            max_ns: node.max_ns,
            lateness_p50_ns: lateness_percentile(&node.lateness, 0.5),
            lateness_p99_ns: lateness_percentile(&node.lateness, 0.99),
            last_error: node.last_error.to_string(),
        }
    }

    /// Returns the state of the node as text. If the node is paused while it is in another state,
    /// such as the safe state, names both.
    pub(crate) fn state_text(&self) -> String {
        if self.is_paused && self.state != "paused" {
            return format!("{}, paused", self.state);
        }
        self.state.to_owned()
    }

    /// Returns the rate of the node as text; "-" if the node has no rate.
    pub(crate) fn rate_text(&self) -> String {
        self.rate_hz.map_or_else(|| "-".to_owned(), rate)
    }

    /// Returns the tone of the node's state. The tone selects the colour in which the state is
    /// printed.
    pub(crate) fn tone(&self) -> Tone {
        match self.state {
            "active" => Tone::Plain,
            "paused" | "backing_off" => Tone::Waiting,
            _ => Tone::Bad,
        }
    }
}

/// Returns a time in nanoseconds as text with a suitable unit. Returns "-" for `None`.
pub(crate) fn time_text(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| duration(Duration::from_nanos(ns)))
}

/// Returns the name of the execution class of a node, such as "real_time".
const fn node_class_name(class: u8) -> &'static str {
    match class {
        NodeMetrics::CLASS_REAL_TIME => "real_time",
        NodeMetrics::CLASS_COMPUTE => "compute",
        NodeMetrics::CLASS_EVENT => "event",
        NodeMetrics::CLASS_ASYNC_IO => "async_io",
        NodeMetrics::CLASS_BEST_EFFORT => "best_effort",
        NodeMetrics::CLASS_ACTORS => "actors",
        _ => "unknown",
    }
}

/// Returns the name of the state of a node, such as "active".
const fn node_state_name(state: u8) -> &'static str {
    match state {
        NodeMetrics::STATE_ACTIVE => "active",
        NodeMetrics::STATE_PAUSED => "paused",
        NodeMetrics::STATE_BACKING_OFF => "backing_off",
        NodeMetrics::STATE_SAFE => "safe_state",
        NodeMetrics::STATE_STOPPED => "stopped",
        NodeMetrics::STATE_STUCK => "stuck",
        _ => "unknown",
    }
}

/// Returns a time in nanoseconds below which the fraction `share` (0 to 1) of the ticks in a
/// histogram lie; `None` if there are no ticks. Element i counts the ticks below 2^i nanoseconds
/// that no element before it counts.
pub(super) fn histogram_percentile(histogram: &[u64], share: f64) -> Option<u64> {
    let total = histogram
        .iter()
        .fold(0_u64, |sum, count| sum.saturating_add(*count));
    let wanted = (share * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0_u64;
    let reached = histogram.iter().position(|count| {
        seen = seen.saturating_add(*count);
        seen >= wanted
    });
    reached.map(|index| 1 << index)
}

/// Returns the percentile of a histogram of lateness, like [`histogram_percentile`]. Returns `None`
/// if all ticks began exactly when they were due: such ticks had no due time. A node that runs when
/// a message arrives, for example, is due at the moment when it finds the message.
fn lateness_percentile(histogram: &[u64], share: f64) -> Option<u64> {
    let is_measured = histogram.iter().skip(1).any(|count| *count > 0);
    histogram_percentile(histogram, share).filter(|_| is_measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_bounds() {
        let mut histogram = [0; 40];
        assert_eq!(histogram_percentile(&histogram, 0.5), None);
        histogram[10] = 98;
        histogram[20] = 2;
        assert_eq!(histogram_percentile(&histogram, 0.5), Some(1 << 10));
        assert_eq!(histogram_percentile(&histogram, 0.99), Some(1 << 20));
    }

    #[test]
    fn no_percentile_is_above_the_longest_tick() {
        let mut node = NodeMetrics::new("n");
        node.durations[14] = 100;
        node.max_ns = 13_000;
        let metrics = Metrics::new("arm", Liveness::Alive, &node);
        assert_eq!(
            (metrics.p50_ns, metrics.p99_ns),
            (Some(13_000), Some(13_000))
        );
        node.durations[10] = 100;
        let metrics = Metrics::new("arm", Liveness::Alive, &node);
        assert_eq!(
            (metrics.p50_ns, metrics.p99_ns),
            (Some(1 << 10), Some(13_000))
        );
    }

    #[test]
    fn ticks_without_a_due_time_have_no_lateness() {
        let mut histogram = [0; 40];
        histogram[0] = 98;
        assert_eq!(lateness_percentile(&histogram, 0.5), None);
        histogram[20] = 2;
        assert_eq!(lateness_percentile(&histogram, 0.5), Some(1));
        assert_eq!(lateness_percentile(&histogram, 0.99), Some(1 << 20));
    }

    #[test]
    fn the_state_of_a_node_agrees_with_that_of_its_scheduler() {
        let state = |liveness, state| {
            let node = NodeMetrics {
                state,
                ..NodeMetrics::new("n")
            };
            Metrics::new("arm", liveness, &node).state
        };
        let (active, stopped) = (NodeMetrics::STATE_ACTIVE, NodeMetrics::STATE_STOPPED);
        assert_eq!(state(Liveness::Alive, active), "active");
        assert_eq!(state(Liveness::Stopped, active), "stopped");
        assert_eq!(state(Liveness::Dead, active), "dead");
        assert_eq!(state(Liveness::NotResponding, active), "not_responding");
        assert_eq!(state(Liveness::Dead, stopped), "stopped");
        assert_eq!(state(Liveness::NotResponding, stopped), "stopped");
    }
}
