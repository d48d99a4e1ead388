//! Watches the nodes from a thread of its own, and acts on one that does not return.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;

use super::plan::{Class, Plan};
use super::policy::nanos;
use super::pulse::Pulse;
use super::shared::{Reason, Shared};

/// Something that happened to a node, for whoever wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A tick has lasted longer than the watchdog allows. Said once for each such tick.
    Stuck {
        /// The node.
        node: String,
        /// For how long the tick has lasted.
        busy: Duration,
    },
    /// That tick is over.
    Recovered {
        /// The node.
        node: String,
    },
}

/// Calls that are not the node's own, so that they can be made while it hangs.
pub(super) type SafeState = Box<dyn FnMut() + Send>;

/// One node, as the supervisor sees it.
pub(super) struct Watched {
    name: String,
    pulse: Arc<Pulse>,
    limit_ns: u64,
    safe_state: Option<SafeState>,
    /// Ends the run if it hangs for that long.
    last_ns: u64,
    is_stuck: bool,
}

/// Without a watchdog of its own a tick may last so many times its budget.
const BUDGETS: u64 = 2;
/// How long a tick may last that has neither budget nor watchdog.
const ENDLESS_NS: u64 = u64::MAX;
/// A node that hangs so many times longer than it may ends the run.
const GIVE_UP: u64 = 10;
/// The supervisor looks this often at least, and at most.
const PERIODS_NS: (u64, u64) = (500_000, 20_000_000);

impl Watched {
    pub(super) fn new(plan: &Plan, pulse: &Arc<Pulse>, safe_state: Option<SafeState>) -> Self {
        let by_budget = plan.budget.map(|budget| nanos(budget).saturating_mul(BUDGETS));
        let limit_ns = plan.watchdog.map(nanos).or(by_budget).unwrap_or(ENDLESS_NS);
        Self {
            name: plan.name.clone(),
            pulse: Arc::clone(pulse),
            limit_ns,
            safe_state,
            last_ns: match plan.class {
                Class::RealTime | Class::Event => limit_ns.saturating_mul(GIVE_UP),
                _ => ENDLESS_NS,
            },
            is_stuck: false,
        }
    }

    /// Looks once; says what is new.
    fn look(&mut self, now_ns: u64, shared: &Shared) -> Option<Event> {
        let busy = self.pulse.busy_for(now_ns).unwrap_or_default();
        let node = || self.name.clone();
        let is_stuck = nanos(busy) > self.limit_ns;
        if nanos(busy) > self.last_ns {
            let error = format!("a tick has lasted {busy:?} and does not end");
            shared.stop(Reason::Node { name: node(), error });
        }
        if is_stuck == self.is_stuck {
            return None;
        }
        let event = match is_stuck {
            true => Event::Stuck { node: node(), busy },
            false => Event::Recovered { node: node() },
        };
        self.is_stuck = is_stuck;
        if is_stuck && let Some(enter) = &mut self.safe_state {
            enter();
        }
        Some(event)
    }
}

/// Watches until everything is to stop.
pub(super) fn watch(mut nodes: Vec<Watched>, shared: &Shared, tell: &mut dyn FnMut(Event)) {
    let shortest = nodes.iter().map(|node| node.limit_ns).min().unwrap_or(ENDLESS_NS);
    let period = Duration::from_nanos((shortest / 4).clamp(PERIODS_NS.0, PERIODS_NS.1));
    let clock = Clock::kernel();
    while !shared.is_stopping() {
        shared.wait(period);
        let now_ns = clock.now_ns();
        nodes.iter_mut().filter_map(|node| node.look(now_ns, shared)).for_each(&mut *tell);
    }
}
