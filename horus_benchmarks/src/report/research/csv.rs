//! Writes all rows of a run as CSV, one line for each row, for spreadsheets and scripts.

use crate::report::research::record::RunRecord;
use crate::report::research::tables::row_with_context;
use crate::report::template::fill_template;

/// The columns of the CSV file. For each one: a name, and a template that is filled from the row. A
/// cell is empty if the row lacks a value of the template.
const COLUMNS: [(&str, &str); 34] = [
    ("program", "{/program}"),
    ("id", "{/id}"),
    ("sent", "{/sent}"),
    ("received", "{/received}"),
    ("lost", "{/lost}"),
    ("unit", "{/unit}"),
    ("min", "{/ns/min:raw}"),
    ("p1", "{/ns/p1:raw}"),
    ("p5", "{/ns/p5:raw}"),
    ("p25", "{/ns/p25:raw}"),
    ("p50", "{/ns/p50:raw}"),
    ("p50_low", "{/spread/p50_ci/0:raw}"),
    ("p50_high", "{/spread/p50_ci/1:raw}"),
    ("p75", "{/ns/p75:raw}"),
    ("p90", "{/ns/p90:raw}"),
    ("p95", "{/ns/p95:raw}"),
    ("p99", "{/ns/p99:raw}"),
    ("p99_9", "{/ns/p99_9:raw}"),
    ("p99_99", "{/ns/p99_99:raw}"),
    ("max", "{/ns/max:raw}"),
    ("mean", "{/ns/mean:raw}"),
    ("cv", "{/spread/cv:raw}"),
    ("rounds", "{/spread/rounds}"),
    ("rounds_cv", "{/spread/rounds_cv:raw}"),
    ("filtered_p50", "{/filtered_ns/p50:raw}"),
    ("filtered_p99", "{/filtered_ns/p99:raw}"),
    ("filtered_removed", "{/filtered_ns/removed}"),
    ("send_p50", "{/send_ns/p50:raw}"),
    ("msgs_per_s", "{/msgs_per_s:raw}"),
    ("floor_ratio", "{/floor_ratio:raw}"),
    ("floor_ratio_low", "{/floor_ratio_ci/0:raw}"),
    ("floor_ratio_high", "{/floor_ratio_ci/1:raw}"),
    ("oversubscribed", "{/busy}"),
    ("basis", "{/basis}"),
];

/// Returns all rows of the run as CSV: a line of column names, then a line for each row.
pub fn render(run: &RunRecord) -> String {
    let mut text = csv_line(COLUMNS.iter().map(|(name, _)| (*name).to_owned()));
    for (program, row) in run.rows() {
        let mut value = row_with_context(program, row);
        value["unit"] = if row.ns.is_some() { "ns" } else { "" }.into();
        value["busy"] = row.oversubscription().into();
        let cells = COLUMNS
            .iter()
            .map(|(_, template)| fill_template(template, &value).unwrap_or_default());
        text.push_str(&csv_line(cells));
    }
    text
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let mut text = cells
        .map(|cell| quote_cell(&cell))
        .collect::<Vec<_>>()
        .join(",");
    text.push('\n');
    text
}

/// Returns `cell` in quotes if RFC 4180 requires them for a CSV cell.
fn quote_cell(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
