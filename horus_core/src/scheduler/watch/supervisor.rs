//! The supervisor: a thread that watches the nodes, publishes their status, and applies commands
//! that come from topics.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::termination::TerminationSignals;

use crate::log::{StderrPrinter, set_real_time_thread, take_queued_warnings};
use crate::message::{EmergencyStop, NodeEvent, SchedulerStatusHeader};
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::api::report::StopReason;
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::remote::recorder::EventRecorder;
use crate::scheduler::remote::scheduler_endpoints::SchedulerEndpoints;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic};
use crate::scheduler::run::event_limit::text_with_left_out_count;
use crate::scheduler::run::handle::Handle;
use crate::scheduler::run::run_state::{PoolCheck, RunState};
use crate::scheduler::watch::event_printer::print_unless_ok;
use crate::scheduler::watch::lost_wake_check::LostWakeCheck;
use crate::scheduler::watch::watched_group::{
    NAMES_PER_EVENT_MAX, SAFE_STATE_ENTRY_NS_MAX, WatchedGroup,
};
use crate::scheduler::watch::watched_node::{TickFinding, WatchedNode};
use crate::topic::WaitSet;

/// The callback of a scheduler that receives all events of a run.
pub(crate) type EventCallback = Box<dyn FnMut(&NodeEvent) + Send>;

/// The longest time between two checks of the nodes by the supervisor, in nanoseconds. The
/// supervisor wakes earlier if a tick may exceed its limit before that.
const NODE_CHECK_PERIOD_NS: u64 = 10_000_000;
/// The time between two checks of the nodes while they are shut down, in nanoseconds.
const SHUTDOWN_CHECK_PERIOD_NS: u64 = 500_000;
/// The time between two publications of the scheduler's status, in nanoseconds.
const STATUS_PUBLISH_PERIOD_NS: u64 = 100_000_000;
/// The time between two checks whether all actors are in their safe state, in nanoseconds. It
/// applies while actors enter their safe state.
const SAFE_STATE_CHECK_PERIOD_NS: u64 = 1_000_000;
/// The time between two checks of the topics whose messages wake nodes, in nanoseconds.
const TOPICS_CHECK_PERIOD_NS: u64 = 50_000_000;
/// The longest time that the supervisor waits in one check of the nodes for the results of
/// safe-state callbacks that run on other threads. Then it watches the other nodes again.
const SAFE_STATE_RESULT_WAIT_MAX: Duration = Duration::from_millis(20);
/// The time, in nanoseconds, that the threads of a pool get to make its nodes safe, before another
/// thread is started if none of them is free.
const POOL_SAFE_STATE_NS_MAX: u64 = 20_000_000;
/// The time between two attempts to open a lost topic again, or to prepare a new file of a topic,
/// in nanoseconds.
const REOPEN_PERIOD_NS: u64 = 100_000_000;
/// The largest number of commands or events that the supervisor handles between two checks of the
/// nodes.
pub(super) const EVENTS_PER_CHECK_MAX: usize = 1024;

/// The supervisor, which watches the nodes, publishes their status and applies commands, on its own
/// thread.
pub(crate) struct Supervisor {
    pub(crate) nodes: Vec<WatchedNode>,
    /// The topics whose messages wake nodes. The supervisor checks that no node sleeps although one
    /// of its topics has messages.
    pub(crate) topics: Vec<LostWakeCheck>,
    /// The groups of actors that the supervisor watches.
    pub(crate) groups: Vec<WatchedGroup>,
    pub(crate) shared: Arc<RunState>,
    pub(crate) handle: Handle,
    pub(crate) endpoints: SchedulerEndpoints,
    pub(crate) recorder: EventRecorder,
    /// The handlers of termination signals. WHY weak: the run owns the handlers, and restores the
    /// previous ones even if this thread hangs.
    pub(crate) signals: Weak<TerminationSignals>,
    /// The callback that receives the events; `None` if they are logged or printed.
    pub(crate) on_event: Option<EventCallback>,
    pub(crate) printer: StderrPrinter,
    /// True during an emergency stop: if one was sent, or if one may have been sent that cannot be
    /// received.
    pub(crate) is_emergency: bool,
    /// The message about an emergency stop that was applied last.
    pub(crate) last_stop_message: Option<EmergencyStop>,
    /// The greatest `monotonic_ns` of the emergency-stop messages that were applied; 0 if there was
    /// none.
    pub(crate) emergency_stop_ns: u64,
    /// The time at which the present emergency stop began, in nanoseconds, until the supervisor has
    /// checked that all nodes have entered their safe state; `None` otherwise.
    pub(crate) unchecked_stop_ns: Option<u64>,
    /// The time from which on nodes have to be in their safe state, because of an emergency stop or
    /// a failed run, in nanoseconds; `None` if they need not.
    pub(crate) safety_demanded_ns: Option<u64>,
    /// True if the last attempt to start another thread for compute nodes has failed.
    pub(crate) lacks_compute_thread: bool,
    /// The time for which the supervisor may still wait for results of safe-state callbacks, until
    /// it has checked the nodes again.
    pub(crate) safe_state_wait_left: Duration,
}

