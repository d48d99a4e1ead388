//! The life cycle of a node: initialised, shut down, dropped.

use horus_shm::clock::Clock;

use super::{After, Runner, State};
use crate::message::NodeEvent;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::node::{Node, NodeResult};
use crate::scheduler::run::caught::{caught, dropped, said_by};
use crate::scheduler::run::exchange::{Probation, VacantNode};

impl Runner {
    /// Initialises the node; returns true if it can tick.
    pub(crate) fn begin(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.guards.iter().for_each(|guards| guards.restart(now_ns));
        let Self { node, random, tick, pace, .. } = self;
        let mut context = Context {
            clock,
            tick: *tick,
            due_ns: now_ns,
            begin_ns: now_ns,
            budget_end_ns: u64::MAX,
            period_ns: pace.period_ns,
            stop: false,
            checkpoints: None,
            random,
        };
        match caught(|| node.init(&mut context)) {
            Ok(Ok(())) => {
                self.is_awake();
                self.event_log.note(self.tick, NodeEvent::STARTED, 0, "");
                true
            }
            failed => {
                if self.fail(failed, " in init", now_ns) == After::Abort {
                    self.state = State::Broken;
                }
                // After a rollback the old node goes on at once.
                matches!(self.state, State::Active | State::Halved { .. })
            }
        }
    }

    /// Initialises the node before the first tick of any.
    pub(crate) fn start(&mut self, clock: &Clock) -> After {
        if self.may_tick(clock, clock.now_ns()) { After::Continue } else { self.after_no_tick() }
    }

    /// Shuts the node down.
    pub(crate) fn end(&mut self) {
        let node = &mut self.node;
        let outcome = caught(|| node.shutdown());
        self.note_end(outcome);
    }

    /// Shuts down and drops a node that has left its place.
    pub(crate) fn end_of(&mut self, mut node: Box<dyn Node>) {
        let outcome = caught(|| node.shutdown());
        self.note_end(outcome);
        self.let_go(node);
    }

    fn note_end(&mut self, outcome: Result<NodeResult, String>) {
        let error = match outcome {
            Ok(Ok(())) => return self.event_log.note(self.tick, NodeEvent::FINISHED, 0, ""),
            Ok(Err(error)) => {
                let text = said_by(&*error);
                self.event_log.note(self.tick, NodeEvent::FAILED, 0, &text);
                if let Some(panic) = dropped(error) {
                    self.note_panic(&panic, " in the drop of an error");
                }
                self.event_log.set_last_error(&text);
                text
            }
            Err(panic) => {
                self.note_panic(&panic, " in shutdown");
                panic
            }
        };
        self.event_log.note(self.tick, NodeEvent::FINISHED, 0, &error);
    }

    /// Drops a value of the node; a panic in that is recorded.
    fn let_go<T>(&mut self, what: T) {
        if let Some(panic) = dropped(what) {
            self.note_panic(&panic, " in its drop");
        }
    }

    /// Shuts the node down, if it was ever initialised.
    pub(crate) fn stop(&mut self) {
        if !matches!(self.state, State::New { .. } | State::Broken | State::Over) {
            self.end();
        }
        // The old node of a swap on probation is shut down, too.
        if let Some(old) = self.probation.as_mut().and_then(Probation::take_old) {
            self.end_of(old);
        }
        self.state = State::Over;
        self.show();
    }

    /// Drops the node, as the last call to it.
    pub(crate) fn release(&mut self) {
        let node = std::mem::replace(&mut self.node, Box::new(VacantNode));
        let probation = self.probation.take();
        self.let_go(node);
        self.let_go(probation);
    }
}
