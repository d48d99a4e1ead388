//! The supervisor: a thread that watches the nodes, publishes their status, and applies commands.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Weak};
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::internals::termination::TerminationSignals;

use crate::message::{EmergencyStop, NodeCommand, NodeEvent, SchedulerStatusHeader};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::Reason;
use crate::scheduler::api::safe_state::SafeState;
use crate::scheduler::remote::monitor::Monitor;
use crate::scheduler::remote::recorder::Recorder;
use crate::scheduler::run::caught::{caught, dropped};
use crate::scheduler::run::handle::{CommandError, Handle};
use crate::scheduler::run::shared::Shared;
use crate::scheduler::watch::watched_node::{Finding, WatchedNode};
use crate::topic::WaitSet;

/// The callback for events.
pub(crate) type EventSink = Box<dyn FnMut(&NodeEvent) + Send>;

/// The longest time between two looks. The supervisor also looks when a tick exceeds its limit.
const PERIOD_NS: u64 = 10_000_000;
/// The time between two looks while the run stops.
const LAST_NS: u64 = 500_000;
/// The period of the status.
const STATUS_PERIOD_NS: u64 = 100_000_000;
/// The longest wait for a safe state that another thread enters, before the supervisor goes on to
/// watch the other nodes.
const HANDOVER: Duration = Duration::from_millis(20);
/// The most commands, or events, that are handled at once.
const BURST: usize = 1024;

/// The state of the supervisor.
pub(crate) struct Supervisor {
    pub(crate) nodes: Vec<WatchedNode>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: Handle,
    pub(crate) monitor: Monitor,
    pub(crate) recorder: Recorder,
    /// Weak: the run owns them, and restores the old handlers also if this thread hangs.
    pub(crate) signals: Weak<TerminationSignals>,
    pub(crate) on_event: EventSink,
    pub(crate) is_emergency: bool,
}

impl Supervisor {
    /// Prepares for the first node: an emergency stop that is already engaged takes effect.
    pub(crate) fn begin(&mut self) {
        self.record(NodeEvent::SCHEDULER_STARTED, "", 0, self.monitor.name());
        self.poll_emergency_stop(Clock::kernel().now_ns());
    }

    /// Watches until all nodes are shut down.
    pub(crate) fn run(mut self) {
        let (clock, mut status_ns) = (Clock::kernel(), 0);
        let mut wake = self.wake_set();
        while !self.shared.has_ended() {
            let now_ns = clock.now_ns();
            if let Some(signal) = self.signals.upgrade().and_then(|all| all.received()) {
                self.shared.stop(Reason::Signal(signal));
            }
            self.watch(now_ns);
            self.look_at_subscribers();
            self.secure_left_behind();
            self.poll_safe_states(Duration::ZERO);
            self.poll_emergency_stop(now_ns);
            self.poll_commands(now_ns);
            self.report_events();
            if now_ns >= status_ns {
                status_ns = now_ns.saturating_add(STATUS_PERIOD_NS);
                self.show(now_ns);
            }
            // WHY a failed wait is ignored: it fails in a forked child only.
            let nap_ns = self.nap_ns(now_ns, clock.now_ns());
            let _ = wake.wait(Duration::from_nanos(nap_ns));
        }
        // WHY again: the thread that ends the run does not wait for a look.
        self.secure_left_behind();
        self.end_safe_states();
        self.record(NodeEvent::SCHEDULER_STOPPED, "", 0, &self.stop_text());
        self.report_events();
        self.show(clock.now_ns());
    }

    /// Returns the time to sleep, after a look at `look_ns`.
    fn nap_ns(&self, look_ns: u64, now_ns: u64) -> u64 {
        if self.shared.is_stopping() {
            return LAST_NS;
        }
        let looks = self.nodes.iter().map(|node| node.next_look_ns(look_ns));
        let next_ns = looks.fold(look_ns.saturating_add(PERIOD_NS), u64::min);
        next_ns.saturating_sub(now_ns)
    }

