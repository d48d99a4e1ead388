//! A running scheduler: starts the threads of the nodes, runs the nodes of the main thread, and
//! ends the run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::fork_epoch;
use horus_shm::internals::termination::TerminationSignals;
use horus_shm::internals::{RemainingThreads, remaining_threads};

use super::Scheduler;
use crate::log::StderrPrinter;
use crate::message::NodeEvent;
use crate::scheduler::api::error::StartError;
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::api::report::{NodeReport, Report, RunError, StopReason};
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::remote::recorder::EventRecorder;
use crate::scheduler::run::catch_panic::drop_and_catch_panic;
use crate::scheduler::run::executor::best_effort;
use crate::scheduler::run::executor::thread::{RunEndTimeLimit, RunThread, spawn_thread};
use crate::scheduler::run::handle::Handle;
use crate::scheduler::run::initialisation::init_nodes;
use crate::scheduler::run::panics::{self, ThreadNodesGuard};
use crate::scheduler::run::pending_node::PendingNode;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};
use crate::scheduler::run::workers::{StartContext, Workers, needed_thread_count};
use crate::scheduler::watch::lost_wake_check::LostWakeCheck;
use crate::scheduler::watch::supervisor::Supervisor;
use crate::scheduler::watch::watched_group::WatchedGroup;
use crate::scheduler::watch::watched_node::WatchedNode;

/// The longest time for which the end of a run waits for the last ticks of nodes.
const LAST_TICK_TIME_MAX: Duration = Duration::from_millis(800);
/// The longest time for which the end of a run waits until the supervisor has checked once more for
/// an emergency stop. A supervisor that a callback does not keep busy needs 10 ms at most.
const FINAL_EMERGENCY_CHECK_TIME_MAX: Duration = Duration::from_millis(40);
/// The shortest time that the supervisor gets to report the end of the run, even if nodes have used
/// up [`LAST_TICK_TIME_MAX`].
const FINAL_REPORT_TIME_MIN: Duration = Duration::from_millis(150);
/// The longest time that a process takes to end after a termination signal, even if a node hangs,
/// provided that its threads get a CPU.
const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(1);
const _: () = assert!(
    LAST_TICK_TIME_MAX.as_millis()
        + FINAL_EMERGENCY_CHECK_TIME_MAX.as_millis()
        + FINAL_REPORT_TIME_MIN.as_millis()
        < SHUTDOWN_TIME_MAX.as_millis()
);
/// The longest sleep of the thread that runs the scheduler, in nanoseconds. It is also the time
/// after which the thread applies pending commands again.
const COMMAND_POLL_PERIOD_NS: u64 = 20_000_000;
/// The time, in nanoseconds, after which [`Running::tick_once`] synchronises its clock with the
/// kernel's clock again.
const CLOCK_RESYNC_PERIOD_NS: u64 = 1_000_000;

/// A scheduler whose nodes run. Nodes with a rate, with waking topics or with another setting that
/// gives them a thread run on threads of the scheduler. All other nodes run on the thread that
/// calls this type's methods, in [`Self::run_for`] or [`Self::tick_once`].
///
/// If the run has to stop while the program is elsewhere, the threads of the scheduler end the
/// ticks. After a failure they make their nodes enter the safe state, and otherwise they still
/// apply an emergency stop, both within 20 ms. [`Self::finish`], and [`Self::tick_once`] and
/// [`Self::run_for`] after a failure, shut the nodes down, and do the same for the nodes of the
/// main thread before.
///
/// Dropping a `Running` stops the run like [`Self::finish`], but discards the report. In a forked
/// child, both do nothing, because the run is that of the parent.
#[derive(Debug)]
pub struct Running {
    name: String,
    shared: Arc<RunState>,
    handle: Handle,
    clock: Clock,
    resync_at_ns: u64,
    /// The due times at which the main thread runs its nodes. They follow at the scheduler's main
    /// rate.
    timeline: Timeline,
    /// True once [`Self::run_for`] was called, which begins the due times.
    has_run: bool,
    /// The time, in nanoseconds, at which the main thread has to apply pending commands to its
    /// nodes again.
    next_poll_ns: u64,
    workers: Workers,
    supervisor: Option<RunThread<()>>,
    signals: Option<Arc<TerminationSignals>>,
    recorder: EventRecorder,
    /// The report of the run; `None` until all nodes have been shut down.
    report: Option<Report>,
    /// The fork epoch of the process that has started the run.
    epoch: u64,
}

