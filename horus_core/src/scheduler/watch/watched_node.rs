//! A node as the supervisor sees it: the check that its tick ends, and its published metrics.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use horus_shm::clock::Clock;

use crate::message::{DiagnosticStatus, NodeEvent, NodeMetrics, Text};
use crate::scheduler::api::checkpoints::CheckpointPosition;
use crate::scheduler::api::metrics::{Health, LiveMetrics};
use crate::scheduler::api::plan::Class;
use crate::scheduler::api::policy::nanos;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::safe_state::SafeState;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;

/// The default limit of a tick, in budgets.
const BUDGETS: u64 = 2;
/// The limit of a tick without a budget and a watchdog.
const ENDLESS_NS: u64 = u64::MAX;
/// A node that hangs for this many times its limit ends the run, but not before a second is over: a
/// busy machine may delay a fast node for many periods.
const GIVE_UP: u64 = 10;
const GIVE_UP_NS: u64 = 1_000_000_000;

/// The time beyond its limit after which a node whose panic hook still runs is brought into its
/// safe state. A backtrace takes less, and a pipe that is not read blocks forever.
const PANIC_GRACE_NS: u64 = 1_000_000_000;

/// The shortest times between two looks at a node: while it is idle, and in a tick.
const IDLE_LEAST_NS: u64 = 500_000;
const BUSY_LEAST_NS: u64 = 100_000;
/// The time between two looks at a node that is stuck, until it has recovered.
const STUCK_PERIOD_NS: u64 = 1_000_000;

/// The supervisor's state of one node.
pub(crate) struct WatchedNode {
    name: String,
    class: Class,
    rate: Option<Rate>,
    metrics: Arc<LiveMetrics>,
    place: Option<Arc<CheckpointPosition>>,
    limit_ns: u64,
    /// The duration of a tick that ends the run.
    last_ns: u64,
    pub(crate) safe_state: Option<SafeState>,
    /// The channel for the result of the last call of that, if another thread makes it and has not
    /// returned.
    pub(crate) entering: Option<Receiver<Result<(), String>>>,
    /// The start of the last tick for which the supervisor has called that; 0 if there was none.
    made_safe_in_ns: u64,
    stuck_ns: Option<u64>,
    last_error: Text<128>,
    /// The subscribers that the scheduler knows.
    subscriptions: Vec<Subscription>,
}

/// A change of a node that the supervisor has found.
pub(crate) enum Finding {
    /// A tick panics, and the panic hook does not end: the node needs its safe state.
    Unsafe,
    /// A tick does not end: it has lasted `busy_ns`.
    Stuck { busy_ns: u64, place: String },
    /// The tick that was stuck is over, after `busy_ns`.
    Recovered { busy_ns: u64 },
    /// The tick still does not end, which ends the run.
    Hopeless { busy_ns: u64, place: String },
}

