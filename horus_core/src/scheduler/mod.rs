//! Nodes, and what runs them: at their rates, in order, watched.
//!
//! ```
//! use std::time::Duration;
//!
//! use horus_core::scheduler::{Context, Hertz, Scheduler};
//!
//! let mut scheduler = Scheduler::new();
//! let mut ticks = 0;
//! scheduler.node("blink").rate(1.khz()).build(move |context: &mut Context<'_>| {
//!     ticks += 1;
//!     if ticks == 3 {
//!         context.stop();
//!     }
//! })?;
//! let report = scheduler.run();
//! assert_eq!(report.nodes[0].figures.ticks, 3);
//! # Ok::<(), horus_core::scheduler::PlanError>(())
//! ```

mod builder;
mod context;
mod executor;
#[cfg_attr(not(test), expect(dead_code, reason = "no scheduler opens one yet"))]
mod monitor;
mod node;
mod place;
mod plan;
mod policy;
mod pulse;
mod random;
mod rate;
#[cfg_attr(not(test), expect(dead_code, reason = "as in `monitor`"))]
mod recorder;
mod remote;
mod runner;
mod shared;
mod supervisor;
mod timeline;

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;

pub use builder::NodeBuilder;
pub use context::Context;
pub use node::{IntoNodeResult, Node, NodeError, NodeResult};
pub use place::EMERGENCY_STOP_TOPIC;
pub use plan::{Class, NAME_BYTES_MAX, PlanError};
pub use policy::{FailurePolicy, Miss};
pub use pulse::{Figures, Histogram, PULSE_BUCKETS};
pub use rate::{Hertz, Rate, RateError};
pub use remote::{
    RemoteError, RemoteScheduler, SchedulerInfo, black_box, emergency_stop, forget, schedulers,
};
pub use shared::Reason;
pub use supervisor::Event;
pub use timeline::Timeline;

use executor::{best_effort, event, real_time, simulated};
use plan::Wish;
use pulse::Pulse;
use runner::{After, Runner};
use shared::Shared;
use simulated::Simulated;
use supervisor::{SafeState, Watched};

use crate::topic::WaitSet;

/// How often nodes without a rate have their turn.
const MAIN_RATE_HZ: f64 = 100.0;

/// Nodes, and what runs them.
pub struct Scheduler {
    entries: Vec<Entry>,
    shared: Arc<Shared>,
    clock: Clock,
    cores: usize,
    main_rate: Rate,
    on_event: Box<dyn FnMut(Event) + Send>,
}

/// A node before it runs.
struct Entry {
    runner: Runner,
    safe_state: Option<SafeState>,
    wake: WaitSet,
}

/// How long a node may go on with its last tick when everything stops.
const FAREWELL: Duration = Duration::from_secs(1);

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.entries.iter().map(|entry| &entry.runner.plan().name).collect();
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
    /// What its thread was to have and could not, with the reason: a core, a priority, memory that
    /// stays.
    pub refused: Vec<String>,
}