impl Running {
    pub(super) fn start(mut scheduler: Scheduler) -> Result<Self, StartError> {
        check_thread_limit(&scheduler)?;
        scheduler.sort_nodes();
        panics::install_panic_hook();
        let handle = scheduler.handle();
        let signals = scheduler
            .stops_on_signals
            .then(TerminationSignals::install)
            .transpose();
        let signals = signals
            .map_err(|cause| StartError::Signals { cause })?
            .map(Arc::new);
        let endpoints = scheduler.open_endpoints()?;
        let Scheduler {
            mut entries,
            shared,
            mut clock,
            main_rate,
            on_event,
            ..
        } = scheduler;
        let name = endpoints.name().to_owned();
        let (mut nodes, mut topics, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        let (lanes, _) = black_box_lane_indices_and_count(&entries);
        for (entry, lane) in entries.iter_mut().zip(lanes) {
            entry.runner.set_recorder(endpoints.recorder(lane));
            if let Some(actors) = &entry.actors {
                actors.set_recorder(endpoints.recorder(lane));
                groups.push(WatchedGroup::new(actors));
            }
            topics.extend(LostWakeCheck::new(&entry.wake, entry.runner.commands()));
            let subscriptions = std::mem::take(&mut entry.subscriptions);
            nodes.push(WatchedNode::new(
                &entry.runner,
                entry.safe_state.take(),
                subscriptions,
            ));
        }
        let recorder = endpoints.recorder(MAIN_THREAD_BLACK_BOX_LANE);
        let mut supervisor = Supervisor {
            nodes,
            topics,
            groups,
            shared: Arc::clone(&shared),
            handle: handle.clone(),
            recorder: endpoints.recorder(SUPERVISOR_BLACK_BOX_LANE),
            endpoints,
            signals: signals.as_ref().map(Arc::downgrade).unwrap_or_default(),
            on_event,
            printer: StderrPrinter::default(),
            is_emergency: false,
            last_stop_message: None,
            emergency_stop_ns: 0,
            unchecked_stop_ns: None,
            safety_demanded_ns: None,
            lacks_compute_thread: false,
            safe_state_wait_left: Duration::ZERO,
        };
        supervisor.record_start();
        // WHY before any `init`: it may take long, and the supervisor handles signals and commands
        // meanwhile.
        let supervisor = spawn_thread("supervisor", move || supervisor.run());
        let supervisor = supervisor.map_err(|cause| StartError::Thread {
            name: "supervisor".to_owned(),
            cause,
        })?;
        init_nodes(&mut entries, &clock, &shared);
        let begin_ns = clock.resync_and_read_ns();
        let start = StartContext {
            shared: Arc::clone(&shared),
            clock: clock.clone(),
            begin_ns,
            main_rate,
            compute_threads: scheduler.compute_threads,
            cores: concurrent_threads_max(),
        };
        let mut running = Self {
            name,
            handle,
            resync_at_ns: begin_ns.saturating_add(CLOCK_RESYNC_PERIOD_NS),
            clock,
            timeline: Timeline::new(begin_ns, main_rate),
            has_run: false,
            next_poll_ns: 0,
            workers: Workers::default(),
            supervisor: Some(supervisor),
            signals,
            recorder,
            shared,
            report: None,
            epoch: fork_epoch(),
        };
        running.workers.start(entries, &start)?;
        running.shared.mark_all_threads_started();
        if running.has_failed() {
            // WHY now: the caller may do something else before it ends the run.
            running.workers.enter_safe_states_of_failed_run();
        }
        Ok(running)
    }

    /// Returns the name under which other processes find the scheduler.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a handle that can control the run from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns true once the run has to stop, because a stop was requested or a node failed.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }

    /// Runs one tick of every node that does not run on a thread of the scheduler. The calling
    /// thread runs these nodes. This is for programs that have their own main loop. Costs some 30
    /// ns for each node, plus the time of the ticks.
    ///
    /// Returns true if the run continues. If the run has to stop, returns false and runs no tick.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Failed`] if a node failed, in this call or on another thread, and its
    /// policy ended the run. All nodes have then been shut down, and [`Self::finish`] returns the
    /// same error.
    #[inline]
    pub fn tick_once(&mut self) -> Result<bool, RunError> {
        match self.try_tick_once() {
            Some(goes_on) => Ok(goes_on),
            None => self.end_run_if_failed().map(|()| false),
        }
    }

    /// Does the same as [`Self::tick_once`], except that it never ends the run. Returns `None` if
    /// the run has to stop because a node failed. The caller must then call [`Self::finish`].
    ///
    /// WHY: the end of a run waits for threads. A language binding that holds a lock which these
    /// threads need, such as Python's, has to release the lock first.
    #[doc(hidden)]
    #[inline]
    pub fn try_tick_once(&mut self) -> Option<bool> {
        if self.shared.is_stopping() {
            return (!self.has_failed()).then_some(false);
        }
        // WHY: this saves reading the clock.
        if self.workers.main.is_empty() {
            return Some(true);
        }
        // WHY only then: marking the nodes costs as much as a tick, and only a watchdog uses the
        // mark.
        let marked = self
            .workers
            .has_watched_node
            .then(|| ThreadNodesGuard::register(&self.workers.main));
        let begin_ns = self.clock.now_ns();
        let decision = self.run_main_thread_nodes(begin_ns, begin_ns);
        drop(marked);
        (decision != RunDecision::Abort || !self.has_failed()).then_some(true)
    }

    /// Returns true if the run has to stop because a node failed.
    #[cold]
    fn has_failed(&self) -> bool {
        self.shared.has_failed()
    }

    /// If the run stops because a node failed, shuts all nodes down and returns the error.
    #[cold]
    fn end_run_if_failed(&mut self) -> Result<(), RunError> {
        if self.has_failed() {
            self.shut_down().into_result().map(drop)
        } else {
            Ok(())
        }
    }

    fn run_main_thread_nodes(&mut self, due_ns: u64, begin_ns: u64) -> RunDecision {
        self.workers.make_main_groups_safe();
        let (end_ns, decision) =
            best_effort::run_turns(&mut self.workers.main, &self.clock, due_ns, begin_ns);
        if decision != RunDecision::Continue {
            self.shared
                .stop_run_if_decided(&self.workers.main, decision);
        }
        if end_ns >= self.resync_at_ns {
            self.resync_at_ns = self
                .clock
                .resync_and_read_ns()
                .saturating_add(CLOCK_RESYNC_PERIOD_NS);
        }
        decision
    }

    /// Runs the nodes of this thread until `time` has passed, or until a node, a [`Handle`], a
    /// command or a signal stops the run. If `time` is zero, applies commands and runs no tick.
    ///
    /// Does not end the run, unlike [`Scheduler::run_for`]: nodes with threads of the scheduler
    /// also tick after this call, until [`Self::finish`], a stop or the drop of this value.
    ///
    /// The due times of the nodes of the main thread follow from the first call, which begins with
    /// a tick. Between two calls, they go on: if some have passed, the call begins with a tick that
    /// is late for the first of them, and the others count as skipped ticks.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::tick_once`].
    pub fn run_for(&mut self, time: Duration) -> Result<(), RunError> {
        self.continue_for(time);
        if self.shared.is_stopping() {
            self.end_run_if_failed()
        } else {
            Ok(())
        }
    }

    /// Does the same as [`Self::run_for`], except that it never ends the run. For callers that
    /// divide one run into several calls, and call [`Self::finish`] once it has to stop.
    #[doc(hidden)]
    pub fn continue_for(&mut self, time: Duration) {
        let _marked = ThreadNodesGuard::register(&self.workers.main);
        let mut now_ns = self.clock.resync_and_read_ns();
        let end_ns = now_ns.saturating_add(saturating_nanos(time));
        if !std::mem::replace(&mut self.has_run, true) {
            self.timeline = self.timeline.starting_at(now_ns);
        }
        while !self.shared.is_stopping() {
            now_ns = self.clock.resync_and_read_ns();
            self.poll_commands(now_ns);
            if now_ns >= end_ns {
                return;
            }
            let due_ns = if self.workers.main.is_empty() {
                end_ns
            } else {
                self.timeline.due_ns()
            };
            if now_ns < due_ns.min(end_ns) {
                let Self {
                    workers,
                    clock,
                    shared,
                    ..
                } = &mut *self;
                workers.make_main_groups_safe();
                if workers.run_main_groups(clock, now_ns, shared) {
                    continue;
                }
                let nap_ns = (due_ns.min(end_ns) - now_ns).min(COMMAND_POLL_PERIOD_NS);
                workers.sleep(clock, Duration::from_nanos(nap_ns), shared);
                continue;
            }
            self.run_main_thread_nodes(due_ns, now_ns);
            let passed = self.timeline.advance(self.clock.now_ns());
            if passed > 0 {
                let main = self.workers.main.iter();
                main.for_each(|runner| runner.metrics().count_skipped_ticks(passed));
            }
        }
    }

    /// Applies pending commands to the nodes of the main thread, at most once in
    /// [`COMMAND_POLL_PERIOD_NS`]. WHY not after each sleep of that length: a program may divide
    /// its run into calls that are shorter.
    fn poll_commands(&mut self, now_ns: u64) {
        if now_ns < self.next_poll_ns {
            return;
        }
        self.next_poll_ns = now_ns.saturating_add(COMMAND_POLL_PERIOD_NS);
        let Self { workers, clock, .. } = self;
        workers
            .main
            .iter_mut()
            .for_each(|runner| runner.poll_commands(clock, now_ns));
    }

    /// Stops the run, shuts all nodes down in the reverse of the order in which they were started,
    /// and returns the report. Blocks for less than a second, unless an `init`, a `shutdown`, an
    /// `enter_safe_state` or the main thread hangs. If the last tick of a node does not end within
    /// 0.8 s, this call stops waiting for the node's thread, and the node counts as failed.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Failed`] with the report if a node failed and its policy ended the run,
    /// or if a last tick did not end. In a forked child, returns a report without nodes at once.
    pub fn finish(mut self) -> Result<Report, RunError> {
        self.shut_down().into_result()
    }

    /// Drops the swaps of nodes whose thread was left behind, so that they do not stay pending.
    fn abandon_swaps_of_hanging_nodes(&self) {
        // WHY a copy: a swap contains user code, which may use a handle.
        let entries = self.shared.node_entries().clone();
        for entry in entries {
            if drop_and_catch_panic(entry.commands.refuse_further_swaps()).is_some() {
                entry.metrics.count_failure(true);
            }
        }
    }

    /// In a forked child, leaks the nodes and their threads, which are those of the parent. Returns
    /// a report without nodes. WHY leaked: the threads do not exist in the child, they may have
    /// held locks, and the nodes may be in a tick.
    #[cold]
    fn leak_nodes_in_forked_child(&mut self) -> Report {
        std::mem::forget(std::mem::take(&mut self.workers));
        std::mem::forget(self.supervisor.take());
        let report = Report {
            scheduler: self.name.clone(),
            reason: StopReason::DurationElapsed,
            nodes: Vec::new(),
        };
        self.report = Some(report.clone());
        report
    }

    fn shut_down(&mut self) -> Report {
        if let Some(report) = &self.report {
            return report.clone();
        }
        if self.epoch != fork_epoch() {
            return self.leak_nodes_in_forked_child();
        }
        self.shared.stop(StopReason::DurationElapsed);
        self.shared.begin_shutdown();
        if self.has_failed() {
            self.workers.enter_safe_states_of_failed_run();
        }
        let mut time = RunEndTimeLimit::new(LAST_TICK_TIME_MAX, &self.shared);
        let (mut runners, mut nodes) = self.workers.end(&mut time);
        self.shared.set_failure_if_node_hangs(&nodes);
        let reason = self
            .shared
            .stop_reason()
            .unwrap_or(StopReason::DurationElapsed);
        for node in &nodes {
            let event = NodeEvent::new(NodeEvent::STUCK, &node.name, Clock::kernel().now_ns());
            self.recorder
                .record(event.with_text(node.last_error.as_deref().unwrap_or_default()));
            self.shared.add_hanging_node(&node.name);
        }
        // WHY: a stop that came with the end of the run was applied by no thread of a node.
        self.shared
            .request_final_emergency_check(FINAL_EMERGENCY_CHECK_TIME_MAX);
        // In reverse order, so that a node is shut down before the nodes that it reads from.
        let enter_safe_state = if reason.is_failure() {
            Runner::enter_safe_state
        } else {
            Runner::apply_emergency_stop_at_end
        };
        runners.iter_mut().rev().for_each(enter_safe_state);
        runners.iter_mut().rev().for_each(Runner::shut_down);
        // WHY dropped here and not later: the supervisor still reports the events of these drops.
        runners.iter_mut().rev().for_each(Runner::drop_node);
        self.abandon_swaps_of_hanging_nodes();
        let left_behind = nodes.len();
        for report in runners.iter().map(Runner::report) {
            let is_same = |node: &&mut NodeReport| node.position == report.position;
            match nodes[..left_behind].iter_mut().find(is_same) {
                // A group of actors of which one thread hangs.
                Some(node) => {
                    *node = NodeReport {
                        hangs: true,
                        ..report
                    }
                }
                None => nodes.push(report),
            }
        }
        nodes.sort_by_key(|node| node.position);
        self.shared.mark_all_nodes_shut_down();
        // The supervisor ends after all nodes, unless a safe-state callback hangs.
        time.extend_time_left_to(FINAL_REPORT_TIME_MIN);
        let _ = self
            .supervisor
            .take()
            .map(|supervisor| supervisor.join(&mut time));
        if let Some(signal) = self
            .signals
            .take()
            .and_then(|signals| signals.received_signal())
        {
            self.shared.stop(StopReason::Signal(signal));
        }
        let reason = self
            .shared
            .stop_reason()
            .unwrap_or(StopReason::DurationElapsed);
        let report = Report {
            scheduler: self.name.clone(),
            reason,
            nodes,
        };
        self.report = Some(report.clone());
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // WHY ignored: no caller can receive the report. After `finish`, this does nothing.
        let _ = self.shut_down();
    }
}

/// Returns the number of threads that can run at the same time. This may differ from
/// `Scheduler::cores`, which is the highest CPU number plus one.
fn concurrent_threads_max() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns an error if the system does not allow as many threads as the nodes and the supervisor
/// need.
fn check_thread_limit(scheduler: &Scheduler) -> Result<(), StartError> {
    let compute = scheduler.compute_threads;
    let of_nodes = needed_thread_count(&scheduler.entries, compute, concurrent_threads_max());
    let wanted = of_nodes as u64 + 1;
    match remaining_threads() {
        Some(RemainingThreads { threads, limit }) if wanted > threads => {
            let room = threads;
            Err(StartError::TooManyThreads {
                wanted,
                room,
                limit,
            })
        }
        _ => Ok(()),
    }
}

/// The index of the supervisor's lane in the black box. The black box is the scheduler's topic of
/// events, and has a lane for each thread.
const SUPERVISOR_BLACK_BOX_LANE: usize = 0;
const MAIN_THREAD_BLACK_BOX_LANE: usize = 1;
const POOL_THREADS_BLACK_BOX_LANE: usize = 2;
const ASYNC_THREAD_BLACK_BOX_LANE: usize = 3;

/// Returns the index of each node's lane in the black box, and the number of lanes. The nodes that
/// share a thread also share a lane.
pub(super) fn black_box_lane_indices_and_count(entries: &[PendingNode]) -> (Vec<usize>, usize) {
    let mut chains = HashMap::new();
    let mut next = ASYNC_THREAD_BLACK_BOX_LANE + 1;
    let mut new = || {
        next += 1;
        next - 1
    };
    let lane = |entry: &PendingNode| {
        let plan = entry.runner.plan();
        if let Some(group) = &plan.shared_group {
            let group = format!("{group}\n");
            return *chains.entry(group).or_insert_with(&mut new);
        }
        match (plan.class, &plan.chain) {
            (NodeClass::BestEffort, _) => MAIN_THREAD_BLACK_BOX_LANE,
            (NodeClass::Compute, _) => POOL_THREADS_BLACK_BOX_LANE,
            (NodeClass::AsyncIo, _) => ASYNC_THREAD_BLACK_BOX_LANE,
            (_, None) => new(),
            (_, Some(chain)) => *chains.entry(chain.clone()).or_insert_with(&mut new),
        }
    };
    (entries.iter().map(lane).collect(), next)
}