impl WatchedNode {
    pub(crate) fn new(
        runner: &Runner,
        safe_state: Option<SafeState>,
        subscriptions: Vec<Subscription>,
    ) -> Self {
        let plan = runner.plan();
        let by_budget = plan.budget.map(|budget| nanos(budget).saturating_mul(BUDGETS));
        let limit_ns = plan.watchdog.map(nanos).or(by_budget).unwrap_or(ENDLESS_NS);
        Self {
            name: plan.name.clone(),
            class: plan.class,
            rate: plan.rate,
            metrics: Arc::clone(runner.metrics()),
            place: runner.place(),
            limit_ns,
            last_ns: match plan.class {
                Class::RealTime | Class::Event => limit_ns.saturating_mul(GIVE_UP).max(GIVE_UP_NS),
                _ => ENDLESS_NS,
            },
            safe_state,
            entering: None,
            made_safe_in_ns: 0,
            stuck_ns: None,
            last_error: Text::default(),
            subscriptions,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Notes that its safe state is being entered for the present tick. Returns false if that was
    /// done before: a tick gets one such call, whatever is found later.
    pub(crate) fn is_to_be_made_safe(&mut self) -> bool {
        let began_ns = self.metrics.began_ns();
        let before = std::mem::replace(&mut self.made_safe_in_ns, began_ns);
        began_ns == 0 || before != began_ns
    }

    /// Returns the time of the next look, after one at `now_ns`.
    ///
    /// WHY no short period: the look comes at the moment at which the present tick exceeds its
    /// limit, and a tick that has not begun yet cannot exceed it earlier.
    pub(crate) fn next_look_ns(&self, now_ns: u64) -> u64 {
        if self.stuck_ns.is_some() {
            return now_ns.saturating_add(STUCK_PERIOD_NS);
        }
        let begin_ns = self.metrics.began_ns();
        let (from_ns, least_ns) =
            if begin_ns == 0 { (now_ns, IDLE_LEAST_NS) } else { (begin_ns, BUSY_LEAST_NS) };
        let over_ns = from_ns.saturating_add(self.limit_ns).saturating_add(1);
        over_ns.max(now_ns.saturating_add(least_ns))
    }

    /// Looks once; returns what has changed.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<Finding> {
        let busy_ns = self.metrics.busy_for(now_ns).map_or(0, nanos);
        let lasted_ns = self.metrics.lasted_ns(now_ns);
        let was_stuck_ns = self.stuck_ns;
        // WHY not `busy_ns` in both cases: a tick that is stuck is not over when it panics.
        let stuck_ns = if was_stuck_ns.is_some() { lasted_ns } else { busy_ns };
        self.stuck_ns = (stuck_ns > self.limit_ns).then_some(stuck_ns);
        match (was_stuck_ns, self.stuck_ns) {
            (None, None)
                if lasted_ns > self.limit_ns.saturating_add(PANIC_GRACE_NS)
                    && self.metrics.panics()
                    && self.made_safe_in_ns != self.metrics.began_ns() =>
            {
                Some(Finding::Unsafe)
            }
            (None, Some(busy_ns)) => Some(Finding::Stuck { busy_ns, place: self.whereabouts() }),
            // WHY `busy_ns` here: the time of a panic hook does not count, and the panic explains
            // more.
            (Some(_), Some(_)) if busy_ns > self.last_ns => {
                self.last_ns = ENDLESS_NS;
                Some(Finding::Hopeless { busy_ns, place: self.whereabouts() })
            }
            (Some(busy_ns), None) => Some(Finding::Recovered { busy_ns }),
            _ => None,
        }
    }

    /// Looks at its subscribers once. Returns an event for each that has come to miss a publisher
    /// since the last look, or misses none any more.
    pub(super) fn look_at_subscribers(&mut self) -> impl Iterator<Item = NodeEvent> {
        let Self { name, subscriptions, .. } = self;
        subscriptions.iter_mut().filter_map(Subscription::look).map(|(kind, text)| {
            NodeEvent::new(kind, name, Clock::kernel().now_ns()).with_text(text.as_str())
        })
    }

    /// Returns the checkpoint at which it is in its tick; empty without checkpoints.
    fn whereabouts(&self) -> String {
        self.place.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// Updates the last error and the rate from an event of the node.
    pub(crate) fn note_event(&mut self, event: &NodeEvent) {
        match event.kind {
            NodeEvent::FAILED | NodeEvent::PANICKED | NodeEvent::CHECKPOINT => {
                self.last_error = event.text;
            }
            NodeEvent::RATE_CHANGED => {
                self.rate = Some(Rate::every(std::time::Duration::from_nanos(event.value_ns)));
            }
            _ => {}
        }
    }

    /// Returns its metrics as they are published.
    pub(crate) fn metrics(&self) -> NodeMetrics {
        let counters = self.metrics.metrics();
        let state = match counters.health {
            _ if self.stuck_ns.is_some() => NodeMetrics::STATE_STUCK,
            Health::Active => NodeMetrics::STATE_ACTIVE,
            Health::Paused => NodeMetrics::STATE_PAUSED,
            Health::Resting => NodeMetrics::STATE_RESTING,
            Health::Safe => NodeMetrics::STATE_SAFE,
            Health::Stopped => NodeMetrics::STATE_STOPPED,
        };
        let level = match state {
            NodeMetrics::STATE_STUCK | NodeMetrics::STATE_SAFE => DiagnosticStatus::ERROR,
            NodeMetrics::STATE_RESTING => DiagnosticStatus::WARN,
            _ => DiagnosticStatus::OK,
        };
        NodeMetrics {
            last_error: self.last_error,
            ticks: counters.ticks,
            period_ns: self.rate.map_or(0, |rate| nanos(rate.period())),
            last_ns: nanos(counters.last),
            max_ns: nanos(counters.max),
            misses: counters.misses,
            skipped_ticks: counters.skipped_ticks,
            failures: counters.failures,
            panics: counters.panics,
            durations: *counters.durations.buckets(),
            lateness: *counters.lateness.buckets(),
            node_class: class_number(self.class),
            state,
            level,
            ..NodeMetrics::new(&self.name)
        }
    }
}

const fn class_number(class: Class) -> u8 {
    match class {
        Class::RealTime => NodeMetrics::CLASS_REAL_TIME,
        Class::Compute => NodeMetrics::CLASS_COMPUTE,
        Class::Event => NodeMetrics::CLASS_EVENT,
        Class::AsyncIo => NodeMetrics::CLASS_ASYNC_IO,
        Class::BestEffort => NodeMetrics::CLASS_BEST_EFFORT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::api::plan::NodeSpec;
    use crate::scheduler::run::node_entry::NodeEntry;

    const MS: u64 = 1_000_000;

    /// Makes a node that may be in a tick for 10 ms, and its metrics.
    fn watched_node() -> (WatchedNode, Arc<LiveMetrics>) {
        let watchdog = Some(std::time::Duration::from_millis(10));
        let spec = NodeSpec { name: "n".into(), watchdog, ..NodeSpec::default() };
        let metrics = Arc::<LiveMetrics>::default();
        let entry = NodeEntry {
            spec: spec.clone(),
            commands: Arc::default(),
            metrics: Arc::clone(&metrics),
        };
        let node = |_: &mut crate::scheduler::Context<'_>| {};
        let runner = Runner::new(Box::new(node), spec.whole(1).unwrap(), &entry);
        (WatchedNode::new(&runner, None, Vec::new()), metrics)
    }

    #[test]
    fn a_stuck_node_stays_stuck_while_it_panics_and_is_made_safe_once() {
        let (mut watched_node, metrics) = watched_node();
        metrics.begin(100 * MS, 100 * MS);
        assert!(matches!(watched_node.look(120 * MS), Some(Finding::Stuck { .. })));
        assert!(watched_node.is_to_be_made_safe());
        metrics.begin_panic();
        for now_ms in [130, 1000, 5000] {
            assert!(watched_node.look(now_ms * MS).is_none(), "after {now_ms} ms");
        }
        metrics.end_panic(5000 * MS);
        assert!(watched_node.look(5000 * MS).is_none() && !watched_node.is_to_be_made_safe());
        metrics.end(100 * MS, 5001 * MS);
        assert!(matches!(watched_node.look(5001 * MS), Some(Finding::Recovered { .. })));
        metrics.begin(6000 * MS, 6000 * MS);
        assert!(watched_node.is_to_be_made_safe());
    }

    #[test]
    fn a_node_whose_panic_hook_hangs_is_made_safe_once_before_it_is_stuck() {
        let (mut watched_node, metrics) = watched_node();
        metrics.begin(100 * MS, 100 * MS);
        metrics.begin_panic();
        assert!(watched_node.look(1110 * MS).is_none());
        assert!(matches!(watched_node.look(1111 * MS), Some(Finding::Unsafe)));
        assert!(watched_node.is_to_be_made_safe());
        assert!(watched_node.look(9000 * MS).is_none());
        // It now hangs like any other tick, and is safe already.
        assert!(matches!(watched_node.look(10_100 * MS), Some(Finding::Stuck { .. })));
        assert!(!watched_node.is_to_be_made_safe());
    }

    #[test]
    fn a_tick_is_looked_at_when_it_has_lasted_too_long_and_not_much_sooner() {
        let (mut watched_node, metrics) = watched_node();
        let mut looks =
            |now_ns| (watched_node.look(now_ns).is_some(), watched_node.next_look_ns(now_ns));
        assert_eq!(looks(100 * MS), (false, 110 * MS + 1));
        metrics.begin(100 * MS, 101 * MS);
        assert_eq!(looks(110 * MS + 1), (false, 111 * MS + 1));
        assert_eq!(looks(111 * MS), (false, 111 * MS + BUSY_LEAST_NS));
        assert_eq!(looks(111 * MS + 1), (true, 111 * MS + 1 + STUCK_PERIOD_NS));
        metrics.end(101 * MS, 112 * MS);
        assert_eq!(looks(112 * MS), (true, 122 * MS + 1));
    }
}
