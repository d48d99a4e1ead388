//! The tables of the page: chosen rows, and templates of their columns.

use serde_json::{Value, json};

use crate::report::research::figure::size_of;
use crate::report::research::html::{Line, NONE, Table};
use crate::report::research::record::{Program, Run};
use crate::report::rows::Row;
use crate::report::template::fill;

/// A column: its heading, and a template that is filled from a row.
type Columns = [(&'static str, &'static str)];

const TIMES: &Columns = &[
    ("row", "{/short}"),
    ("p50", "{/ns/p50:time}"),
    ("95 % interval", "{/spread/p50_ci/0:time} – {/spread/p50_ci/1:time}"),
    ("p95", "{/ns/p95:time}"),
    ("p99", "{/ns/p99:time}"),
    ("p99.9", "{/ns/p99_9:time}"),
    ("max", "{/ns/max:time}"),
    ("CV", "{/spread/cv:small}"),
    ("filtered p50 / p99", "{/filtered_ns/p50:time} / {/filtered_ns/p99:time}"),
    ("CV filtered", "{/filtered_ns/cv:small}"),
    ("sent", "{/sent}"),
    ("lost", "{/lost}"),
];

const RATES: &Columns = &[
    ("row", "{/short}"),
    ("messages / s", "{/msgs_per_s:rate}"),
    ("95 % interval", "{/msgs_per_s_ci/0:rate} – {/msgs_per_s_ci/1:rate}"),
    ("sent", "{/sent}"),
    ("lost", "{/lost}"),
    ("headroom", "{/headroom:0} ×"),
];

const ALL: &Columns = &[
    ("id", "{/id}"),
    ("sent", "{/sent}"),
    ("lost", "{/lost}"),
    ("min", "{/ns/min:digits}"),
    ("p1", "{/ns/p1:digits}"),
    ("p5", "{/ns/p5:digits}"),
    ("p25", "{/ns/p25:digits}"),
    ("p50", "{/ns/p50:digits}"),
    ("p75", "{/ns/p75:digits}"),
    ("p90", "{/ns/p90:digits}"),
    ("p95", "{/ns/p95:digits}"),
    ("p99", "{/ns/p99:digits}"),
    ("p99.9", "{/ns/p99_9:digits}"),
    ("p99.99", "{/ns/p99_99:digits}"),
    ("max", "{/ns/max:digits}"),
    ("msgs/s", "{/msgs_per_s:rate}"),
    ("basis", "{/basis}"),
];

const OVERHEAD: &Columns = &[
    ("path", "{/short}"),
    ("total p50", "{/ns/p50:time}"),
    ("floor p50", "{/floor:time}"),
    ("overhead", "{/overhead:time}"),
    ("× floor [95 %]", "{/floor_ratio:2} [{/floor_ratio_ci/0:2}, {/floor_ratio_ci/1:2}]"),
];

const LATENCIES_COMPARED: &Columns = &[
    ("comparison", "{/id}"),
    ("ours", "{/ours:time}"),
    ("theirs", "{/theirs:time}"),
    ("× theirs", "{/ratio:digits} ×"),
    ("95 % interval", "{/ratio_ci/0:2} – {/ratio_ci/1:2}"),
];

const RATES_COMPARED: &Columns = &[
    ("comparison", "{/id}"),
    ("ours", "{/ours:rate}"),
    ("theirs", "{/theirs:rate}"),
    ("× theirs", "{/ratio:digits} ×"),
    ("95 % interval", "{/ratio_ci/0:2} – {/ratio_ci/1:2}"),
];

const SCALING: &Columns = &[
    ("publishers and subscribers", "{/short}"),
    ("delivered / s", "{/msgs_per_s:rate}"),
    ("by member", "{/msgs_per_s_per_member:rate}"),
    ("share", "{/scaling_percent:0} %"),
    ("sent", "{/sent}"),
    ("lost", "{/lost}"),
];

