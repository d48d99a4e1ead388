//! The scheduler: runs the nodes of a program at their rates or when messages arrive, in a defined
//! order. Also detects ticks that are late or do not end.
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

mod actors_builder;
pub(crate) mod api;
mod builder;
mod graph;
mod node_macro;
pub(crate) mod remote;
pub(crate) mod run;
mod running;
mod watch;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::Namespace;
use horus_shm::clock::Clock;

pub use actors_builder::ActorsBuilder;
pub use api::context::Context;
pub use api::error::StartError;
pub use api::input::Input;
pub use api::metrics::{HISTOGRAM_BUCKETS, Health, Histogram, TickMetrics};
pub use api::node::{IntoNodeResult, Node, NodeError, NodeResult};
pub use api::plan::{NODE_NAME_BYTES_MAX, NodeClass, PlanError};
pub use api::policy::{FailurePolicy, MissPolicy};
pub use api::rate::{Hertz, Rate, RateError};
pub use api::report::{NodeReport, Report, RunError, StopReason};
pub use api::timeline::Timeline;
pub use builder::NodeBuilder;
pub use graph::{Finding, Graph, GraphNode};
#[doc(hidden)]
pub use node_macro::EndpointSpec;
pub use remote::client::{
    RemoteError, RemoteScheduler, SchedulerInfo, black_box, emergency_stop_publisher,
    remove_scheduler_topics, scheduler_graph, schedulers,
};
pub use remote::scheduler_topics::{EMERGENCY_STOP_TOOL_KEY, EMERGENCY_STOP_TOPIC};
#[cfg(feature = "async-io")]
pub use run::executor::async_io::{AsyncNode, AsyncNodeAdapter, TickFuture};
pub use run::handle::{CommandError, Handle};
pub use run::pending_swap::{Swap, SwapState};
pub use running::Running;

use api::metrics::LiveMetrics;
use api::plan::{NodePlan, NodeSpec};
use api::policy::saturating_nanos;
use api::safe_state::SafeStateCallback;
use remote::scheduler_endpoints::SchedulerEndpoints;
use remote::scheduler_topics::status_topic_name;
use run::commands::Commands;
use run::cores::highest_cpu_plus_one;
use run::executor::simulated::{self, SimulatedNode, SimulatedTimestamps};
use run::node_entry::NodeEntry;
use run::pending_node::{PendingNode, find_thread_group_of_node};
use run::run_state::RunState;
use run::runner::Runner;
use watch::supervisor::EventCallback;

use crate::message::NodeEvent;
use crate::scheduler::api::subscription::Subscription;
use crate::topic::WaitSet;
use crate::topic::error::TopicError;

/// The rate, in hertz, at which nodes without a rate run if [`Scheduler::main_rate`] is not called.
const DEFAULT_MAIN_RATE_HZ: f64 = 100.0;

