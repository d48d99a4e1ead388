//! Nodes that ask for nothing: one after the other, on the thread that runs the scheduler.

use horus_shm::clock::Clock;

use crate::scheduler::runner::{After, Runner};

/// Gives each node a turn, in order. The end of one is the begin of the next, so that a turn costs
/// one reading of the clock.
#[inline]
pub(in crate::scheduler) fn turns(runners: &mut [Runner], clock: &Clock, due_ns: u64) -> After {
    let mut begin_ns = clock.now_ns();
    let mut after = After::Continue;
    for runner in runners {
        let (end_ns, one) = runner.turn(clock, due_ns, begin_ns);
        begin_ns = end_ns;
        match one {
            After::Continue => {}
            // WHY the others go on: they stop in order, after a whole round.
            After::Stop if after == After::Continue => after = After::Stop,
            After::Stop => {}
            After::Abort => return After::Abort,
        }
    }
    after
}
