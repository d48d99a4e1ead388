//! The command `horus blackbox`: prints the events of a scheduler, even of one that has died.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::message::{DiagnosticStatus, NodeEvent, Text};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{black_box, schedulers};
use serde::Serialize;

use crate::cli::{parse_number, parse_seconds};
use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::{find_replacement_namespace, replacement_namespace_note};
use crate::output::Tone;
use crate::output::format::{date_time, visible};
use crate::output::nearest;
use crate::scheduler::liveness::Liveness;
use crate::scheduler::{open_namespace_of_scheduler, unknown_scheduler};
use crate::since::Since;

/// Time between two checks of the black box for new events.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// The kinds of events. For each kind: the number that a black box stores, and the name that the
/// option `--kind` accepts.
const EVENT_KINDS: [(u8, &str); 30] = [
    (NodeEvent::STARTED, "started"),
    (NodeEvent::FINISHED, "finished"),
    (NodeEvent::FAILED, "failed"),
    (NodeEvent::PANICKED, "panicked"),
    (NodeEvent::MISSED, "missed"),
    (NodeEvent::STUCK, "stuck"),
    (NodeEvent::RECOVERED, "recovered"),
    (NodeEvent::SAFE_STATE_ENTERED, "safe_state_entered"),
    (NodeEvent::SAFE_STATE_LEFT, "safe_state_left"),
    (NodeEvent::PAUSED, "paused"),
    (NodeEvent::RESUMED, "resumed"),
    (NodeEvent::STOPPED, "stopped"),
    (NodeEvent::RATE_CHANGED, "rate_changed"),
    (NodeEvent::SWAPPED, "swapped"),
    (NodeEvent::SWAP_FAILED, "swap_failed"),
    (NodeEvent::STALE_INPUT, "stale_input"),
    (NodeEvent::FRESH_INPUT, "fresh_input"),
    (NodeEvent::CHECKPOINT, "checkpoint"),
    (NodeEvent::EMERGENCY_STOP, "emergency_stop"),
    (NodeEvent::EMERGENCY_OVER, "emergency_over"),
    (NodeEvent::REFUSED, "refused"),
    (NodeEvent::COMMAND, "command"),
    (NodeEvent::SCHEDULER_STARTED, "scheduler_started"),
    (NodeEvent::SCHEDULER_STOPPED, "scheduler_stopped"),
    (NodeEvent::LANE_NOT_MAPPED, "lane_not_mapped"),
    (NodeEvent::LANE_MAPPED, "lane_mapped"),
    (NodeEvent::INCOMPATIBLE, "incompatible"),
    (NodeEvent::COMPATIBLE, "compatible"),
    (NodeEvent::TOPIC_MOVED, "topic_moved"),
    (NodeEvent::NAMESPACE_REMOVED, "namespace_removed"),
];

/// Show the events of a scheduler, also after it has died
///
/// Prints the events of its last run, oldest first: starts, failures, misses,
/// commands. They are kept in shared memory, even after kill -9. A note says so
/// if its process ended without shutting it down. Misses are ticks that ended too
/// late, took too long or began too soon, and inputs that were too old.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the scheduler
    scheduler: String,
    /// Continue with new events, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only events of the last S seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    since: Option<Duration>,
    /// Begin with the last N matching events
    #[arg(short = 'n', value_name = "N", value_parser = parse_number::<usize>)]
    number: Option<usize>,
    /// Only events of this node
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Only events of this kind, such as missed or failed
    #[arg(long, value_name = "KIND", value_parser = parse_event_kind)]
    kind: Option<u8>,
    /// Also events of earlier runs
    #[arg(long)]
    all_runs: bool,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Event {
    pub(crate) timestamp_ns: u64,
    monotonic_ns: u64,
    process_id: u32,
    node: String,
    kind: &'static str,
    level: &'static str,
    tick: u64,
    value_ns: u64,
    text: String,
}

