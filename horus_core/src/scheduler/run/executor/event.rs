//! Nodes that wait for messages: one thread each, asleep until a topic has some.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::api::policy::nanos;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;
use crate::topic::{Reason, WaitSet};

/// The longest sleep, after which a thread checks for the stop of the run and for commands.
const SLICE: Duration = Duration::from_millis(20);

/// The pause while messages wait for a node that does not take its turn, because it backs off or
/// skips one. WHY: they would wake it again at once, and again, until it does.
const BACK_OFF: Duration = Duration::from_millis(1);

/// Gives a node a turn whenever it has messages, at its highest rate at most, until the run is to
/// stop or its subscribers are closed.
pub(crate) fn run(
    runner: &mut Runner,
    clock: &mut Clock,
    shared: &Shared,
    wake: &mut WaitSet,
) -> After {
    let pause_ns = runner.plan().at_most.map_or(0, |rate| nanos(rate.period()));
    let (mut not_before_ns, mut seen_ns) = (0, None);
    while !shared.is_stopping() && !runner.is_over() {
        let Ok(ready) = wake.wait(SLICE) else { return After::Continue };
        let has_message = ready.iter().any(|ready| ready.reason == Reason::Message);
        let now_ns = clock.resync();
        let after = if runner.is_held(clock, now_ns) {
            shared.wait(BACK_OFF);
            After::Continue
        } else if !has_message {
            runner.idle(now_ns)
        } else {
            // The time at which there were messages and the node was allowed to tick.
            let due_ns = not_before_ns.max(*seen_ns.get_or_insert(now_ns));
            if now_ns < due_ns {
                shared.wait(Duration::from_nanos(due_ns - now_ns).min(SLICE));
                continue;
            }
            let (end_ns, after) = runner.turn(clock, due_ns, now_ns);
            (not_before_ns, seen_ns) = (now_ns.saturating_add(pause_ns), None);
            if after == After::Continue && end_ns == now_ns {
                shared.wait(BACK_OFF);
            }
            after
        };
        if after != After::Continue {
            return after;
        }
    }
    After::Continue
}
