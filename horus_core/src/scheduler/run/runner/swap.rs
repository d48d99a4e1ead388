//! Swaps the node of a runner for another one, and restores the old node if the new one fails
//! during its probation.

use horus_shm::clock::Clock;

use super::{NodeState, Runner};
use crate::message::NodeEvent;
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::run::catch_panic::catch_panic;
use crate::scheduler::run::pending_swap::{PendingSwap, Probation};

impl Runner {
    /// Replaces the node by the new one of `pending_swap`, and initialises the new one. If that
    /// fails, the old node is restored.
    pub(crate) fn swap_node(&mut self, pending_swap: PendingSwap, clock: &Clock, now_ns: u64) {
        if matches!(self.state, NodeState::ShutDown | NodeState::Broken) {
            return self.drop_value(pending_swap);
        }
        // WHY an earlier swap on probation is accepted: a caller that swaps again is satisfied with
        // it.
        self.accept_swap();
        let is_initialised = self.is_initialised();
        let place = &mut self.node;
        let perform = || catch_panic(|| pending_swap.perform(place, is_initialised));
        match self.metrics.run_as_user_call(UserCall::Swap, perform) {
            Ok(Ok(mut probation)) => {
                if let NodeState::BackingOff { until_ns } = self.state {
                    probation.old_pause_end_ns = Some(until_ns);
                }
                self.probation = Some(probation);
                self.event_log.record(self.tick, NodeEvent::SWAPPED, 0, "");
                // If `init` fails, `try_init_node` rolls the swap back.
                if is_initialised {
                    self.try_init_node(clock, now_ns);
                    // WHY: the new node has to enter its safe state, too.
                    if self.probation.is_some() {
                        self.enter_safe_state_after_swap();
                    }
                }
            }
            Ok(Err(reason)) | Err(reason) => {
                self.event_log
                    .record(self.tick, NodeEvent::SWAP_FAILED, 0, &reason)
            }
        }
    }

    #[cold]
    pub(crate) fn count_probation_tick(&mut self, clock: &Clock) {
        if self
            .probation
            .as_mut()
            .is_some_and(Probation::count_good_tick_and_is_over)
        {
            self.accept_swap();
            self.busy_until_ns = clock.now_ns();
        }
    }

    fn accept_swap(&mut self) {
        self.drop_old_node();
        if let Some(probation) = self.probation.take() {
            probation.make_swap_final();
            self.drop_value(probation);
        }
    }

    /// If a swap is on probation, shuts the old node down and drops it.
    pub(crate) fn drop_old_node(&mut self) {
        if let Some(probation) = &mut self.probation {
            let is_initialised = probation.is_old_initialised;
            if let Some(old) = probation.take_old_node() {
                self.drop_replaced_node(old, is_initialised);
            }
        }
    }

    /// Ends the probation of the new node, which has failed at `now_ns`, and restores the old node.
    pub(crate) fn roll_back_swap(&mut self, probation: Probation, reason: &str, now_ns: u64) {
        let (is_old_initialised, is_new_initialised) =
            (probation.is_old_initialised, probation.is_new_initialised);
        let old_pause_end_ns = probation.old_pause_end_ns;
        let place = &mut self.node;
        let roll_back = || catch_panic(|| probation.roll_back(place, reason));
        let new = self.metrics.run_as_user_call(UserCall::Swap, roll_back);
        self.event_log
            .record(self.tick, NodeEvent::SWAP_FAILED, 0, reason);
        match new {
            Ok(new) => new
                .into_iter()
                .for_each(|new| self.drop_replaced_node(new, is_new_initialised)),
            Err(panic) => self.record_panic(&panic, (UserCall::Swap, " in a swap")),
        }
        if is_old_initialised {
            self.resume_ticking();
            if let Some(until_ns) = old_pause_end_ns {
                self.state = NodeState::BackingOff { until_ns };
                self.publish_health();
            }
            // WHY not if the new node was not initialised: the old node is in its safe state.
            if is_new_initialised {
                self.enter_safe_state_after_swap();
            }
        } else {
            // An old node that was not initialised before the swap still has to be.
            self.schedule_init(now_ns);
        }
    }
}
