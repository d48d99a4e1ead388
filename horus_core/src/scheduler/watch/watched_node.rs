//! A node, as the supervisor watches it: checks that the node's ticks end, and creates the metrics
//! that the scheduler publishes.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use horus_shm::clock::Clock;

use crate::message::{DiagnosticStatus, NodeEvent, NodeMetrics, Text};
use crate::scheduler::api::checkpoints::LastCheckpoint;
use crate::scheduler::api::metrics::{Health, LiveMetrics, UserCall};
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;

/// The default limit of a tick, after which it counts as stuck, as a multiple of the node's budget.
const DEFAULT_STUCK_LIMIT_IN_BUDGETS: u64 = 2;
/// The limit of a tick, in nanoseconds, if the node has neither a budget nor a watchdog. The tick
/// then never counts as stuck.
const NO_LIMIT_NS: u64 = u64::MAX;
/// A tick ends the run if it has lasted this many times its limit, and at least a second. WHY the
/// second: a busy machine may delay a fast node for many periods.
const GIVE_UP_AFTER_STUCK_LIMITS: u64 = 10;
/// The shortest duration of a tick, in nanoseconds, after which the tick may end the run.
const GIVE_UP_NS_MIN: u64 = 1_000_000_000;
/// The largest part of the time between two checks, in nanoseconds, that counts as time in which
/// the supervisor has watched a tick. WHY not the whole time: if the process was stopped meanwhile
/// (SIGSTOP, a debugger, a frozen container), the tick could not end either.
const WATCHED_NS_PER_CHECK_MAX: u64 = 50_000_000;

/// The time, in nanoseconds, that a panic hook gets after its tick has exceeded the limit. If the
/// hook still runs then, the safe-state callback is called. WHY: printing a backtrace takes less
/// time than this, and a hook that writes to a full pipe may block forever.
const PANIC_HOOK_GRACE_NS: u64 = 1_000_000_000;

/// The shortest time, in nanoseconds, between two checks of a node that is not in a tick.
const IDLE_CHECK_INTERVAL_NS_MIN: u64 = 500_000;
/// The shortest time, in nanoseconds, between two checks of a node that is in a tick.
const BUSY_CHECK_INTERVAL_NS_MIN: u64 = 100_000;
/// The time, in nanoseconds, between two checks of a node whose tick is stuck.
const STUCK_CHECK_INTERVAL_NS: u64 = 1_000_000;

/// A node, as the supervisor watches it: the limits of its ticks, and the results of the last
/// checks.
pub(crate) struct WatchedNode {
    name: String,
    class: NodeClass,
    metrics: Arc<LiveMetrics>,
    position: Option<Arc<LastCheckpoint>>,
    /// The limit of a tick that the builder set, in nanoseconds; `None` if the limit follows from
    /// the budget.
    watchdog_ns: Option<u64>,
    /// True if the supervisor has to end the run when a tick lasts far too long. Starts as true for
    /// nodes of the classes `RealTime` and `Event`, and becomes false when the supervisor has ended
    /// the run.
    may_give_up: bool,
    pub(crate) safe_state: Option<SafeStateCallback>,
    /// The channel on which another thread will send the result of the last safe-state callback;
    /// `None` if no result is expected.
    pub(crate) safe_state_result: Option<Receiver<Result<(), String>>>,
    /// The start, in nanoseconds, of the last tick for which the safe-state callback was called; 0
    /// if there was none.
    safe_state_tick_ns: u64,
    stuck_ns: Option<u64>,
    /// The time of the last check, in nanoseconds.
    checked_ns: u64,
    /// The start, in nanoseconds, of the tick that the last check has found; 0 if there was none.
    watched_tick_ns: u64,
    /// The time, in nanoseconds, for which the supervisor has watched that tick.
    watched_ns: u64,
    last_error: Text<128>,
    /// The subscribers of the node that its builder created, or that were declared to the builder.
    subscriptions: Vec<Subscription>,
}

