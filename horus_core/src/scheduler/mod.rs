//! Runs the nodes of a program: at their rates, in order, with a watchdog.
//!
//! ```
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # // SAFETY: this program has one thread.
//! # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
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
//! let report = scheduler.run()?;
//! assert_eq!(report.nodes[0].metrics.ticks, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api;
mod builder;
mod graph;
mod node_macro;
mod remote;
mod run;
mod running;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use horus_shm::Namespace;
use horus_shm::clock::Clock;

pub use api::context::Context;
pub use api::error::StartError;
pub use api::input::Input;
pub use api::metrics::{HISTOGRAM_BUCKETS, Health, Histogram, TickMetrics};
pub use api::node::{IntoNodeResult, Node, NodeError, NodeResult};
pub use api::plan::{Class, NAME_BYTES_MAX, PlanError};
pub use api::policy::{FailurePolicy, Miss};
pub use api::rate::{Hertz, Rate, RateError};
pub use api::report::{NodeReport, Reason, Report, RunError};
pub use api::timeline::Timeline;
pub use builder::NodeBuilder;
pub use graph::{Finding, Graph, GraphNode};
#[doc(hidden)]
pub use node_macro::EndpointSpec;
pub use remote::client::{
    RemoteError, RemoteScheduler, SchedulerInfo, black_box, emergency_stop, forget, schedulers,
};
pub use remote::topic_path::EMERGENCY_STOP_TOPIC;
pub use run::exchange::{Swap, SwapState};
#[cfg(feature = "async-io")]
pub use run::executor::async_io::{AsyncNode, TaskNode, Underway};
pub use run::handle::{CommandError, Handle};
pub use running::Running;

use api::metrics::LiveMetrics;
use api::plan::{NodeSpec, Plan};
use api::policy::nanos;
use api::safe_state::SafeState;
use remote::monitor::Monitor;
use run::commands::Commands;
use run::cores::cores;
use run::executor::simulated::{self, Simulated};
use run::node_entry::NodeEntry;
use run::pending_node::PendingNode;
use run::runner::Runner;
use run::shared::Shared;
use watch::supervisor::EventSink;

use crate::message::{DiagnosticStatus, NodeEvent};
use crate::scheduler::api::subscription::Subscription;
use crate::topic::WaitSet;
use crate::topic::error::TopicError;

/// The default rate of nodes without a rate.
const MAIN_RATE_HZ: f64 = 100.0;

