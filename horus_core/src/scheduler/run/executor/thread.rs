//! Threads that run one node or one chain: starts them, and waits until they have ended or a
//! deadline has passed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::log::set_real_time_thread;
use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::run::panics::ThreadNodesGuard;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{AfterTurn, Runner};

use super::real_time;

/// A thread that runs one node, or the nodes of one chain.
#[derive(Debug)]
pub(crate) struct NodeThread {
    thread: JoinHandle<Vec<Runner>>,
    members: Vec<NodeReportSource>,
}

/// The parts of a node that other threads can access while the node's thread owns its runner.
#[derive(Debug)]
pub(crate) struct NodeReportSource {
    name: String,
    position: usize,
    class: NodeClass,
    metrics: Arc<LiveMetrics>,
}

impl NodeThread {
    /// Starts a thread that calls `run` with the runners of some nodes. There must be at least one.
    /// If the system cannot create a thread, returns the runners together with the error.
    pub(crate) fn start(
        runners: Vec<Runner>,
        shared: &Arc<RunState>,
        run: impl FnOnce(&mut [Runner], &RunState) -> AfterTurn + Send + 'static,
    ) -> Result<Self, (io::Error, Vec<Runner>)> {
        let members = runners.iter().map(NodeReportSource::from_runner).collect();
        let plan = runners[0].plan();
        let name = plan.chain.as_ref().unwrap_or(&plan.name).clone();
        let shared = Arc::clone(shared);
        // WHY a mutex: if the thread cannot be started, its closure is dropped with all that it
        // owns, and the nodes must not be.
        let given = Arc::new(Mutex::new(runners));
        let take = |given: &Mutex<Vec<Runner>>| {
            std::mem::take(&mut *given.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let to_thread = Arc::clone(&given);
        let thread = spawn_thread(&name, move || {
            let mut runners = take(&to_thread);
            let _marked = ThreadNodesGuard::register(&runners);
            let plan = runners[0].plan();
            set_real_time_thread(plan.class == NodeClass::RealTime || plan.priority.is_some());
            let (_awake, refused) = real_time::apply_thread_settings(plan);
            runners
                .iter_mut()
                .for_each(|runner| runner.record_refused_settings(refused.clone()));
            // WHY the wait: if another thread cannot be started, no node may have ticked.
            shared.wait_for_start();
            let after = run(&mut runners, &shared);
            shared.stop_run_if_turn_demands(&runners, after);
            runners
        });
        match thread {
            Ok(thread) => Ok(Self { thread, members }),
            Err(error) => Err((error, take(&given))),
        }
    }

    /// Waits until the thread has ended, and returns the runners of its nodes. If a tick has not
    /// ended at `deadline`, leaves the thread running and returns reports of the nodes instead.
    pub(crate) fn end(self, deadline: Instant) -> Result<Vec<Runner>, Vec<NodeReport>> {
        let Self { thread, members } = self;
        join_thread(thread, deadline).ok_or_else(|| {
            members
                .iter()
                .map(NodeReportSource::hanging_node_report)
                .collect()
        })
    }
}

impl NodeReportSource {
    pub(crate) fn from_runner(runner: &Runner) -> Self {
        let plan = runner.plan();
        let metrics = Arc::clone(runner.metrics());
        Self {
            name: plan.name.clone(),
            position: runner.position(),
            class: plan.class,
            metrics,
        }
    }

    /// Returns the node's position in the order in which the nodes were started.
    #[cfg(feature = "async-io")]
    pub(crate) const fn position(&self) -> usize {
        self.position
    }

    /// Returns the report of this node, whose thread has not ended in time. The node itself hangs
    /// if it is in a tick or in another call, and otherwise another node of the thread does.
    pub(crate) fn hanging_node_report(&self) -> NodeReport {
        let is_in_tick = self.metrics.tick_began_ns() != 0;
        let last_error = match self.metrics.user_call() {
            _ if is_in_tick => "a tick does not end: its thread was left behind".to_owned(),
            Some(call) => format!(
                "{} does not return: its thread was left behind",
                call.name()
            ),
            None => "its thread does not end, and was left behind".to_owned(),
        };
        NodeReport {
            name: self.name.clone(),
            position: self.position,
            hangs: is_in_tick || self.metrics.user_call().is_some(),
            class: self.class,
            metrics: self.metrics.snapshot(),
            last_error: Some(last_error),
            refused: Vec::new(),
        }
    }
}

/// Starts a thread that calls `work`. Debuggers show `name` as the name of the thread.
pub(crate) fn spawn_thread<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Waits for the end of a thread and returns its result. Returns `None` if the thread has not ended
/// at `deadline`, or has panicked.
pub(crate) fn join_thread<R>(thread: JoinHandle<R>, deadline: Instant) -> Option<R> {
    while !thread.is_finished() {
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(Duration::from_micros(200));
    }
    thread.join().ok()
}
