//! The command `horus node info`: prints all information about one node.

use std::time::Duration;

use clap::Args;
use horus_core::scheduler::scheduler_graph;
use serde::Serialize;

use super::lookup::find_node;
use super::metrics::{Metrics, time_text};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, duration, visible};
use crate::output::{Column, Output, Table};
use crate::scheduler::liveness::Liveness;

/// Show all about a node: state, topics, ticks, and histograms of their times
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
}

#[derive(Debug, Serialize)]
struct NodeInfo<'a> {
    #[serde(flatten)]
    metrics: &'a Metrics,
    process_id: Option<u32>,
    /// The topics that the node reads and writes; `None` if they are not known.
    reads: Option<Vec<String>>,
    writes: Option<Vec<String>>,
    /// The histogram of the durations of ticks. Element i counts the ticks that took less than 2^i
    /// nanoseconds, and that no earlier element counts.
    durations: &'a [u64],
    /// The histogram of the lateness of ticks, which is the time from the due time to the start. It
    /// has the same buckets as `durations`.
    lateness: &'a [u64],
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let found = find_node(context, &arguments.node)?;
    let scheduler = &found.scheduler;
    let metrics = &Metrics::new(&scheduler.name, Liveness::of(scheduler), &found.metrics);
    let (durations, lateness) = (&found.metrics.durations, &found.metrics.lateness);
    let graph = scheduler_graph(&found.namespace, &scheduler.name);
    let node = graph.as_ref().and_then(|graph| {
        let mut nodes = graph.nodes().iter();
        nodes.find(|node| node.name == found.name())
    });
    if context.is_json() {
        return context.out.write_json(NodeInfo {
            metrics,
            process_id: scheduler.process_id,
            reads: node.map(|node| node.reads.clone()),
            writes: node.map(|node| node.writes.clone()),
            durations,
            lateness,
        });
    }
    let process = scheduler
        .process_id
        .map(|id| format!(", process {id}"))
        .unwrap_or_default();
    let out = &mut context.out;
    let state = out.paint(metrics.tone(), &metrics.state_text());
    out.write_line(format_args!(
        "{}: {state}, {} at {}, scheduler {}{process}",
        visible(&metrics.node),
        metrics.class,
        metrics.rate_text(),
        visible(&metrics.scheduler),
    ))?;
    out.write_line(format_args!(
        "  {} ticks, {} misses, {} skipped, {} failed, {} panicked",
        count(metrics.ticks),
        count(metrics.misses),
        count(metrics.skipped_ticks),
        count(metrics.failures),
        count(metrics.panics),
    ))?;
    out.write_line(format_args!(
        "  tick p50 {}, p99 {}, max {}, last {}; late p50 {}, p99 {}",
        time_text(metrics.p50_ns),
        time_text(metrics.p99_ns),
        time_text(Some(metrics.max_ns)),
        time_text(Some(metrics.last_ns)),
        time_text(metrics.lateness_p50_ns),
        time_text(metrics.lateness_p99_ns),
    ))?;
    if let Some(node) = node {
        out.write_line(format_args!(
            "  reads {}; writes {}",
            comma_separated_names(&node.reads),
            comma_separated_names(&node.writes)
        ))?;
    }
    if !metrics.last_error.is_empty() {
        out.write_line(format_args!(
            "  last error: {}",
            visible(&metrics.last_error)
        ))?;
    }
    write_histogram(durations, lateness, out)
}

/// Returns the names of the topics as one text, with commas between them.
fn comma_separated_names(topics: &[String]) -> String {
    if topics.is_empty() {
        return "nothing".to_owned();
    }
    let names = topics.iter().map(|name| visible(name));
    names.collect::<Vec<_>>().join(", ")
}

/// Prints a table of two histograms of a node: the durations of its ticks, and their lateness.
/// Omits the buckets that are empty in both.
fn write_histogram(durations: &[u64], lateness: &[u64], out: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::number("BELOW"),
        Column::number("TICKS"),
        Column::number("LATE"),
    ])
    .indented(2);
    for (index, (ticks, late)) in durations.iter().zip(lateness).enumerate() {
        if *ticks > 0 || *late > 0 {
            let bound = duration(Duration::from_nanos(1 << index));
            table.add_row([bound.into(), count(*ticks).into(), count(*late).into()]);
        }
    }
    out.write_table(&table)
}
