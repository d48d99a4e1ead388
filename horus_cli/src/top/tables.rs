//! The tables of `horus top`. On a screen that is too narrow, columns at the right are left out.

use std::time::Duration;

use crate::node::metrics::time_text;
use crate::output::format::{count, hours_minutes_seconds, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::sample::{Node, Program, SchedulerEvent, Topic};
use crate::topic::bw::decimal_bytes;

/// A function that returns the bars for the rates of a topic. Its argument is the name of the
/// topic.
pub(super) type RateBars<'a> = &'a dyn Fn(&str) -> String;

/// Returns the table of topics. If `bars` is given, it has a column with the bars for the last
/// minute.
pub(super) fn topic_table<'a>(
    topics: impl IntoIterator<Item = &'a Topic>,
    bars: Option<RateBars<'_>>,
) -> Table {
    let mut columns = vec![
        Column::name("TOPIC"),
        Column::name("TYPE"),
        Column::number("RATE"),
        Column::text("P×S"),
        Column::number("LOST/s"),
        Column::number("p99"),
        Column::number("BYTES/s"),
        Column::number("REFUSED/s"),
        Column::text("RING"),
    ];
    if bars.is_some() {
        columns.insert(3, Column::text("LAST MINUTE"));
    }
    let mut table = Table::new(columns);
    for topic in topics {
        let mut cells = topic_cells(topic);
        if let Some(bars) = bars {
            cells.insert(3, bars(&topic.name).into());
        }
        table.add_row(cells);
    }
    table
}

fn topic_cells(topic: &Topic) -> Vec<Cell> {
    let details = &topic.details;
    let per_second = |rate: f64| loss_cell(rate.ceil() as u64);
    let bytes = topic.bytes_per_second.map(decimal_bytes);
    vec![
        visible(&topic.name).into(),
        visible(&details.message_type).into(),
        details.rate_text(topic.settings.latched).into(),
        format!("{}×{}", details.publishers, details.subscribers).into(),
        per_second(topic.lost_per_second),
        time_text(topic.latency.and_then(|latency| latency.p99_ns)).into(),
        bytes.unwrap_or_else(|| "-".to_owned()).into(),
        per_second(topic.refused_per_second),
        topic.settings.backend.as_str().into(),
    ]
}

/// Returns the table of nodes with their metrics.
pub(super) fn node_table<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Table {
    let mut table = Table::new([
        Column::name("NODE"),
        Column::text("STATE"),
        Column::number("RATE"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("LATE p50"),
        Column::number("LATE p99"),
        Column::number("MISSES"),
        Column::text("CLASS"),
        Column::number("MAX"),
        Column::name("LAST ERROR"),
    ]);
    for node in nodes {
        let metrics = &node.metrics;
        table.add_row([
            visible(&node.path()).into(),
            Cell::toned(metrics.tone(), metrics.state_text()),
            metrics.rate_text().into(),
            time_text(metrics.p50_ns).into(),
            time_text(metrics.p99_ns).into(),
            time_text(metrics.lateness_p50_ns).into(),
            time_text(metrics.lateness_p99_ns).into(),
            loss_cell(metrics.misses),
            metrics.class.into(),
            time_text(Some(metrics.max_ns)).into(),
            visible(&metrics.last_error).into(),
        ]);
    }
    table
}

/// Returns the table of the programs that launchers manage. `now_ns` is the current time, in
/// nanoseconds since 1970.
pub(super) fn program_table<'a>(
    programs: impl IntoIterator<Item = &'a Program>,
    now_ns: u64,
) -> Table {
    let mut table = Table::new([
        Column::name("PROGRAM"),
        Column::text("STATE"),
        Column::number("PID"),
        Column::number("RESTARTS"),
        Column::number("UP"),
        Column::text("LAST END"),
        Column::name("LAUNCH FILE"),
    ]);
    for Program { file, status, .. } in programs {
        let up = Duration::from_nanos(now_ns.saturating_sub(status.started_ns));
        let up = status.pid.map(|_| hours_minutes_seconds(up));
        let pid = status.pid.map(|pid| pid.to_string());
        let nothing = || "-".to_owned();
        table.add_row([
            visible(&status.program).into(),
            Cell::toned(status.state.tone(), status.state.word()),
            pid.unwrap_or_else(nothing).into(),
            restarts_cell(status.restarts),
            up.unwrap_or_else(nothing).into(),
            status.last_exit().into(),
            visible(file).into(),
        ]);
    }
    table
}

fn restarts_cell(number: u32) -> Cell {
    let tone = if number > 0 {
        Tone::Waiting
    } else {
        Tone::Plain
    };
    Cell::toned(tone, count(number.into()))
}

/// Returns the line of text that shows an event of a scheduler.
pub(super) fn event_line(event: &SchedulerEvent) -> String {
    let since_1970 = Duration::from_nanos(event.event.timestamp_ns);
    let day = Duration::from_secs(since_1970.as_secs() % 86_400);
    format!(
        "{}.{:03} {}: {}",
        hours_minutes_seconds(day),
        since_1970.subsec_millis(),
        visible(&event.scheduler),
        visible(&event.text)
    )
}

fn loss_cell(number: u64) -> Cell {
    let tone = if number > 0 { Tone::Bad } else { Tone::Plain };
    Cell::toned(tone, count(number))
}
