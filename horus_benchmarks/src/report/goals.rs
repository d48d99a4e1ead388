//! The goals for the most important rows, next to what was measured. A missed goal is not an error,
//! but it is always reported as missed, whatever the reason.

use comfy_table::{Table, presets};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::measure::bracket::State;
use crate::report::rows::{Report, Row};
use crate::report::versus;

/// Group of the settings with the smallest, the median and the largest floor of each row.
pub const FLOOR_NS: &str = "floor_ns";

/// Group of the settings with the ratio of each row in each [`State`] of the machine.
pub const STATES: &str = "floor_ratio_by_state";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Goal {
    /// Maximum ratio to the floor.
    RatioMax(f64),
    /// Maximum median, in nanoseconds.
    NsMax(f64),
    /// Maximum mean, in nanoseconds.
    MeanNsMax(f64),
    /// Maximum memory of an actor, in bytes.
    BytesEachMax(f64),
    /// Maximum memory of the process, in MiB.
    PeakMibMax(f64),
    /// Minimum number of messages per second.
    RateMin(f64),
    /// Maximum time for each node of a scheduler, in nanoseconds.
    NsPerNodeMax(f64),
    /// Maximum 99th percentile, in nanoseconds.
    P99NsMax(f64),
    /// Maximum processor time, in percent of one processor.
    CpuPercentMax(f64),
    /// Maximum number of due times that were too many or too few.
    DriftMax(f64),
    /// Maximum ratio to another row of the same run.
    TimesRowMax(&'static str, f64),
}

/// Group of the settings with the ratios between rows: for each row and each other row, the median
/// and the 95 % interval.
pub const RATIOS: &str = "ratio_to";

/// Key in the group [`RATIOS`] for the memory of our actors divided by that of the best peer: of
/// the runtime of actors that needs the least memory, except ours.
pub const BEST_PEER: &str = "memory of the best peer";

const GOALS: [(&str, Goal); 58] = [
    ("one_way/same_thread/spsc_shm/16B", Goal::NsMax(10.0)),
    ("one_way/same_thread/fanout_shm/16B", Goal::NsMax(10.0)),
    ("one_way/same_thread/topic/16B", Goal::NsMax(10.0)),
    ("one_way/cross_process/spsc_shm/16B", Goal::RatioMax(1.20)),
    ("one_way/cross_process/fanout_shm/16B", Goal::RatioMax(1.25)),
    ("one_way/cross_process/topic/16B", Goal::RatioMax(1.25)),
    ("one_way/cross_process/spsc_shm/1480B", Goal::RatioMax(4.0)),
    (
        "one_way/cross_process/fanout_shm/1480B",
        Goal::RatioMax(4.0),
    ),
    ("one_way/cross_process/topic/1480B", Goal::RatioMax(4.0)),
    ("throughput/cross_process/spsc_shm/16B", Goal::RateMin(60e6)),
    (
        "throughput/cross_process/spsc_shm/304B",
        Goal::RateMin(20e6),
    ),
    ("one_way/same_thread/direct/16B", Goal::NsMax(3.0)),
    ("wakeup/topic/16B", Goal::TimesRowMax("wakeup/futex", 1.25)),
    (
        "wakeup/topic/16B",
        Goal::TimesRowMax("wakeup/iceoryx2", 1.0),
    ),
    ("tick/rust/50_nodes", Goal::NsPerNodeMax(40.0)),
    ("tick/rust/1000_nodes", Goal::NsPerNodeMax(40.0)),
    ("tick/rust/50_nodes/kernel_clock", Goal::NsPerNodeMax(60.0)),
    ("lateness/1kHz", Goal::P99NsMax(20e3)),
    ("lateness/1kHz/quiet", Goal::P99NsMax(20e3)),
    ("lateness/1kHz", Goal::CpuPercentMax(8.0)),
    ("lateness/1kHz", Goal::DriftMax(1.0)),
    ("lateness/1kHz/awake", Goal::P99NsMax(20e3)),
    ("lateness/1kHz/awake/quiet", Goal::P99NsMax(20e3)),
    ("lateness/1kHz/awake", Goal::CpuPercentMax(8.0)),
    ("lateness/1kHz/awake", Goal::DriftMax(1.0)),
    ("event/wake/16B", Goal::TimesRowMax("wakeup/futex", 2.0)),
    ("thread_ring/st/ours", Goal::NsMax(40.0)),
    ("thread_ring/mt/ours", Goal::NsMax(40.0)),
    ("ping_pong/st/ours", Goal::NsMax(40.0)),
    ("ping_pong/mt/ours", Goal::NsMax(40.0)),
    ("parallel_ring/st/ours", Goal::NsMax(25.0)),
    ("parallel_ring/mt/ours", Goal::NsMax(20.0)),
    ("tell/st/ours", Goal::NsMax(30.0)),
    ("tell/mt/ours", Goal::NsMax(50.0)),
    ("ask/st/ours", Goal::NsMax(80.0)),
    ("ask/mt/ours", Goal::NsMax(150.0)),
    ("ask_outside/mt/ours", Goal::NsMax(250.0)),
    ("ask_outside/mt/ours", Goal::MeanNsMax(500.0)),
    ("create/st/ours", Goal::NsMax(120.0)),
    ("create/st/ours", Goal::BytesEachMax(150.0)),
    ("create/mt/ours", Goal::NsMax(120.0)),
    ("create/mt/ours", Goal::BytesEachMax(150.0)),
    ("counting/st/ours", Goal::NsMax(25.0)),
    ("counting/mt/ours", Goal::NsMax(40.0)),
    ("counting_all/st/ours", Goal::NsMax(15.0)),
    ("counting_all/mt/ours", Goal::NsMax(25.0)),
    ("producer_consumer/st/ours", Goal::NsMax(25.0)),
    ("producer_consumer/mt/ours", Goal::NsMax(40.0)),
    ("producer_consumer_all/st/ours", Goal::NsMax(15.0)),
    ("producer_consumer_all/mt/ours", Goal::NsMax(25.0)),
    ("blitz/st/ours", Goal::RateMin(12e6)),
    ("blitz/st/ours", Goal::NsMax(110e6)),
    ("blitz/st/ours", Goal::PeakMibMax(80.0)),
    ("blitz/st/ours", Goal::TimesRowMax(BEST_PEER, 0.7)),
    ("blitz/mt/ours", Goal::RateMin(12e6)),
    ("blitz/mt/ours", Goal::NsMax(110e6)),
    ("blitz/mt/ours", Goal::PeakMibMax(80.0)),
    ("blitz/mt/ours", Goal::TimesRowMax(BEST_PEER, 0.7)),
];

/// The id of the row with the percentage of time in which a CPU runs no thread at all.
pub const STALLS: &str = "floor/stalls";

/// Last part of the id of a row that only covers times in which the machine was quiet.
pub const QUIET: &str = "/quiet";

/// Name of the setting in which a report keeps the [`Verdict`]s of its run, on the goals as they
/// were then.
pub const VERDICTS: &str = "goals";

/// The first word of the verdict on a goal that was met.
const MET: &str = "met";

/// The first word of the verdict on a goal that was not met.
const MISSED: &str = "missed";

/// The result of comparing a goal with what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The id of the row.
    pub id: String,
    /// The limit, with its unit.
    pub goal: String,
    /// The measured value, with its interval if it has one.
    pub measured: String,
    /// `met` or `missed`, followed by an explanation if there is one.
    pub verdict: String,
}

