//! Renders a report as text: the machine, the warnings about it, and the tables of rows.

use comfy_table::{CellAlignment, Table, presets};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use serde_json::json;

use crate::report::rows::{Report, Row};
use crate::report::template::{TableColumns, new_template_engine};

/// The template of the whole text.
const TERMINAL_TEMPLATE: &str = include_str!("terminal.txt");

/// Returns the whole report as text for a terminal. It has tables of times, of rates and of
/// comparisons, except those without rows.
pub fn render(report: &Report) -> String {
    let (timed, others): (Vec<&Row>, Vec<_>) = report.rows.iter().partition(|row| row.ns.is_some());
    let (compared, streamed) = others
        .into_iter()
        .partition(|row| row.additional.ratio.is_some());
    let groups = [timed, streamed, compared].into_iter();
    let tables: Vec<String> = groups
        .filter(|rows: &Vec<&Row>| !rows.is_empty())
        .map(|rows| make_table(report, &rows).to_string())
        .collect();
    let machine = Value::from(Serde(&report.machine));
    new_template_engine()
        .render_str(
            TERMINAL_TEMPLATE,
            context! { commit => &report.commit, tables, ..machine },
        )
        .expect("a constant, valid template")
}

/// Returns a table with the columns that are defined under `name`, and a line for each of `rows`.
pub fn table_with_columns(name: &str, rows: impl IntoIterator<Item = impl Serialize>) -> Table {
    let columns = TableColumns::of_table(name);
    let mut table = empty_table(&columns.headings());
    for row in rows {
        let cells = columns.cells(row).into_iter();
        table.add_row(cells.map(Option::unwrap_or_default));
    }
    table
}

fn empty_table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(headings);
    table
}

/// Returns a table of `rows`, without the columns that are empty in all of them.
fn make_table(report: &Report, rows: &[&Row]) -> Table {
    let columns = TableColumns::of_table("terminal");
    let cells = rows.iter().map(|row| {
        let mut value = json!(row);
        value["basis"] = report.measurement_method(&row.id).into();
        columns.cells(value)
    });
    let lines: Vec<Vec<Option<String>>> = cells.collect();
    let headings = columns.headings();
    let mut shown: Vec<usize> = (0..headings.len()).collect();
    shown.retain(|&index| lines.iter().any(|cells| cells[index].is_some()));
    let headings: Vec<&str> = shown.iter().map(|&index| headings[index]).collect();
    let mut table = empty_table(&headings);
    for cells in &lines {
        let cell = |&index: &usize| cells[index].as_deref().unwrap_or_default();
        table.add_row(shown.iter().map(cell));
    }
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_cell_alignment(match heading {
            "id" | "basis" => CellAlignment::Left,
            _ => CellAlignment::Right,
        });
    }
    table
}
