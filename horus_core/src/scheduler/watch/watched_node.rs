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
use crate::scheduler::run::event_limit::EventRateLimiter;
use crate::scheduler::run::runner::Runner;
use crate::scheduler::watch::stuck_events::StuckEventRateLimiter;

/// The default limit of a tick, after which it counts as stuck, as a multiple of the node's budget.
const DEFAULT_STUCK_LIMIT_IN_BUDGETS: u64 = 2;
/// The limit of a tick, in nanoseconds, if the node has neither a budget nor a watchdog. The tick
/// then never counts as stuck.
const NO_STUCK_LIMIT_NS: u64 = u64::MAX;
/// A tick ends the run if it has lasted this many times its limit, and at least a second. WHY the
/// second: a busy machine may delay a fast node for many periods.
const GIVE_UP_AFTER_STUCK_LIMITS: u64 = 10;
/// The shortest duration of a tick, in nanoseconds, after which the tick may end the run.
const GIVE_UP_TICK_NS_MIN: u64 = 1_000_000_000;
/// The largest part of the time between two checks, in nanoseconds, that counts as time in which
/// the supervisor has watched a tick. WHY not the whole time: if the process was stopped meanwhile
/// (SIGSTOP, a debugger, a frozen container), the tick could not end either.
const WATCHED_NS_PER_CHECK_MAX: u64 = 50_000_000;

/// The shortest duration of a stuck tick, in nanoseconds, after which its thread counts as lost for
/// other nodes. WHY not at once: a busy machine may delay a tick beyond a short limit.
const LOST_THREAD_TICK_NS_MIN: u64 = 100_000_000;

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
    stuck_events: StuckEventRateLimiter,
    /// The limit of the events about the safe-state callback.
    pub(crate) event_limit: EventRateLimiter,
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
    /// The tick exceeds its limit; it has lasted `busy_ns` nanoseconds. `left_out` is the number of
    /// stuck ticks that were not recorded before this one; `None` if this one must not be recorded
    /// now, because the last one was a short time ago.
    Stuck {
        busy_ns: u64,
        checkpoint: String,
        left_out: Option<u64>,
    },
    /// The tick that was stuck, and was recorded, has ended. It lasted `busy_ns` nanoseconds.
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
            stuck_events: StuckEventRateLimiter::default(),
            event_limit: EventRateLimiter::default(),
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
            return NO_STUCK_LIMIT_NS;
        }
        let limits_ns = self
            .stuck_limit_ns()
            .saturating_mul(GIVE_UP_AFTER_STUCK_LIMITS);
        limits_ns.max(GIVE_UP_TICK_NS_MIN)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Claims the one call of the safe-state callback in the present tick: returns true at the
    /// first call of this function in a tick, and false afterwards. Always returns true between two
    /// ticks.
    pub(crate) fn claim_safe_state_callback(&mut self) -> bool {
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
    fn count_watched_time_and_is_new_tick(&mut self, now_ns: u64, busy_ns: u64) -> bool {
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
        let is_another_tick = self.count_watched_time_and_is_new_tick(now_ns, busy_ns);
        // WHY even if the present tick has lasted too long, too: it is another fault, and the next
        // check finds it.
        if is_another_tick && let Some(busy_ns) = self.stuck_ns.take() {
            return self.recovery_finding(busy_ns);
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
                left_out: self.stuck_events.take_left_out_count_if_due(now_ns),
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
            // WHY: a tick that was left out at first, and does not end, has to be recorded, too.
            (Some(_), Some(busy_ns)) => {
                let left_out = self.stuck_events.take_left_out_count_if_due(now_ns)?;
                Some(TickFinding::Stuck {
                    busy_ns,
                    checkpoint: self.describe_checkpoint(),
                    left_out: Some(left_out),
                })
            }
            (Some(busy_ns), None) => self.recovery_finding(busy_ns),
            (None, None) => None,
        }
    }

    /// Returns the finding that a stuck tick, which lasted `busy_ns` nanoseconds, has ended; `None`
    /// if the tick was not recorded as stuck.
    fn recovery_finding(&mut self, busy_ns: u64) -> Option<TickFinding> {
        let is_recorded = self.stuck_events.end_stuck_tick_and_must_record();
        is_recorded.then_some(TickFinding::Recovered { busy_ns })
    }

    /// Returns true if the node has these metrics, and hangs in a tick: the tick was stuck at the
    /// last check, has lasted 100 ms at least, and has not ended.
    pub(super) fn owns_metrics_and_hangs(&self, metrics: &Arc<LiveMetrics>) -> bool {
        let is_long = |busy_ns| busy_ns >= LOST_THREAD_TICK_NS_MIN;
        Arc::ptr_eq(&self.metrics, metrics)
            && self.stuck_ns.is_some_and(is_long)
            && self.metrics.tick_began_ns() == self.watched_tick_ns
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
            _ => match self.metrics.published_health_and_is_paused() {
                None => true,
                Some((Health::Stopped, _)) => true,
                Some((health, _)) => {
                    health == Health::Safe && self.metrics.has_applied_emergency_stop()
                }
            },
        }
    }

    /// Returns an event for each subscriber of the node whose state has changed since the last
    /// check. [`Subscription::next_change`] lists the events.
    pub(super) fn check_subscribers(&mut self) -> impl Iterator<Item = NodeEvent> {
        let Self {
            name,
            subscriptions,
            ..
        } = self;
        subscriptions
            .iter_mut()
            .filter_map(Subscription::next_change)
            .map(|change| {
                let event = NodeEvent::new(change.kind, name, Clock::kernel().now_ns());
                event.with_text(change.text.as_str())
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
        let (health, is_paused) = self.metrics.health_and_is_paused();
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
            _ if self.metrics.lacks_required_safe_state() => DiagnosticStatus::ERROR,
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
            node_class: node_class_number(self.class),
            state,
            level,
            is_paused: is_paused.into(),
            ..NodeMetrics::new(&self.name)
        }
    }
}

const fn node_class_number(class: NodeClass) -> u8 {
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
mod tests;
