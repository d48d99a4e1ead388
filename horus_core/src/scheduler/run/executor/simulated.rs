//! Runs all nodes on one thread with a simulated clock, in the same order and at the same times in
//! every run.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;

use crate::actor::group::ActorGroup;
use crate::message::simulate_time;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};
use crate::topic::WaitSet;

use super::actor_turns;

/// The largest number of times that the simulation runs all nodes that have messages before it lets
/// the simulated time advance. WHY a limit: otherwise, nodes that answer each other's messages
/// would never let the time advance.
const ROUNDS_PER_INSTANT_MAX: u32 = 1024;

/// The time, in nanoseconds, by which the simulated time advances if messages are left after so
/// many rounds, and nothing else is due earlier.
const TIME_STEP_WITH_MESSAGES_LEFT_NS: u64 = 1_000_000;

/// A node in a simulated run, together with the things that make it run: due times, topics, or the
/// messages of its actors.
pub(crate) struct SimulatedNode {
    pub(crate) runner: Runner,
    pub(crate) wake: WaitSet,
    /// The group of actors that the node represents; `None` if it is an ordinary node.
    actors: Option<Arc<ActorGroup>>,
    timeline: Option<Timeline>,
    /// True if the node has a timeline and was run at its present due time.
    was_due: bool,
    /// The shortest allowed time between two ticks, in nanoseconds, for a node that topics wake.
    pause_ns: u64,
    not_before_ns: u64,
}

impl SimulatedNode {
    pub(crate) fn new(
        runner: Runner,
        wake: WaitSet,
        actors: Option<Arc<ActorGroup>>,
        rate: Option<Rate>,
    ) -> Self {
        if let Some(actors) = &actors {
            actors.begin_simulated_time();
        }
        let timeline = rate.map(|rate| Timeline::new(0, rate));
        let pause_ns = runner
            .plan()
            .at_most
            .map_or(0, |rate| saturating_nanos(rate.period()));
        Self {
            runner,
            wake,
            actors,
            timeline,
            was_due: false,
            pause_ns,
            not_before_ns: 0,
        }
    }

    /// Runs the node at `now_ns` if it is due or has messages. Returns true if the node was run.
    /// Sets `decision` to what the scheduler has to do next.
    fn run_turn(&mut self, clock: &Clock, now_ns: u64, decision: &mut RunDecision) -> bool {
        let is_due = match &self.timeline {
            Some(timeline) => {
                timeline.due_ns() == now_ns && !std::mem::replace(&mut self.was_due, true)
            }
            None if self.actors.is_some() => self.has_actors_to_run(clock, now_ns),
            None => {
                let is_blocked = self.runner.poll_commands_and_is_blocked(clock, now_ns);
                if !is_blocked && !self.has_waking_message() && self.runner.pause_end_ns().is_some()
                {
                    // Ends the pause of a node whose topics are silent.
                    *decision = more_urgent_decision(
                        *decision,
                        self.runner.check_idle_inputs(clock, now_ns),
                    );
                    return true;
                }
                !is_blocked && now_ns >= self.not_before_ns && self.has_waking_message()
            }
        };
        if is_due {
            self.not_before_ns = now_ns.saturating_add(self.pause_ns);
            *decision =
                more_urgent_decision(*decision, self.runner.run_turn(clock, now_ns, now_ns).1);
        }
        is_due
    }

    /// Returns true if topics of the node have messages for it.
    fn has_waking_message(&mut self) -> bool {
        let ready = self.wake.wait(Duration::ZERO);
        ready.is_ok_and(|ready| !ready.is_empty())
    }

    /// Sets the next due time, after all nodes that were due at `now_ns` have run.
    fn advance_timeline(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.was_due)
            && let Some(timeline) = &mut self.timeline
        {
            timeline.advance(now_ns);
        }
    }

    /// Makes the node, or the actors that it represents, enter the safe state, because the run has
    /// failed.
    pub(crate) fn enter_safe_state(&mut self) {
        if let Some(actors) = &self.actors {
            actors.emergency_stop.set_run_failed();
        }
        self.runner.enter_safe_state();
    }

    /// Returns true if the node represents a group with actors to run. In an emergency stop, makes
    /// the actors enter their safe state instead, and returns false.
    fn has_actors_to_run(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.runner.poll_commands(clock, now_ns);
        self.actors.as_ref().is_some_and(|actors| {
            if actors.emergency_stop.is_engaged() {
                actor_turns::make_actors_safe(actors);
            }
            !actors.is_paused() && actors.has_due_activations(now_ns)
        })
    }

    /// Returns the next time, after `now_ns`, at which the node may have to run even if no new
    /// message arrives; `None` if there is no such time. Called after the rounds at `now_ns`.
    fn next_due_ns(&mut self, clock: &Clock, now_ns: u64) -> Option<u64> {
        if let Some(timeline) = &self.timeline {
            return Some(timeline.due_ns());
        }
        let left_ns = now_ns.saturating_add(TIME_STEP_WITH_MESSAGES_LEFT_NS);
        if let Some(actors) = &self.actors {
            if actors.is_paused() {
                return None;
            }
            // WHY not before: a timer may be due at once again and again.
            let timer_ns = actors.timers.next_due_ns().max(now_ns + 1);
            let has_mail = !actors.waiting.is_empty();
            let next_ns = if has_mail {
                timer_ns.min(left_ns)
            } else {
                timer_ns
            };
            return (next_ns != u64::MAX).then_some(next_ns);
        }
        if let Some(end_ns) = self.runner.pause_end_ns() {
            return Some(end_ns.max(now_ns + 1));
        }
        if self.not_before_ns > now_ns {
            return Some(self.not_before_ns);
        }
        // WHY not if a command forbids ticks: only another node can end that.
        (!self.runner.poll_commands_and_is_blocked(clock, now_ns) && self.has_waking_message())
            .then_some(left_ns)
    }
}

