//! Tables of the documents, as the README's: generated from a recorded run, never typed.

use std::fmt::Write as _;

use crate::report::{Report, Row};

/// A generated table: the marker lines around it, and what makes it.
type Block = (&'static str, &'static str, fn(&Report, &str) -> Result<String, ReadmeError>);

/// The tables that a document may have. The record's path comes with the report.
const BLOCKS: [Block; 2] = [
    ("<!-- latency:begin -->", "<!-- latency:end -->", latency),
    ("<!-- layers:begin -->", "<!-- layers:end -->", layers),
];

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

/// Where a message's time goes: what is added at each step, and the rows that say it.
const LAYERS: [(&str, &str); 9] = [
    ("floor: two cache lines between two processes", "floor/cross_process/two_lines/8B"),
    ("lane, gated-only, 16 B", "one_way/cross_process/spsc_shm/16B"),
    ("lane, open, 16 B", "one_way/cross_process/fanout_shm/16B"),
    ("topic, 16 B", "one_way/cross_process/topic/16B"),
    ("lane, open, 1480 B", "one_way/cross_process/fanout_shm/1480B"),
    ("topic, 1480 B", "one_way/cross_process/topic/1480B"),
    ("one thread, lane: send + recv, 16 B", "one_way/same_thread/fanout_shm/16B"),
    ("one thread, topic: send + recv, 16 B", "one_way/same_thread/topic/16B"),
    ("one thread, topic: send + recv, 1480 B", "one_way/same_thread/topic/1480B"),
];

/// Why the README could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadmeError {
    /// The document has no table that could be made, or the end of one is missing.
    #[error("the document has no line '{0}' where it belongs")]
    Marker(&'static str),
    /// The record lacks a row that the document shows.
    #[error("the record has no row '{0}': record a full run of all_paths_latency")]
    Row(&'static str),
}

/// The document with its tables made anew from `report`, which is recorded at `record` (a path that
/// the document can link to).
///
/// # Errors
///
/// [`ReadmeError`]: a marker or a row is missing.
pub fn with_tables(document: &str, report: &Report, record: &str) -> Result<String, ReadmeError> {
    let mut text = document.to_owned();
    let mut tables = 0;
    for (begin, end, table) in BLOCKS {
        let Some((before, rest)) = text.split_once(begin) else { continue };
        let (_, after) = rest.split_once(end).ok_or(ReadmeError::Marker(end))?;
        text = format!("{before}{begin}\n{}{end}{after}", table(report, record)?);
        tables += 1;
    }
    if tables == 0 { Err(ReadmeError::Marker(BLOCKS[0].0)) } else { Ok(text) }
}

fn heading(report: &Report, record: &str) -> String {
    let machine = &report.machine;
    format!(
        "{} ({} cores), kernel {}, {}, commit `{}`; two pinned processes, all samples, \
         nothing subtracted ([record]({record})).\n\n",
        machine.cpu, machine.cores, machine.kernel, machine.rustc, report.commit
    )
}

fn layers(report: &Report, record: &str) -> Result<String, ReadmeError> {
    let mut text = heading(report, record);
    text.push_str("| what | p50 | p99 | × floor | the `send` call |\n|---|---|---|---|---|\n");
    for (name, id) in LAYERS {
        let row = find(report, id)?;
        let ns = row.ns.as_ref().ok_or(ReadmeError::Row(id))?;
        let ratio = row.floor_ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let send = row.send_ns.map_or_else(String::new, |send| time(send.p50));
        let times = [ns.p50, ns.p99].map(time).join(" | ");
        let _ = writeln!(text, "| {name} | {times} | {ratio} | {send} |");
    }
    Ok(text)
}

fn latency(report: &Report, record: &str) -> Result<String, ReadmeError> {
    let mut text = heading(report, record);
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
    if ns < 10.0 {
        format!("{ns:.1} ns")
    } else if ns < 1e3 {
        format!("{ns:.0} ns")
    } else {
        format!("{:.1} µs", ns / 1e3)
    }
}

/// True if the document's tables are those that `report` makes.
///
/// # Errors
///
/// As [`with_tables`].
pub fn is_current(document: &str, report: &Report, record: &str) -> Result<bool, ReadmeError> {
    Ok(with_tables(document, report, record)? == document)
}
