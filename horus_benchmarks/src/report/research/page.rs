//! Renders the report's page: one HTML file that needs no other files and no network. Its template
//! decides which rows and charts are in which section.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Error, Output, State, UndefinedBehavior};
use serde_json::json;

use crate::report::goals::FLOOR_NS_KEY;
use crate::report::research::chart::PLOT_AREA;
use crate::report::research::figure::draw_all_charts;
use crate::report::research::record::{OK_RESULT, ProgramRecord, RunRecord};
use crate::report::rows::{self, Row};
use crate::report::template::{TableColumns, new_template_engine};

const PAGE_HTML: &str = include_str!("page.html");
const PAGE_CSS: &str = include_str!("page.css");

/// Returns the HTML of the whole page. `name` is the name of the run.
///
/// # Errors
///
/// If the template of the page is invalid.
pub fn render(run: &RunRecord, name: &str) -> Result<String, Error> {
    let programs = || run.programs.iter();
    let rows: Vec<serde_json::Value> = run
        .rows()
        .map(|(program, row)| row_json_with_context(program, row))
        .collect();
    let ids: Vec<&str> = run.rows().map(|(_, row)| &*row.id).collect();
    let content = json!({
        "name": name,
        "style": PAGE_CSS,
        "plot": PLOT_AREA,
        "machine": run.first_with_machine().map(|program| {
            let mut machine = program.machine.clone();
            machine.insert("commit".to_owned(), program.commit.as_str().into());
            machine
        }),
        "commits": programs()
            .map(|one| &*one.commit)
            .filter(|commit| !commit.is_empty())
            .collect::<BTreeSet<_>>(),
        "warnings": distinct_warnings(run),
        "failed": programs()
            .filter(|one| !one.is_complete())
            .map(|one| &one.name)
            .collect::<Vec<_>>(),
        "programs": programs().map(program_json).collect::<Vec<_>>(),
        "figures": programs().flat_map(draw_all_charts).collect::<Vec<_>>(),
        // The first row with each id.
        "by_id": ids.iter().zip(&rows).rev().collect::<BTreeMap<_, _>>(),
        "rows": rows,
    });
    let mut engine = new_template_engine();
    engine.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    engine.set_formatter(escape_html);
    engine.set_auto_escape_callback(|_| AutoEscape::Html);
    engine.add_test("containing", |text: &str, part: &str| text.contains(part));
    engine.add_function("headings", |table: &str| {
        TableColumns::of_table(table).headings()
    });
    engine.add_filter("cells", |row: Value, table: &str| {
        TableColumns::of_table(table).cells(row)
    });
    engine.render_str(PAGE_HTML, Serde(content))
}

/// Writes `value` to the page. Escapes the characters that have a meaning in HTML, unless the value
/// is marked as safe.
///
/// WHY not the escape function of the template engine: it also escapes slashes, and every id has
/// slashes.
fn escape_html(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            out.write_str(&text.replace('>', "&gt;").replace('"', "&quot;"))?;
        }
        None => write!(out, "{value}")?,
    }
    Ok(())
}

/// Returns the JSON of `row` with values of its record: the name of the program, how the row was
/// measured, and the floor that was measured with the row. `source` names both, and `short` is the
/// id without its first part.
pub(super) fn row_json_with_context(program: &ProgramRecord, row: &Row) -> serde_json::Value {
    let mut value = json!(row);
    let short = match row.id.split_once('/') {
        Some(("one_way" | "throughput" | "floor" | "determinism" | "scalability", rest)) => rest,
        _ => &row.id,
    };
    value["short"] = short.into();
    value["program"] = program.name.as_str().into();
    value["source"] = format!("{}: {}", program.name, row.id).into();
    value["basis"] = program.measurement_method(&row.id).into();
    let floor: Option<[f64; 3]> = rows::row_setting(&program.settings, FLOOR_NS_KEY, &row.id);
    if let (Some([_, floor, _]), Some(ns), Some(_)) = (floor, row.ns, row.floor_ratio) {
        value["floor"] = floor.into();
        value["overhead"] = (ns.p50 - floor).into();
    }
    value
}

/// Returns the warnings of all programs. With each warning comes the number of other programs that
/// also have it. If warnings differ only in a number, returns only the first of them.
fn distinct_warnings(run: &RunRecord) -> Vec<(&str, usize)> {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    for warning in run.programs.iter().flat_map(ProgramRecord::warnings) {
        let mut known = warnings.iter_mut();
        match known.find(|(first, _)| words(first) == words(warning)) {
            Some((_, more)) => *more += 1,
            None => warnings.push((warning, 0)),
        }
    }
    warnings
}

/// Returns what the page says about `program` itself.
fn program_json(program: &ProgramRecord) -> serde_json::Value {
    let outcome = program.outcome.as_ref();
    let class = match outcome {
        Some(outcome) if outcome.result == OK_RESULT => "ok",
        Some(outcome) if !outcome.is_skipped() => "failed",
        _ => "note",
    };
    json!({
        "name": program.name,
        "result": outcome.map_or("not noted", |outcome| &outcome.result),
        "class": class,
        "problems": program.problems,
        "seconds": outcome.map(|outcome| outcome.seconds),
        "rows": program.rows.len(),
        "has_record": !program.rows.is_empty() || !program.machine.is_empty(),
        "has_histograms": program.has_histograms,
        "real_time": program.settings.get("real_time").unwrap_or(&json!({})),
    })
}