impl Verdict {
    fn new(id: &str, [goal, measured, verdict]: [String; 3]) -> Verdict {
        Verdict {
            id: id.to_owned(),
            goal,
            measured,
            verdict,
        }
    }

    /// Returns true if the goal was met.
    pub fn is_met(&self) -> bool {
        self.verdict.starts_with(MET)
    }
}

/// Returns a verdict on each goal whose row is among `rows`. The ratios between rows are in
/// `settings`.
pub fn verdicts(rows: &[Row], settings: &Map<String, Value>) -> Vec<Verdict> {
    let find = |id: &str| rows.iter().find(|row| row.id == id);
    let stalls = find(STALLS).and_then(|row| row.figures.stalled_percent);
    let of_goals = GOALS.into_iter().filter_map(|(id, goal)| {
        let row = find(id)?;
        let judged = match goal {
            Goal::P99NsMax(_) if !id.ends_with(QUIET) => explain(stalls, judge(goal, row)?),
            Goal::TimesRowMax(other, max) => judge_ratio(settings, id, other, max)?,
            goal => judge(goal, row)?,
        };
        Some(Verdict::new(id, judged))
    });
    let of_contests = rows
        .iter()
        .filter_map(|row| Some(Verdict::new(&row.id, versus::judge(row)?)));
    of_goals.chain(of_contests).collect()
}

/// Returns a table of `verdicts` on the rows of `report`; `None` if there are none.
pub fn table(report: &Report, verdicts: &[Verdict]) -> Option<String> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "id",
        "goal",
        "measured",
        "verdict",
        "floor ns (min/p50/max)",
        "by state",
    ]);
    for Verdict {
        id,
        goal,
        measured,
        verdict,
    } in verdicts
    {
        table.add_row([
            id,
            goal,
            measured,
            verdict,
            &floor(report, id),
            &states(report, id),
        ]);
    }
    (!verdicts.is_empty()).then(|| format!("Goals\n{table}"))
}

/// Returns the word for a verdict, and adds that it is uncertain if the interval contains the
/// limit.
pub(crate) fn word(is_met: bool, limit: f64, [low, high]: [f64; 2]) -> String {
    let word = if is_met { MET } else { MISSED };
    let unsure = if low < limit && limit < high {
        ", limit within the interval"
    } else {
        ""
    };
    format!("{word}{unsure}")
}