    /// Returns the topics that wake it before its period is over. WHY not the events: they can wait
    /// that long.
    fn wake_set(&mut self) -> WaitSet {
        let mut wake = WaitSet::new();
        wake.set_spin(Duration::ZERO);
        // Cannot fail: a set has room for more than two.
        let _ = (wake.add(self.monitor.commands()), wake.add(self.monitor.emergency_stop()));
        wake
    }

    fn stop_text(&self) -> String {
        match self.shared.reason() {
            Some(Reason::Node { name, error }) => format!("because of {name}: {error}"),
            Some(Reason::Signal(signal)) => format!("by signal {signal}"),
            Some(Reason::Over) => "its time is over".to_owned(),
            Some(Reason::Asked) | None => "a stop was requested".to_owned(),
        }
    }

    fn record(&self, kind: u8, node: &str, value_ns: u64, text: &str) {
        let event = NodeEvent::new(kind, node, Clock::kernel().now_ns());
        self.recorder.record(event.with_value_ns(value_ns).with_text(text));
    }

    /// Looks for ticks that do not end, and for those that ended after all.
    fn watch(&mut self, now_ns: u64) {
        for index in 0..self.nodes.len() {
            let Some(news) = self.nodes[index].look(now_ns) else { continue };
            let name = self.nodes[index].name().to_owned();
            match news {
                // WHY no event except that of the safe state: the event of the panic follows.
                Finding::Unsafe => self.make_safe(index, &name),
                Finding::Stuck { busy_ns, place } => {
                    self.record(NodeEvent::STUCK, &name, busy_ns, &place);
                    self.make_safe(index, &name);
                }
                Finding::Recovered { busy_ns } => {
                    self.record(NodeEvent::RECOVERED, &name, busy_ns, "");
                }
                Finding::Hopeless { busy_ns, place } => {
                    let busy = Duration::from_nanos(busy_ns);
                    let place = if place.is_empty() { place } else { format!(", {place}") };
                    let error = format!("a tick has lasted {busy:?} and does not end{place}");
                    self.shared.stop(Reason::Node { name, error });
                }
            }
        }
    }

    /// Records subscribers that have come to miss a publisher since the last look, or miss none any
    /// more.
    ///
    /// WHY here: a node's own thread would check in every tick what hardly ever changes.
    fn look_at_subscribers(&mut self) {
        let events = self.nodes.iter_mut().flat_map(WatchedNode::look_at_subscribers);
        events.for_each(|event| self.recorder.record(event));
    }

    /// Brings nodes into their safe states whose last tick does not end.
    fn secure_left_behind(&mut self) {
        for name in self.shared.take_left_behind() {
            let is_meant = |node: &WatchedNode| node.name() == name;
            if let Some(index) = self.nodes.iter().position(is_meant) {
                self.make_safe(index, &name);
            }
        }
    }

    /// Calls the safe-state callback of a node that hangs, unless that was done in this tick.
    fn make_safe(&mut self, index: usize, name: &str) {
        if !self.nodes[index].is_to_be_made_safe() {
            return;
        }
        let Some(enter) = &mut self.nodes[index].safe_state else { return };
        let begun = match enter {
            SafeState::Here(enter) => caught(enter).map(|()| None),
            SafeState::Elsewhere(begin) => caught(begin).map(Some),
        };
        match begun {
            Ok(None) => self.record(NodeEvent::SAFE_STATE_ENTERED, name, 0, ""),
            Ok(entering) => {
                self.nodes[index].entering = entering;
                self.poll_safe_states(HANDOVER);
            }
            Err(panic) => {
                let error = format!("panicked in safe_state: {panic}");
                self.record(NodeEvent::PANICKED, name, 0, &error);
            }
        }
    }

    /// Records the results of safe states that other threads enter.
    fn poll_safe_states(&mut self, timeout: Duration) {
        for index in 0..self.nodes.len() {
            let Some(entering) = &self.nodes[index].entering else { continue };
            let outcome = match entering.recv_timeout(timeout) {
                Ok(outcome) => outcome,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => Err("its thread ended".to_owned()),
            };
            self.nodes[index].entering = None;
            let name = self.nodes[index].name();
            match outcome {
                Ok(()) => self.record(NodeEvent::SAFE_STATE_ENTERED, name, 0, ""),
                Err(error) => {
                    let text = format!("safe_state failed: {error}");
                    self.record(NodeEvent::FAILED, name, 0, &text);
                }
            }
        }
    }