impl Supervisor {
    /// Records the start of the run, applies an emergency stop that has already begun, and
    /// publishes the status. Called before any node is initialised.
    ///
    /// WHY the status: the last one that other processes find is that of the previous run, whose
    /// nodes have ended.
    pub(crate) fn record_start(&mut self) {
        self.record_event(NodeEvent::SCHEDULER_STARTED, "", 0, self.endpoints.name());
        let now_ns = Clock::kernel().now_ns();
        self.poll_emergency_stop(now_ns);
        // WHY before the status: other processes send commands once they see it.
        self.prepare_new_topic_files();
        self.publish_status(now_ns);
    }

    /// Watches the nodes, applies commands and publishes the status, until all nodes have been shut
    /// down.
    pub(crate) fn run(mut self) {
        // WHY: the reader of stderr must not keep this thread from watching the nodes.
        set_real_time_thread(true);
        let clock = Clock::kernel();
        let (mut status_ns, mut topics_ns, mut reopen_ns, mut prepare_ns) = (0, 0, 0, 0);
        let mut wake = self.endpoints.supervisor_wait_set();
        while !self.shared.are_all_nodes_shut_down() {
            let now_ns = clock.now_ns();
            if let Some(signal) = self.signals.upgrade().and_then(|all| all.received_signal()) {
                self.shared.stop(StopReason::Signal(signal));
            }
            self.safe_state_wait_left = SAFE_STATE_RESULT_WAIT_MAX;
            self.check_nodes(now_ns);
            self.check_subscribers();
            if now_ns >= topics_ns {
                topics_ns = now_ns.saturating_add(TOPICS_CHECK_PERIOD_NS);
                self.topics
                    .iter_mut()
                    .for_each(LostWakeCheck::wake_for_messages);
            }
            if now_ns >= reopen_ns && self.endpoints.has_lost_topics() {
                reopen_ns = now_ns.saturating_add(REOPEN_PERIOD_NS);
                self.reopen_lost_topics(&mut wake);
            }
            self.make_left_behind_nodes_safe();
            self.poll_safe_state_results();
            let is_last_look = self.shared.is_final_emergency_check_requested();
            self.poll_emergency_stop(now_ns);
            if now_ns >= prepare_ns {
                prepare_ns = now_ns.saturating_add(REOPEN_PERIOD_NS);
                self.prepare_new_topic_files();
            }
            if is_last_look {
                self.shared.finish_final_emergency_check();
            }
            self.check_compute_pool(now_ns);
            self.check_safe_states(now_ns);
            self.check_groups(now_ns);
            self.poll_commands(now_ns);
            self.report_events();
            self.printer.start_thread_if_needed();
            for warning in take_queued_warnings() {
                self.printer.print_warning(format_args!("{warning}"));
            }
            if now_ns >= status_ns {
                status_ns = now_ns.saturating_add(STATUS_PUBLISH_PERIOD_NS);
                self.publish_status(now_ns);
            }
            let sleep_ns = self.time_to_next_check_ns(now_ns, clock.now_ns());
            self.endpoints
                .wait_for_messages(&mut wake, Duration::from_nanos(sleep_ns));
        }
        // WHY again: the thread that ends the run may have left nodes behind after the last round.
        self.safe_state_wait_left = SAFE_STATE_RESULT_WAIT_MAX;
        self.make_left_behind_nodes_safe();
        self.record_unfinished_safe_states();
        self.record_event(
            NodeEvent::SCHEDULER_STOPPED,
            "",
            0,
            &self.stop_reason_text(),
        );
        self.report_events();
        self.publish_status(clock.now_ns());
    }