/// Returns the goal, the measured value and the verdict; `None` if the row does not have the value.
fn judge(goal: Goal, row: &Row) -> Option<[String; 3]> {
    let word = |met| if met { MET } else { MISSED }.to_owned();
    Some(match goal {
        Goal::RatioMax(max) => {
            let (ratio, [low, high]) = (row.floor_ratio?, row.floor_ratio_ci?);
            within([ratio, low, high], max, "floor")
        }
        Goal::TimesRowMax(..) => return None,
        Goal::NsMax(max) => {
            let p50 = row.ns?.p50;
            [
                format!("< {max:.0} ns"),
                format!("{p50:.2} ns"),
                word(p50 < max),
            ]
        }
        Goal::MeanNsMax(max) => {
            let mean = row.ns?.mean;
            [
                format!("mean < {max:.0} ns"),
                format!("{mean:.1} ns"),
                word(mean < max),
            ]
        }
        Goal::BytesEachMax(max) => {
            let bytes = row.figures.bytes_each?;
            [
                format!("<= {max:.0} B each"),
                format!("{bytes:.1} B"),
                word(bytes <= max),
            ]
        }
        Goal::PeakMibMax(max) => {
            let mib = row.figures.peak_mib?;
            [
                format!("<= {max:.0} MiB"),
                format!("{mib:.1} MiB"),
                word(mib <= max),
            ]
        }
        Goal::NsPerNodeMax(max) => {
            let ns = row.figures.ns_per_node?;
            [
                format!("<= {max:.0} ns a node"),
                format!("{ns:.1} ns"),
                word(ns <= max),
            ]
        }
        Goal::P99NsMax(max) => {
            let p99 = row.ns?.p99;
            let us = |ns: f64| format!("{:.1} us", ns / 1e3);
            [format!("p99 < {}", us(max)), us(p99), word(p99 < max)]
        }
        Goal::CpuPercentMax(max) => {
            let percent = row.figures.cpu_percent?;
            [
                format!("<= {max:.0} % CPU"),
                format!("{percent:.2} %"),
                word(percent <= max),
            ]
        }
        Goal::DriftMax(max) => {
            let ticks = row.figures.drift_ticks?;
            [
                format!("+-{max:.0} ticks"),
                format!("{ticks:+.2}"),
                word(ticks.abs() <= max),
            ]
        }
        Goal::RateMin(min) => {
            let rate = row.msgs_per_s?;
            let millions = |rate: f64| format!("{:.1} M/s", rate / 1e6);
            [
                format!(">= {}", millions(min)),
                millions(rate),
                word(rate >= min),
            ]
        }
    })
}

/// Compares a ratio and its interval with `max`, the maximum ratio to `what`.
fn within([ratio, low, high]: [f64; 3], max: f64, what: &str) -> [String; 3] {
    let measured = format!("{ratio:.2} [{low:.2}, {high:.2}]");
    [
        format!("<= {max:.2} x {what}"),
        measured,
        word(ratio <= max, max, [low, high]),
    ]
}

/// Adds `stalled`, the percentage of time in which the CPU ran no thread, to a verdict on a missed
/// percentile.
fn explain(stalled: Option<f64>, [wanted, measured, word]: [String; 3]) -> [String; 3] {
    let word = match stalled {
        Some(percent) if word == MISSED && percent > 1.0 => {
            format!("{MISSED}; the CPU stood still in {percent:.1} % of the time")
        }
        _ => word,
    };
    [wanted, measured, word]
}

fn judge_ratio(
    settings: &Map<String, Value>,
    id: &str,
    other: &str,
    max: f64,
) -> Option<[String; 3]> {
    let note = settings.get(RATIOS)?.get(id)?.get(other)?.clone();
    Some(within(serde_json::from_value(note).ok()?, max, other))
}

fn floor(report: &Report, id: &str) -> String {
    let floors = report
        .settings
        .get(FLOOR_NS)
        .and_then(|notes| notes.get(id)?.as_array());
    let figures: Vec<String> = floors
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .map(|ns| format!("{ns:.0}"))
        .collect();
    figures.join("/")
}

/// Returns `1.34 at 52 ns, 1.21 at 240 ns` if the machine was in two states, else nothing.
fn states(report: &Report, id: &str) -> String {
    let note = report
        .settings
        .get(STATES)
        .and_then(|notes| notes.get(id))
        .cloned();
    let states: Vec<State> = note
        .and_then(|note| serde_json::from_value(note).ok())
        .unwrap_or_default();
    if states.len() < 2 {
        return String::new();
    }
    let text = |state: &State| format!("{:.2} at {:.0} ns", state.ratio, state.floor_ns);
    states.iter().map(text).collect::<Vec<_>>().join(", ")
}
