//! The command `horus node list`: lists the nodes of all schedulers.

use clap::Args;
use horus_core::scheduler::schedulers;
use serde::Serialize;

use super::metrics::{Metrics, time_text};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::scheduler::liveness::Liveness;

/// List the nodes of all schedulers
///
/// RATE is the rate that is set; `node info` counts ticks. STATE is not_responding
/// if a scheduler has published no status for 2 seconds: its process is suspended,
/// or gets no CPU time.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also show ticks, durations and failures
    #[arg(short, long)]
    long: bool,
}

#[derive(Debug, Serialize)]
struct NodeList {
    nodes: Vec<Metrics>,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut nodes = Vec::new();
    if let Some(namespace) = context.open_existing_namespace()? {
        let all = schedulers(&namespace).map_err(|error| Failure::from_open_error(&error))?;
        for scheduler in &all {
            let liveness = Liveness::of(scheduler);
            let metrics = scheduler
                .nodes
                .iter()
                .map(|node| Metrics::new(&scheduler.name, liveness, node));
            nodes.extend(metrics);
        }
    }
    if context.is_json() {
        return context.out.write_json(NodeList { nodes });
    }
    let mut columns = vec![
        Column::name("NODE"),
        Column::name("SCHEDULER"),
        Column::text("CLASS"),
        Column::number("RATE"),
        Column::text("STATE"),
        Column::number("MISSES"),
        Column::number("p99"),
    ];
    if arguments.long {
        columns.extend([
            Column::number("TICKS"),
            Column::number("SKIPPED"),
            Column::number("FAILURES"),
            Column::number("p50"),
            Column::number("MAX"),
            Column::number("LATE p99"),
            Column::name("LAST ERROR"),
        ]);
    }
    let mut table = Table::new(columns);
    for node in &nodes {
        table.add_row(node_cells(node, arguments.long));
    }
    context.out.write_table(&table)
}

fn node_cells(node: &Metrics, long: bool) -> Vec<Cell> {
    let loss = |number: u64| {
        let tone = if number > 0 { Tone::Bad } else { Tone::Plain };
        Cell::toned(tone, count(number))
    };
    let mut cells = vec![
        visible(&node.node).into(),
        visible(&node.scheduler).into(),
        node.class.into(),
        node.rate_text().into(),
        Cell::toned(node.tone(), node.state_text()),
        loss(node.misses),
        time_text(node.p99_ns).into(),
    ];
    if long {
        cells.extend([
            count(node.ticks).into(),
            loss(node.skipped_ticks),
            loss(node.failures),
            time_text(node.p50_ns).into(),
            time_text(Some(node.max_ns)).into(),
            time_text(node.lateness_p99_ns).into(),
            visible(&node.last_error).into(),
        ]);
    }
    cells
}