impl Scheduler {
    /// Without nodes. Takes some milliseconds, to learn how fast the processor's counter runs.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            shared: Arc::default(),
            clock: Clock::new(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            main_rate: Rate::hz(MAIN_RATE_HZ),
            on_event: Box::new(|event| eprintln!("horus: {event:?}")),
        }
    }

    /// Begins a node of this name: say what it needs, then `build(node)`.
    pub fn node(&mut self, name: &str) -> NodeBuilder<'_> {
        NodeBuilder::new(self, name)
    }

    fn admit(
        &mut self,
        node: Box<dyn Node>,
        wish: Wish,
        safe_state: Option<SafeState>,
        wake: WaitSet,
    ) -> Result<(), PlanError> {
        if self.entries.iter().any(|entry| entry.runner.plan().name == wish.name) {
            return Err(PlanError::SameName { node: wish.name });
        }
        let plan = wish.whole(self.cores)?;
        let runner = Runner::new(node, plan, Arc::new(Pulse::default()));
        self.entries.push(Entry { runner, safe_state, wake });
        Ok(())
    }

    /// Whom to tell what happens to nodes, from the supervisor's thread. Default: stderr.
    pub fn on_event(&mut self, tell: impl FnMut(Event) + Send + 'static) {
        self.on_event = Box::new(tell);
    }

    /// Stops the run from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Runs this much simulated time, as fast as it goes, on this thread alone.
    ///
    /// A clock that only moves from one due time to the next is what nodes see, also in the
    /// timestamps that they make (counted from `epoch_ns`). Who comes first at one time depends on
    /// order and name, and random numbers on `seed` and name: the same nodes with the same inputs
    /// do the same, however they were added. Nodes on topics run when a node before them at that
    /// time has sent something. Nothing is late, and nothing is watched.
    pub fn simulate(mut self, time: Duration, seed: u64, epoch_ns: u64) -> Report {
        let rate_of = |plan: &plan::Plan| match plan.class {
            Class::Event => None,
            _ => Some(plan.rate.unwrap_or(self.main_rate)),
        };
        let nodes = self.entries.drain(..).map(|Entry { mut runner, wake, .. }| {
            runner.seed(seed);
            let rate = rate_of(runner.plan());
            Simulated::new(runner, wake, rate)
        });
        let mut nodes: Vec<_> = nodes.collect();
        nodes.sort_by_key(Simulated::rank);
        let clock = Clock::simulated(0);
        for node in &mut nodes {
            let after = node.runner.start(&clock);
            tell(&self.shared, &node.runner, after);
        }
        if !self.shared.is_stopping() {
            let after = simulated::run(&mut nodes, policy::nanos(time), epoch_ns);
            tell_of(&self.shared, nodes.iter().map(|node| &node.runner), after);
        }
        nodes.iter_mut().rev().for_each(|node| node.runner.stop());
        let reason = self.shared.reason().unwrap_or(Reason::Over);
        Report { reason, nodes: nodes.iter().map(|node| node_report(&node.runner)).collect() }
    }

    /// Runs until a node or a [`Stopper`] stops it.
    pub fn run(self) -> Report {
        self.run_for(Duration::MAX)
    }

    /// Runs for this long at most.
    pub fn run_for(mut self, time: Duration) -> Report {
        // Stable: nodes of one order run as they were added.
        self.entries.sort_by_key(|entry| entry.runner.plan().order);
        let Self { mut entries, shared, mut clock, main_rate, mut on_event, .. } = self;
        for entry in &mut entries {
            let after = entry.runner.start(&clock);
            tell(&shared, &entry.runner, after);
        }
        let begin_ns = clock.resync();
        let end_ns = begin_ns.saturating_add(policy::nanos(time));
        let mut watched = Vec::new();
        let (mut threads, mut main) = (Vec::new(), Vec::new());
        for Entry { runner, safe_state, wake } in entries {
            watched.push(Watched::new(runner.plan(), runner.pulse(), safe_state));
            let (class, rate) = (runner.plan().class, runner.plan().rate);
            let (clock, shared) = (clock.clone(), &shared);
            match (class, rate) {
                (Class::Event, _) => threads.push(Threaded::by_events(runner, wake, clock, shared)),
                (Class::RealTime, Some(rate)) => {
                    let timeline = Timeline::new(begin_ns, rate);
                    threads.push(Threaded::by_time(runner, timeline, clock, shared));
                }
                _ => main.push(runner),
            }
        }
        let watching = Arc::clone(&shared);
        let supervisor = spawn("supervisor", move || {
            supervisor::watch(watched, &watching, &mut on_event);
        });
        run_main(&mut main, &shared, clock, main_rate, (begin_ns, end_ns));
        let mut nodes: Vec<_> =
            main.iter().map(|runner| (runner.plan().order, node_report(runner))).collect();
        let deadline = Instant::now() + FAREWELL;
        // In reverse order: those who use others go before them.
        let mut runners: Vec<_> =
            threads.into_iter().filter_map(|thread| thread.end(deadline, &mut nodes)).collect();
        runners.append(&mut main);
        runners.sort_by_key(|runner| runner.plan().order);
        runners.iter_mut().rev().for_each(Runner::stop);
        // The supervisor ends when everything does, unless what it was told to call hangs.
        let _ = join(supervisor, deadline);
        nodes.sort_by_key(|(order, _)| *order);
        let reason = shared.reason().unwrap_or(Reason::Over);
        Report { reason, nodes: nodes.into_iter().map(|(_, report)| report).collect() }
    }
}

