//! `horus graph`: which processes send messages to which, by their topics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::introspect::{Participant, topics};
use serde::Serialize;

use crate::cli::seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, rate, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::topic::meter::{Meter, per_second};
use crate::topic::select::is_internal;

/// Show which processes send messages to which, with rates and losses
///
/// Each line is a publisher, a topic and a subscriber. Make a picture with
/// `horus graph --dot | dot -Tsvg`, or put the output of --mermaid on a page.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Print it in the language of Graphviz
    #[arg(long, conflicts_with_all = ["mermaid", "json"])]
    dot: bool,
    /// Print it in the language of Mermaid
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
    /// Also show the library's own topics, horus/…
    #[arg(short, long)]
    all: bool,
    /// Seconds for which rates are measured
    #[arg(short, long, value_name = "S", default_value = "1", value_parser = seconds)]
    window: Duration,
}

/// The processes and topics of a namespace.
#[derive(Debug, Serialize)]
struct Graph {
    /// The names of the processes by their ids.
    processes: BTreeMap<u32, String>,
    topics: Vec<Topic>,
}

#[derive(Debug, Serialize)]
struct Topic {
    topic: String,
    message_type: String,
    publishers: Vec<Publisher>,
    subscribers: Vec<Subscriber>,
}

#[derive(Debug, Serialize)]
struct Publisher {
    pid: u32,
    lane: u32,
    rate_hz: f64,
}

#[derive(Debug, Serialize)]
struct Subscriber {
    pid: u32,
    lost: u64,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let graph = Graph::read(arguments, context)?;
    if context.is_json() {
        return context.out.json(graph);
    }
    if arguments.dot {
        return context.out.bytes(graph.to_dot().as_bytes());
    }
    if arguments.mermaid {
        return context.out.bytes(graph.to_mermaid().as_bytes());
    }
    context.out.table(&graph.table())
}

impl Graph {
    fn read(arguments: &Arguments, context: &Context) -> Result<Self, Failure> {
        let mut graph = Self {
            processes: BTreeMap::new(),
            topics: Vec::new(),
        };
        let Some(namespace) = context.existing_namespace()? else {
            return Ok(graph);
        };
        let names = topics(&namespace).map_err(|error| Failure::of_open(&error))?;
        let names = names
            .iter()
            .filter(|name| arguments.all || !is_internal(name));
        // A topic that cannot be opened was removed meanwhile, or is not one of this version.
        let meters = names.filter_map(|name| Meter::open(&namespace, name).ok());
        let mut meters: Vec<_> = meters.collect();
        context.stop.sleep_until(Instant::now() + arguments.window);
        for meter in &mut meters {
            graph.add(meter);
        }
        Ok(graph)
    }

    fn add(&mut self, meter: &mut Meter) {
        let reading = meter.read();
        let Some(topic) = meter.inspector() else {
            return;
        };
        let mut publishers = Vec::new();
        for lane in &reading.lanes {
            if let Some(pid) = lane.publisher.as_ref().and_then(|one| self.process(one)) {
                let rate_hz = per_second(lane.sent, reading.took);
                let lane = lane.lane;
                publishers.push(Publisher { pid, lane, rate_hz });
            }
        }
        let mut subscribers = Vec::new();
        for reader in topic.subscribers() {
            if let Some(pid) = self.process(&reader.subscriber) {
                let lost = reader.lost;
                subscribers.push(Subscriber { pid, lost });
            }
        }
        if publishers.is_empty() && subscribers.is_empty() {
            return;
        }
        self.topics.push(Topic {
            topic: meter.name().to_owned(),
            message_type: topic.message_type().to_owned(),
            publishers,
            subscribers,
        });
    }

    /// Notes a process, and returns its id.
    fn process(&mut self, participant: &Participant) -> Option<u32> {
        let process = participant.process.as_ref()?;
        self.processes.insert(process.pid, process.name.clone());
        Some(process.pid)
    }

