//! What the page says about each topic: tables of chosen rows, as a reader asks for them.

use serde_json::Value;

use crate::report::research::chart::{digits, rate, time, times};
use crate::report::research::figure::{size_of, subject};
use crate::report::research::record::{Program, Run};
use crate::report::research::table::Table;
use crate::report::rows::Row;

/// What a table shows where a row was not measured.
const NONE: &str = "–";

/// What a reader looks for first: its name, ids of latency rows, ids of throughput rows (of each
/// the first that was measured), and what it is for.
type Reference = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

const QUICK_REFERENCE: [Reference; 10] = [
    (
        "Same thread",
        &["one_way/same_thread/direct/16B", "one_way/same_thread/topic/16B"],
        &["throughput/same_thread/direct/16B", "throughput/same_thread/topic/16B"],
        "pipeline in one thread",
    ),
    (
        "Cross-thread 1:1",
        &["one_way/cross_thread/spsc/16B", "one_way/cross_thread/spsc_shm/16B"],
        &["throughput/cross_thread/spsc/16B", "throughput/cross_thread/spsc_shm/16B"],
        "nodes on threads",
    ),
    (
        "Cross-thread N:N (2:2)",
        &["one_way/cross_thread/fanout/16B", "one_way/cross_thread/fanout_shm_2p2s/16B"],
        &["throughput/cross_thread/fanout/16B", "throughput/cross_thread/fanout_shm/16B"],
        "several producers and consumers",
    ),
    (
        "Cross-process 1:1",
        &["one_way/cross_process/spsc_shm/16B"],
        &["throughput/cross_process/spsc_shm/16B"],
        "programs of their own",
    ),
    (
        "Cross-process 2:2",
        &["one_way/cross_process/fanout_shm_2p2s/16B"],
        &["throughput/cross_process/fanout_shm/16B"],
        "many programs on one topic",
    ),
    (
        "Cross-process latest value",
        &["one_way/cross_process/pod_shm/16B"],
        &[],
        "state that is only worth its newest",
    ),
    (
        "CmdVel, 16 B",
        &["one_way/cross_process/topic/16B"],
        &["throughput/cross_process/topic/16B"],
        "motor control",
    ),
    (
        "Imu, 304 B",
        &["one_way/cross_process/topic/304B"],
        &["throughput/cross_process/topic/304B"],
        "sensor fusion",
    ),
    (
        "LaserScan, 1480 B",
        &["one_way/cross_process/topic/1480B"],
        &["throughput/cross_process/topic/1480B"],
        "lidar",
    ),
    ("Blocked receiver, woken", &["wakeup/topic/16B"], &[], "a node that sleeps between messages"),
];