/// A node with a thread of its own.
struct Threaded {
    thread: JoinHandle<Runner>,
    pulse: Arc<Pulse>,
    name: String,
    order: i32,
    class: Class,
}

impl Threaded {
    fn by_time(runner: Runner, timeline: Timeline, mut clock: Clock, shared: &Arc<Shared>) -> Self {
        Self::begin(runner, shared, move |runner, shared| {
            let spin_ns = real_time::spin_ns(&mut clock, timeline.period_ns());
            // WHY: the first due time has passed meanwhile, and that is nobody's fault.
            let timeline = timeline.starting_after(clock.resync());
            real_time::run(runner, &mut clock, shared, timeline, spin_ns)
        })
    }

    fn by_events(
        runner: Runner,
        mut wake: WaitSet,
        mut clock: Clock,
        shared: &Arc<Shared>,
    ) -> Self {
        Self::begin(runner, shared, move |runner, shared| {
            event::run(runner, &mut clock, shared, &mut wake)
        })
    }

    fn begin(
        mut runner: Runner,
        shared: &Arc<Shared>,
        run: impl FnOnce(&mut Runner, &Shared) -> After + Send + 'static,
    ) -> Self {
        let (name, order) = (runner.plan().name.clone(), runner.plan().order);
        let (class, pulse) = (runner.plan().class, Arc::clone(runner.pulse()));
        let shared = Arc::clone(shared);
        let thread = spawn(&name, move || {
            runner.refused = real_time::prepare(runner.plan());
            let after = run(&mut runner, &shared);
            tell(&shared, &runner, after);
            runner
        });
        Self { thread, pulse, name, order, class }
    }

    /// Waits for the node's last tick. One that does not end is left behind, with its thread.
    fn end(self, deadline: Instant, nodes: &mut Vec<(i32, NodeReport)>) -> Option<Runner> {
        let Self { thread, pulse, name, order, class } = self;
        let runner = join(thread, deadline);
        let report = match &runner {
            Some(runner) => node_report(runner),
            None => NodeReport {
                name,
                class,
                figures: pulse.figures(),
                last_error: Some("a tick does not end: its thread was left behind".to_owned()),
                refused: Vec::new(),
            },
        };
        nodes.push((order, report));
        runner
    }
}

/// Starts a thread with a name that a debugger shows.
fn spawn<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> JoinHandle<R> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).expect("the system has no room for a thread")
}

/// What a thread came to, if it ends in time.
fn join<R>(thread: JoinHandle<R>, deadline: Instant) -> Option<R> {
    while !thread.is_finished() {
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(Duration::from_micros(200));
    }
    thread.join().ok()
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
            after => tell_of(shared, runners.iter(), after),
        }
    }
}

/// Stops everything if a round of turns said so.
fn tell_of<'a>(shared: &Shared, mut runners: impl Iterator<Item = &'a Runner>, after: After) {
    match (after, runners.find(|runner| runner.last_error().is_some())) {
        (After::Continue, _) => {}
        (After::Abort, Some(runner)) => tell(shared, runner, after),
        _ => shared.stop(Reason::Asked),
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
        refused: runner.refused.clone(),
    }
}
