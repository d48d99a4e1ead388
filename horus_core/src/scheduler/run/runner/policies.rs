//! The policies of a node: the reactions to failures, misses and faults.

use std::time::Duration;

use horus_shm::clock::Clock;

use super::{BlockingCommands, NodeState, RunDecision, Runner, SafeState};
use crate::message::NodeEvent;
use crate::scheduler::api::metrics::{Health, UserCall};
use crate::scheduler::api::node::{NodeError, NodeResult};
use crate::scheduler::api::policy::FailureAction;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic, error_text};
use crate::scheduler::run::miss_history::{MissAction, MissHistory};
use crate::scheduler::run::tick_checks::{TickChecks, TickFault};

/// The text of a `MISSED` event of a tick that took too long.
const BUDGET_EVENT_TEXT: &str = "budget";

/// The times by which a tick exceeded its limits, in nanoseconds; 0 if it kept a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overrun {
    /// The time from the deadline to the end of the tick.
    pub(super) past_deadline_ns: u64,
    /// The time by which the tick took longer than its budget.
    pub(super) past_budget_ns: u64,
}

impl Overrun {
    pub(super) const fn exceeds_limit(self) -> bool {
        self.past_deadline_ns > 0 || self.past_budget_ns > 0
    }

    /// Returns the longer of the two times, and the name of the limit that was exceeded: the budget
    /// if the tick itself took too long, or the deadline if the tick began late.
    fn longest_overrun_ns_and_limit(self) -> (u64, &'static str) {
        if self.past_budget_ns > self.past_deadline_ns {
            (self.past_budget_ns, BUDGET_EVENT_TEXT)
        } else {
            (self.past_deadline_ns, "deadline")
        }
    }
}

impl Runner {
    /// Records in the node's failure history that a tick has not failed.
    #[inline]
    pub(super) fn record_success(&mut self, clock: &Clock) {
        if self.probation.is_some() {
            self.count_probation_tick(clock);
        }
        self.failures.record_success(self.plan.on_failure);
    }

    pub(super) fn apply_end_checks_and_miss_policy(
        &mut self,
        overrun: Overrun,
        begin_ns: u64,
        end: (u64, &Clock),
    ) -> RunDecision {
        let fault = self.run_tick_check(|tick_checks| tick_checks.end_tick(begin_ns));
        let is_miss = overrun.exceeds_limit() || fault.is_some();
        self.apply_miss_policy(is_miss, fault, overrun, end)
    }

    /// Applies the policies of the node after a tick that failed. Returns the time at which the
    /// calls that follow such a tick have ended, and what the scheduler has to do next.
    ///
    /// WHY not the end of the tick: the time of `on_error` is not that of the next tick.
    #[cold]
    pub(super) fn end_failed_tick(
        &mut self,
        failed: Result<NodeResult, String>,
        overrun: Overrun,
        times: (u64, u64),
        clock: &Clock,
    ) -> (u64, RunDecision) {
        let decision = self.apply_policies_to_failed_tick(failed, overrun, times, clock);
        (clock.now_ns(), decision)
    }

    /// Applies the failure policy after a tick that failed. If the node goes on with its ticks, now
    /// or after a pause, also applies the checks of a tick and the miss policy.
    fn apply_policies_to_failed_tick(
        &mut self,
        failed: Result<NodeResult, String>,
        overrun: Overrun,
        (begin_ns, end_ns): (u64, u64),
        clock: &Clock,
    ) -> RunDecision {
        // WHY not after a panic: the time of the panic hook is not that of the node.
        let overrun = if failed.is_ok() {
            overrun
        } else {
            Overrun::default()
        };
        let is_swapped = self.probation.is_some();
        let decision = self.handle_failure(failed, "", end_ns);
        if is_swapped || matches!(self.state, NodeState::New { .. }) {
            // WHY: `shutdown` was called, of this node or of the new node of a swap.
            self.busy_until_ns = clock.now_ns();
            return decision;
        }
        if decision != RunDecision::Continue {
            return decision;
        }
        let fault = self.run_tick_check(|tick_checks| tick_checks.end_tick(begin_ns));
        if !overrun.exceeds_limit() && fault.is_none() {
            // WHY not recorded as in time: failed ticks must not end the safe state of a node.
            return RunDecision::Continue;
        }
        let before = self.state;
        let decision = self.apply_miss_policy(true, fault, overrun, (end_ns, clock));
        // WHY: the miss policy must not shorten the pause of the failure policy.
        if let NodeState::BackingOff { until_ns: rest_ns } = before {
            let until_ns = match self.state {
                NodeState::BackingOff { until_ns } => until_ns.max(rest_ns),
                _ => rest_ns,
            };
            self.state = NodeState::BackingOff { until_ns };
        }
        decision
    }

