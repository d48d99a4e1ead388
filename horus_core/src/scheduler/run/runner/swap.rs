//! Swaps the node of a runner for another one, and restores the old node if the new one fails
//! during its probation.

use horus_shm::clock::Clock;

use super::{NodeState, Runner};
use crate::message::NodeEvent;
use crate::scheduler::run::catch_panic::catch_panic;
use crate::scheduler::run::pending_swap::{PendingSwap, Probation};

impl Runner {
    /// Replaces the node by the new one of `pending_swap`, and initialises the new one. If that
    /// fails, the old node is restored.
    pub(crate) fn swap_node(&mut self, pending_swap: PendingSwap, clock: &Clock, now_ns: u64) {
        if matches!(self.state, NodeState::Over | NodeState::Broken) {
            return self.drop_value(pending_swap);
        }
        // WHY an earlier swap on probation is accepted: a caller that swaps again is satisfied with
        // it.
        self.accept_swap();
        let place = &mut self.node;
        match catch_panic(|| pending_swap.perform(place)) {
            Ok(Ok(probation)) => {
                self.probation = Some(probation);
                self.event_log.record(self.tick, NodeEvent::SWAPPED, 0, "");
                // If `init` fails, `init_node` rolls the swap back.
                let is_new =
                    !matches!(self.state, NodeState::New { .. }) && self.init_node(clock, now_ns);
                // WHY: the new node has to enter its safe state, too.
                if is_new && self.probation.is_some() && std::mem::take(&mut self.is_in_safe_state)
                {
                    self.enter_safe_state();
                }
            }
            Ok(Err(reason)) | Err(reason) => {
                self.event_log
                    .record(self.tick, NodeEvent::SWAP_FAILED, 0, &reason)
            }
        }
    }

    #[cold]
    pub(crate) fn count_probation_tick(&mut self) {
        if self
            .probation
            .as_mut()
            .is_some_and(Probation::count_good_tick)
        {
            self.accept_swap();
        }
    }

    fn accept_swap(&mut self) {
        if let Some(mut probation) = self.probation.take() {
            probation
                .take_old()
                .into_iter()
                .for_each(|old| self.shut_down_replaced_node(old));
            probation.accept();
            self.drop_value(probation);
        }
    }

    pub(crate) fn roll_back(&mut self, probation: Probation, why: &str) {
        let place = &mut self.node;
        let new = catch_panic(|| probation.roll_back(place, why));
        self.event_log
            .record(self.tick, NodeEvent::SWAP_FAILED, 0, why);
        match new {
            Ok(new) => new
                .into_iter()
                .for_each(|new| self.shut_down_replaced_node(new)),
            Err(panic) => self.record_panic(&panic, " in a swap"),
        }
        // An old node that was not initialised before the swap still has to be.
        if !matches!(self.state, NodeState::New { .. }) {
            self.resume_ticking();
        }
        // WHY: only the new node was told to enter its safe state.
        if std::mem::take(&mut self.is_in_safe_state) {
            self.enter_safe_state();
        }
    }
}
