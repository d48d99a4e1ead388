//! Nodes that wait for messages: a thread each, asleep until a topic has some.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::topic::{Reason, WaitSet};

/// The longest sleep, after which a thread looks whether everything is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// Gives a node a turn whenever it has messages, until everything is to stop, or its subscribers
/// are gone.
pub(in crate::scheduler) fn run(
    runner: &mut Runner,
    clock: &mut Clock,
    shared: &Shared,
    wake: &mut WaitSet,
) -> After {
    while !shared.is_stopping() {
        let Ok(ready) = wake.wait(SLICE) else { return After::Continue };
        if !ready.iter().any(|ready| ready.reason == Reason::Message) {
            match runner.pass(clock.resync()) {
                After::Continue => continue,
                after => return after,
            }
        }
        let now_ns = clock.resync();
        let (_, after) = runner.turn(clock, now_ns, now_ns);
        if after != After::Continue {
            return after;
        }
    }
    After::Continue
}