    /// Records the remaining results when the run has ended, and those that are missing.
    fn end_safe_states(&mut self) {
        self.poll_safe_states(Duration::ZERO);
        for node in self.nodes.iter().filter(|node| node.entering.is_some()) {
            let text = "safe_state had not returned when the run ended";
            self.record(NodeEvent::FAILED, node.name(), 0, text);
        }
    }

    fn poll_emergency_stop(&mut self, now_ns: u64) {
        // WHY the last one only: only the present state of the stop matters.
        let Some(stop) = self.monitor.emergency_stop().latest() else { return };
        let is_engaged = stop.is_engaged();
        if std::mem::replace(&mut self.is_emergency, is_engaged) == is_engaged {
            return;
        }
        for entry in self.shared.node_entries().iter() {
            entry.commands.want(|wanted| wanted.is_emergency = is_engaged);
        }
        let EmergencyStop { source, reason, .. } = stop;
        let kind = if is_engaged { NodeEvent::EMERGENCY_STOP } else { NodeEvent::EMERGENCY_OVER };
        self.record(kind, "", 0, &format!("by {source}: {reason}"));
        self.show(now_ns);
    }

    fn poll_commands(&mut self, now_ns: u64) {
        let mut has_command = false;
        for _ in 0..BURST {
            let Some(command) = self.monitor.commands().recv() else { break };
            has_command = true;
            if let Err(error) = self.apply(&command) {
                self.record(
                    NodeEvent::COMMAND,
                    command.node.as_str(),
                    0,
                    &format!("{command}: {error}"),
                );
            }
        }
        if has_command {
            self.show(now_ns);
        }
    }

    fn apply(&self, command: &NodeCommand) -> Result<(), String> {
        let each = |act: &dyn Fn(&str) -> Result<(), CommandError>| {
            let nodes = match command.node.as_str() {
                "" => self.handle.nodes(),
                node => vec![node.to_owned()],
            };
            let outcomes: Vec<_> = nodes.iter().map(|node| act(node)).collect();
            outcomes.into_iter().collect::<Result<(), _>>().map_err(|error| error.to_string())
        };
        match command.kind {
            NodeCommand::PAUSE => each(&|node| self.handle.pause(node)),
            NodeCommand::RESUME => each(&|node| self.handle.resume(node)),
            NodeCommand::STOP => each(&|node| self.handle.stop_node(node)),
            NodeCommand::SET_RATE => {
                each(&|node| self.handle.set_rate(node, Rate::hz(command.rate_hz)))
            }
            NodeCommand::STOP_SCHEDULER => {
                self.handle.stop();
                Ok(())
            }
            kind => Err(format!("unknown command {kind}")),
        }
    }

    /// Passes new events of the black box to the callback.
    fn report_events(&mut self) {
        let Self { monitor, nodes, on_event, .. } = self;
        for _ in 0..BURST {
            let Some(event) = monitor.events().recv() else { break };
            let node = nodes.iter_mut().find(|node| event.node == *node.name());
            node.into_iter().for_each(|node| node.note_event(&event));
            if caught(|| on_event(&event)).is_err() {
                // It is not called again: the panic has been reported.
                dropped(std::mem::replace(on_event, Box::new(|_| {})));
            }
        }
    }

    /// Publishes the status of all nodes.
    fn show(&mut self, now_ns: u64) {
        let state = match self.shared.reason() {
            _ if self.shared.has_ended() => SchedulerStatusHeader::STATE_STOPPED,
            Some(_) => SchedulerStatusHeader::STATE_STOPPING,
            None if self.is_emergency => SchedulerStatusHeader::STATE_EMERGENCY_STOP,
            None => SchedulerStatusHeader::STATE_RUNNING,
        };
        let nodes = self.nodes.iter().map(WatchedNode::metrics);
        // WHY ignored: a status that cannot be sent is followed by another.
        let _ = self.monitor.publish(state, now_ns, nodes);
    }
}
