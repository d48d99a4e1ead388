//! The safe state of a node: makes the node enter it, asks until the node has reached it, and ends
//! it.

use horus_shm::clock::Clock;

use super::Runner;
use crate::message::NodeEvent;
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::run::catch_panic::catch_panic;

/// The progress of a node towards its safe state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SafeState {
    /// The node need not be in its safe state.
    Unwanted,
    /// `enter_safe_state` was called, and `is_safe_state` has not returned true yet. It is called
    /// again whenever the executor polls commands.
    Entering,
    /// `enter_safe_state` or `is_safe_state` has panicked. Neither is called again before
    /// [`Runner::enter_safe_state`] makes the node enter its safe state anew.
    Panicked,
    /// The node has reached its safe state.
    Reached,
}

impl SafeState {
    /// Returns true if the node has to be in its safe state, also if it has not reached it.
    pub(super) const fn is_wanted(self) -> bool {
        !matches!(self, Self::Unwanted)
    }
}

impl Runner {
    /// Calls `enter_safe_state` of the node, and then `is_safe_state`. If the node was made to
    /// enter its safe state before, and has not ticked since, only the latter is called, unless it
    /// has already returned true. Does nothing if the node is not running. A panic is recorded, and
    /// the node then does not count as safe.
    ///
    /// WHY again after a tick: a node ticks in the safe state that its miss policy demands. The
    /// tick may have commanded something, and nothing would stop that after the last tick.
    pub(crate) fn enter_safe_state(&mut self) {
        let is_done = self.safe_state.is_wanted() && !self.has_ticked_in_safe_state();
        if is_done || !self.is_initialised() {
            return self.check_safe_state_if_entering();
        }
        self.safe_state = SafeState::Entering;
        self.safe_state_ticks = self.metrics.ended_tick_count();
        self.publish_health();
        let scope = self.log_scope();
        let Self { node, metrics, .. } = self;
        let enter = || catch_panic(|| node.enter_safe_state());
        let entered = metrics.run_as_user_call(UserCall::EnterSafeState, enter);
        drop(scope);
        match entered {
            Ok(()) => self.check_safe_state_if_entering(),
            Err(panic) => self.record_safe_state_panic(&panic, " in enter_safe_state"),
        }
    }

    /// Makes the node enter its safe state for the emergency stop `stop_number`, also if the node
    /// was made to do so for an earlier one.
    pub(super) fn enter_safe_state_for_emergency_stop(&mut self, stop_number: u64) {
        if std::mem::replace(&mut self.emergency_stop_number, stop_number) != stop_number
            && self.plan.class == NodeClass::Actors
        {
            // WHY only a group: its actors have been running since the end of the earlier stop,
            // while the node of the group may have seen neither that end nor this start. Any other
            // node has not ticked.
            self.safe_state = SafeState::Unwanted;
        }
        self.enter_safe_state();
    }

    /// Returns true if the node has ticked since the last call of `enter_safe_state`.
    fn has_ticked_in_safe_state(&self) -> bool {
        // WHY not a group: its number of ticks is that of the messages that its actors handle.
        let is_group = self.plan.class == NodeClass::Actors;
        !is_group && self.metrics.ended_tick_count() != self.safe_state_ticks
    }

    /// If the node has not reached its safe state yet, asks the node again, and records an event
    /// if it has reached it now. Costs a comparison otherwise.
    #[inline]
    pub(super) fn check_safe_state_if_entering(&mut self) {
        if self.is_entering_safe_state() {
            self.check_safe_state_reached();
        }
    }

    #[cold]
    fn check_safe_state_reached(&mut self) {
        let scope = self.log_scope();
        let Self { node, metrics, .. } = self;
        let ask = || catch_panic(|| node.is_safe_state());
        let answer = metrics.run_as_user_call(UserCall::EnterSafeState, ask);
        drop(scope);
        match answer {
            Ok(false) => {}
            Ok(true) => {
                self.safe_state = SafeState::Reached;
                self.event_log
                    .record(self.tick, NodeEvent::SAFE_STATE_ENTERED, 0, "");
                self.publish_health();
            }
            Err(panic) => self.record_safe_state_panic(&panic, " in is_safe_state"),
        }
    }

    fn record_safe_state_panic(&mut self, panic: &str, call: &str) {
        self.safe_state = SafeState::Panicked;
        self.record_panic(panic, (UserCall::EnterSafeState, call));
    }

    /// Returns true if the node has begun to enter its safe state, and has not said yet that it has
    /// reached it. Its executor then has to call `poll_commands` at least every 20 ms.
    #[inline]
    pub(crate) fn is_entering_safe_state(&self) -> bool {
        self.safe_state == SafeState::Entering
    }

    /// Returns true if the node has applied an emergency stop and has reached its safe state, or
    /// was shut down.
    pub(crate) fn is_safe_in_emergency(&self) -> bool {
        self.is_shut_down() || (self.blocked_by.is_emergency && self.counts_as_safe())
    }