    /// Returns the time, in nanoseconds, to sleep until the next check. The last check was at
    /// `checked_ns`.
    fn time_to_next_check_ns(&self, checked_ns: u64, now_ns: u64) -> u64 {
        // WHY not from the stop on: the thread that ends the run may come much later.
        if self.shared.is_shutting_down() {
            return SHUTDOWN_CHECK_PERIOD_NS;
        }
        let checks = self.nodes.iter().map(|node| node.next_check_ns(checked_ns));
        let is_entering_safe_state = self.groups.iter().any(WatchedGroup::is_entering_safe_state);
        let period_ns = if is_entering_safe_state {
            SAFE_STATE_CHECK_PERIOD_NS
        } else {
            NODE_CHECK_PERIOD_NS
        };
        let next_ns = checks.fold(checked_ns.saturating_add(period_ns), u64::min);
        next_ns.saturating_sub(now_ns)
    }

    /// Opens topics of commands and emergency stops again whose memory was lost. `wake` has the
    /// topics whose messages wake the supervisor. WHY it is made again: it would keep the lost
    /// files open, and would not sleep because of them.
    fn reopen_lost_topics(&mut self, wake: &mut WaitSet) {
        *wake = WaitSet::new();
        let events = self.endpoints.reopen_lost_topics();
        events.for_each(|event| self.record_event(event.kind, "", 0, event.text.as_str()));
        *wake = self.endpoints.supervisor_wait_set();
    }

    fn stop_reason_text(&self) -> String {
        match self.shared.stop_reason() {
            Some(StopReason::Node { name, error }) => format!("because of {name}: {error}"),
            Some(StopReason::Signal(signal)) => format!("by signal {signal}"),
            Some(StopReason::DurationElapsed) => "its time is over, or it was ended".to_owned(),
            Some(StopReason::Requested) | None => "a stop was requested".to_owned(),
        }
    }

    pub(super) fn record_event(&self, kind: u8, node: &str, value_ns: u64, text: &str) {
        let event = NodeEvent::new(kind, node, Clock::kernel().now_ns());
        self.recorder
            .record(event.with_value_ns(value_ns).with_text(text));
    }

    /// Checks all nodes. Reports ticks that have become stuck, and stuck ticks that have ended
    /// since the last check.
    fn check_nodes(&mut self, now_ns: u64) {
        for index in 0..self.nodes.len() {
            let Some(news) = self.nodes[index].check_tick(now_ns) else {
                continue;
            };
            let name = self.nodes[index].name().to_owned();
            match news {
                // WHY no event except that of the safe state: the event of the panic follows.
                TickFinding::PanicHookHangs => self.call_safe_state_callback(index),
                TickFinding::Stuck {
                    busy_ns,
                    checkpoint,
                    left_out,
                } => {
                    if let Some(left_out) = left_out {
                        let text = text_with_left_out_count(&checkpoint, left_out);
                        self.record_event(NodeEvent::STUCK, &name, busy_ns, text.as_str());
                    }
                    self.call_safe_state_callback(index);
                }
                TickFinding::Recovered { busy_ns } => {
                    self.record_event(NodeEvent::RECOVERED, &name, busy_ns, "");
                }
                TickFinding::GivenUp {
                    busy_ns,
                    checkpoint,
                } => {
                    let busy = Duration::from_nanos(busy_ns);
                    let checkpoint = if checkpoint.is_empty() {
                        checkpoint
                    } else {
                        format!(", {checkpoint}")
                    };
                    let error = format!("a tick has lasted {busy:?} and does not end{checkpoint}");
                    self.shared.stop(StopReason::Node { name, error });
                }
            }
        }
    }

    /// Starts another thread for compute nodes if none of theirs is free, because nodes hang, or
    /// because other nodes have to be made safe. Records an event if that fails.
    fn check_compute_pool(&mut self, now_ns: u64) {
        // WHY: from then on, the thread that ends the run makes the nodes safe that wait.
        if self.shared.is_shutting_down() {
            return;
        }
        let has_run_failed = self.shared.is_stopping() && self.shared.has_failed();
        let demanded_ns = self.safety_demanded_ns.unwrap_or(now_ns);
        let is_demanded = self.is_emergency || has_run_failed;
        self.safety_demanded_ns = is_demanded.then_some(demanded_ns);
        let check = PoolCheck {
            hangs: &|metrics| {
                self.nodes
                    .iter()
                    .any(|node| node.owns_metrics_and_hangs(metrics))
            },
            demands_safety: now_ns.saturating_sub(demanded_ns) >= POOL_SAFE_STATE_NS_MAX,
            has_run_failed,
        };
        let outcome = self.shared.check_compute_pool(&check);
        let lacked = std::mem::replace(&mut self.lacks_compute_thread, outcome.is_err());
        if let Err(error) = outcome
            && !lacked
        {
            let text = format!("compute nodes wait, because no thread can be started: {error}");
            self.record_event(NodeEvent::FAILED, "", 0, &text);
        }
    }

