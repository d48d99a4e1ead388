//! The README's latency table: generated from a recorded run, never typed.

use std::fmt::Write as _;

use crate::report::{Report, Row};

/// The line before the table.
pub const BEGIN: &str = "<!-- latency:begin -->";
/// The line after the table.
pub const END: &str = "<!-- latency:end -->";

/// The rows that the README shows: what they are called there, and their ids.
const ROWS: [(&str, &str); 8] = [
    ("two-line atomic ping-pong (the floor)", "floor/cross_process/two_lines/8B"),
    ("1:1, gated-only, 16 B", "one_way/cross_process/spsc_shm/16B"),
    ("1:1, topic, 16 B", "one_way/cross_process/topic/16B"),
    ("1:1, topic, 304 B (`Imu`)", "one_way/cross_process/topic/304B"),
    ("1:1, topic, 1480 B (`LaserScan`)", "one_way/cross_process/topic/1480B"),
    ("2:1, 16 B", "one_way/cross_process/mpsc_shm/16B"),
    ("2:2, 16 B", "one_way/cross_process/fanout_shm_2p2s/16B"),
    ("latest value, 16 B", "one_way/cross_process/pod_shm/16B"),
];

/// The throughput rows that the README shows.
const STREAMS: [(&str, &str); 4] = [
    ("gated-only, 16 B", "throughput/cross_process/spsc_shm/16B"),
    ("gated-only, 304 B", "throughput/cross_process/spsc_shm/304B"),
    ("reliable topic, 16 B", "throughput/cross_process/topic_reliable/16B"),
    ("reliable topic, 304 B", "throughput/cross_process/topic_reliable/304B"),
];

/// Why the README could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadmeError {
    /// The README lacks a marker line.
    #[error("the README has no line '{0}' where it belongs")]
    Marker(&'static str),
    /// The record lacks a row that the README shows.
    #[error("the record has no row '{0}': record a full run of all_paths_latency")]
    Row(&'static str),
}

/// The README with its table made anew from `report`, which is recorded at `record`.
///
/// # Errors
///
/// [`ReadmeError`]: a marker or a row is missing.
pub fn with_table(readme: &str, report: &Report, record: &str) -> Result<String, ReadmeError> {
    let (before, rest) = readme.split_once(BEGIN).ok_or(ReadmeError::Marker(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or(ReadmeError::Marker(END))?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", table(report, record)?))
}

fn table(report: &Report, record: &str) -> Result<String, ReadmeError> {
    let machine = &report.machine;
    let mut text = format!(
        "{} ({} cores), kernel {}, {}, commit `{}`; two pinned processes, all samples, \
         nothing subtracted ([record]({record})).\n\n",
        machine.cpu, machine.cores, machine.kernel, machine.rustc, report.commit
    );
    text.push_str("| one way between two processes | p50 | p99 | p99.9 | max | × floor |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for (name, id) in ROWS {
        let row = find(report, id)?;
        let ns = row.ns.as_ref().ok_or(ReadmeError::Row(id))?;
        let ratio = row.floor_ratio.map_or_else(|| "1".to_owned(), |ratio| format!("{ratio:.2}"));
        let times = [ns.p50, ns.p99, ns.p99_9, ns.max].map(time);
        let _ = writeln!(text, "| {name} | {} | {ratio} |", times.join(" | "));
    }
    text.push_str(
        "\n| streaming between two processes | million messages/s | lost |\n|---|---|---|\n",
    );
    for (name, id) in STREAMS {
        let row = find(report, id)?;
        let rate = row.msgs_per_s.ok_or(ReadmeError::Row(id))?;
        let _ = writeln!(text, "| {name} | {:.0} | {} |", rate / 1e6, row.lost);
    }
    Ok(text)
}

fn find<'a>(report: &'a Report, id: &'static str) -> Result<&'a Row, ReadmeError> {
    report.rows.iter().find(|row| row.id == id).ok_or(ReadmeError::Row(id))
}

fn time(ns: f64) -> String {
    if ns < 1e3 { format!("{ns:.0} ns") } else { format!("{:.1} µs", ns / 1e3) }
}

/// True if the README's table is the one that `report` makes.
///
/// # Errors
///
/// As [`with_table`].
pub fn is_current(readme: &str, report: &Report, record: &str) -> Result<bool, ReadmeError> {
    Ok(with_table(readme, report, record)? == readme)
}
