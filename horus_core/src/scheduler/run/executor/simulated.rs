//! Runs all nodes on one thread and one simulated clock: the same order and the same times in every
//! run.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::message::simulate_time;
use crate::scheduler::api::policy::nanos;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::runner::{After, Runner};
use crate::topic::WaitSet;

/// The most rounds at one time: chains of messages that cause messages must end.
const ROUNDS_MAX: u32 = 1024;

/// A node, and the source of its turns.
pub(crate) struct Simulated {
    pub(crate) runner: Runner,
    pub(crate) wake: WaitSet,
    timeline: Option<Timeline>,
    /// The shortest time between two ticks of a node that is woken by topics.
    pause_ns: u64,
    not_before_ns: u64,
}

impl Simulated {
    pub(crate) fn new(runner: Runner, wake: WaitSet, rate: Option<Rate>) -> Self {
        let timeline = rate.map(|rate| Timeline::new(0, rate));
        let pause_ns = runner.plan().at_most.map_or(0, |rate| nanos(rate.period()));
        Self { runner, wake, timeline, pause_ns, not_before_ns: 0 }
    }

    /// Gives the node its turn at this time, if it is due or has messages. Returns true if it had
    /// one.
    fn turn(&mut self, clock: &Clock, now_ns: u64, after: &mut After) -> bool {
        let is_due = match &mut self.timeline {
            Some(timeline) if timeline.due_ns() == now_ns => {
                timeline.advance(now_ns);
                true
            }
            Some(_) => false,
            None if now_ns < self.not_before_ns => false,
            None => self.wake.wait(Duration::ZERO).is_ok_and(|ready| !ready.is_empty()),
        };
        if is_due {
            self.not_before_ns = now_ns.saturating_add(self.pause_ns);
            *after = worse(*after, self.runner.turn(clock, now_ns, now_ns).1);
        }
        is_due
    }

    /// Returns the time at which the node may be due next, after `now_ns`.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let waits = (self.not_before_ns > now_ns).then_some(self.not_before_ns);
        self.timeline.map_or(waits, |timeline| Some(timeline.due_ns()))
    }
}

/// Goes from one due time to the next until `end_ns`. At each, all nodes that are due or have
/// messages get their turns in order, again and again until none has messages any more. `nodes`
/// have to be in the order of their turns.
pub(crate) fn run(nodes: &mut [Simulated], end_ns: u64, epoch_ns: u64) -> After {
    let mut clock = Clock::simulated(0);
    let mut after = After::Continue;
    while after == After::Continue {
        let due = nodes.iter().filter_map(|node| node.next_ns(clock.now_ns()));
        let Some(now_ns) = due.min().filter(|now_ns| *now_ns < end_ns) else { break };
        clock.set(now_ns);
        simulate_time(Some(epoch_ns.saturating_add(now_ns)));
        for _ in 0..ROUNDS_MAX {
            let mut turn = |node: &mut Simulated| node.turn(&clock, now_ns, &mut after);
            // WHY a fold: every node gets its turn, also after one that had one.
            if !nodes.iter_mut().fold(false, |any, node| turn(node) | any) {
                break;
            }
        }
    }
    simulate_time(None);
    after
}

const fn worse(one: After, other: After) -> After {
    match (one, other) {
        (After::Abort, _) | (_, After::Abort) => After::Abort,
        (After::Stop, _) | (_, After::Stop) => After::Stop,
        _ => After::Continue,
    }
}