    /// Runs one of the tick checks, and records an event if a fault has begun or ended since the
    /// last check. Returns the fault that the check has found, if any.
    pub(super) fn run_tick_check(
        &mut self,
        check: impl FnOnce(&mut TickChecks) -> Option<TickFault>,
    ) -> Option<TickFault> {
        let tick_checks = self.tick_checks.as_mut()?;
        let was_stale = tick_checks.has_stale_input();
        let fault = check(tick_checks);
        let is_fresh = was_stale && !tick_checks.has_stale_input();
        if is_fresh {
            self.event_log
                .record(self.tick, NodeEvent::FRESH_INPUT, 0, "");
        }
        if let Some(TickFault {
            kind: Some(kind),
            text,
        }) = &fault
        {
            self.event_log
                .record_rate_limited(self.tick, (*kind, None), 0, text.as_str());
        }
        fault
    }

    /// Ends a pause of a node that has no messages to handle, if it is over, and checks the inputs
    /// of the node. An input that is older than its timeout counts as a miss. Returns what the
    /// scheduler has to do next.
    pub(crate) fn check_idle_inputs(&mut self, clock: &Clock, now_ns: u64) -> RunDecision {
        if self.state == NodeState::StopsRun {
            return self.decision_without_tick();
        }
        if self.pause_end_ns().is_some_and(|end_ns| now_ns >= end_ns) {
            if matches!(self.state, NodeState::New { .. }) {
                self.try_init_node(clock, now_ns);
                return self.decision_without_tick();
            }
            // WHY: during the pause the node could not receive.
            self.restart_timeouts(now_ns);
            self.resume_ticking();
        }
        let is_waiting = matches!(
            self.state,
            NodeState::Active | NodeState::Halved { .. } | NodeState::Skipping
        );
        if self.tick_checks.is_none()
            || !is_waiting
            || self.blocked_by != BlockingCommands::default()
        {
            return RunDecision::Continue;
        }
        match self.run_tick_check(|tick_checks| tick_checks.check_inputs(now_ns)) {
            None => RunDecision::Continue,
            fault => {
                let before = self.state;
                let overrun = Overrun::default();
                let decision = self.apply_miss_policy(true, fault, overrun, (now_ns, clock));
                // WHY: no tick was late, so no further tick is skipped.
                if self.state == NodeState::Skipping {
                    self.state = before;
                }
                decision
            }
        }
    }

    /// Ends a tick that the end of the run has cut off, and records `error` as the last error.
    /// Applies no policy: such a tick is no failure, and the end of the run shuts the node down
    /// when it is its turn. `panic` is the text of a panic in the drop of the tick, if there was
    /// one.
    #[cfg(feature = "async-io")]
    pub(crate) fn end_dropped_tick(
        &mut self,
        panic: Option<String>,
        error: &str,
        (begin_ns, end_ns): (u64, u64),
    ) {
        self.metrics.record_tick_end(begin_ns, end_ns);
        if let Some(panic) = panic {
            self.record_panic(&panic, (UserCall::Drop, " in the drop of its tick"));
        }
        self.event_log.set_last_error(error);
        self.tick += 1;
    }

