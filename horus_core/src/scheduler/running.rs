//! A running scheduler: its threads, its rounds, its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::termination::TerminationSignals;

use super::Scheduler;
use crate::message::NodeEvent;
use crate::scheduler::api::error::StartError;
use crate::scheduler::api::plan::Class;
use crate::scheduler::api::policy::nanos;
use crate::scheduler::api::report::Reason;
use crate::scheduler::api::report::{Report, RunError};
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::remote::recorder::Recorder;
use crate::scheduler::run::executor::best_effort;
use crate::scheduler::run::executor::thread::{join, spawn};
use crate::scheduler::run::handle::Handle;
use crate::scheduler::run::panics::{self, Here};
use crate::scheduler::run::pending_node::PendingNode;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;
use crate::scheduler::run::workers::{StartContext, Workers};
use crate::scheduler::watch::supervisor::Supervisor;
use crate::scheduler::watch::watched_node::WatchedNode;

/// The time that a node has for its last tick when the run stops.
const LAST_TICK: Duration = Duration::from_millis(800);
/// The time that the supervisor has at least to report the end of the run, also after a node has
/// used up all the time.
const LAST_REPORT: Duration = Duration::from_millis(150);
/// The time within which a process ends after a termination signal, also if a node hangs.
const END_MAX: Duration = Duration::from_secs(1);
const _: () = assert!(LAST_TICK.as_millis() + LAST_REPORT.as_millis() < END_MAX.as_millis());
/// The longest sleep between rounds, after which commands are applied.
const SLICE_NS: u64 = 20_000_000;
/// The longest time of rounds without a sleep before the clock is synchronised again.
const RESYNC_NS: u64 = 1_000_000;

/// A scheduler whose nodes run: nodes with a rate, or on topics, on threads of their own, and all
/// other nodes on the calling thread, in [`Self::run_for`] or [`Self::tick_once`].
///
/// Dropping it stops the run, as [`Self::finish`] does, but reports no failed node.
#[derive(Debug)]
pub struct Running {
    name: String,
    shared: Arc<Shared>,
    handle: Handle,
    clock: Clock,
    resync_at_ns: u64,
    /// The due times of the nodes without a rate.
    timeline: Timeline,
    workers: Workers,
    supervisor: Option<JoinHandle<()>>,
    signals: Option<Arc<TerminationSignals>>,
    recorder: Recorder,
    /// The report, once all nodes are shut down.
    report: Option<Report>,
}