    fn check_groups(&mut self, now_ns: u64) {
        for group in &mut self.groups {
            let events = group.check_activations(now_ns).into_iter();
            let events = events.chain(group.check_safe_states(now_ns));
            events.for_each(|event| self.recorder.record(event));
        }
    }

    /// Records a failure if some nodes are not in their safe state [`SAFE_STATE_ENTRY_NS_MAX`]
    /// nanoseconds after an emergency stop has begun.
    fn check_safe_states(&mut self, now_ns: u64) {
        // WHY: the nodes are shut down, after their safe states.
        if self.shared.is_shutting_down() {
            return;
        }
        let is_due =
            |began_ns: &mut u64| now_ns.saturating_sub(*began_ns) >= SAFE_STATE_ENTRY_NS_MAX;
        let Some(began_ns) = self.unchecked_stop_ns.take_if(is_due) else {
            return;
        };
        let nodes = self.nodes.iter().filter(|node| !node.is_group());
        let missing = nodes.clone().filter(|node| !node.is_safe());
        let missing: Vec<_> = missing.map(WatchedNode::name).collect();
        if missing.is_empty() {
            return;
        }
        let text = format!(
            "{} of {} nodes are not in their safe state: {}",
            missing.len(),
            nodes.count(),
            missing[..missing.len().min(NAMES_PER_EVENT_MAX)].join(", ")
        );
        let lasted_ns = now_ns.saturating_sub(began_ns);
        self.record_event(NodeEvent::FAILED, "", lasted_ns, &text);
    }

    /// Records an event for each subscriber of a node whose state has changed since the last check.
    /// `Subscription::next_change` lists the events.
    ///
    /// WHY the supervisor does this: the thread of a node would have to check in every tick
    /// something that hardly ever changes.
    fn check_subscribers(&mut self) {
        let events = self
            .nodes
            .iter_mut()
            .flat_map(WatchedNode::check_subscribers);
        events.for_each(|event| self.recorder.record(event));
        let events = self.endpoints.control_topic_changes();
        events.for_each(|event| self.record_event(event.kind, "", 0, event.text.as_str()));
    }

    /// Calls the safe-state callback of each node whose last tick has not ended although the run
    /// ends.
    fn make_left_behind_nodes_safe(&mut self) {
        for name in self.shared.take_hanging_nodes() {
            let is_meant = |node: &WatchedNode| node.name() == name;
            if let Some(index) = self.nodes.iter().position(is_meant) {
                self.call_safe_state_callback(index);
            }
        }
    }

    /// Calls the safe-state callback of the node `node_index`, which hangs, at most once for each
    /// of its ticks.
    fn call_safe_state_callback(&mut self, node_index: usize) {
        if !self.nodes[node_index].claim_safe_state_callback() {
            return;
        }
        // WHY: the result of the last call may have arrived.
        self.poll_safe_state_result(node_index, Duration::ZERO);
        if self.nodes[node_index].safe_state_result.take().is_some() {
            let text = "safe_state was called again before it had returned";
            self.record_safe_state_callback_event(node_index, NodeEvent::FAILED, text);
        }
        let Some(enter) = &mut self.nodes[node_index].safe_state else {
            return;
        };
        let begun = match enter {
            SafeStateCallback::OnSupervisor(enter) => catch_panic(enter).map(|()| None),
            SafeStateCallback::OnOtherThread(begin) => catch_panic(begin).map(Some),
        };
        match begun {
            Ok(None) => {
                self.record_safe_state_callback_event(node_index, NodeEvent::SAFE_STATE_ENTERED, "")
            }
            Ok(safe_state_result) => {
                self.nodes[node_index].safe_state_result = safe_state_result;
                // WHY not the whole time for each node: many nodes may hang at once, and neither
                // the other nodes nor an emergency stop may wait until all of them are safe.
                let began = Instant::now();
                self.poll_safe_state_result(node_index, self.safe_state_wait_left);
                let left = self.safe_state_wait_left.saturating_sub(began.elapsed());
                self.safe_state_wait_left = left;
            }
            Err(panic) => {
                let error = format!("panicked in safe_state: {panic}");
                self.record_safe_state_callback_event(node_index, NodeEvent::PANICKED, &error);
            }
        }
    }