const DETERMINISM: &Columns = &[
    ("row", "{/short}"),
    ("mean", "{/ns/mean:time}"),
    ("median", "{/ns/p50:time}"),
    ("sd", "{/sd_ns:time}"),
    ("min", "{/ns/min:time}"),
    ("max", "{/ns/max:time}"),
    ("p95", "{/ns/p95:time}"),
    ("p99", "{/ns/p99:time}"),
    ("p99.9", "{/ns/p99_9:time}"),
    ("p99.99", "{/ns/p99_99:time}"),
    ("run-to-run CV (mean)", "{/run_cv:small}"),
    ("run-to-run CV (median)", "{/run_cv_median:small}"),
    ("deadline misses", "{/deadline_misses} of {/sent} ({/deadline_miss_share:percent} %)"),
];

const SCHEDULER: &Columns = &[
    ("row", "{/id}"),
    ("p50", "{/ns/p50:time}"),
    ("p99", "{/ns/p99:time}"),
    ("max", "{/ns/max:time}"),
    ("ns a node", "{/ns_per_node:small}"),
    ("CPU %", "{/cpu_percent:small}"),
    ("stalled %", "{/stalled_percent:small}"),
    ("drift", "{/drift_ticks:small}"),
    ("lost", "{/lost}"),
];

const LOOPS: &Columns = &[
    ("loop", "{/loop}, {/place}"),
    ("budget", "{/budget_ns:time}"),
    ("message", "{/message}"),
    ("p99", "{/p99_ns:time}"),
    ("max", "{/max_ns:time}"),
    ("result", "{/result}"),
];

/// The rows that a reader looks for first: a name, the use, the ids of the latency, and those of
/// the throughput (of each the first that was measured).
const QUICK_REFERENCE: &str = "\
Same thread | pipeline in one thread | one_way/same_thread/direct/16B \
    one_way/same_thread/topic/16B | throughput/same_thread/direct/16B \
    throughput/same_thread/topic/16B
Cross-thread 1:1 | nodes on threads | one_way/cross_thread/spsc/16B \
    one_way/cross_thread/spsc_shm/16B | throughput/cross_thread/spsc/16B \
    throughput/cross_thread/spsc_shm/16B
Cross-thread N:N (2:2) | several producers and consumers | one_way/cross_thread/fanout/16B \
    one_way/cross_thread/fanout_shm_2p2s/16B | throughput/cross_thread/fanout/16B \
    throughput/cross_thread/fanout_shm/16B
Cross-process 1:1 | programs of their own | one_way/cross_process/spsc_shm/16B | \
    throughput/cross_process/spsc_shm/16B
Cross-process 2:2 | many programs on one topic | one_way/cross_process/fanout_shm_2p2s/16B | \
    throughput/cross_process/fanout_shm/16B
Cross-process latest value | state that is only worth its newest | \
    one_way/cross_process/pod_shm/16B |
CmdVel, 16 B | motor control | one_way/cross_process/topic/16B | \
    throughput/cross_process/topic/16B
Imu, 304 B | sensor fusion | one_way/cross_process/topic/304B | \
    throughput/cross_process/topic/304B
LaserScan, 1480 B | lidar | one_way/cross_process/topic/1480B | \
    throughput/cross_process/topic/1480B
Blocked receiver, woken | a node that sleeps between messages | wakeup/topic/16B |";

const REFERENCE: &Columns = &[
    ("path", "{/path}"),
    ("p50", "{/ns/p50:time}"),
    ("95 % interval", "{/spread/p50_ci/0:time} – {/spread/p50_ci/1:time}"),
    ("p99", "{/ns/p99:time}"),
    ("× floor", "{/floor_ratio:2} [{/floor_ratio_ci/0:2}, {/floor_ratio_ci/1:2}]"),
    ("throughput", "{/stream/msgs_per_s:rate}"),
    ("use", "{/use}"),
];

