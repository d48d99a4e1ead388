//! The life cycle of a node: initialises it, shuts it down, and drops it.

use horus_shm::clock::Clock;

use super::{NodeState, RunDecision, Runner, SafeState};
use crate::message::NodeEvent;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::api::node::{Node, NodeResult};
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic, error_text};
use crate::scheduler::run::pending_swap::PlaceholderNode;

impl Runner {
    /// Calls `init` of the node, and records the outcome. Returns true if the node can tick now.
    pub(crate) fn try_init_node(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.was_init_called = true;
        self.restart_timeouts(now_ns);
        let scope = self.log_scope();
        let Self {
            node,
            random,
            tick,
            tick_limits,
            metrics,
            ..
        } = self;
        let mut context = Context {
            clock,
            tick: *tick,
            due_ns: now_ns,
            begin_ns: now_ns,
            budget_end_ns: u64::MAX,
            period_ns: tick_limits.period_ns,
            is_in_safe_state: false,
            stop: false,
            checkpoints: None,
            random,
        };
        let outcome =
            metrics.run_as_user_call(UserCall::Init, || catch_panic(|| node.init(&mut context)));
        let stop = context.stop;
        drop(scope);
        let now_ns = clock.now_ns();
        self.busy_until_ns = now_ns;
        match outcome {
            Ok(Ok(())) => {
                // WHY again: `init` may have taken longer than a timeout.
                self.restart_timeouts(now_ns);
                if let Some(probation) = &mut self.probation {
                    probation.is_new_initialised = true;
                }
                self.resume_ticking();
                self.event_log.record(self.tick, NodeEvent::STARTED, 0, "");
                if stop {
                    self.state = NodeState::StopsRun;
                }
                !stop
            }
            failed => {
                if self.handle_failure(failed, " in init", now_ns) == RunDecision::Abort {
                    self.state = NodeState::Broken;
                }
                // If a swap was rolled back, the old node can tick at once.
                matches!(self.state, NodeState::Active | NodeState::Halved { .. })
            }
        }
    }

    /// Starts the timeouts of the node's inputs again at `now_ns`.
    pub(super) fn restart_timeouts(&mut self, now_ns: u64) {
        if let Some(tick_checks) = &mut self.tick_checks {
            tick_checks.restart_timeouts(now_ns);
        }
    }

    /// Initialises the node at the start of the run, before any node ticks. Returns what the
    /// scheduler has to do next.
    pub(crate) fn init_at_start(&mut self, clock: &Clock) -> RunDecision {
        // WHY even if commands forbid ticks: the node of a group has nothing to initialise. Its
        // actors run, or wait, from the start on, and the end of the node has to end them.
        if self.plan.class == NodeClass::Actors {
            self.try_init_node(clock, clock.now_ns());
        }
        if self.try_prepare_tick(clock, clock.now_ns()) {
            RunDecision::Continue
        } else {
            self.decision_without_tick()
        }
    }

    /// Calls `shutdown` of the node, and records a failure of this call.
    pub(crate) fn call_node_shutdown(&mut self) {
        let _scope = self.log_scope();
        let Self { node, metrics, .. } = self;
        let outcome =
            metrics.run_as_user_call(UserCall::Shutdown, || catch_panic(|| node.shutdown()));
        self.record_shutdown_outcome(outcome);
    }

    /// Drops a node that a swap, or the end of a swap, has replaced. If the node was initialised,
    /// calls its `shutdown` first.
    pub(crate) fn drop_replaced_node(&mut self, mut node: Box<dyn Node>, is_initialised: bool) {
        if is_initialised {
            let _scope = self.log_scope();
            let shut_down = || catch_panic(|| node.shutdown());
            let outcome = self.metrics.run_as_user_call(UserCall::Shutdown, shut_down);
            self.record_shutdown_outcome(outcome);
        }
        self.drop_value(node);
    }

    fn record_shutdown_outcome(&mut self, outcome: Result<NodeResult, String>) {
        let error = match outcome {
            Ok(Ok(())) => return self.event_log.record(self.tick, NodeEvent::FINISHED, 0, ""),
            Ok(Err(error)) => {
                let text = error_text(&*error);
                let kind = (NodeEvent::FAILED, Some(UserCall::Shutdown));
                self.event_log
                    .record_rate_limited(self.tick, kind, 0, &text);
                let drop_it = || drop_and_catch_panic(error);
                if let Some(panic) = self.metrics.run_as_user_call(UserCall::Drop, drop_it) {
                    self.record_panic(&panic, (UserCall::Drop, " in the drop of an error"));
                }
                self.event_log.set_last_error(&text);
                text
            }
            Err(panic) => {
                self.record_panic(&panic, (UserCall::Shutdown, " in shutdown"));
                panic
            }
        };
        self.event_log
            .record(self.tick, NodeEvent::FINISHED, 0, &error);
    }

    /// Drops a value whose drop may run code of the node. If the drop panics, records the panic.
    pub(super) fn drop_value<T>(&mut self, value: T) {
        let _scope = self.log_scope();
        let drop_it = || drop_and_catch_panic(value);
        if let Some(panic) = self.metrics.run_as_user_call(UserCall::Drop, drop_it) {
            self.record_panic(&panic, (UserCall::Drop, " in its drop"));
        }
    }

    /// Shuts the node down for the rest of the run. Calls its `shutdown` only if it was
    /// initialised.
    pub(crate) fn shut_down(&mut self) {
        self.record_unreached_safe_state();
        if self.is_initialised() {
            self.call_node_shutdown();
        }
        // If a swap is on probation, the old node is shut down, too.
        self.drop_old_node();
        let untaken = self.commands.refuse_further_swaps();
        self.drop_value(untaken);
        (self.state, self.safe_state) = (NodeState::ShutDown, SafeState::Unwanted);
        self.publish_health();
    }

    /// Returns true if the node was initialised, and was not shut down since.
    pub(super) const fn is_initialised(&self) -> bool {
        !matches!(
            self.state,
            NodeState::New { .. } | NodeState::Broken | NodeState::ShutDown
        )
    }

    /// Drops the node, because none of its methods will be called again. If the drop panics,
    /// records the panic.
    pub(crate) fn drop_node(&mut self) {
        let node = std::mem::replace(&mut self.node, Box::new(PlaceholderNode));
        let probation = self.probation.take();
        self.drop_value(node);
        self.drop_value(probation);
    }
}