    /// Applies the miss policy of the node. Called after a tick that returned no error, after one
    /// that failed and was a miss, and when inputs are stale between ticks. `fault` is the fault
    /// that the tick checks found, if any. `now_ns` is the end of the tick.
    #[inline]
    pub(super) fn apply_miss_policy(
        &mut self,
        is_miss: bool,
        fault: Option<TickFault>,
        overrun: Overrun,
        (now_ns, clock): (u64, &Clock),
    ) -> RunDecision {
        match self
            .miss_history
            .record_tick(self.plan.on_miss, is_miss, now_ns)
        {
            MissAction::Fine => RunDecision::Continue,
            action => self.apply_miss_action(action, fault, overrun, clock),
        }
    }

    #[cold]
    fn apply_miss_action(
        &mut self,
        action: MissAction,
        fault: Option<TickFault>,
        overrun: Overrun,
        clock: &Clock,
    ) -> RunDecision {
        if !matches!(action, MissAction::LeaveSafeState | MissAction::Restore) {
            self.metrics.count_miss();
            match &fault {
                // The fault itself was recorded by `run_tick_check`.
                Some(fault) => self.event_log.set_last_error(fault.text.as_str()),
                None => {
                    let (ns, limit) = overrun.longest_overrun_ns_and_limit();
                    self.event_log.record_rate_limited(
                        self.tick,
                        (NodeEvent::MISSED, None),
                        ns,
                        limit,
                    );
                }
            }
        }
        match action {
            MissAction::Fine | MissAction::Warn => {}
            MissAction::LeaveSafeState => self.leave_safe_state(),
            MissAction::Skip => self.state = NodeState::Skipping,
            MissAction::Halve | MissAction::Restore => {
                self.is_halved = action == MissAction::Halve;
                self.state = self.ticking_state();
            }
            MissAction::Isolate {
                until_ns,
                enters_safe_state,
            } => {
                if enters_safe_state {
                    self.enter_safe_state_after_tick(clock);
                }
                self.state = NodeState::BackingOff { until_ns };
            }
            MissAction::EnterSafeState => self.enter_safe_state_after_tick(clock),
            MissAction::Stop => {
                let late = || {
                    let (ns, limit) = overrun.longest_overrun_ns_and_limit();
                    let verb = if limit == BUDGET_EVENT_TEXT {
                        "exceeded"
                    } else {
                        "missed"
                    };
                    format!("{verb} its {limit} by {:?}", Duration::from_nanos(ns))
                };
                self.fatal_error =
                    Some(fault.map_or_else(late, |fault| fault.text.as_str().to_owned()));
                return RunDecision::Abort;
            }
        }
        RunDecision::Continue
    }

    /// Makes the node enter its safe state because of a miss. WHY it is busy until then: the time
    /// of this call is not that of the next tick.
    fn enter_safe_state_after_tick(&mut self, clock: &Clock) {
        self.enter_safe_state();
        self.busy_until_ns = clock.now_ns();
    }

    /// Returns the state of a node that is allowed to tick. Either it is active, or it skips every
    /// second tick, beginning with the next one.
    pub(super) const fn ticking_state(&self) -> NodeState {
        if self.is_halved {
            NodeState::Halved { ticks_next: false }
        } else {
            NodeState::Active
        }
    }

    /// Copies the present health of the node to the metrics, where other threads can read it.
    pub(super) fn publish_health(&self) {
        let health = match self.state {
            NodeState::ShutDown | NodeState::Broken => Health::Stopped,
            _ if self.blocked_by.is_emergency && self.counts_as_safe() => Health::Safe,
            _ if self.blocked_by.is_paused => Health::Paused,
            _ if self.safe_state == SafeState::Reached => Health::Safe,
            NodeState::BackingOff { .. } | NodeState::New { at_ns: 1.. } => Health::BackingOff,
            NodeState::New { .. }
            | NodeState::Active
            | NodeState::Skipping
            | NodeState::StopsRun
            | NodeState::Halved { .. } => Health::Active,
        };
        let is_paused = self.blocked_by.is_paused && health != Health::Stopped;
        let is_emergency = self.blocked_by.is_emergency;
        self.metrics.set_health(health, is_paused, is_emergency);
        self.metrics
            .set_lacks_required_safe_state(self.safe_state.is_wanted() && !self.counts_as_safe());
    }

