//! Nodes that wait for messages: a thread each, asleep until a topic has some.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::topic::{Reason, WaitSet};

/// The longest sleep, after which a thread looks whether everything is to stop, and for orders.
const SLICE: Duration = Duration::from_millis(20);

/// Gives a node a turn whenever it has messages, until everything is to stop, or its subscribers
/// are gone.
pub(in crate::scheduler) fn run(
    runner: &mut Runner,
    clock: &mut Clock,
    shared: &Shared,
    wake: &mut WaitSet,
) -> After {
    while !shared.is_stopping() && !runner.is_over() {
        let Ok(ready) = wake.wait(SLICE) else { return After::Continue };
        let has_message = ready.iter().any(|ready| ready.reason == Reason::Message);
        let now_ns = clock.resync();
        let after = if runner.is_held(clock, now_ns) {
            // WHY: its messages stay where they are, and would end the next wait at once.
            shared.wait(SLICE);
            After::Continue
        } else if has_message {
            runner.turn(clock, now_ns, now_ns).1
        } else {
            runner.idle(now_ns)
        };
        if after != After::Continue {
            return after;
        }
    }
    After::Continue
}