impl Event {
    pub(crate) fn new(event: &NodeEvent) -> Self {
        let kind = EVENT_KINDS.iter().find(|(kind, _)| *kind == event.kind);
        Self {
            timestamp_ns: event.timestamp_ns,
            monotonic_ns: event.monotonic_ns,
            process_id: event.process_id,
            node: event.node.to_string(),
            kind: kind.map_or("unknown", |(_, name)| name),
            level: event_level_name(event.level),
            tick: event.tick,
            value_ns: event.value_ns,
            text: event.text.to_string(),
        }
    }
}

/// Returns the number of the event kind named `name`. Returns an error text if there is no kind
/// with that name.
fn parse_event_kind(name: &str) -> Result<u8, String> {
    let found = EVENT_KINDS.iter().find(|(_, known)| *known == name);
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let names = EVENT_KINDS.map(|(_, name)| name).join(", ");
        format!("the kinds are: {names}")
    })
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = &arguments.scheduler;
    let mut namespace = open_namespace_of_scheduler(context, name)?;
    if arguments.follow {
        context.stop.catch_next_signal();
    }
    let deadline = context.deadline();
    let since = Since::new(arguments.since);
    let mut news = NewEventFilter::default();
    let mut skips_earlier_runs = !arguments.all_runs;
    let mut last = arguments.number;
    let (mut printed, mut is_first_read, mut has_moved) = (0, true, false);
    let events = read_events(&namespace, name)?;
    if let Some(node) = &arguments.node {
        check_node_is_known(&namespace, name, node, &events)?;
    }
    let mut events = Some(events);
    loop {
        let events = match events.take() {
            Some(events) => events,
            None => match read_events(&namespace, name) {
                // The scheduler has not started there yet.
                Err(failure) if has_moved && failure.is_not_found() => Vec::new(),
                // What is read from a removed namespace shows nothing.
                Err(_) if !namespace.is_current() => Vec::new(),
                read => read?,
            },
        };
        let mut events = news.take_new_events(events);
        if std::mem::take(&mut skips_earlier_runs) {
            let is_start = |event: &NodeEvent| event.kind == NodeEvent::SCHEDULER_STARTED;
            let begin = events.iter().rposition(is_start).unwrap_or(0);
            events.drain(..begin);
        }
        events.retain(|event| is_selected_event(arguments, since, event));
        // WHY only once: with `--follow`, all later events are shown.
        let surplus = last
            .take()
            .map_or(0, |last| events.len().saturating_sub(last));
        for event in &events[surplus..] {
            print_event(event, context)?;
        }
        printed += events.len();
        context.out.flush()?;
        if !arguments.follow && printed == 0 {
            let runs = match arguments.all_runs {
                true => "",
                false => " in the last run: --all-runs shows those of earlier ones, too",
            };
            context.print_note(format_args!("{name}: no such events{runs}"));
        }
        if std::mem::take(&mut is_first_read) {
            report_scheduler_death(&namespace, name, context);
        }
        let due = deadline.or_earlier(Instant::now() + POLL_PERIOD);
        if !arguments.follow || deadline.is_over() || !context.stop.sleep_until(due) {
            return Ok(());
        }
        if let Some(other) = find_replacement_namespace(&namespace)? {
            context.print_note(replacement_namespace_note(&other));
            namespace = other;
            has_moved = true;
        }
    }
}

/// Prints a note if the process of the scheduler has ended without shutting it down. WHY: a process
/// that is killed records no event.
fn report_scheduler_death(namespace: &Arc<Namespace>, name: &str, context: &Context) {
    // WHY the error is ignored: the events are printed already, and nothing else was asked for.
    let all = schedulers(namespace).unwrap_or_default();
    let scheduler = all.iter().find(|scheduler| scheduler.name == name);
    let dead = scheduler.filter(|scheduler| Liveness::of(scheduler) == Liveness::Dead);
    if let Some(scheduler) = dead {
        let process = scheduler.process_id.map(|pid| format!(" {pid}"));
        context.print_note(format_args!(
            "{}: its process{} ended after these events without shutting it down: it was killed, \
             or it crashed",
            visible(name),
            process.unwrap_or_default()
        ));
    }
}