    /// Counts a panic in code of the node to which the failure policy does not apply, such as
    /// `shutdown`. `place` says where it occurred, for instance ` in shutdown`. Records the panic
    /// as an event, but at most ten of the same `call` in a second, because each tick may cause
    /// one.
    pub(super) fn record_panic(&mut self, panic: &str, (call, place): (UserCall, &str)) {
        let error = format!("panicked{place}: {panic}");
        self.metrics.count_failure(true);
        let kind = (NodeEvent::PANICKED, Some(call));
        self.event_log
            .record_rate_limited(self.tick, kind, 0, &error);
        self.event_log.set_last_error(&error);
    }

    /// Makes the node wait until it is initialised, which happens in its first turn after `at_ns`.
    pub(super) fn schedule_init(&mut self, at_ns: u64) {
        // The count of misses starts anew with the initialised node.
        (self.miss_history, self.is_halved) = (MissHistory::default(), false);
        (self.state, self.safe_state) = (NodeState::New { at_ns }, SafeState::Unwanted);
        self.publish_health();
    }

    /// Records a failed `outcome` of `init` or `tick`, and applies the failure policy of the node.
    /// `call` says in the text of a panic which method it was: ` in init`, or empty for `tick`.
    /// Returns what the scheduler has to do next.
    #[cold]
    pub(super) fn handle_failure(
        &mut self,
        outcome: Result<NodeResult, String>,
        call: &str,
        now_ns: u64,
    ) -> RunDecision {
        let (error, is_panic): (NodeError, bool) = match outcome {
            Ok(Ok(())) => return RunDecision::Continue,
            Ok(Err(error)) => (error, false),
            Err(panic) => (format!("panicked{call}: {panic}").into(), true),
        };
        let text = error_text(&*error);
        self.metrics.count_failure(is_panic);
        let kind = if is_panic {
            NodeEvent::PANICKED
        } else {
            NodeEvent::FAILED
        };
        self.event_log
            .record_rate_limited(self.tick, (kind, None), 0, &text);
        let scope = self.log_scope();
        let Self { node, metrics, .. } = self;
        let on_error = || catch_panic(|| node.on_error(&error));
        if let Err(panic) = metrics.run_as_user_call(UserCall::OnError, on_error) {
            self.record_panic(&panic, (UserCall::OnError, " in on_error"));
        }
        let drop_it = || drop_and_catch_panic(error);
        if let Some(panic) = self.metrics.run_as_user_call(UserCall::Drop, drop_it) {
            self.record_panic(&panic, (UserCall::Drop, " in the drop of an error"));
        }
        drop(scope);
        if let Some(probation) = self.probation.take() {
            self.roll_back_swap(probation, &text, now_ns);
            self.event_log.set_last_error(&text);
            return RunDecision::Continue;
        }
        self.event_log.set_last_error(&text);
        match self.failures.record_failure(self.plan.on_failure, now_ns) {
            FailureAction::Continue => {
                // WHY: an `init` that failed is repeated with the next tick.
                if let NodeState::New { at_ns } = &mut self.state {
                    *at_ns = 0;
                }
            }
            // WHY two cases: a node that could not be initialised must be initialised again before
            // it ticks.
            FailureAction::Rest { until_ns } => {
                self.state = match self.state {
                    NodeState::New { .. } => NodeState::New { at_ns: until_ns },
                    _ => NodeState::BackingOff { until_ns },
                };
                self.publish_health();
            }
            FailureAction::Restart { at_ns } => {
                if !matches!(self.state, NodeState::New { .. }) {
                    self.call_node_shutdown();
                }
                self.schedule_init(at_ns);
            }
            FailureAction::Stop => {
                self.fatal_error = Some(text);
                return RunDecision::Abort;
            }
        }
        RunDecision::Continue
    }
}