/// Collects the nodes of a program, and runs them.
pub struct Scheduler {
    entries: Vec<PendingNode>,
    /// The names of the nodes and groups that were added, to refuse a name that is already taken.
    names: HashSet<String>,
    shared: Arc<RunState>,
    clock: Clock,
    cores: usize,
    compute_threads: Option<usize>,
    main_rate: Rate,
    /// The callback that receives the events; `None` if they are logged or printed.
    on_event: Option<EventCallback>,
    /// The namespace in which the endpoints of the nodes are created; `None` means the namespace
    /// that the environment variables name.
    namespace: Option<Arc<Namespace>>,
    name: String,
    stops_on_signals: bool,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self
            .entries
            .iter()
            .map(|entry| &entry.runner.plan().name)
            .collect();
        f.debug_struct("Scheduler")
            .field("nodes", &names)
            .finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Creates a scheduler without nodes. This takes some milliseconds, because it measures the
    /// frequency of the CPU's time-stamp counter.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            names: HashSet::new(),
            shared: Arc::default(),
            clock: Clock::new(),
            cores: highest_cpu_plus_one(),
            compute_threads: None,
            main_rate: Rate::hz(DEFAULT_MAIN_RATE_HZ),
            on_event: None,
            name: program_name(),
            stops_on_signals: false,
            namespace: None,
        }
    }

    /// Returns the builder of a new node called `name`. Set the node's settings with its methods,
    /// then add the node with [`build`](NodeBuilder::build).
    pub fn node(&mut self, name: &str) -> NodeBuilder<'_> {
        NodeBuilder::new(self, name)
    }

    /// Returns the builder of a new group of actors called `name`. The module
    /// [`actor`](crate::actor) describes actors.
    pub fn actors(&mut self, name: &str) -> ActorsBuilder<'_> {
        ActorsBuilder::new(self, name)
    }

    /// Sets the namespace in which [`NodeBuilder::publisher`] and similar methods create endpoints
    /// after this call. Default: the namespace that the environment variables `HORUS_SHM_DIR` and
    /// `HORUS_NAMESPACE` name.
    pub fn namespace(&mut self, namespace: &Arc<Namespace>) {
        self.namespace = Some(Arc::clone(namespace));
    }

    /// Returns the graph that shows which nodes read and write which topics. It contains the
    /// endpoints that the builders of the nodes created, and those that were declared to the
    /// builders.
    #[must_use]
    pub fn graph(&self) -> Graph {
        Graph::new(
            self.entries
                .iter()
                .map(|entry| entry.runner.plan().to_graph_node()),
        )
    }

    /// Sorts the nodes into the order in which a single thread runs them: by
    /// [`NodeBuilder::order`], and, within the same order, the writers of a topic before its
    /// readers.
    ///
    /// WHY the remaining nodes are not sorted by name: if a program passes data from one closure to
    /// another without a topic, it relies on the sequence in which it added them. Only simulated
    /// runs promise that this sequence has no effect.
    fn sort_nodes(&mut self) {
        let graph = self.graph();
        // Stable: otherwise the nodes stay in the order in which they were added.
        self.entries.sort_by_key(|entry| {
            let plan = entry.runner.plan();
            (plan.order, graph.rank(&plan.name))
        });
        for (position, entry) in self.entries.iter_mut().enumerate() {
            entry.runner.set_position_in_start_order(position);
        }
    }

    /// Opens the topics through which other processes observe and command the scheduler.
    fn open_endpoints(&self) -> Result<SchedulerEndpoints, TopicError> {
        let current = || {
            let topic = status_topic_name(&self.name);
            Namespace::current().map_err(|error| TopicError::new(&topic, error.into()))
        };
        let namespace = self.namespace.clone().map_or_else(current, Ok)?;
        let (_, lanes) = running::black_box_lane_indices_and_count(&self.entries);
        SchedulerEndpoints::open(&namespace, &self.name, &self.graph(), lanes)
    }

    fn add_node(
        &mut self,
        node: Box<dyn Node>,
        spec: NodeSpec,
        safe_state: Option<SafeStateCallback>,
        (wake, subscriptions): (WaitSet, Vec<Subscription>),
    ) -> Result<(), PlanError> {
        if self.names.contains(&spec.name) {
            return Err(PlanError::SameName { node: spec.name });
        }
        let plan = spec.clone().into_plan(self.cores)?;
        if safe_state.is_some() {
            plan.check_safe_state_can_be_called()?;
        }
        if plan.chain.is_some() {
            let mut admitted = self.entries.iter().map(|entry| entry.runner.plan());
            admitted.try_for_each(|other| plan.check_same_chain_settings(other))?;
        }
        let shared = find_thread_group_of_node(&plan, &self.entries)?;
        self.names.insert(plan.name.clone());
        let commands = Arc::<Commands>::default();
        let metrics = Arc::<LiveMetrics>::default();
        let entry = NodeEntry {
            spec,
            commands,
            metrics,
        };
        let runner = Runner::new(node, plan, &entry);
        self.shared.node_entries().push(entry);
        self.entries.push(PendingNode {
            runner,
            safe_state,
            wake,
            subscriptions,
            actors: None,
            shared,
        });
        Ok(())
    }

    /// Sets the name under which other processes find the scheduler with [`schedulers`] and
    /// [`RemoteScheduler`]. Default: the program's name. Any character in it except letters,
    /// digits, `-` and `_` is replaced by `_`, and it is cut after 64 bytes. If a running scheduler
    /// already has the name, `-2` or the next free number is appended; [`Report::scheduler`]
    /// contains the resulting name.
    pub fn name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Stops the run, with [`StopReason::Signal`], when the process gets SIGINT (Ctrl-C), SIGTERM,
    /// or SIGHUP (its terminal was closed, or the connection of ssh was lost). A second SIGINT or
    /// SIGTERM, at least half a second later, ends the process immediately, with exit code 128 plus
    /// the number of the signal. An earlier one, and a second SIGHUP, has no effect. If SIGHUP is
    /// ignored, as by `nohup`, it stays so. If a signal arrives while the run already stops for
    /// another reason, it replaces that reason, unless a node failed.
    ///
    /// The signal handlers are installed when the scheduler starts. The previous handlers are
    /// restored when the run is over. If a signal arrives too late to appear in the report, it is
    /// sent again to the restored handlers, so that no signal is lost.
    ///
    /// If a node does not return from `init` or `shutdown`, or hangs on the thread that runs the
    /// scheduler, the run cannot end. In that case, the second signal is needed.
    pub const fn stop_on_signals(&mut self) {
        self.stops_on_signals = true;
    }

    /// Sets the callback that receives the events of nodes. The supervisor's thread calls it within
    /// some milliseconds of the event. Default: events whose level is not OK are logged if the
    /// process has opened its log ([`crate::log`]), and printed to stderr otherwise, by a thread of
    /// their own: if the program that reads stderr is slow, lines are left out, and the next line
    /// has their number. In any case, all events are also recorded in the [`black_box`].
    ///
    /// A callback must return soon. Until it returns, the supervisor watches no node, and applies
    /// neither commands nor emergency stops nor signals ([`Self::stop_on_signals`]). If a thread
    /// records hundreds of events meanwhile, the callback does not get the first ones of them; an
    /// event [`FAILED`](crate::message::NodeEvent::FAILED) without a node has their number. If the
    /// callback panics, it is dropped, and later events are reported as by default.
    pub fn on_event(&mut self, report: impl FnMut(&NodeEvent) + Send + 'static) {
        self.on_event = Some(Box::new(report));
    }

    /// Sets the rate at which nodes without a rate run. Default: 100 Hz.
    ///
    /// # Errors
    ///
    /// Returns [`RateError`] if the rate is invalid. The scheduler then keeps its rate.
    pub fn main_rate(&mut self, rate: Rate) -> Result<(), RateError> {
        self.main_rate = rate.check()?;
        Ok(())
    }

    /// Sets the number of threads that run [`compute`](NodeBuilder::compute) nodes. The number is
    /// limited to the range from 1 to the number of these nodes. Default: one less than the number
    /// of CPUs.
    ///
    /// As many nodes tick at the same time, except those that hang: after 100 ms in a stuck tick,
    /// another thread is started for the other nodes. See
    /// [`watchdog`](NodeBuilder::watchdog).
    pub const fn compute_threads(&mut self, threads: usize) {
        self.compute_threads = Some(threads);
    }

    /// Makes the scheduler read the time from the kernel instead of the CPU's time-stamp counter.
    /// This is for machines whose counter is wrong although the kernel considers it reliable. It
    /// makes each reading of the clock some 20 ns slower.
    pub fn use_kernel_clock(&mut self) {
        self.clock = Clock::kernel();
    }

    /// Returns a handle that can stop the run and change its nodes, from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.shared), self.cores)
    }

    /// Initialises the nodes in their order, and starts the threads that run them. Then returns,
    /// while the nodes run.
    ///
    /// # Errors
    ///
    /// Returns [`StartError`] if the scheduler cannot be started. This call does not fail if the
    /// `init` of a node fails; the failure policy of that node decides whether the run stops. If it
    /// does, the nodes that are initialised have entered their safe state, or do so within 20 ms,
    /// and [`Running::finish`] or the next [`Running::tick_once`] shuts them down and returns the
    /// error.
    pub fn start(self) -> Result<Running, StartError> {
        Running::start(self)
    }

    /// Runs the nodes until a node, a [`Handle`], a command or a signal stops the run, then shuts
    /// all nodes down and returns the report. Blocks until then.
    ///
    /// # Errors
    ///
    /// Returns [`RunError`] if a node failed and its policy ended the run, or if the start failed;
    /// [`StartError::NoNodes`] if there is nothing to run.
    pub fn run(self) -> Result<Report, RunError> {
        if self.entries.is_empty() {
            return Err(StartError::NoNodes.into());
        }
        self.run_for(Duration::MAX)
    }

    /// Runs the nodes like [`Self::run`], but stops the run after `time`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::run`].
    pub fn run_for(self, time: Duration) -> Result<Report, RunError> {
        let mut running = self.start()?;
        running.run_for(time)?;
        running.finish()
    }

    /// Runs the nodes for `time` of simulated time, as fast as possible, on the calling thread
    /// alone.
    ///
    /// The clock jumps from one due time to the next. Timestamps that nodes create use the same
    /// clock, and count from `epoch_ns`. Nodes that are due at the same time run by their order,
    /// then writers before readers, then by name. Random numbers depend on `seed` and the node's
    /// name. So, with the same inputs, the same nodes always do the same, whatever the sequence in
    /// which they were added.
    ///
    /// Actors run in the order in which they received messages. Timers of actors that are due at
    /// the same time fire in the order in which they were started; their times count from the start
    /// of the run. A node that waits for topics runs when these have messages; the timeouts of its
    /// inputs are checked only in its ticks. No tick is late.
    ///
    /// If a node failed, the report names it, and [`Report::into_result`] turns the report into an
    /// error.
    #[must_use = "the report shows whether a node failed"]
    pub fn simulate(mut self, time: Duration, seed: u64, epoch_ns: u64) -> Report {
        self.entries
            .sort_by(|a, b| a.runner.plan().name.cmp(&b.runner.plan().name));
        self.sort_nodes();
        let rate_of = |plan: &NodePlan| match plan.class {
            NodeClass::Event | NodeClass::Actors => None,
            _ => Some(plan.rate.unwrap_or(self.main_rate)),
        };
        let nodes = self.entries.drain(..).map(
            |PendingNode {
                 mut runner,
                 wake,
                 actors,
                 ..
             }| {
                runner.seed_random(seed);
                let rate = rate_of(runner.plan());
                SimulatedNode::new(runner, wake, actors, rate)
            },
        );
        let mut nodes: Vec<_> = nodes.collect();
        let clock = Clock::simulated(0);
        let timestamps = SimulatedTimestamps::begin(epoch_ns);
        for node in &mut nodes {
            if self.shared.is_stopping() {
                break;
            }
            let decision = node.runner.init_at_start(&clock);
            self.shared.stop_run_if_decided([&node.runner], decision);
        }
        if !self.shared.is_stopping() {
            let decision = simulated::run_simulation(
                &mut nodes,
                saturating_nanos(time),
                &timestamps,
                &self.shared,
            );
            self.shared
                .stop_run_if_decided(nodes.iter().map(|node| &node.runner), decision);
        }
        let reason = self
            .shared
            .stop_reason()
            .unwrap_or(StopReason::DurationElapsed);
        if reason.is_failure() {
            nodes
                .iter_mut()
                .rev()
                .for_each(SimulatedNode::enter_safe_state);
        }
        nodes
            .iter_mut()
            .rev()
            .for_each(|node| node.runner.shut_down());
        nodes
            .iter_mut()
            .rev()
            .for_each(|node| node.runner.drop_node());
        drop(timestamps);
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

/// Returns the file name of the running program, without the file's extension.
fn program_name() -> String {
    let path = std::env::args_os()
        .next()
        .map(std::path::PathBuf::from)
        .unwrap_or_default();
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
