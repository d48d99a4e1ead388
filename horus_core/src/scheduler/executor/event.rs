//! Nodes that wait for messages: a thread each, asleep until a topic has some.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::policy::nanos;
use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::topic::{Reason, WaitSet};

/// The longest sleep, after which a thread looks whether everything is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// How long messages wait for a node that does not take its turn, because it rests or leaves one
/// out. WHY: they would wake it again at once, and again, until it does.
const REST: Duration = Duration::from_millis(1);

/// Gives a node a turn whenever it has messages, as often as it may, until everything is to stop,
/// or its subscribers are gone.
pub(in crate::scheduler) fn run(
    runner: &mut Runner,
    clock: &mut Clock,
    shared: &Shared,
    wake: &mut WaitSet,
) -> After {
    let pause_ns = runner.plan().at_most.map_or(0, |rate| nanos(rate.period()));
    let mut not_before_ns = 0;
    while !shared.is_stopping() {
        let Ok(ready) = wake.wait(SLICE) else { return After::Continue };
        if !ready.iter().any(|ready| ready.reason == Reason::Message) {
            continue;
        }
        let mut now_ns = clock.resync();
        // When there were messages, and the node could have its turn.
        let due_ns = now_ns.max(not_before_ns);
        while now_ns < due_ns {
            shared.wait(Duration::from_nanos(due_ns - now_ns));
            if shared.is_stopping() {
                return After::Continue;
            }
            now_ns = clock.resync();
        }
        let (end_ns, after) = runner.turn(clock, due_ns, now_ns);
        not_before_ns = now_ns.saturating_add(pause_ns);
        match after {
            After::Continue if end_ns == now_ns => shared.wait(REST),
            After::Continue => {}
            after => return after,
        }
    }
    After::Continue
}
