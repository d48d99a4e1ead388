//! A report as text: the machine, its shortcomings, the rows with their tails in sight.

use comfy_table::{CellAlignment, Table, presets};

use crate::measure::machine::Machine;
use crate::report::rows::{Report, Row};
use crate::report::versus;

const LEGEND: &str = "\
ns. No samples removed: percentiles and max are of all of them; 'filtered' (Tukey, 1.5 IQR) is \
shown beside.
'p50 95 %' is the bootstrap interval of the median over rounds (of samples, if there are fewer \
than 5); 'CV' is the standard deviation of all samples by their mean.
x floor: median over alternating rounds of the ratio of medians to the two-line atomic ping-pong, \
[95 % bootstrap interval].
x theirs: their time by ours, or our rate by theirs, median over rounds: ours is ahead above 1.";

/// A column: its heading, and its text for a row (empty where it does not apply).
type Column = (&'static str, fn(&Report, &Row) -> String);

const COLUMNS: &[Column] = &[
    ("id", |_, row| row.id.clone()),
    ("sent", |_, row| row.sent.to_string()),
    ("lost", |_, row| row.lost.to_string()),
    ("min", |_, row| ns(row.ns.map(|ns| ns.min))),
    ("p50", |_, row| ns(row.ns.map(|ns| ns.p50))),
    ("p90", |_, row| ns(row.ns.map(|ns| ns.p90))),
    ("p99", |_, row| ns(row.ns.map(|ns| ns.p99))),
    ("p99.9", |_, row| ns(row.ns.map(|ns| ns.p99_9))),
    ("p99.99", |_, row| ns(row.ns.map(|ns| ns.p99_99))),
    ("max", |_, row| ns(row.ns.map(|ns| ns.max))),
    ("mean", |_, row| ns(row.ns.map(|ns| ns.mean))),
    ("p50 95 %", |_, row| row.spread.map_or_else(String::new, |s| s.p50_ci.map(figure).join("-"))),
    ("CV", |_, row| {
        let cv = row.spread.and_then(|spread| spread.cv);
        cv.map_or_else(String::new, |cv| format!("{cv:.3}"))
    }),
    ("sd", |_, row| ns(row.figures.sd_ns)),
    ("run CV", |_, row| row.figures.run_cv.map_or_else(String::new, |cv| format!("{cv:.4}"))),
    ("misses", |_, row| {
        row.figures.deadline_misses.map_or_else(String::new, |misses| misses.to_string())
    }),
    ("ns/node", |_, row| ns(row.figures.ns_per_node)),
    ("swaps/s", |_, row| {
        row.figures.swaps_per_s.map_or_else(String::new, |rate| format!("{:.0}k", rate / 1e3))
    }),
    ("CPU %", |_, row| {
        row.figures.cpu_percent.map_or_else(String::new, |percent| format!("{percent:.2}"))
    }),
    ("stalled %", |_, row| {
        row.figures.stalled_percent.map_or_else(String::new, |percent| format!("{percent:.2}"))
    }),
    ("drift", |_, row| {
        row.figures.drift_ticks.map_or_else(String::new, |ticks| format!("{ticks:+.2}"))
    }),
    ("filtered p50/p99", |_, row| {
        row.filtered_ns
            .map_or_else(String::new, |f| format!("{}/{}", figure(f.ns.p50), figure(f.ns.p99)))
    }),
    ("send p50/p99", |_, row| {
        row.send_ns.map_or_else(String::new, |s| format!("{}/{}", figure(s.p50), figure(s.p99)))
    }),
    ("msgs/s", |_, row| {
        row.msgs_per_s.map_or_else(String::new, |rate| format!("{:.2}M", rate / 1e6))
    }),
    ("headroom", |_, row| {
        row.figures.headroom.map_or_else(String::new, |factor| format!("{factor:.0}x"))
    }),
    ("msgs/s each", |_, row| {
        let rate = row.figures.msgs_per_s_per_member;
        rate.map_or_else(String::new, |rate| format!("{:.2}M", rate / 1e6))
    }),
    ("scaling", |_, row| {
        row.figures.scaling_percent.map_or_else(String::new, |percent| format!("{percent:.0} %"))
    }),
    ("x floor", |_, row| floor_ratio(row)),
    ("ours", |_, row| versus::figure(row, row.figures.ours)),
    ("theirs", |_, row| versus::figure(row, row.figures.theirs)),
    ("x theirs", |_, row| versus::ratio(row)),
    ("TSC p50/p99", |_, row| {
        row.figures.tsc_ns.map_or_else(String::new, |ns| ns.map(figure).join("/"))
    }),
    ("basis", basis),
];

/// The whole report for a terminal.
pub fn render(report: &Report) -> String {
    let mut text = heading(report);
    for warning in &report.machine.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    let overhead = report.machine.timer_overhead_ns;
    let resolution = report.machine.timer_resolution_ns;
    format!(
        "{text}\n{}\n{LEGEND}\n\
         Timer: {overhead:.1} ns overhead are part of every timed interval, not subtracted; it \
         moves in steps of {resolution:.1} ns\n(percentiles fall on them, or on halves for RTT/2; \
         the medians behind ratios are interpolated).",
        tables(report).join("\n\n")
    )
}

/// Tables of times, of rates and of comparisons, as far as there are any: they share no figures.
fn tables(report: &Report) -> Vec<String> {
    let (timed, others): (Vec<&Row>, Vec<_>) = report.rows.iter().partition(|row| row.ns.is_some());
    let (compared, streamed) = others.into_iter().partition(|row| row.figures.ratio.is_some());
    let groups = [timed, streamed, compared].into_iter().filter(|rows| !rows.is_empty());
    groups.map(|rows| table(report, &rows).to_string()).collect()
}

fn heading(report: &Report) -> String {
    let Machine { cpu, cores, kernel, rustc, rustflags, profile, pinned, .. } = &report.machine;
    let governor = report.machine.governor.as_deref().unwrap_or("none");
    let flags = if rustflags.is_empty() { String::new() } else { format!(" ({rustflags})") };
    let (near, far) = (pinned.near, pinned.far);
    let timer = report.machine.timer;
    let ghz = report.machine.timer_hz / 1e9;
    let (commit, load) = (&report.commit, report.machine.load_average);
    format!(
        "{cpu}, {cores} CPUs, governor {governor}, kernel {kernel}\n\
         {rustc}{flags}, {profile}, commit {commit}\n\
         pinned {near}/{far}, load {load:.2}, timer {timer:?} at {ghz:.3} GHz\n"
    )
}

/// Columns that apply to no row are left out.
fn table(report: &Report, rows: &[&Row]) -> Table {
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, text)| rows.iter().any(|row| !text(report, row).is_empty()))
        .collect();
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(columns.iter().map(|(heading, _)| *heading));
    for row in rows {
        table.add_row(columns.iter().map(|(_, text)| text(report, row)));
    }
    for (column, (heading, _)) in table.column_iter_mut().zip(&columns) {
        let is_text = ["id", "basis"].contains(heading);
        let alignment = if is_text { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    table
}

fn basis(report: &Report, row: &Row) -> String {
    let basis = report.basis(&row.id);
    match (row.oversubscribed, basis) {
        (false, basis) => basis.to_owned(),
        (true, "") => "oversubscribed".to_owned(),
        (true, basis) => format!("oversubscribed; {basis}"),
    }
}

fn floor_ratio(row: &Row) -> String {
    match (row.floor_ratio, row.floor_ratio_ci) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} [{low:.2}, {high:.2}]"),
        _ => String::new(),
    }
}