/// Returns the JSON of a row with the program, the basis, the id without its first part, and the
/// floor that was measured beside it.
pub(super) fn described(program: &Program, row: &Row) -> Value {
    let mut value = json!(row);
    let short = match row.id.split_once('/') {
        Some(("one_way" | "throughput" | "floor" | "determinism" | "scalability", rest)) => rest,
        _ => &row.id,
    };
    value["short"] = short.into();
    value["program"] = program.name.as_str().into();
    value["basis"] = program.basis(&row.id).into();
    let floors = program.settings.get("floor_ns").and_then(|notes| notes.get(&row.id));
    let floor = floors.and_then(|floors| floors.get(1)).and_then(Value::as_f64);
    if let (Some(floor), Some(ns), Some(_)) = (floor, row.ns, row.floor_ratio) {
        value["floor"] = floor.into();
        value["overhead"] = (ns.p50 - floor).into();
    }
    value
}

fn line(columns: &Columns, value: &Value, source: String, oversubscribed: bool) -> Line {
    let cell = |(_, template): &(_, &str)| fill(template, value).unwrap_or_else(|| NONE.to_owned());
    Line { cells: columns.iter().map(cell).collect(), source, oversubscribed }
}

fn table(title: &str, note: &'static str, columns: &Columns, lines: Vec<Line>) -> Table {
    let headings = columns.iter().map(|(heading, _)| *heading).collect();
    Table { title: title.to_owned(), note, headings, lines }
}

/// Returns a table of the rows that are `wanted`.
fn of_rows<'a>(
    rows: impl Iterator<Item = (&'a Program, &'a Row)>,
    (title, note): (&str, &'static str),
    columns: &Columns,
    wanted: impl Fn(&Row) -> bool,
) -> Table {
    let lines = rows.filter(|(_, row)| wanted(row)).map(|(program, row)| {
        line(columns, &described(program, row), source(program, row), row.oversubscribed)
    });
    table(title, note, columns, lines.collect())
}

fn source(program: &Program, row: &Row) -> String {
    format!("{}: {}", program.name, row.id)
}

/// Returns the table that most readers need no other than.
pub(super) fn quick_reference(run: &Run) -> Table {
    let lines = QUICK_REFERENCE.lines().map(|line_of_text| {
        let mut cells = line_of_text.split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        let (path, purpose) = (next(), next());
        let mut ids = || next().split_whitespace().collect::<Vec<&str>>();
        let (latency, throughput) = (ids(), ids());
        let found = run.find(&latency);
        let mut value = found.map_or_else(|| json!({}), |(program, row)| described(program, row));
        let mut sources = found.map(|(program, row)| source(program, row)).into_iter().collect();
        if let Some((program, row)) = run.find(&throughput).filter(|_| found.is_some()) {
            value["stream"] = json!(row);
            Vec::push(&mut sources, source(program, row));
        }
        value["path"] = path.into();
        value["use"] = purpose.into();
        let source = if sources.is_empty() { "not measured".into() } else { sources.join("\n") };
        line(REFERENCE, &value, source, found.is_some_and(|(_, row)| row.oversubscribed))
    });
    let note = "Latency is one way, all samples; where both ends are on cores of their own, half \
        of a round trip. On one thread it is a send and a receive together.";
    table("", note, REFERENCE, lines.collect())
}

/// Returns what the rings cost beyond the floor, between two ends.
pub(super) fn overhead(run: &Run) -> Table {
    let note = "The floor is the two-line ping-pong of the same rounds. The ratio is the median \
        over rounds of the ratio of medians, which a restless machine moves less than the \
        nanoseconds: where it was in two states, total and floor may be of different ones, the \
        ratio is not.";
    let mut table = of_rows(run.rows(), ("", note), OVERHEAD, |row| {
        row.id.starts_with("one_way/cross_") && row.floor_ratio.is_some()
    });
    table.lines.retain(|line| line.cells[2] != NONE);
    table
}