/// Reads the events in the black box of the scheduler with the name `name`.
///
/// WHY each call opens the black box again: while it is open, `horus scheduler forget` fails.
fn read_events(namespace: &Arc<Namespace>, name: &str) -> Result<Vec<NodeEvent>, Failure> {
    black_box(namespace, name).map_err(|error| {
        let failure = Failure::from_topic_error(&error);
        if failure.is_not_found() {
            return unknown_scheduler(namespace, name);
        }
        failure
    })
}

/// Returns a failure if the scheduler `name` has no node `wanted`, and had none in earlier runs:
/// none of `events` is of that node. `events` must be all events in the black box.
fn check_node_is_known(
    namespace: &Arc<Namespace>,
    name: &str,
    wanted: &str,
    events: &[NodeEvent],
) -> Result<(), Failure> {
    let all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let scheduler = all.iter().find(|scheduler| scheduler.name == name);
    let nodes = scheduler.map_or(&[][..], |scheduler| &scheduler.nodes);
    // Without a status, the nodes are unknown.
    if nodes.is_empty() || events.iter().any(|event| event.node == *wanted) {
        return Ok(());
    }
    let names: Vec<String> = nodes.iter().map(|node| node.name.to_string()).collect();
    if names.iter().any(|known| known == wanted) {
        return Ok(());
    }
    let near = nearest::suggestion_text(wanted, &names);
    Err(Failure::not_found(format_args!(
        "no node '{wanted}' in scheduler '{name}'.{near}"
    )))
}

/// A filter that finds the events which were added to a black box since the last read of it.
#[derive(Debug, Default)]
pub(crate) struct NewEventFilter {
    known: HashSet<(u64, u32, u8, Text<64>, Text<128>)>,
}

impl NewEventFilter {
    /// Returns those of `events` that no earlier call has returned. `events` must be all events
    /// that are now in the black box.
    pub(crate) fn take_new_events(&mut self, mut events: Vec<NodeEvent>) -> Vec<NodeEvent> {
        let key = |event: &NodeEvent| {
            let NodeEvent {
                monotonic_ns,
                process_id,
                kind,
                node,
                text,
                ..
            } = *event;
            (monotonic_ns, process_id, kind, node, text)
        };
        let now = events.iter().map(key).collect();
        events.retain(|event| !self.known.contains(&key(event)));
        self.known = now;
        events
    }
}

fn is_selected_event(arguments: &Arguments, since: Since, event: &NodeEvent) -> bool {
    arguments
        .node
        .as_ref()
        .is_none_or(|node| event.node == **node)
        && arguments.kind.is_none_or(|kind| event.kind == kind)
        && since.selects(event.timestamp_ns, event.monotonic_ns)
}

fn print_event(event: &NodeEvent, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.write_json(Event::new(event));
    }
    let text = context
        .out
        .paint(event_tone(event), &visible(&event.to_string()));
    context
        .out
        .write_line(format_args!("{} {text}", date_time(event.timestamp_ns)))
}

/// Returns the tone of an event. The tone selects the colour in which the event is printed.
pub(crate) const fn event_tone(event: &NodeEvent) -> Tone {
    match event.level {
        DiagnosticStatus::OK => Tone::Plain,
        DiagnosticStatus::ERROR => Tone::Bad,
        _ => Tone::Waiting,
    }
}

const fn event_level_name(level: u8) -> &'static str {
    match level {
        DiagnosticStatus::OK => "ok",
        DiagnosticStatus::WARN => "warn",
        DiagnosticStatus::ERROR => "error",
        DiagnosticStatus::STALE => "stale",
        _ => "unknown",
    }
}
