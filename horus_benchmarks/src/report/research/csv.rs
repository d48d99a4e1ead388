//! Writes all rows of a run as CSV, one line for each row, for spreadsheets and scripts.

use crate::report::research::page::row_json_with_context;
use crate::report::research::record::RunRecord;
use crate::report::template::TableColumns;

/// Returns all rows of the run as CSV: a line of column names, then a line for each row. A cell is
/// empty if the row lacks its value.
pub fn render(run: &RunRecord) -> String {
    let columns = TableColumns::of_table("csv");
    let mut text = columns.headings().join(",");
    text.push('\n');
    for (program, row) in run.rows() {
        let cells = columns
            .cells(row_json_with_context(program, row))
            .into_iter();
        let cells: Vec<String> = cells
            .map(|cell| quote_cell(cell.unwrap_or_default()))
            .collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

/// Returns `cell` in quotes if RFC 4180 requires them for a CSV cell.
fn quote_cell(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}