    /// Returns true if nothing remains to be done for the safety of the node during an emergency
    /// stop.
    pub(super) fn counts_as_safe(&self) -> bool {
        // A node that is not initialised yet is safe, too: it has moved nothing.
        self.safe_state == SafeState::Reached || !self.is_initialised()
    }

    /// Applies an emergency stop to the node, or its end, but no other commands. Called while other
    /// nodes are initialised.
    ///
    /// WHY no other commands: a swap calls `init` of the new node, which may take long. Meanwhile,
    /// no other node would enter its safe state.
    pub(crate) fn poll_emergency_stop(&mut self, clock: &Clock) {
        if !self.is_emergency_stop_pending() {
            return self.check_safe_state_if_entering();
        }
        let stop = self.commands.engaged_emergency_stop_number();
        self.blocked_by.is_emergency = stop.is_some();
        if let Some(number) = stop {
            self.enter_safe_state_for_emergency_stop(number);
        } else {
            self.restart_timeouts(clock.now_ns());
            self.leave_safe_state();
        }
        self.busy_until_ns = clock.now_ns();
        // WHY again: a node that waits for its restart is safe without a call of its methods.
        self.publish_health();
    }

    /// Returns true if an emergency stop, or its end, was not applied to the node yet. Calls no
    /// method of the node.
    pub(crate) fn is_emergency_stop_pending(&self) -> bool {
        self.commands.must_be_read_before_tick()
            && self.commands.engaged_emergency_stop_number().is_some()
                != self.blocked_by.is_emergency
    }

    /// Applies an emergency stop to the node, or its end, and, if the run has failed, makes the
    /// node enter its safe state and stay there. Called on the node's thread after its last tick.
    ///
    /// Does nothing to the node of a group, because the threads of the group call the actors.
    pub(crate) fn keep_safe_after_last_tick(&mut self, has_run_failed: bool, clock: &Clock) {
        if self.plan.class == NodeClass::Actors {
            return;
        }
        if !has_run_failed {
            return self.poll_emergency_stop(clock);
        }
        let is_emergency = self.commands.must_be_read_before_tick()
            && self.commands.engaged_emergency_stop_number().is_some();
        let before = std::mem::replace(&mut self.blocked_by.is_emergency, is_emergency);
        self.enter_safe_state();
        if before != is_emergency {
            self.publish_health();
        }
    }

    /// Makes the node enter its safe state because the run has failed. The node then stays there
    /// as in an emergency stop, until it is shut down. Called when the node does not tick any more.
    ///
    /// WHY as in an emergency stop: one that is engaged later finds that nothing is left to do,
    /// although nothing applies commands to the node any more.
    pub(crate) fn enter_safe_state_of_failed_run(&mut self) {
        self.blocked_by.is_emergency = true;
        self.enter_safe_state();
        self.publish_health();
    }

    /// Returns true if a call of [`Self::keep_safe_after_last_tick`] would call the node, or change
    /// its health. During the run, returns true if an emergency stop, or its end, was not applied
    /// yet, or if the node has not reached its safe state.
    pub(crate) fn needs_safety_work(&self, has_run_failed: bool) -> bool {
        let is_made_safe = self.safe_state.is_wanted() && !self.has_ticked_in_safe_state();
        self.is_entering_safe_state()
            || self.is_emergency_stop_pending()
            || (has_run_failed && self.is_initialised() && !is_made_safe)
    }

    /// Makes the node enter its safe state if an emergency stop is engaged. Called when the node's
    /// thread has ended, so that nothing applies commands any more.
    ///
    /// WHY not `poll_commands`: other commands, such as a swap, have no effect at the end of a run.
    pub(crate) fn apply_emergency_stop_at_end(&mut self) {
        if let Some(number) = self.commands.engaged_emergency_stop_number() {
            self.blocked_by.is_emergency = true;
            self.enter_safe_state_for_emergency_stop(number);
        }
    }

    /// Ends the node's safe state, unless it is still required because of an emergency stop or
    /// missed deadlines.
    pub(super) fn leave_safe_state(&mut self) {
        if self.safe_state.is_wanted()
            && !self.blocked_by.is_emergency
            && !self.miss_history.requires_safe_state()
        {
            self.safe_state = SafeState::Unwanted;
            self.event_log
                .record(self.tick, NodeEvent::SAFE_STATE_LEFT, 0, "");
        }
        self.publish_health();
    }

    /// Makes the node that a swap has put here, or has put back, enter its safe state, if the
    /// other one was made to enter its own.
    pub(super) fn enter_safe_state_after_swap(&mut self) {
        if self.safe_state.is_wanted() {
            self.safe_state = SafeState::Unwanted;
            self.enter_safe_state();
        }
    }

    /// Records a failure if the node is shut down before it has reached its safe state. A panic was
    /// recorded before.
    pub(super) fn record_unreached_safe_state(&self) {
        if self.is_entering_safe_state() {
            let text = "shut down before it had reached its safe state";
            self.event_log.record(self.tick, NodeEvent::FAILED, 0, text);
        }
    }
}