/// Makes the calling thread stamp its messages with the time of a simulation, from the first `init`
/// to the drops of the nodes. The drop of this value brings the real clocks back.
#[derive(Debug)]
pub(crate) struct SimulatedTimestamps {
    epoch_ns: u64,
}

impl SimulatedTimestamps {
    /// Begins with the timestamp `epoch_ns`, in nanoseconds.
    pub(crate) fn begin(epoch_ns: u64) -> Self {
        simulate_time(Some(epoch_ns));
        Self { epoch_ns }
    }

    fn set(&self, now_ns: u64) {
        simulate_time(Some(self.epoch_ns.saturating_add(now_ns)));
    }
}

impl Drop for SimulatedTimestamps {
    fn drop(&mut self) {
        simulate_time(None);
    }
}

/// Moves the clock from one due time to the next until `end_ns`. At each due time, runs all nodes
/// that are due or have messages, in the order of `nodes`, and repeats that until no node has
/// messages. Ends earlier if a node or a handle stops the run. Returns what the scheduler has to do
/// next.
pub(crate) fn run_simulation(
    nodes: &mut [SimulatedNode],
    end_ns: u64,
    timestamps: &SimulatedTimestamps,
    shared: &RunState,
) -> RunDecision {
    let mut clock = Clock::simulated(0);
    let mut decision = RunDecision::Continue;
    // WHY always at 0: messages may wait there.
    let mut next_ns = Some(0);
    while decision == RunDecision::Continue && !shared.is_stopping() {
        let Some(now_ns) = next_ns.filter(|now_ns| *now_ns < end_ns) else {
            break;
        };
        clock.set(now_ns);
        for actors in nodes.iter().filter_map(|node| node.actors.as_ref()) {
            actors.set_simulated_time(now_ns);
        }
        timestamps.set(now_ns);
        for _ in 0..ROUNDS_PER_INSTANT_MAX {
            let has_run = run_due_nodes_once(nodes, &clock, now_ns, &mut decision);
            if !has_run || decision != RunDecision::Continue || shared.is_stopping() {
                break;
            }
        }
        apply_new_rates(nodes);
        nodes
            .iter_mut()
            .for_each(|node| node.advance_timeline(now_ns));
        let due = nodes.iter_mut();
        next_ns = due
            .filter_map(|node| node.next_due_ns(&clock, now_ns))
            .min();
    }
    decision
}

/// Runs once each node that is due or has messages. Behaves like the thread that runs a scheduler:
/// if a node requests a stop, the other nodes still run in this round; if a node ends the run by a
/// failure, they do not. Returns true if a node was run. Sets `decision` to what the scheduler has
/// to do next.
fn run_due_nodes_once(
    nodes: &mut [SimulatedNode],
    clock: &Clock,
    now_ns: u64,
    decision: &mut RunDecision,
) -> bool {
    let mut has_run = false;
    for node in nodes {
        has_run |= node.run_turn(clock, now_ns, decision);
        if *decision == RunDecision::Abort {
            break;
        }
    }
    has_run
}

/// Changes the due times of nodes to which a command has given a new rate. The nodes of a chain
/// change together, as they do on their thread.
fn apply_new_rates(nodes: &mut [SimulatedNode]) {
    for index in 0..nodes.len() {
        let Some(rate) = nodes[index].runner.take_new_rate() else {
            continue;
        };
        let chain = nodes[index].runner.plan().chain.clone();
        for (other, node) in nodes.iter_mut().enumerate() {
            let is_same = chain.is_some() && node.runner.plan().chain == chain;
            if other == index || is_same {
                node.timeline = node.timeline.map(|timeline| timeline.at_rate(rate));
            }
        }
    }
}

const fn more_urgent_decision(first: RunDecision, second: RunDecision) -> RunDecision {
    match (first, second) {
        (RunDecision::Abort, _) | (_, RunDecision::Abort) => RunDecision::Abort,
        (RunDecision::Stop, _) | (_, RunDecision::Stop) => RunDecision::Stop,
        _ => RunDecision::Continue,
    }
}