/// The result of a check of a node's tick by the supervisor.
pub(crate) enum TickFinding {
    /// The tick has panicked, and the panic hook does not return. The safe-state callback has to be
    /// called.
    PanicHookHangs,
    /// The tick exceeds its limit; it has lasted `busy_ns` nanoseconds.
    Stuck { busy_ns: u64, checkpoint: String },
    /// The tick that was stuck has ended. It lasted `busy_ns` nanoseconds.
    Recovered { busy_ns: u64 },
    /// The tick is stuck, and has lasted so long that the run has to end. It has lasted `busy_ns`
    /// nanoseconds.
    GivenUp { busy_ns: u64, checkpoint: String },
}

impl WatchedNode {
    pub(crate) fn new(
        runner: &Runner,
        safe_state: Option<SafeStateCallback>,
        subscriptions: Vec<Subscription>,
    ) -> Self {
        let plan = runner.plan();
        Self {
            name: plan.name.clone(),
            class: plan.class,
            metrics: Arc::clone(runner.metrics()),
            position: runner.last_checkpoint(),
            watchdog_ns: plan.watchdog.map(saturating_nanos),
            may_give_up: matches!(plan.class, NodeClass::RealTime | NodeClass::Event),
            safe_state,
            safe_state_result: None,
            safe_state_tick_ns: 0,
            stuck_ns: None,
            checked_ns: 0,
            watched_tick_ns: 0,
            watched_ns: 0,
            last_error: Text::default(),
            subscriptions,
        }
    }

    /// Returns the time, in nanoseconds, after which a tick counts as stuck. WHY it is computed
    /// each time: a new rate changes the budget.
    fn stuck_limit_ns(&self) -> u64 {
        // Without a budget, the product is as large as can be.
        let by_budget = || {
            self.metrics
                .budget_ns()
                .saturating_mul(DEFAULT_STUCK_LIMIT_IN_BUDGETS)
        };
        self.watchdog_ns.unwrap_or_else(by_budget)
    }

