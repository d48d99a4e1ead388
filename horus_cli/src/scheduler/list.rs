//! The command `horus scheduler list`: lists the schedulers that are alive and those that have
//! ended.

use std::time::Duration;

use clap::Args;
use horus_core::message::SchedulerStatusHeader;
use horus_core::scheduler::{SchedulerInfo, schedulers};
use serde::Serialize;

use super::liveness::Liveness;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{hours_minutes_seconds, visible};
use crate::output::{Cell, Column, Table, Tone};

/// List the schedulers, also those that have ended
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct SchedulerList {
    schedulers: Vec<SchedulerRow>,
}

#[derive(Debug, Serialize)]
struct SchedulerRow {
    scheduler: String,
    process_id: Option<u32>,
    is_alive: bool,
    state: &'static str,
    nodes: usize,
    uptime_ns: Option<u64>,
}

impl SchedulerRow {
    fn new(info: &SchedulerInfo) -> Self {
        Self {
            scheduler: info.name.clone(),
            process_id: info.process_id,
            is_alive: info.is_alive,
            state: scheduler_state_name(info),
            nodes: info.nodes.len(),
            uptime_ns: info.status.map(|status| status.uptime_ns),
        }
    }
}

/// Returns a word for the state of a scheduler. "stopped" means that the scheduler has shut down,
/// "dead" that its process ended without shutting it down, and "not_responding" that its process
/// is suspended or gets no CPU time.
fn scheduler_state_name(info: &SchedulerInfo) -> &'static str {
    match Liveness::of(info) {
        Liveness::Stopped => return "stopped",
        Liveness::Dead => return "dead",
        Liveness::NotResponding => return "not_responding",
        Liveness::Alive => {}
    }
    match info.status.map(|status| status.state) {
        Some(SchedulerStatusHeader::STATE_STARTING) => "starting",
        Some(SchedulerStatusHeader::STATE_RUNNING) => "running",
        Some(SchedulerStatusHeader::STATE_EMERGENCY_STOP) => "emergency_stop",
        Some(SchedulerStatusHeader::STATE_STOPPING) => "stopping",
        _ => "unknown",
    }
}

pub(crate) fn run(_: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let found = match context.open_existing_namespace()? {
        Some(namespace) => {
            schedulers(&namespace).map_err(|error| Failure::from_open_error(&error))?
        }
        None => Vec::new(),
    };
    let schedulers: Vec<SchedulerRow> = found.iter().map(SchedulerRow::new).collect();
    if context.is_json() {
        return context.out.write_json(SchedulerList { schedulers });
    }
    let mut table = Table::new([
        Column::name("SCHEDULER"),
        Column::number("PROCESS"),
        Column::text("STATE"),
        Column::number("NODES"),
        Column::number("UPTIME"),
    ]);
    for row in &schedulers {
        let process = row
            .process_id
            .map_or_else(|| "-".to_owned(), |id| id.to_string());
        let uptime = row
            .uptime_ns
            .map(|ns| hours_minutes_seconds(Duration::from_nanos(ns)));
        let tone = match row.state {
            "running" | "stopped" => Tone::Plain,
            "starting" | "stopping" => Tone::Waiting,
            _ => Tone::Bad,
        };
        table.add_row([
            visible(&row.scheduler).into(),
            process.into(),
            Cell::toned(tone, row.state),
            row.nodes.to_string().into(),
            uptime.unwrap_or_else(|| "-".to_owned()).into(),
        ]);
    }
    context.out.write_table(&table)
}