    /// Returns a process as `imu_driver (4711)`.
    fn label(&self, pid: u32) -> String {
        let name = self.processes.get(&pid).map_or("", String::as_str);
        format!("{} ({pid})", visible(name))
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::name("PUBLISHER"),
            Column::name("TOPIC"),
            Column::text("TYPE"),
            Column::number("RATE"),
            Column::name("SUBSCRIBER"),
            Column::number("LOST"),
        ]);
        for topic in &self.topics {
            // WHY: a topic with one side only has lines, too.
            let publishers = optional(&topic.publishers);
            for publisher in publishers {
                for subscriber in optional(&topic.subscribers) {
                    table.row(self.cells(topic, publisher, subscriber));
                }
            }
        }
        table
    }

    fn cells(
        &self,
        topic: &Topic,
        publisher: Option<&Publisher>,
        subscriber: Option<&Subscriber>,
    ) -> [Cell; 6] {
        let nobody = || Cell::toned(Tone::Waiting, "-");
        let lost = subscriber.map_or(0, |subscriber| subscriber.lost);
        let tone = if lost > 0 { Tone::Bad } else { Tone::Plain };
        [
            publisher.map_or_else(nobody, |one| self.label(one.pid).into()),
            topic.topic.as_str().into(),
            visible(&topic.message_type).into(),
            publisher.map_or_else(|| "-".into(), |one| rate(one.rate_hz).into()),
            subscriber.map_or_else(nobody, |one| self.label(one.pid).into()),
            Cell::toned(tone, count(lost)),
        ]
    }

    fn to_dot(&self) -> String {
        let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = "digraph topics {\n    rankdir = LR\n".to_owned();
        for pid in self.processes.keys() {
            let label = escape(&self.label(*pid));
            // Writing to a string does not fail, here and below.
            let _ = writeln!(text, "    p{pid} [shape=box, label=\"{label}\"]");
        }
        for (index, topic) in self.topics.iter().enumerate() {
            let label = escape(&topic.topic);
            let _ = writeln!(text, "    t{index} [label=\"{label}\"]");
            for Publisher { pid, rate_hz, .. } in &topic.publishers {
                let label = rate(*rate_hz);
                let _ = writeln!(text, "    p{pid} -> t{index} [label=\"{label}\"]");
            }
            for Subscriber { pid, lost } in &topic.subscribers {
                let label = loss(*lost);
                let _ = writeln!(text, "    t{index} -> p{pid} [label=\"{label}\"]");
            }
        }
        text + "}\n"
    }

    fn to_mermaid(&self) -> String {
        let escape = |text: &str| {
            let text = text.replace('#', "#35;").replace('"', "#quot;");
            text.replace('<', "#lt;").replace('>', "#gt;")
        };
        let mut text = "flowchart LR\n".to_owned();
        for pid in self.processes.keys() {
            let label = escape(&self.label(*pid));
            let _ = writeln!(text, "    p{pid}[\"{label}\"]");
        }
        for (index, topic) in self.topics.iter().enumerate() {
            let label = escape(&topic.topic);
            let _ = writeln!(text, "    t{index}([\"{label}\"])");
            for Publisher { pid, rate_hz, .. } in &topic.publishers {
                let _ = writeln!(text, "    p{pid} -->|\"{}\"| t{index}", rate(*rate_hz));
            }
            for Subscriber { pid, lost } in &topic.subscribers {
                let _ = match loss(*lost) {
                    label if label.is_empty() => writeln!(text, "    t{index} --> p{pid}"),
                    label => writeln!(text, "    t{index} -->|\"{label}\"| p{pid}"),
                };
            }
        }
        text
    }
}

/// Returns each element, or nothing once if there is none.
fn optional<T>(elements: &[T]) -> impl Iterator<Item = Option<&T>> {
    let nothing = elements.is_empty().then_some(None);
    elements.iter().map(Some).chain(nothing)
}

/// Returns the label of an edge on which messages were lost.
fn loss(lost: u64) -> String {
    if lost > 0 {
        format!("lost {}", count(lost))
    } else {
        String::new()
    }
}