    /// Returns how long a tick may last, in nanoseconds, before the run has to end.
    fn give_up_limit_ns(&self) -> u64 {
        if !self.may_give_up {
            return NO_LIMIT_NS;
        }
        let limits_ns = self
            .stuck_limit_ns()
            .saturating_mul(GIVE_UP_AFTER_STUCK_LIMITS);
        limits_ns.max(GIVE_UP_NS_MIN)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Claims the one call of the safe-state callback in the present tick: returns true at the
    /// first call of this function in a tick, and false afterwards. Always returns true between two
    /// ticks.
    pub(crate) fn claim_safe_state_call(&mut self) -> bool {
        let began_ns = self.metrics.tick_began_ns();
        let before = std::mem::replace(&mut self.safe_state_tick_ns, began_ns);
        began_ns == 0 || before != began_ns
    }

    /// Returns the time of the next check of the node, given that the last check was at `now_ns`.
    ///
    /// WHY the checks need not be frequent: the next check comes when the present tick would exceed
    /// its limit. A tick that has not begun yet cannot exceed its limit earlier.
    pub(crate) fn next_check_ns(&self, now_ns: u64) -> u64 {
        if self.stuck_ns.is_some() {
            return now_ns.saturating_add(STUCK_CHECK_INTERVAL_NS);
        }
        let begin_ns = self.metrics.tick_began_ns();
        let (from_ns, interval_ns) = if begin_ns == 0 {
            (now_ns, IDLE_CHECK_INTERVAL_NS_MIN)
        } else {
            (begin_ns, BUSY_CHECK_INTERVAL_NS_MIN)
        };
        let over_ns = from_ns
            .saturating_add(self.stuck_limit_ns())
            .saturating_add(1);
        over_ns.max(now_ns.saturating_add(interval_ns))
    }

    /// Adds the time since the last check to the time for which the supervisor has watched the
    /// present tick. `busy_ns` is how long the tick has lasted by the clock. Returns true if the
    /// last check has found another tick.
    fn count_watched_time(&mut self, now_ns: u64, busy_ns: u64) -> bool {
        let began_ns = self.metrics.tick_began_ns();
        let is_another = std::mem::replace(&mut self.watched_tick_ns, began_ns) != began_ns;
        if is_another {
            self.watched_ns = 0;
        }
        let from_ns = std::mem::replace(&mut self.checked_ns, now_ns).max(began_ns);
        let passed_ns = now_ns.saturating_sub(from_ns).min(WATCHED_NS_PER_CHECK_MAX);
        self.watched_ns = self.watched_ns.saturating_add(passed_ns).min(busy_ns);
        is_another
    }

    /// Checks the node's present tick. Returns what has changed since the last check; `None` if
    /// nothing has.
    pub(crate) fn check_tick(&mut self, now_ns: u64) -> Option<TickFinding> {
        let busy_ns = self.metrics.busy_time(now_ns).map_or(0, saturating_nanos);
        let is_another_tick = self.count_watched_time(now_ns, busy_ns);
        // WHY even if the present tick has lasted too long, too: it is another fault, and the next
        // check finds it.
        if is_another_tick && let Some(busy_ns) = self.stuck_ns.take() {
            return Some(TickFinding::Recovered { busy_ns });
        }
        let lasted_ns = self.metrics.time_in_tick_ns(now_ns);
        let was_stuck_ns = self.stuck_ns;
        // WHY not `busy_ns` in both cases: it does not grow during a panic, but a tick that was
        // stuck has not ended when it panics.
        let stuck_ns = if was_stuck_ns.is_some() {
            lasted_ns
        } else {
            busy_ns
        };
        let stuck_limit_ns = self.stuck_limit_ns();
        self.stuck_ns = (stuck_ns > stuck_limit_ns).then_some(stuck_ns);
        match (was_stuck_ns, self.stuck_ns) {
            (None, None)
                if lasted_ns > stuck_limit_ns.saturating_add(PANIC_HOOK_GRACE_NS)
                    && self.metrics.is_panic_hook_running()
                    && self.safe_state_tick_ns != self.metrics.tick_began_ns() =>
            {
                Some(TickFinding::PanicHookHangs)
            }
            (None, Some(busy_ns)) => Some(TickFinding::Stuck {
                busy_ns,
                checkpoint: self.describe_checkpoint(),
            }),
            // WHY not the whole time: a tick that panics ends by itself after its panic hook, and
            // the panic explains more.
            (Some(_), Some(_)) if self.watched_ns > self.give_up_limit_ns() => {
                self.may_give_up = false;
                Some(TickFinding::GivenUp {
                    busy_ns,
                    checkpoint: self.describe_checkpoint(),
                })
            }
            (Some(busy_ns), None) => Some(TickFinding::Recovered { busy_ns }),
            _ => None,
        }
    }

    /// Returns true if this node represents a group of actors.
    pub(super) fn is_group(&self) -> bool {
        self.class == NodeClass::Actors
    }

    /// Returns true if the node has applied an emergency stop and has reached its safe state, or if
    /// it was stopped. A node that was not initialised yet is safe, too: it has moved nothing.
    ///
    /// WHY not every node that has reached its safe state: one that is in safe mode goes on
    /// ticking.
    pub(super) fn is_safe(&self) -> bool {
        match self.metrics.user_call() {
            Some(UserCall::Init | UserCall::EnterSafeState) => false,
            _ => match self.metrics.published_health() {
                None => true,
                Some((Health::Stopped, _)) => true,
                Some((health, _)) => health == Health::Safe && self.metrics.is_in_emergency(),
            },
        }
    }

    /// Returns an event for each subscriber of the node whose state has changed since the last
    /// check. [`Subscription::next_event`] lists the events.
    pub(super) fn check_subscribers(&mut self) -> impl Iterator<Item = NodeEvent> {
        let Self {
            name,
            subscriptions,
            ..
        } = self;
        subscriptions
            .iter_mut()
            .filter_map(Subscription::next_event)
            .map(|(kind, text)| {
                NodeEvent::new(kind, name, Clock::kernel().now_ns()).with_text(text.as_str())
            })
    }

    /// Returns a text that says after which checkpoint the tick is stuck; empty if the node has no
    /// checkpoints.
    fn describe_checkpoint(&self) -> String {
        self.position
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    /// Stores the error that an event of the node contains, so that the node's published status
    /// contains it.
    pub(crate) fn record_event(&mut self, event: &NodeEvent) {
        if matches!(
            event.kind,
            NodeEvent::FAILED | NodeEvent::PANICKED | NodeEvent::CHECKPOINT
        ) {
            self.last_error = event.text;
        }
    }

    /// Returns the metrics of the node in the form in which the scheduler publishes them.
    pub(crate) fn metrics(&self) -> NodeMetrics {
        let counters = self.metrics.snapshot();
        let (health, is_paused) = self.metrics.health();
        let state = match health {
            _ if self.stuck_ns.is_some() => NodeMetrics::STATE_STUCK,
            Health::Active => NodeMetrics::STATE_ACTIVE,
            Health::Paused => NodeMetrics::STATE_PAUSED,
            Health::BackingOff => NodeMetrics::STATE_BACKING_OFF,
            Health::Safe => NodeMetrics::STATE_SAFE,
            Health::Stopped => NodeMetrics::STATE_STOPPED,
        };
        let level = match state {
            NodeMetrics::STATE_STUCK | NodeMetrics::STATE_SAFE => DiagnosticStatus::ERROR,
            _ if self.metrics.is_unsafe() => DiagnosticStatus::ERROR,
            NodeMetrics::STATE_BACKING_OFF => DiagnosticStatus::WARN,
            _ => DiagnosticStatus::OK,
        };
        NodeMetrics {
            last_error: self.last_error,
            ticks: counters.ticks,
            period_ns: self.metrics.period_ns(),
            last_ns: saturating_nanos(counters.last),
            max_ns: saturating_nanos(counters.max),
            misses: counters.misses,
            skipped_ticks: counters.skipped_ticks,
            failures: counters.failures,
            panics: counters.panics,
            durations: *counters.durations.buckets(),
            lateness: *counters.lateness.buckets(),
            node_class: class_number(self.class),
            state,
            level,
            is_paused: is_paused.into(),
            ..NodeMetrics::new(&self.name)
        }
    }
}

const fn class_number(class: NodeClass) -> u8 {
    match class {
        NodeClass::RealTime => NodeMetrics::CLASS_REAL_TIME,
        NodeClass::Compute => NodeMetrics::CLASS_COMPUTE,
        NodeClass::Event => NodeMetrics::CLASS_EVENT,
        NodeClass::AsyncIo => NodeMetrics::CLASS_ASYNC_IO,
        NodeClass::BestEffort => NodeMetrics::CLASS_BEST_EFFORT,
        NodeClass::Actors => NodeMetrics::CLASS_ACTORS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::api::plan::NodeSpec;
    use crate::scheduler::run::node_entry::NodeEntry;

    const MS: u64 = 1_000_000;

    /// Returns a node whose ticks count as stuck after 10 ms, and its metrics.
    fn watched_node() -> (WatchedNode, Arc<LiveMetrics>) {
        watched(NodeSpec {
            watchdog: Some(std::time::Duration::from_millis(10)),
            ..NodeSpec::default()
        })
    }

    fn watched(spec: NodeSpec) -> (WatchedNode, Arc<LiveMetrics>) {
        let spec = NodeSpec {
            name: "n".into(),
            ..spec
        };
        let metrics = Arc::<LiveMetrics>::default();
        let entry = NodeEntry {
            spec: spec.clone(),
            commands: Arc::default(),
            metrics: Arc::clone(&metrics),
        };
        let node = |_: &mut crate::scheduler::Context<'_>| {};
        let runner = Runner::new(Box::new(node), spec.into_plan(1).unwrap(), &entry);
        (WatchedNode::new(&runner, None, Vec::new()), metrics)
    }

    /// The limit of a tick is twice the budget, which changes with the rate.
    #[test]
    fn a_new_rate_changes_the_limit_of_a_tick() {
        let rate = Some(crate::scheduler::api::rate::Hertz::hz(1));
        let (mut watched_node, metrics) = watched(NodeSpec {
            rate,
            ..NodeSpec::default()
        });
        metrics.record_tick_begin(100 * MS, 100 * MS);
        assert!(watched_node.check_tick(110 * MS).is_none());
        metrics.set_tick_times(MS, 0);
        let found = watched_node.check_tick(110 * MS);
        assert!(matches!(found, Some(TickFinding::Stuck { .. })));
        metrics.set_tick_times(4000 * MS, 0);
        let found = watched_node.check_tick(2100 * MS);
        assert!(matches!(found, Some(TickFinding::Recovered { .. })));
        metrics.set_tick_times(u64::MAX, 0);
        assert!(watched_node.check_tick(u64::MAX / 2).is_none(), "no limit");
    }

    #[test]
    fn a_stuck_node_stays_stuck_while_it_panics_and_is_made_safe_once() {
        let (mut watched_node, metrics) = watched_node();
        metrics.record_tick_begin(100 * MS, 100 * MS);
        assert!(matches!(
            watched_node.check_tick(120 * MS),
            Some(TickFinding::Stuck { .. })
        ));
        assert!(watched_node.claim_safe_state_call());
        metrics.record_panic_begin(125 * MS);
        for now_ms in [130, 1000, 5000] {
            assert!(
                watched_node.check_tick(now_ms * MS).is_none(),
                "after {now_ms} ms"
            );
        }
        metrics.record_panic_end(5000 * MS);
        assert!(
            watched_node.check_tick(5000 * MS).is_none() && !watched_node.claim_safe_state_call()
        );
        metrics.record_tick_end(100 * MS, 5001 * MS);
        assert!(matches!(
            watched_node.check_tick(5001 * MS),
            Some(TickFinding::Recovered { .. })
        ));
        metrics.record_tick_begin(6000 * MS, 6000 * MS);
        assert!(watched_node.claim_safe_state_call());
    }

    /// A library may catch its own panics and try again, without end.
    #[test]
    fn a_tick_that_panics_again_and_again_and_does_not_end_is_stuck() {
        let (mut watched_node, metrics) = watched_node();
        metrics.record_tick_begin(100 * MS, 100 * MS);
        let found = (0..100).find_map(|round| {
            let now_ns = (105 + 5 * round) * MS;
            metrics.record_panic_begin(now_ns);
            metrics.record_panic_end(now_ns);
            let is_stuck = watched_node.check_tick(now_ns + MS).is_some();
            is_stuck.then_some(now_ns)
        });
        assert_eq!(found, Some(110 * MS));
    }

    /// The supervisor may be late, so that it finds no time between two ticks.
    #[test]
    fn a_stuck_tick_right_after_another_one_is_stuck_itself_and_made_safe() {
        let (mut watched_node, metrics) = watched_node();
        metrics.record_tick_begin(100 * MS, 100 * MS);
        let found = watched_node.check_tick(120 * MS);
        assert!(matches!(found, Some(TickFinding::Stuck { .. })));
        assert!(watched_node.claim_safe_state_call());
        metrics.record_tick_end(100 * MS, 124 * MS);
        metrics.record_tick_begin(125 * MS, 125 * MS);
        let found = watched_node.check_tick(140 * MS);
        assert!(matches!(found, Some(TickFinding::Recovered { .. })));
        let next_ns = watched_node.next_check_ns(140 * MS);
        assert_eq!(next_ns, 140 * MS + BUSY_CHECK_INTERVAL_NS_MIN);
        let found = watched_node.check_tick(next_ns);
        assert!(matches!(found, Some(TickFinding::Stuck { .. })));
        assert!(watched_node.claim_safe_state_call());
        assert!(watched_node.check_tick(150 * MS).is_none(), "once");
    }

    /// A node in safe mode may be in a long tick, and has not applied the stop.
    #[test]
    fn a_node_is_safe_in_an_emergency_stop_that_it_has_applied() {
        let (watched_node, metrics) = watched_node();
        assert!(watched_node.is_safe(), "not initialised");
        for (health, is_emergency, is_safe) in [
            (Health::Active, false, false),
            (Health::Safe, false, false),
            (Health::Active, true, false),
            (Health::Safe, true, true),
            (Health::Stopped, false, true),
        ] {
            metrics.set_health(health, false, is_emergency);
            assert_eq!(watched_node.is_safe(), is_safe, "{health:?} {is_emergency}");
            assert_eq!(metrics.health(), (health, false));
        }
    }

    /// Only the time in which the supervisor runs counts: if the process was stopped, a tick gets
    /// its time after that.
    #[test]
    fn a_process_that_was_stopped_does_not_make_a_tick_endless() {
        let (mut watched_node, metrics) = watched(NodeSpec {
            rate: Some(crate::scheduler::api::rate::Hertz::hz(100)),
            ..NodeSpec::default()
        });
        let mut is_given_up = |now_ms: u64| {
            matches!(
                watched_node.check_tick(now_ms * MS),
                Some(TickFinding::GivenUp { .. })
            )
        };
        metrics.record_tick_begin(100 * MS, 100 * MS);
        assert!(!is_given_up(120));
        // Stopped for a minute.
        assert!((60_120..61_000).all(|now_ms| !is_given_up(now_ms)));
        assert!((61_000..61_200).any(&mut is_given_up), "it is endless");
        metrics.record_tick_end(100 * MS, 61_200 * MS);
        assert!(!is_given_up(61_200));
    }

    #[test]
    fn a_node_whose_panic_hook_hangs_is_made_safe_once_before_it_is_stuck() {
        let (mut watched_node, metrics) = watched_node();
        metrics.record_tick_begin(100 * MS, 100 * MS);
        metrics.record_panic_begin(100 * MS);
        assert!(watched_node.check_tick(1110 * MS).is_none());
        assert!(matches!(
            watched_node.check_tick(1111 * MS),
            Some(TickFinding::PanicHookHangs)
        ));
        assert!(watched_node.claim_safe_state_call());
        assert!(watched_node.check_tick(9000 * MS).is_none());
        // It now hangs like any other tick, and is safe already.
        assert!(matches!(
            watched_node.check_tick(10_100 * MS),
            Some(TickFinding::Stuck { .. })
        ));
        assert!(!watched_node.claim_safe_state_call());
    }

    #[test]
    fn a_tick_is_looked_at_when_it_has_lasted_too_long_and_not_much_sooner() {
        let (mut watched_node, metrics) = watched_node();
        let mut checks = |now_ns| {
            (
                watched_node.check_tick(now_ns).is_some(),
                watched_node.next_check_ns(now_ns),
            )
        };
        assert_eq!(checks(100 * MS), (false, 110 * MS + 1));
        metrics.record_tick_begin(100 * MS, 101 * MS);
        assert_eq!(checks(110 * MS + 1), (false, 111 * MS + 1));
        assert_eq!(
            checks(111 * MS),
            (false, 111 * MS + BUSY_CHECK_INTERVAL_NS_MIN)
        );
        assert_eq!(
            checks(111 * MS + 1),
            (true, 111 * MS + 1 + STUCK_CHECK_INTERVAL_NS)
        );
        metrics.record_tick_end(101 * MS, 112 * MS);
        assert_eq!(checks(112 * MS), (true, 122 * MS + 1));
    }
}