/// Collects nodes, and runs them.
pub struct Scheduler {
    entries: Vec<PendingNode>,
    shared: Arc<Shared>,
    clock: Clock,
    cores: usize,
    compute_threads: Option<usize>,
    main_rate: Rate,
    on_event: EventSink,
    /// The namespace of the nodes' endpoints; otherwise the one of the environment.
    namespace: Option<Arc<Namespace>>,
    name: String,
    stops_on_signals: bool,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.entries.iter().map(|entry| &entry.runner.plan().name).collect();
        f.debug_struct("Scheduler").field("nodes", &names).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Makes a scheduler without nodes. Takes some milliseconds, to measure the frequency of the
    /// CPU's counter.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            shared: Arc::default(),
            clock: Clock::new(),
            cores: cores(),
            compute_threads: None,
            main_rate: Rate::hz(MAIN_RATE_HZ),
            on_event: Box::new(print),
            name: program_name(),
            stops_on_signals: false,
            namespace: None,
        }
    }

    /// Begins a node of this name: add its settings, then call `build(node)`.
    pub fn node(&mut self, name: &str) -> NodeBuilder<'_> {
        NodeBuilder::new(self, name)
    }

    /// Sets the namespace of the endpoints that nodes get from now on, see
    /// [`NodeBuilder::publisher`]. Default: the one of the environment (`HORUS_SHM_DIR`,
    /// `HORUS_NAMESPACE`).
    pub fn namespace(&mut self, namespace: &Arc<Namespace>) {
        self.namespace = Some(Arc::clone(namespace));
    }

    /// Returns which nodes read and write which topics, as far as their builders know.
    #[must_use]
    pub fn graph(&self) -> Graph {
        Graph::new(self.entries.iter().map(|entry| entry.runner.plan().graph_node()))
    }

    /// Sorts the nodes into the order of their turns, for nodes that run one after the other: by
    /// order, and writers of a topic before its readers.
    ///
    /// WHY not by name after that: a program that passes data from one closure to another without a
    /// topic relies on the order in which it added them. Only simulated runs promise not to depend
    /// on that.
    fn sort(&mut self) {
        let graph = self.graph();
        // Stable: otherwise the nodes stay in the order in which they were added.
        self.entries.sort_by_key(|entry| {
            let plan = entry.runner.plan();
            (plan.order, graph.rank(&plan.name))
        });
        for (position, entry) in self.entries.iter_mut().enumerate() {
            entry.runner.stand_at(position);
        }
    }

    /// Opens the scheduler's topics.
    fn monitor(&self) -> Result<Monitor, TopicError> {
        let current =
            || Namespace::current().map_err(|error| TopicError::new(&self.name, error.into()));
        let namespace = self.namespace.clone().map_or_else(current, Ok)?;
        let (_, lanes) = running::lanes(&self.entries);
        Monitor::open(&namespace, &self.name, self.entries.len(), lanes)
    }

    fn admit(
        &mut self,
        node: Box<dyn Node>,
        spec: NodeSpec,
        safe_state: Option<SafeState>,
        (wake, subscriptions): (WaitSet, Vec<Subscription>),
    ) -> Result<(), PlanError> {
        let admitted = || self.entries.iter().map(|entry| entry.runner.plan());
        if admitted().any(|plan| plan.name == spec.name) {
            return Err(PlanError::SameName { node: spec.name });
        }
        let plan = spec.clone().whole(self.cores)?;
        if safe_state.is_some() {
            plan.check_safe_state()?;
        }
        admitted().try_for_each(|other| plan.check_chain(other))?;
        let (commands, metrics) = (Arc::<Commands>::default(), Arc::<LiveMetrics>::default());
        let entry = NodeEntry { spec, commands, metrics };
        let runner = Runner::new(node, plan, &entry);
        self.shared.node_entries().push(entry);
        self.entries.push(PendingNode { runner, safe_state, wake, subscriptions });
        Ok(())
    }

    /// Sets the name under which other processes find the scheduler: [`schedulers`],
    /// [`RemoteScheduler`]. Default: the program's name. Any character except letters, digits, `-`
    /// and `_` becomes `_`. If a running scheduler has the name, `-2` or the next free number is
    /// appended ([`Report::scheduler`]).
    pub fn name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Stops the run, with [`Reason::Signal`], when the process gets SIGINT (Ctrl-C) or SIGTERM; a
    /// second signal ends the process at once, with exit code 128 plus its number. A signal that
    /// comes while the run stops for another reason becomes the reason, unless a node failed.
    ///
    /// The handlers are installed when the scheduler starts, in place of the previous ones, which
    /// are restored when the run is over. A signal that comes too late for the report is then sent
    /// again, so that none is lost.
    ///
    /// A node that does not return from `init` or `shutdown`, or hangs on the thread that runs the
    /// scheduler, blocks the end of the run. The second signal exists for that case.
    pub const fn stop_on_signals(&mut self) {
        self.stops_on_signals = true;
    }

    /// Sets the callback for the events of nodes. The supervisor's thread calls it, some
    /// milliseconds after the event at most. Default: events that are not OK are printed to stderr.
    /// All events are in the [`black_box`] in any case.
    pub fn on_event(&mut self, report: impl FnMut(&NodeEvent) + Send + 'static) {
        self.on_event = Box::new(report);
    }

    /// Sets the rate of nodes without a rate. Default 100 Hz.
    pub const fn main_rate(&mut self, rate: Rate) {
        self.main_rate = rate;
    }

    /// Sets the number of threads for nodes that are [`compute()`](NodeBuilder::compute), at least
    /// one and at most the number of such nodes. Default: one less than the number of CPUs.
    pub const fn compute_threads(&mut self, threads: usize) {
        self.compute_threads = Some(threads);
    }

    /// Reads the time from the kernel instead of the CPU's counter: for machines whose counter is
    /// wrong although the kernel reports it as reliable. A reading costs some 20 ns more.
    pub fn use_kernel_clock(&mut self) {
        self.clock = Clock::kernel();
    }

    /// Returns a handle that stops the run and changes its nodes, from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.shared), self.cores)
    }

    /// Initialises the nodes, in order, and starts their threads.
    ///
    /// # Errors
    ///
    /// Returns [`StartError`]. A node that fails in its `init` is no error here, but a reason to
    /// stop.
    pub fn start(self) -> Result<Running, StartError> {
        Running::start(self)
    }

    /// Runs until a node, a [`Handle`], a command or a signal stops it, and shuts all nodes down.
    ///
    /// # Errors
    ///
    /// Returns [`RunError`] if a node failed and its policy ended the run, or if the start failed.
    pub fn run(self) -> Result<Report, RunError> {
        self.run_for(Duration::MAX)
    }

    /// Runs for this long at most.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn run_for(self, time: Duration) -> Result<Report, RunError> {
        let mut running = self.start()?;
        running.run_for(time)?;
        running.finish()
    }

    /// Runs `time` of simulated time, as fast as possible, on this thread alone.
    ///
    /// Nodes see a clock that only moves from one due time to the next, also in the timestamps that
    /// they make (counted from `epoch_ns`). The order at one time depends on order, on which nodes
    /// read what other nodes write, and on name; random numbers depend on `seed` and name. So the
    /// same nodes with the same inputs do the same, in whatever order they were added. Nodes on
    /// topics run when a node before them at that time has sent a message, and their silence is not
    /// watched. Nothing is late.
    ///
    /// A failed node is in the report; [`Report::into_result`] turns it into an error.
    #[must_use = "the report shows whether a node failed"]
    pub fn simulate(mut self, time: Duration, seed: u64, epoch_ns: u64) -> Report {
        self.entries.sort_by(|a, b| a.runner.plan().name.cmp(&b.runner.plan().name));
        self.sort();
        let rate_of = |plan: &Plan| match plan.class {
            Class::Event => None,
            _ => Some(plan.rate.unwrap_or(self.main_rate)),
        };
        let nodes = self.entries.drain(..).map(|PendingNode { mut runner, wake, .. }| {
            runner.seed(seed);
            let rate = rate_of(runner.plan());
            Simulated::new(runner, wake, rate)
        });
        let mut nodes: Vec<_> = nodes.collect();
        let clock = Clock::simulated(0);
        for node in &mut nodes {
            let after = node.runner.start(&clock);
            self.shared.stop_after([&node.runner], after);
        }
        if !self.shared.is_stopping() {
            let after = simulated::run(&mut nodes, nanos(time), epoch_ns);
            self.shared.stop_after(nodes.iter().map(|node| &node.runner), after);
        }
        nodes.iter_mut().rev().for_each(|node| node.runner.stop());
        nodes.iter_mut().rev().for_each(|node| node.runner.release());
        let reason = self.shared.reason().unwrap_or(Reason::Over);
        Report {
            scheduler: self.name,
            reason,
            nodes: nodes.iter().map(|node| node.runner.report()).collect(),
        }
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints an event to stderr, unless its level is OK.
fn print(event: &NodeEvent) {
    if event.level != DiagnosticStatus::OK {
        eprintln!("horus: {event}");
    }
}

/// Returns the program's name.
fn program_name() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
