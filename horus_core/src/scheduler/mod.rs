//! Nodes, and what runs them: at their rates, in order, watched.
//!
//! ```
//! use std::time::Duration;
//!
//! use horus_core::scheduler::{Context, Hertz, Scheduler};
//!
//! let mut scheduler = Scheduler::new();
//! let mut ticks = 0;
//! scheduler
//!     .add("blink", move |context: &mut Context<'_>| {
//!         ticks += 1;
//!         if ticks == 3 {
//!             context.stop();
//!         }
//!     })
//!     .rate(1.khz())
//!     .build()?;
//! let report = scheduler.run();
//! assert_eq!(report.nodes[0].figures.ticks, 3);
//! # Ok::<(), horus_core::scheduler::PlanError>(())
//! ```

mod builder;
mod context;
mod executor;
mod node;
mod plan;
mod policy;
mod pulse;
mod rate;
mod runner;
mod shared;
mod timeline;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::clock::Clock;

pub use builder::NodeBuilder;
pub use context::Context;
pub use node::{IntoNodeResult, Node, NodeError, NodeResult};
pub use plan::{Class, NAME_BYTES_MAX, PlanError};
pub use policy::{FailurePolicy, Miss};
pub use pulse::{Figures, Histogram, PULSE_BUCKETS};
pub use rate::{Hertz, Rate, RateError};
pub use shared::Reason;
pub use timeline::Timeline;

use executor::{best_effort, real_time};
use plan::Wish;
use pulse::Pulse;
use runner::{After, Runner};
use shared::Shared;

/// How often nodes without a rate have their turn.
const MAIN_RATE_HZ: f64 = 100.0;

/// Nodes, and what runs them.
pub struct Scheduler {
    runners: Vec<Runner>,
    shared: Arc<Shared>,
    clock: Clock,
    cores: usize,
    main_rate: Rate,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.runners.iter().map(|runner| &runner.plan().name).collect();
        f.debug_struct("Scheduler").field("nodes", &names).finish_non_exhaustive()
    }
}

/// Stops a scheduler from elsewhere.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// Has every node shut down after its present tick.
    pub fn stop(&self) {
        self.0.stop(Reason::Asked);
    }
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// Why it ended.
    pub reason: Reason,
    /// The nodes, in the order in which they were started.
    pub nodes: Vec<NodeReport>,
}

/// What one node did in a run.
#[derive(Debug, Clone)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Who ran it.
    pub class: Class,
    /// What it did.
    pub figures: Figures,
    /// What it said when it failed last.
    pub last_error: Option<String>,
}

impl Scheduler {
    /// Without nodes. Takes some milliseconds, to learn how fast the processor's counter runs.
    #[must_use]
    pub fn new() -> Self {
        Self {
            runners: Vec::new(),
            shared: Arc::default(),
            clock: Clock::new(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            main_rate: Rate::hz(MAIN_RATE_HZ),
        }
    }

    /// Adds a node, which is a [`Node`] or a closure; say what it needs, then `build()`.
    pub fn add(&mut self, name: &str, node: impl Node + 'static) -> NodeBuilder<'_> {
        NodeBuilder::new(self, name, Box::new(node))
    }

    fn admit(&mut self, node: Box<dyn Node>, wish: Wish) -> Result<(), PlanError> {
        if self.runners.iter().any(|runner| runner.plan().name == wish.name) {
            return Err(PlanError::SameName { node: wish.name });
        }
        let plan = wish.whole(self.cores)?;
        self.runners.push(Runner::new(node, plan, Arc::new(Pulse::default())));
        Ok(())
    }

    /// Stops the run from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Runs until a node or a [`Stopper`] stops it.
    pub fn run(self) -> Report {
        self.run_for(Duration::MAX)
    }

    /// Runs for this long at most.
    pub fn run_for(mut self, time: Duration) -> Report {
        // Stable: nodes of one order run as they were added.
        self.runners.sort_by_key(|runner| runner.plan().order);
        for runner in &mut self.runners {
            if runner.start(&self.clock) != After::Continue {
                let shared = Arc::clone(&self.shared);
                tell(&shared, runner, After::Abort);
                break;
            }
        }
        let begin_ns = self.clock.resync();
        let end_ns = begin_ns.saturating_add(policy::nanos(time));
        let is_timed = |runner: &Runner| runner.plan().class == Class::RealTime;
        let Self { runners, shared, clock, main_rate, .. } = self;
        let (mut timed, mut main): (Vec<_>, Vec<_>) = runners.into_iter().partition(is_timed);
        thread::scope(|scope| {
            for runner in &mut timed {
                let (shared, mut clock) = (&shared, clock.clone());
                scope.spawn(move || {
                    let Some(rate) = runner.plan().rate else { return };
                    let timeline = Timeline::new(begin_ns, rate);
                    let after = real_time::run(runner, &mut clock, shared, timeline, 0);
                    tell(shared, runner, after);
                });
            }
            run_main(&mut main, &shared, clock, main_rate, (begin_ns, end_ns));
        });
        let mut runners = timed;
        runners.append(&mut main);
        runners.sort_by_key(|runner| runner.plan().order);
        runners.iter_mut().rev().for_each(Runner::stop);
        let reason = shared.reason().unwrap_or(Reason::Over);
        Report { reason, nodes: runners.iter().map(node_report).collect() }
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives the nodes without a rate their turns until everything is to stop, or the time is over.
fn run_main(
    runners: &mut [Runner],
    shared: &Shared,
    mut clock: Clock,
    rate: Rate,
    (begin_ns, end_ns): (u64, u64),
) {
    let mut timeline = Timeline::new(begin_ns, rate);
    while !shared.is_stopping() {
        let now_ns = clock.resync();
        if now_ns >= end_ns {
            return shared.stop(Reason::Over);
        }
        let due_ns = if runners.is_empty() { end_ns } else { timeline.due_ns() };
        if now_ns < due_ns.min(end_ns) {
            shared.wait(Duration::from_nanos(due_ns.min(end_ns) - now_ns));
            continue;
        }
        match best_effort::turns(runners, &clock, due_ns) {
            After::Continue => _ = timeline.advance(clock.now_ns()),
            after => {
                let runner = runners.iter().find(|runner| runner.last_error().is_some());
                match (after, runner) {
                    (After::Abort, Some(runner)) => tell(shared, runner, after),
                    _ => shared.stop(Reason::Asked),
                }
            }
        }
    }
}

/// Stops everything if a node's turn said so.
fn tell(shared: &Shared, runner: &Runner, after: After) {
    match after {
        After::Continue => {}
        After::Stop => shared.stop(Reason::Asked),
        After::Abort => {
            let error = runner.last_error().unwrap_or("was late").to_owned();
            shared.stop(Reason::Node { name: runner.plan().name.clone(), error });
        }
    }
}

fn node_report(runner: &Runner) -> NodeReport {
    NodeReport {
        name: runner.plan().name.clone(),
        class: runner.plan().class,
        figures: runner.pulse().figures(),
        last_error: runner.last_error().map(str::to_owned),
    }
}
