//! The command `horus graph`: shows which nodes and processes send messages to each other, and over
//! which topics.
//!
//! The module `model` reads the namespace. The module `draw` writes the graph in the languages of
//! Graphviz and Mermaid.

mod draw;
mod model;

use std::time::Duration;

use clap::Args;

use crate::cli::parse_seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, rate, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::process::ProcessKey;
use model::{Graph, Publisher, Subscriber, Topic};

/// Show which nodes and processes send to which, with rates and losses
///
/// Each line is a publisher, a topic and a subscriber. PASSES is no, with the reason,
/// if no message passes from one to the other: they have different types of messages,
/// or the subscriber requests reliable messages that the publisher does not offer.
/// Pictures have dashed red edges between such pairs. The nodes of schedulers are
/// known if their builders made the publishers and subscribers; all else is shown by
/// its process. Make a picture with `horus graph --dot | dot -Tsvg`, or put the
/// output of --mermaid on a page.
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
    /// Seconds for which rates are measured; with 0, there are none
    #[arg(short, long, value_name = "S", default_value = "1", value_parser = parse_seconds)]
    window: Duration,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let graph = Graph::read(arguments.all, arguments.window, context)?;
    if context.is_json() {
        return context.out.write_json(graph);
    }
    if arguments.dot {
        return context.out.write_bytes(graph.to_dot().as_bytes());
    }
    if arguments.mermaid {
        return context.out.write_bytes(graph.to_mermaid().as_bytes());
    }
    context.out.write_table(&graph_table(&graph))
}

fn graph_table(graph: &Graph) -> Table {
    let mut table = Table::new([
        Column::name("PUBLISHER"),
        Column::name("TOPIC"),
        Column::text("TYPE"),
        Column::number("RATE"),
        Column::name("SUBSCRIBER"),
        Column::number("LOST"),
        Column::text("PASSES"),
    ]);
    for topic in &graph.topics {
        // WHY: a topic with one side only has lines, too.
        let publishers = elements_or_none(&topic.publishers);
        for publisher in publishers {
            for subscriber in elements_or_none(&topic.subscribers) {
                table.add_row(row_cells(graph, topic, publisher, subscriber));
            }
        }
    }
    table
}

fn row_cells(
    graph: &Graph,
    topic: &Topic,
    publisher: Option<&Publisher>,
    subscriber: Option<&Subscriber>,
) -> [Cell; 7] {
    let nobody = || Cell::toned(Tone::Waiting, "-");
    let lost = subscriber.map_or(0, |subscriber| subscriber.lost);
    let tone = if lost > 0 { Tone::Bad } else { Tone::Plain };
    let writer = |one: &Publisher| {
        nodes_label(
            graph,
            one.process,
            &graph.writer_node_indices(topic, one.process),
        )
    };
    let reader = |one: &Subscriber| {
        nodes_label(
            graph,
            one.process,
            &graph.reader_node_indices(topic, one.process),
        )
    };
    [
        publisher.map_or_else(nobody, |one| writer(one).into()),
        topic.topic.as_str().into(),
        visible(&topic.message_type).into(),
        rate_cell(publisher),
        subscriber.map_or_else(nobody, |one| reader(one).into()),
        Cell::toned(tone, count(lost)),
        match (publisher, subscriber) {
            (Some(publisher), Some(subscriber)) => match topic.mismatch(publisher, subscriber) {
                None => "yes".into(),
                Some(cause) => Cell::toned(Tone::Bad, format!("no: {}", cause.json_name())),
            },
            _ => nobody(),
        },
    ]
}

fn rate_cell(publisher: Option<&Publisher>) -> Cell {
    let rate_hz = publisher.and_then(|publisher| publisher.rate_hz);
    rate_hz.map_or_else(|| "-".into(), |hertz| rate(hertz).into())
}

/// Returns text that names nodes of the process, such as `arm/controller (4711)`. If there
/// are several nodes, joins their names by "or". If there are none, returns the name of the
/// process.
fn nodes_label(graph: &Graph, process: ProcessKey, nodes: &[usize]) -> String {
    if nodes.is_empty() {
        return graph.process_label(process);
    }
    let names = nodes.iter().map(|node| visible(&graph.nodes[*node].path()));
    let names = names.collect::<Vec<_>>().join(" or ");
    format!("{names} ({})", process.pid)
}

/// Returns each element of `elements` as `Some`. If `elements` is empty, returns a single `None`.
fn elements_or_none<T>(elements: &[T]) -> impl Iterator<Item = Option<&T>> {
    let nothing = elements.is_empty().then_some(None);
    elements.iter().map(Some).chain(nothing)
}