/// Returns the latencies of 16 bytes in a process, those between two, and what the hardware does.
pub(super) fn paths(run: &Run) -> Vec<Table> {
    let of = |name: &'static str, title, starts: &'static [&'static str], is_small: bool| {
        of_rows(run.rows_of(name), (title, ""), TIMES, move |row| {
            let fits = !is_small || size_of(&row.id) == Some(16.0);
            row.ns.is_some() && fits && starts.iter().any(|start| row.id.starts_with(start))
        })
    };
    let within = &["one_way/same_thread", "one_way/cross_thread"];
    vec![
        of("all_paths_latency", "Within a process, 16 B", within, true),
        of("all_paths_latency", "Between processes, 16 B", &["one_way/cross_process"], true),
        of("raw_baselines", "Hardware floor", &[""], false),
    ]
}

/// Returns all rows of a program that have times.
pub(super) fn times(run: &Run, name: &str, title: &str) -> Table {
    of_rows(run.rows_of(name), (title, ""), TIMES, |row| row.ns.is_some())
}

/// Returns all rows of a program that have rates.
pub(super) fn rates(run: &Run, name: &str, title: &str) -> Table {
    let note = "Rates are of what was received and verified.";
    of_rows(run.rows_of(name), (title, note), RATES, |row| row.msgs_per_s.is_some())
}

/// Returns all rows of a program.
pub(super) fn all(program: &Program) -> Table {
    let rows = program.rows.iter().map(|row| (program, row));
    of_rows(rows, ("", ""), ALL, |_| true)
}

/// Returns whether the loops of robots have time for the messages they wait for.
pub(super) fn real_time(run: &Run) -> Table {
    let note = "The budget is a whole period. The maximum is that of this run on this machine: a \
        longer run finds a larger one, and it is no bound.";
    let mut lines = Vec::new();
    for program in &run.programs {
        let notes = program.settings.get("real_time").and_then(Value::as_object);
        for (place, loops) in notes.into_iter().flatten() {
            for one in loops.as_array().into_iter().flatten() {
                let mut one = one.clone();
                one["place"] = place.as_str().into();
                let source = format!("{}: real_time/{place}", program.name);
                lines.push(line(LOOPS, &one, source, false));
            }
        }
    }
    table("Real-time suitability", note, LOOPS, lines)
}

/// Returns ours beside theirs.
pub(super) fn comparisons(run: &Run) -> [Table; 2] {
    let note = "Rounds of both alternate in one run, with the same payload, pinning and \
        verification. \"× theirs\" is the median over rounds of their time by ours, or of our rate \
        by theirs: above 1 ours is ahead.";
    [("Latency", LATENCIES_COMPARED, false), ("Throughput", RATES_COMPARED, true)].map(
        |(title, columns, is_rate)| {
            of_rows(run.rows(), (title, note), columns, |row| {
                row.figures.ratio.is_some() && row.id.contains("throughput") == is_rate
            })
        },
    )
}

/// Returns the rows of more and more publishers and subscribers of one topic.
pub(super) fn scaling(run: &Run) -> Table {
    let note = "A message counts once for each subscriber that it reached. The share is of what \
        one publisher and one subscriber deliver, times the smaller of both numbers.";
    let wanted = |row: &Row| row.figures.msgs_per_s_per_member.is_some();
    of_rows(run.rows(), ("", note), SCALING, wanted)
}

/// Returns how well one message, and one run, is repeated by the next.
pub(super) fn determinism(run: &Run) -> Table {
    let note = "Runs of their own, one after the other. No sample is left out, so that one \
        interruption decides what the standard deviation is.";
    let wanted = |row: &Row| row.figures.deadline_misses.is_some() && row.ns.is_some();
    of_rows(run.rows(), ("", note), DETERMINISM, wanted)
}

/// Returns what schedulers cost, and how late they are.
pub(super) fn scheduler(run: &Run) -> Table {
    of_rows(run.rows_of("scheduler_benchmark"), ("", ""), SCHEDULER, |_| true)
}
