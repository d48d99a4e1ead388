//! Renders a report as text: the machine, the warnings about it, and the tables of rows.

use comfy_table::{CellAlignment, Table, presets};

use serde_json::{Value, json};

use crate::measure::machine::Machine;
use crate::report::rows::{Report, Row};
use crate::report::template::fill_template;
use crate::report::versus;

const TABLE_LEGEND: &str = "\
ns. No samples removed: percentiles and max are of all of them; 'filtered' (Tukey, 1.5 IQR) is \
shown beside.
'p50 95 %' is the bootstrap interval of the median over rounds (of samples, if there are fewer \
than 5); 'CV' is the standard deviation of all samples by their mean.
x floor: median over alternating rounds of the ratio of medians to the two-line atomic ping-pong, \
[95 % bootstrap interval].
x theirs: their time by ours, or our rate by theirs, median over rounds: ours is ahead above 1. \
Fewer than 6 rounds have no interval; 'rounds dropped' had nothing to divide by.";

/// The columns of the tables. For each one: a heading, and a template that is filled from the row.
const COLUMNS: [(&str, &str); 38] = [
    ("id", "{/id}"),
    ("sent", "{/sent}"),
    ("lost", "{/lost}"),
    ("min", "{/ns/min:ns}"),
    ("p50", "{/ns/p50:ns}"),
    ("p90", "{/ns/p90:ns}"),
    ("p99", "{/ns/p99:ns}"),
    ("p99.9", "{/ns/p99_9:ns}"),
    ("p99.99", "{/ns/p99_99:ns}"),
    ("max", "{/ns/max:ns}"),
    ("mean", "{/ns/mean:ns}"),
    ("p50 95 %", "{/spread/p50_ci/0:ns}-{/spread/p50_ci/1:ns}"),
    ("CV", "{/spread/cv:3}"),
    ("sd", "{/sd_ns:ns}"),
    ("run CV", "{/run_cv:4}"),
    ("misses", "{/deadline_misses}"),
    ("ns/node", "{/ns_per_node:ns}"),
    ("swaps/s", "{/swaps_per_s:k}"),
    ("new memory", "{/first_ns:ns}"),
    ("bytes each", "{/bytes_each:0}"),
    ("peak MiB", "{/peak_mib:0}"),
    ("CPU %", "{/cpu_percent:2}"),
    ("stalled %", "{/stalled_percent:2}"),
    ("drift", "{/drift_ticks:signed}"),
    (
        "filtered p50/p99",
        "{/filtered_ns/p50:ns}/{/filtered_ns/p99:ns}",
    ),
    ("send p50/p99", "{/send_ns/p50:ns}/{/send_ns/p99:ns}"),
    ("msgs/s", "{/msgs_per_s:M}"),
    ("headroom", "{/headroom:0}x"),
    ("msgs/s each", "{/msgs_per_s_per_member:M}"),
    ("scaling", "{/scaling_percent:0} %"),
    (
        "x floor",
        "{/floor_ratio:2} [{/floor_ratio_ci/0:2}, {/floor_ratio_ci/1:2}]",
    ),
    ("ours", "{/compared/0}"),
    ("theirs", "{/compared/1}"),
    ("x theirs", "{/ratio:2}"),
    ("x theirs 95 %", "[{/ratio_ci/0:2}, {/ratio_ci/1:2}]"),
    ("rounds dropped", "{/rounds_dropped}"),
    ("TSC p50/p99", "{/tsc_ns/0:ns}/{/tsc_ns/1:ns}"),
    ("basis", "{/basis}"),
];

/// Returns the whole report as text for a terminal.
pub fn render(report: &Report) -> String {
    let mut text = render_heading(report);
    for warning in &report.machine.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    let overhead = report.machine.timer_overhead_ns;
    let resolution = report.machine.timer_resolution_ns;
    format!(
        "{text}\n{}\n{TABLE_LEGEND}\n\
         Timer: {overhead:.1} ns overhead are part of every timed interval, not subtracted; it \
         moves in steps of {resolution:.1} ns\n(percentiles fall on them, or on halves for RTT/2; \
         the medians behind ratios are interpolated).",
        render_tables(report).join("\n\n")
    )
}

/// Returns the tables of times, of rates and of comparisons. Omits tables without rows.
fn render_tables(report: &Report) -> Vec<String> {
    let (timed, others): (Vec<&Row>, Vec<_>) = report.rows.iter().partition(|row| row.ns.is_some());
    let (compared, streamed) = others
        .into_iter()
        .partition(|row| row.figures.ratio.is_some());
    let groups = [timed, streamed, compared]
        .into_iter()
        .filter(|rows| !rows.is_empty());
    groups
        .map(|rows| make_table(report, &rows).to_string())
        .collect()
}

fn render_heading(report: &Report) -> String {
    let Machine {
        cpu,
        cores,
        kernel,
        rustc,
        rustflags,
        profile,
        pinned,
        ..
    } = &report.machine;
    let governor = report.machine.governor.as_deref().unwrap_or("none");
    let flags = if rustflags.is_empty() {
        String::new()
    } else {
        format!(" ({rustflags})")
    };
    let near = pinned.near;
    let far = pinned.far;
    let timer = report.machine.timer;
    let ghz = report.machine.timer_hz / 1e9;
    let commit = &report.commit;
    let load = report.machine.load_average;
    format!(
        "{cpu}, {cores} CPUs, governor {governor}, kernel {kernel}\n\
         {rustc}{flags}, {profile}, commit {commit}\n\
         pinned {near}/{far}, load {load:.2}, timer {timer:?} at {ghz:.3} GHz\n"
    )
}

/// Returns an empty table with these headings.
pub fn empty_table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(headings);
    table
}

/// Returns a table of `rows`, without the columns that are empty in all of them.
fn make_table(report: &Report, rows: &[&Row]) -> Table {
    let rows: Vec<Value> = rows.iter().map(|row| row_with_basis(report, row)).collect();
    let columns: Vec<_> = COLUMNS
        .iter()
        .filter(|(_, template)| {
            rows.iter()
                .any(|row| fill_template(template, row).is_some())
        })
        .collect();
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let mut table = empty_table(&headings);
    for row in &rows {
        table.add_row(
            columns
                .iter()
                .map(|(_, template)| fill_template(template, row).unwrap_or_default()),
        );
    }
    for (column, (heading, _)) in table.column_iter_mut().zip(&columns) {
        let is_text = ["id", "basis"].contains(heading);
        let alignment = if is_text {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        };
        column.set_cell_alignment(alignment);
    }
    table
}

/// Returns the JSON of `row`, extended by the value that comparisons use, its unit, and how the row
/// was measured.
fn row_with_basis(report: &Report, row: &Row) -> Value {
    let mut value = json!(row);
    if let (Some(ours), Some(theirs)) = (row.figures.ours, row.figures.theirs) {
        value["compared"] = json!([ours, theirs].map(|one| versus::format_figure(&row.id, one)));
    }
    let basis = report.basis(&row.id);
    let parts = [row.oversubscription(), basis]
        .into_iter()
        .filter(|part| !part.is_empty());
    value["basis"] = parts.collect::<Vec<_>>().join("; ").into();
    value
}
