//! Runs nodes one after the other. The thread that runs the scheduler uses this code for the nodes
//! that have no other thread, and the thread of a chain uses it for the nodes of the chain.

use horus_shm::clock::Clock;

use crate::scheduler::run::runner::{RunDecision, Runner};

/// Runs a turn of each node (pending commands, and a tick if nothing forbids it), in order. The
/// first turn begins at `begin_ns`, and each further turn begins when the previous one has ended,
/// so that a turn costs only one reading of the clock. A turn after an `init`, a `shutdown` or a
/// swap of an earlier node is due when that has ended. Returns the time at which the last turn
/// ended, and what the scheduler has to do next.
#[inline]
pub(crate) fn run_turns(
    runners: &mut [Runner],
    clock: &Clock,
    mut due_ns: u64,
    mut begin_ns: u64,
) -> (u64, RunDecision) {
    let mut decision = RunDecision::Continue;
    for runner in runners {
        let (end_ns, one) = runner.run_turn(clock, due_ns, begin_ns);
        (due_ns, begin_ns) = (due_ns.max(runner.busy_until_ns()), end_ns);
        match one {
            RunDecision::Continue => {}
            // WHY the other nodes still run: a requested stop takes effect after a whole round.
            RunDecision::Stop => decision = RunDecision::Stop,
            RunDecision::Abort => return (end_ns, RunDecision::Abort),
        }
    }
    (begin_ns, decision)
}