impl Running {
    pub(super) fn start(mut scheduler: Scheduler) -> Result<Self, StartError> {
        scheduler.sort();
        panics::watch();
        let handle = scheduler.handle();
        let signals = scheduler.stops_on_signals.then(TerminationSignals::install).transpose();
        let signals = signals.map_err(|cause| StartError::Signals { cause })?.map(Arc::new);
        let monitor = scheduler.monitor()?;
        let Scheduler { mut entries, shared, mut clock, main_rate, on_event, .. } = scheduler;
        let (name, mut nodes) = (monitor.name().to_owned(), Vec::new());
        let (lanes, _) = lanes(&entries);
        for (entry, lane) in entries.iter_mut().zip(lanes) {
            entry.runner.record_to(monitor.recorder(lane));
            let subscriptions = std::mem::take(&mut entry.subscriptions);
            nodes.push(WatchedNode::new(&entry.runner, entry.safe_state.take(), subscriptions));
        }
        let recorder = monitor.recorder(MAIN_LANE);
        let mut supervisor = Supervisor {
            nodes,
            shared: Arc::clone(&shared),
            handle: handle.clone(),
            recorder: monitor.recorder(SUPERVISOR_LANE),
            monitor,
            signals: signals.as_ref().map(Arc::downgrade).unwrap_or_default(),
            on_event,
            is_emergency: false,
        };
        supervisor.begin();
        // WHY before any `init`: it may take long, and the supervisor handles signals and commands
        // meanwhile.
        let supervisor = spawn("supervisor", move || supervisor.run());
        let supervisor = supervisor
            .map_err(|cause| StartError::Thread { name: "supervisor".to_owned(), cause })?;
        for entry in &mut entries {
            if shared.is_stopping() {
                break;
            }
            let after = entry.runner.start(&clock);
            shared.stop_after([&entry.runner], after);
        }
        let begin_ns = clock.resync();
        let start = StartContext {
            shared: Arc::clone(&shared),
            clock: clock.clone(),
            begin_ns,
            main_rate,
            compute_threads: scheduler.compute_threads,
            // As many as may run now, whatever the numbers of their CPUs.
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let mut running = Self {
            name,
            handle,
            resync_at_ns: begin_ns.saturating_add(RESYNC_NS),
            clock,
            timeline: Timeline::new(begin_ns, main_rate),
            workers: Workers::default(),
            supervisor: Some(supervisor),
            signals,
            recorder,
            shared,
            report: None,
        };
        running.workers.start(entries, &start)?;
        running.shared.begin();
        Ok(running)
    }

    /// Returns the name under which other processes find it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a handle that controls the run, from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns true if it is to stop, because a stop was requested or a node failed.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }

    /// Gives every node that has neither a rate nor a topic one turn, now, on this thread. For
    /// programs with a main loop of their own. Costs some 30 ns a node plus their ticks.
    ///
    /// Returns false if the run is to stop: then no node had a turn.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Failed`] if a node failed, in this round or on a thread of its own, and
    /// its policy ended the run. All nodes have been shut down, as by [`Self::finish`], which
    /// returns the same error.
    #[inline]
    pub fn tick_once(&mut self) -> Result<bool, RunError> {
        if self.shared.is_stopping() {
            return self.end_if_failed().map(|()| false);
        }
        // WHY: without nodes no clock has to be read.
        if self.workers.main.is_empty() {
            return Ok(true);
        }
        // WHY not always: it costs as much as a turn, and nodes without a watchdog do not need it.
        let here = self.workers.has_watched.then(|| Here::run(&self.workers.main));
        let begin_ns = self.clock.now_ns();
        let after = self.round(begin_ns, begin_ns);
        drop(here);
        if after == After::Abort {
            self.end_if_failed()?;
        }
        Ok(true)
    }

    /// Ends the run if a node failed and thereby stopped it.
    #[cold]
    fn end_if_failed(&mut self) -> Result<(), RunError> {
        match self.shared.reason() {
            Some(reason) if reason.is_failure() => self.end().into_result().map(drop),
            _ => Ok(()),
        }
    }

    fn round(&mut self, due_ns: u64, begin_ns: u64) -> After {
        let (end_ns, after) =
            best_effort::turns(&mut self.workers.main, &self.clock, due_ns, begin_ns);
        if after != After::Continue {
            self.shared.stop_after(&self.workers.main, after);
        }
        if end_ns >= self.resync_at_ns {
            self.resync_at_ns = self.clock.resync().saturating_add(RESYNC_NS);
        }
        after
    }

    /// Runs until a node, a [`Handle`], a command or a signal stops it, for `time` at most.
    ///
    /// # Errors
    ///
    /// As [`Self::tick_once`].
    pub fn run_for(&mut self, time: Duration) -> Result<(), RunError> {
        self.rounds(time);
        if self.shared.is_stopping() { self.end_if_failed() } else { Ok(()) }
    }

    fn rounds(&mut self, time: Duration) {
        let _here = Here::run(&self.workers.main);
        let mut now_ns = self.clock.resync();
        let end_ns = now_ns.saturating_add(nanos(time));
        self.timeline = self.timeline.starting_after(now_ns.saturating_sub(1));
        while !self.shared.is_stopping() {
            now_ns = self.clock.resync();
            if now_ns >= end_ns {
                return;
            }
            let due_ns = if self.workers.main.is_empty() { end_ns } else { self.timeline.due_ns() };
            if now_ns < due_ns.min(end_ns) {
                let nap_ns = (due_ns.min(end_ns) - now_ns).min(SLICE_NS);
                self.shared.wait(Duration::from_nanos(nap_ns));
                if nap_ns == SLICE_NS {
                    let Self { workers, clock, .. } = self;
                    workers.main.iter_mut().for_each(|runner| runner.poll(clock, now_ns));
                }
                continue;
            }
            self.round(due_ns, now_ns);
            let passed = self.timeline.advance(self.clock.now_ns());
            if passed > 0 {
                let main = self.workers.main.iter();
                main.for_each(|runner| runner.metrics().count_skipped_ticks(passed));
            }
        }
    }

    /// Stops the run, shuts all nodes down in reverse order, and returns the report. Takes less
    /// than a second, unless an `init`, a `shutdown` or the main thread hangs. A node whose last
    /// tick does not end within 0.8 s is left behind, with its thread, and has failed.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Failed`] if a node failed and its policy ended the run, or if a node was
    /// left behind. The error contains the report.
    pub fn finish(mut self) -> Result<Report, RunError> {
        self.end().into_result()
    }

    fn end(&mut self) -> Report {
        if let Some(report) = &self.report {
            return report.clone();
        }
        self.shared.stop(Reason::Over);
        let deadline = Instant::now() + LAST_TICK;
        let (mut runners, mut nodes) = self.workers.end(deadline);
        self.shared.fail_if_hanging(&nodes);
        let reason = self.shared.reason().unwrap_or(Reason::Over);
        for node in &nodes {
            let event = NodeEvent::new(NodeEvent::STUCK, &node.name, Clock::kernel().now_ns());
            self.recorder.record(event.with_text(node.last_error.as_deref().unwrap_or_default()));
            self.shared.leave_behind(&node.name);
        }
        // In reverse order: a node ends before the nodes that it reads from.
        if reason.is_failure() {
            runners.iter_mut().rev().for_each(Runner::enter_safe_state);
        }
        runners.iter_mut().rev().for_each(Runner::stop);
        // WHY here: the supervisor still reports the events of these drops.
        runners.iter_mut().rev().for_each(Runner::release);
        nodes.extend(runners.iter().map(Runner::report));
        nodes.sort_by_key(|node| node.position);
        self.shared.end();
        // The supervisor ends after all nodes, unless a safe-state callback hangs.
        let deadline = deadline.max(Instant::now() + LAST_REPORT);
        let _ = self.supervisor.take().map(|supervisor| join(supervisor, deadline));
        if let Some(signal) = self.signals.take().and_then(|signals| signals.received()) {
            self.shared.stop(Reason::Signal(signal));
        }
        let reason = self.shared.reason().unwrap_or(Reason::Over);
        let report = Report { scheduler: self.name.clone(), reason, nodes };
        self.report = Some(report.clone());
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `finish` it has nothing to do. Otherwise no caller can receive the report.
        let _ = self.end();
    }
}

/// Lanes of the black box: of the supervisor, of the main thread, of the pool, and of the async
/// thread.
const SUPERVISOR_LANE: usize = 0;
const MAIN_LANE: usize = 1;
const POOL_LANE: usize = 2;
const ASYNC_LANE: usize = 3;

/// Returns the black-box lane of each node, one for each thread, and the number of lanes.
pub(super) fn lanes(entries: &[PendingNode]) -> (Vec<usize>, usize) {
    let (mut chains, mut next) = (HashMap::new(), ASYNC_LANE + 1);
    let mut new = || {
        next += 1;
        next - 1
    };
    let lane = |entry: &PendingNode| {
        let plan = entry.runner.plan();
        match (plan.class, &plan.chain) {
            (Class::BestEffort, _) => MAIN_LANE,
            (Class::Compute, _) => POOL_LANE,
            (Class::AsyncIo, _) => ASYNC_LANE,
            (_, None) => new(),
            (_, Some(chain)) => *chains.entry(chain.clone()).or_insert_with(&mut new),
        }
    };
    (entries.iter().map(lane).collect(), next)
}
