//! One node, as the supervisor sees it: whether its tick ends, and what others are shown of it.

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

/// Without a watchdog of its own a tick may last so many times its budget.
const BUDGETS: u64 = 2;
/// How long a tick may last that has neither budget nor watchdog.
const ENDLESS_NS: u64 = u64::MAX;
/// A node that hangs so many times longer than it may ends the run, but not before a second is
/// over: a machine that is busy with other things may hold up a fast node for many periods.
const GIVE_UP: u64 = 10;
const GIVE_UP_NS: u64 = 1_000_000_000;

/// A node whose panic has not been told of for so long beyond its limit is brought into its safe
/// state: a backtrace takes less, and a pipe that nobody empties blocks for ever.
const PANIC_GRACE_NS: u64 = 1_000_000_000;

/// From one look at a node to the next, at least: while it does nothing, and in a tick.
const IDLE_LEAST_NS: u64 = 500_000;
const BUSY_LEAST_NS: u64 = 100_000;
/// How often is looked whether a node that is stuck has recovered.
const STUCK_PERIOD_NS: u64 = 1_000_000;

/// A node that is watched.
pub(crate) struct WatchedNode {
    name: String,
    class: Class,
    rate: Option<Rate>,
    metrics: Arc<LiveMetrics>,
    place: Option<Arc<CheckpointPosition>>,
    limit_ns: u64,
    /// Ends the run if a tick lasts for so long.
    last_ns: u64,
    pub(crate) safe_state: Option<SafeState>,
    /// Says how the last call of that ended, if another thread makes it and it has not ended.
    pub(crate) entering: Option<Receiver<Result<(), String>>>,
    /// When the last tick began for which the supervisor has called that; 0 if there was none.
    made_safe_in_ns: u64,
    stuck_ns: Option<u64>,
    last_error: Text<128>,
    /// Its subscribers, as far as they are known.
    subscriptions: Vec<Subscription>,
}

/// What is new about a node.
pub(crate) enum Finding {
    /// A tick panics, and telling of that does not end: the node is not made safe yet.
    Unsafe,
    /// A tick does not end: it has lasted so long.
    Stuck { busy_ns: u64, place: String },
    /// It is over, after so long.
    Recovered { busy_ns: u64 },
    /// It still does not end, and that ends everything.
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
    /// done before: once is enough for a tick, whatever it is found to do later.
    pub(crate) fn is_to_be_made_safe(&mut self) -> bool {
        let began_ns = self.metrics.began_ns();
        let before = std::mem::replace(&mut self.made_safe_in_ns, began_ns);
        began_ns == 0 || before != began_ns
    }

    /// When it has to be looked at next, after it was at `now_ns`.
    ///
    /// WHY not so often a period: a tick that lasts too long is found the moment that it does, and
    /// one that has not begun yet cannot have lasted too long before.
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

    /// Looks once; says what is new.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<Finding> {
        let busy_ns = self.metrics.busy_for(now_ns).map_or(0, nanos);
        let lasted_ns = self.metrics.lasted_ns(now_ns);
        let was_stuck_ns = self.stuck_ns;
        // WHY not `busy_ns` in both cases: what is stuck is not over when it panics.
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
            // WHY `busy_ns` here: a panic says more about what happened.
            (Some(_), Some(_)) if busy_ns > self.last_ns => {
                self.last_ns = ENDLESS_NS;
                Some(Finding::Hopeless { busy_ns, place: self.whereabouts() })
            }
            (Some(busy_ns), None) => Some(Finding::Recovered { busy_ns }),
            _ => None,
        }
    }

    /// Looks at its subscribers once: an event of each that misses a publisher since the last look,
    /// or misses none any more.
    pub(super) fn look_at_subscribers(&mut self) -> impl Iterator<Item = NodeEvent> {
        let Self { name, subscriptions, .. } = self;
        subscriptions.iter_mut().filter_map(Subscription::look).map(|(kind, text)| {
            NodeEvent::new(kind, name, Clock::kernel().now_ns()).saying(text.as_str())
        })
    }

    /// Where it is in its tick, if that is known.
    fn whereabouts(&self) -> String {
        self.place.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// Notes what an event says of it.
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

    /// All that is known of it.
    pub(crate) fn metrics(&self) -> NodeMetrics {
        let figures = self.metrics.metrics();
        let state = match figures.health {
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
            ticks: figures.ticks,
            period_ns: self.rate.map_or(0, |rate| nanos(rate.period())),
            last_ns: nanos(figures.last),
            max_ns: nanos(figures.max),
            misses: figures.misses,
            skipped_ticks: figures.skipped_ticks,
            failures: figures.failures,
            panics: figures.panics,
            durations: *figures.durations.buckets(),
            lateness: *figures.lateness.buckets(),
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

    /// A node that may be in a tick for 10 ms, and its pulse.
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
    fn a_node_that_is_stuck_stays_so_while_it_panics_and_is_made_safe_once() {
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
    fn a_node_whose_panic_cannot_be_told_of_is_made_safe_once_and_not_taken_for_stuck() {
        let (mut watched_node, metrics) = watched_node();
        metrics.begin(100 * MS, 100 * MS);
        metrics.begin_panic();
        assert!(watched_node.look(1110 * MS).is_none());
        assert!(matches!(watched_node.look(1111 * MS), Some(Finding::Unsafe)));
        assert!(watched_node.is_to_be_made_safe());
        assert!(watched_node.look(9000 * MS).is_none());
        // It hangs like anything else, and is safe already.
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