fn ns(value: Option<f64>) -> String {
    value.map_or_else(String::new, figure)
}

/// As many digits as mean something: two decimals below 10 ns, one below 100, none above.
fn figure(ns: f64) -> String {
    let decimals = if ns < 10.0 { 2 } else { usize::from(ns < 100.0) };
    format!("{ns:.decimals$}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::pin::CpuPair;
    use crate::measure::stats::{Ratio, Samples};
    use crate::measure::tsc::TscClock;

    fn report() -> Report {
        let clock = TscClock::calibrate(Duration::from_millis(1));
        let machine = Machine::probe(CpuPair::choose(None).unwrap(), &clock).unwrap();
        let mut report = Report::new(machine, "abc".to_owned());
        let mut samples = Samples::new();
        (1..=1000).for_each(|value| samples.record(value));
        samples.record(123_456);
        let ratio = Ratio { median: 1.25, low: 1.2, high: 1.3 };
        let row = Row::samples("one_way/cross_thread/x/16B", &samples, 1.0);
        report.push(row.with_floor_ratio(Some(ratio)), "RTT/2");
        report
    }

    #[test]
    fn the_worst_sample_and_the_way_of_measuring_are_in_the_table() {
        let text = render(&report());
        for wanted in ["123456", "RTT/2", "1.25 [1.20, 1.30]", "commit abc", "not subtracted"] {
            assert!(text.contains(wanted), "no '{wanted}' in\n{text}");
        }
    }

    #[test]
    fn a_row_with_more_busy_threads_than_cpus_says_so() {
        let mut report = report();
        let cpus = report.machine.usable_cpus();
        for threads in [cpus, cpus + 1] {
            let row = Row { id: format!("x/{threads}"), ..Row::default() };
            report.push(row.with_busy_threads(threads), "streams");
        }
        assert!(!report.rows[1].oversubscribed && report.rows[2].oversubscribed);
        assert!(render(&report).contains("oversubscribed; streams"));
        report.machine.pinned.far = report.machine.pinned.near;
        report.push(Row { id: "one_way/cross_thread/y".to_owned(), ..Row::default() }, "");
        assert!(report.rows[3].oversubscribed);
    }

    #[test]
    fn columns_that_apply_to_no_row_are_left_out() {
        let text = render(&report());
        assert!(!text.contains("msgs/s"));
        assert!(!text.contains("send p50"));
    }

    #[test]
    fn times_and_rates_are_in_tables_of_their_own() {
        let mut report = report();
        assert_eq!(tables(&report).len(), 1);
        report.push(Row { msgs_per_s: Some(5e6), ..Row::default() }, "");
        let tables = tables(&report);
        assert!(!tables[0].contains("msgs/s") && tables[1].contains("5.00M"));
    }

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        assert_eq!([figure(1.234), figure(12.34), figure(1234.5)], ["1.23", "12.3", "1234"]);
    }
}