/// The table that most readers need no other than.
pub fn quick_reference(run: &Run) -> Table {
    let mut table = Table::new(
        "",
        "Latency is one way, all samples; where both ends are on cores of their own, half of a \
         round trip. On one thread it is a send and a receive together.",
        &["path", "p50", "95 % interval", "p99", "× floor", "throughput", "use"],
    );
    for (name, latency, throughput, purpose) in QUICK_REFERENCE {
        let Some((program, row)) = run.find(latency) else {
            let mut cells = vec![name.to_owned()];
            cells.extend([NONE; 5].map(str::to_owned));
            cells.push(purpose.to_owned());
            table.push(cells, "not measured", false);
            continue;
        };
        let stream = run.find(throughput);
        let streamed = stream.and_then(|(_, row)| row.msgs_per_s);
        let mut source = source(program, row);
        if let Some((program, row)) = stream {
            source = format!("{source}\n{}", self::source(program, row));
        }
        let cells = vec![
            name.to_owned(),
            ns(row.ns.map(|ns| ns.p50)),
            interval(row),
            ns(row.ns.map(|ns| ns.p99)),
            floor_ratio(row),
            streamed.map_or_else(|| NONE.to_owned(), rate),
            purpose.to_owned(),
        ];
        table.push(cells, source, row.oversubscribed);
    }
    for (program, row) in run.rows().filter(|(_, row)| row.id.starts_with("vs_iceoryx2/")) {
        let Some(ratio) = program.figure(&row.id, "ratio") else { continue };
        let mut cells = vec![row.id.replace("vs_", "against "), times(ratio)];
        cells.extend([ratio_interval(program, row), NONE.into(), NONE.into(), NONE.into()]);
        cells.push("× theirs: above 1 ours is ahead".to_owned());
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// What the rings cost beyond the floor, between two ends.
pub fn overhead(run: &Run) -> Table {
    let mut table = Table::new(
        "",
        "The floor is the two-line ping-pong of the same rounds. The ratio is the median over \
         rounds of the ratio of medians, which a restless machine moves less than the nanoseconds: \
         where it was in two states, total and floor may be of different ones, the ratio is not.",
        &["path", "total p50", "floor p50", "overhead", "× floor [95 %]"],
    );
    for (program, row) in run.rows().filter(|(_, row)| row.id.starts_with("one_way/cross_")) {
        let floors = program.settings.get("floor_ns").and_then(|notes| notes.get(&row.id));
        let floor = floors.and_then(|floors| floors.get(1)).and_then(Value::as_f64);
        let (Some(floor), Some(ns_of), Some(_)) = (floor, row.ns, row.floor_ratio) else {
            continue;
        };
        let cells = vec![
            row.id.trim_start_matches("one_way/").to_owned(),
            time(ns_of.p50),
            time(floor),
            time(ns_of.p50 - floor),
            floor_ratio(row),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// Rows of 16 bytes that lie in one process, and between two; and what the hardware does.
pub fn paths(run: &Run) -> Vec<Table> {
    let small = |row: &Row| row.ns.is_some() && size_of(&row.id) == Some(16.0);
    let latency = |row: &Row, places: &[&str]| {
        small(row) && places.iter().any(|place| row.id.starts_with(&format!("one_way/{place}")))
    };
    let all = "all_paths_latency";
    vec![
        timed(run, "Within a process, 16 B", &|program, row| {
            program == all && latency(row, &["same_thread", "cross_thread"])
        }),
        timed(run, "Between processes, 16 B", &|program, row| {
            program == all && latency(row, &["cross_process"])
        }),
        timed(run, "Hardware floor", &|program, row| {
            program == "raw_baselines" && row.ns.is_some()
        }),
    ]
}

/// All rows of a program that have times.
pub fn of_program(run: &Run, name: &str, title: &str) -> Table {
    timed(run, title, &|program, row| program == name && row.ns.is_some())
}

/// Rows with their percentiles, and the filtered view beside them.
fn timed(run: &Run, title: &str, wanted: &dyn Fn(&str, &Row) -> bool) -> Table {
    let headings = [
        "row",
        "p50",
        "95 % interval",
        "p95",
        "p99",
        "p99.9",
        "max",
        "CV",
        "filtered p50 / p99",
        "CV filtered",
        "sent",
        "lost",
    ];
    let mut table = Table::new(title, "", &headings);
    for (program, row) in run.rows().filter(|(program, row)| wanted(&program.name, row)) {
        let cv = row.spread.and_then(|spread| spread.cv);
        let filtered = row.filtered_ns;
        let cells = vec![
            short(&row.id),
            ns(row.ns.map(|ns| ns.p50)),
            interval(row),
            ns(row.ns.map(|ns| ns.p95)),
            ns(row.ns.map(|ns| ns.p99)),
            ns(row.ns.map(|ns| ns.p99_9)),
            ns(row.ns.map(|ns| ns.max)),
            plain(cv),
            filtered.map_or_else(String::new, |one| {
                format!("{} / {}", time(one.ns.p50), time(one.ns.p99))
            }),
            plain(filtered.and_then(|one| one.cv)),
            row.sent.to_string(),
            row.lost.to_string(),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// Rows with rates.
pub fn streams(run: &Run, name: &str, title: &str) -> Table {
    let headings = ["row", "messages / s", "95 % interval", "sent", "lost", "headroom"];
    let mut table = Table::new(title, "Rates are of what was received and verified.", &headings);
    for (program, row) in run.rows().filter(|(program, _)| program.name == name) {
        let Some(per_s) = row.msgs_per_s else { continue };
        let ends = row.msgs_per_s_ci.map(|ends| ends.map(rate).join(" – "));
        let headroom = program.figure(&row.id, "headroom");
        let cells = vec![
            short(&row.id),
            rate(per_s),
            ends.unwrap_or_else(|| NONE.to_owned()),
            row.sent.to_string(),
            row.lost.to_string(),
            headroom.map_or_else(|| NONE.to_owned(), |times| format!("{times:.0} ×")),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// Whether the loops of robots have time for the messages they wait for.
pub fn real_time(run: &Run) -> Table {
    let mut table = Table::new(
        "Real-time suitability",
        "The budget is a whole period. The maximum is that of this run on this machine: a longer \
         run finds a larger one, and it is no bound.",
        &["loop", "budget", "message", "p99", "max", "budget / p99", "result"],
    );
    for program in &run.programs {
        let notes = program.settings.get("real_time").and_then(Value::as_object);
        for (place, loops) in notes.into_iter().flatten() {
            for one in loops.as_array().into_iter().flatten() {
                let text = |name| one.get(name).and_then(Value::as_str).unwrap_or(NONE).to_owned();
                let number = |name| one.get(name).and_then(Value::as_f64);
                let (budget, p99) = (number("budget_ns"), number("p99_ns"));
                let headroom = budget.zip(p99).map(|(budget, p99)| budget / p99);
                let cells = vec![
                    format!("{}, {place}", text("loop")),
                    ns(budget),
                    text("message"),
                    ns(p99),
                    ns(number("max_ns")),
                    headroom.map_or_else(|| NONE.to_owned(), |times| format!("{times:.0} ×")),
                    text("result"),
                ];
                table.push(cells, format!("{}: real_time/{place}", program.name), false);
            }
        }
    }
    table
}

/// Ours beside theirs.
pub fn contests(run: &Run) -> Table {
    let mut table = Table::new(
        "",
        "Rounds of both alternate in one run, with the same payload, pinning and verification. \
         \"× theirs\" is the median over rounds of their time by ours, or of our rate by theirs: \
         above 1 ours is ahead.",
        &["contest", "ours", "theirs", "× theirs", "95 % interval"],
    );
    for (program, row) in run.rows() {
        let value = |name| program.figure(&row.id, name);
        let (Some(ours), Some(theirs)) = (value("ours"), value("theirs")) else { continue };
        let show = if row.id.contains("throughput") { rate } else { time };
        let cells = vec![
            row.id.clone(),
            show(ours),
            show(theirs),
            value("ratio").map_or_else(|| NONE.to_owned(), times),
            ratio_interval(program, row),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// More and more publishers and subscribers of one topic.
pub fn scaling(run: &Run) -> Table {
    let mut table = Table::new(
        "",
        "A message counts once for each subscriber that it reached. The share is of what one \
         publisher and one subscriber deliver, times the smaller of both numbers.",
        &["publishers and subscribers", "delivered / s", "by member", "share", "sent", "lost"],
    );
    for (program, row) in run.rows() {
        let Some(by_member) = program.figure(&row.id, "msgs_per_s_per_member") else { continue };
        let share = program.figure(&row.id, "scaling_percent");
        let cells = vec![
            row.id.trim_start_matches("scalability/").to_owned(),
            row.msgs_per_s.map_or_else(|| NONE.to_owned(), rate),
            rate(by_member),
            share.map_or_else(|| NONE.to_owned(), |percent| format!("{percent:.0} %")),
            row.sent.to_string(),
            row.lost.to_string(),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// How well one message, and one run, is repeated by the next.
pub fn determinism(run: &Run) -> Table {
    let headings = [
        "row",
        "mean",
        "median",
        "sd",
        "min",
        "max",
        "p95",
        "p99",
        "p99.9",
        "p99.99",
        "run-to-run CV (mean)",
        "run-to-run CV (median)",
        "deadline misses",
    ];
    let note = "Runs of their own, one after the other. No sample is left out of any figure, so \
        that one interruption decides what the standard deviation is.";
    let mut table = Table::new("", note, &headings);
    for (program, row) in run.rows() {
        let (Some(misses), Some(p)) = (row.figures.deadline_misses, row.ns) else { continue };
        let share = row.figures.deadline_miss_share.unwrap_or(0.0) * 100.0;
        let cells = vec![
            short(&row.id),
            time(p.mean),
            time(p.p50),
            ns(row.figures.sd_ns),
            time(p.min),
            time(p.max),
            time(p.p95),
            time(p.p99),
            time(p.p99_9),
            time(p.p99_99),
            plain(row.figures.run_cv),
            plain(row.figures.run_cv_median),
            format!("{misses} of {} ({share:.4} %)", row.sent),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

/// What schedulers cost, and how late they are.
pub fn scheduler(run: &Run) -> Table {
    let headings = ["row", "p50", "p99", "max", "ns a node", "CPU %", "stalled %", "drift", "lost"];
    let mut table = Table::new("", "", &headings);
    for (program, row) in run.rows().filter(|(program, _)| program.name == "scheduler_benchmark") {
        let figures = &row.figures;
        let cells = vec![
            row.id.clone(),
            ns(row.ns.map(|ns| ns.p50)),
            ns(row.ns.map(|ns| ns.p99)),
            ns(row.ns.map(|ns| ns.max)),
            plain(figures.ns_per_node),
            plain(figures.cpu_percent),
            plain(figures.stalled_percent),
            plain(figures.drift_ticks),
            row.lost.to_string(),
        ];
        table.push(cells, source(program, row), row.oversubscribed);
    }
    table
}

fn source(program: &Program, row: &Row) -> String {
    format!("{}: {}", program.name, row.id)
}

/// An id without its first part, which the table's title says.
fn short(id: &str) -> String {
    match id.split_once('/') {
        Some(("one_way" | "throughput" | "floor" | "determinism", rest)) => rest.to_owned(),
        _ => {
            if id.contains('/') {
                id.to_owned()
            } else {
                subject(id).to_owned()
            }
        }
    }
}

fn ns(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), time)
}

fn plain(value: Option<f64>) -> String {
    value.map_or_else(
        || NONE.to_owned(),
        |value| match value.abs() {
            size if size >= 0.1 || size == 0.0 => digits(value),
            _ => format!("{value:.4}"),
        },
    )
}

fn interval(row: &Row) -> String {
    let ends = row.spread.map(|spread| spread.p50_ci.map(time).join(" – "));
    ends.unwrap_or_else(|| NONE.to_owned())
}

fn floor_ratio(row: &Row) -> String {
    match (row.floor_ratio, row.floor_ratio_ci) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} [{low:.2}, {high:.2}]"),
        (Some(ratio), None) => format!("{ratio:.2}"),
        _ => NONE.to_owned(),
    }
}

fn ratio_interval(program: &Program, row: &Row) -> String {
    let ends = program.interval(&row.id, "ratio_ci");
    ends.map_or_else(|| NONE.to_owned(), |[low, high]| format!("{low:.2} – {high:.2}"))
}
