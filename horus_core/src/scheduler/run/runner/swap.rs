//! Swaps the node of a runner: on probation first, rolled back if that fails.

use horus_shm::clock::Clock;

use super::{Runner, State};
use crate::message::NodeEvent;
use crate::scheduler::run::caught::caught;
use crate::scheduler::run::exchange::{Exchange, Probation};

impl Runner {
    /// Puts another node in this one's place, and initialises it.
    pub(crate) fn exchange(&mut self, exchange: Exchange, clock: &Clock, now_ns: u64) {
        if matches!(self.state, State::Over | State::Broken) {
            return;
        }
        // An earlier swap that is still on probation is accepted: a caller that swaps again is
        // content with it.
        self.accept_trial();
        let place = &mut self.node;
        match caught(|| exchange.carry_out(place)) {
            Ok(Ok(probation)) => {
                self.probation = Some(probation);
                self.event_log.note(self.tick, NodeEvent::SWAPPED, 0, "");
                // If `init` fails, it is rolled back.
                let is_new = !matches!(self.state, State::New { .. }) && self.begin(clock, now_ns);
                // WHY: the new node has to enter its safe state, too.
                if is_new && self.probation.is_some() && std::mem::take(&mut self.is_safe) {
                    self.enter_safe_state();
                }
            }
            Ok(Err(reason)) | Err(reason) => {
                self.event_log.note(self.tick, NodeEvent::SWAP_FAILED, 0, &reason)
            }
        }
    }

    #[cold]
    pub(crate) fn pass_trial(&mut self) {
        if self.probation.as_mut().is_some_and(Probation::passes_tick) {
            self.accept_trial();
        }
    }

    fn accept_trial(&mut self) {
        if let Some(mut probation) = self.probation.take() {
            probation.take_old().into_iter().for_each(|old| self.end_of(old));
            probation.accept();
        }
    }

    pub(crate) fn roll_back(&mut self, probation: Probation, why: &str) {
        let place = &mut self.node;
        let new = caught(|| probation.roll_back(place, why));
        self.event_log.note(self.tick, NodeEvent::SWAP_FAILED, 0, why);
        match new {
            Ok(new) => new.into_iter().for_each(|new| self.end_of(new)),
            Err(panic) => self.note_panic(&panic, " in a swap"),
        }
        // A node that had to be initialised before still has to be.
        if !matches!(self.state, State::New { .. }) {
            self.is_awake();
        }
    }
}
