//! Runs nodes in turn: those without a thread of their own on the main thread, and those of a chain
//! on the chain's thread.

use horus_shm::clock::Clock;

use crate::scheduler::run::runner::{After, Runner};

/// Gives each node a turn, in order, from `begin_ns` on. The end of one turn is the start of the
/// next, so that a turn costs one reading of the clock. Returns the end of the last.
#[inline]
pub(crate) fn turns(
    runners: &mut [Runner],
    clock: &Clock,
    due_ns: u64,
    mut begin_ns: u64,
) -> (u64, After) {
    let mut after = After::Continue;
    for runner in runners {
        let (end_ns, one) = runner.turn(clock, due_ns, begin_ns);
        begin_ns = end_ns;
        match one {
            After::Continue => {}
            // WHY the other nodes still run: they stop in order, after a whole round.
            After::Stop => after = After::Stop,
            After::Abort => return (end_ns, After::Abort),
        }
    }
    (begin_ns, after)
}