    /// Records an event about the safe-state callback of the node `node_index`, but at most ten of
    /// the same kind in a second.
    fn record_safe_state_callback_event(&mut self, node_index: usize, kind: u8, text: &str) {
        let node = &mut self.nodes[node_index];
        let call = Some(UserCall::EnterSafeState);
        let admitted =
            node.event_limit
                .take_left_out_count_if_due(kind, call, Clock::kernel().now_ns());
        if let Some(left_out) = admitted {
            let name = node.name().to_owned();
            let text = text_with_left_out_count(text, left_out);
            self.record_event(kind, &name, 0, text.as_str());
        }
    }

    /// Records the results of safe-state callbacks that run on other threads, if the results have
    /// arrived. Does not wait.
    fn poll_safe_state_results(&mut self) {
        for index in 0..self.nodes.len() {
            self.poll_safe_state_result(index, Duration::ZERO);
        }
    }

    /// Records the result of the safe-state callback of the node `node_index`, if one is expected.
    /// Waits at most for `timeout` until it arrives.
    fn poll_safe_state_result(&mut self, node_index: usize, timeout: Duration) {
        let Some(safe_state_result) = &self.nodes[node_index].safe_state_result else {
            return;
        };
        let outcome = match safe_state_result.recv_timeout(timeout) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => Err("its thread ended".to_owned()),
        };
        self.nodes[node_index].safe_state_result = None;
        match outcome {
            Ok(()) => {
                self.record_safe_state_callback_event(node_index, NodeEvent::SAFE_STATE_ENTERED, "")
            }
            Err(error) => {
                let text = format!("safe_state failed: {error}");
                self.record_safe_state_callback_event(node_index, NodeEvent::FAILED, &text);
            }
        }
    }

    /// At the end of the run, records the last results of safe-state callbacks that run on other
    /// threads, and a failure for each callback that has not returned.
    fn record_unfinished_safe_states(&mut self) {
        self.poll_safe_state_results();
        for node in self
            .nodes
            .iter()
            .filter(|node| node.safe_state_result.is_some())
        {
            let text = "safe_state had not returned when the run ended";
            self.record_event(NodeEvent::FAILED, node.name(), 0, text);
        }
    }

    /// Reads the new events of the black box. Passes them to the user's callback, and adds them to
    /// the status of the nodes, which is published later. If events were overwritten before this
    /// call, records an event with their number.
    fn report_events(&mut self) {
        let lost = self.endpoints.take_lost_event_count();
        if lost > 0 {
            let text = format!("{lost} events were overwritten before they were reported");
            self.record_event(NodeEvent::FAILED, "", 0, &text);
        }
        let Self {
            endpoints,
            nodes,
            on_event,
            printer,
            ..
        } = self;
        for _ in 0..EVENTS_PER_CHECK_MAX {
            let Some(event) = endpoints.events().recv() else {
                break;
            };
            let node = nodes.iter_mut().find(|node| event.node == *node.name());
            node.into_iter().for_each(|node| node.record_event(&event));
            let Some(callback) = on_event else {
                print_unless_ok(&event, printer);
                continue;
            };
            if catch_panic(|| callback(&event)).is_err() {
                // WHY it is not called again: the panic hook has reported the panic, and the
                // callback may be broken. Later events are printed instead.
                drop_and_catch_panic(on_event.take());
            }
        }
    }

    /// Publishes the status of the scheduler and all its nodes.
    pub(super) fn publish_status(&mut self, now_ns: u64) {
        let state = match self.shared.stop_reason() {
            _ if self.shared.are_all_nodes_shut_down() => SchedulerStatusHeader::STATE_STOPPED,
            Some(_) => SchedulerStatusHeader::STATE_STOPPING,
            None if self.is_emergency => SchedulerStatusHeader::STATE_EMERGENCY_STOP,
            None => SchedulerStatusHeader::STATE_RUNNING,
        };
        let nodes = self.nodes.iter().map(WatchedNode::metrics);
        // WHY ignored: the next status follows soon.
        let _ = self.endpoints.publish_status(state, now_ns, nodes);
    }
}
