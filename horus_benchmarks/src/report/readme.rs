//! Generates the tables of measurements in the README and other documents from recorded runs. No
//! number is typed by hand.
//!
//! A record is the stored result of one benchmark run. A table shows one record, and next to each
//! value its range over all records of the same CPU. WHY the range: two runs can differ by more
//! than the 95 % interval of each.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::iter::repeat;
use std::path::{Path, PathBuf};

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Deserialize;
use serde_json::json;

use crate::Outcome;
use crate::report::goals::{self, FLOOR_NS_KEY};
use crate::report::research::record::{self, ProgramRecord, RunRecord};
use crate::report::rows::{self, Row};
use crate::report::template::{TableColumns, new_template_engine};

/// The groups of tables in JSON. The key of a group is its name in the marker lines of a document.
const TABLE_DEFINITIONS_JSON: &str = include_str!("readme.json");

/// The template of the text that stands between two marker lines.
const TABLE_GROUP_TEMPLATE: &str = include_str!("readme.txt");

/// Name of the benchmark program that every shown record must have. Its rows come before rows of
/// other programs with the same id.
const REQUIRED_PROGRAM: &str = "all_paths_latency";

/// A table of rows of a record.
#[derive(Deserialize)]
struct ReadmeTable {
    /// The columns of the table. The template of the second one must have a value in every row.
    columns: TableColumns,
    /// The lines of the table. For each one: the name that is shown, and the id of the row.
    rows: Vec<(String, String)>,
}

/// The record that is shown in a document, together with all records of the same CPU, including the
/// shown one.
#[derive(Debug)]
pub struct ReadmeRecords {
    shown: RunRecord,
    all: Vec<RunRecord>,
}

impl ReadmeRecords {
    /// Reads the record in the directory `path`. Also reads those records in the directories beside
    /// `path` that were made on the same CPU.
    pub fn read(path: &Path) -> Outcome<ReadmeRecords> {
        let failed = |error| record_error(path, error);
        let shown = RunRecord::read(path).map_err(failed)?;
        if shown.program(REQUIRED_PROGRAM).is_none() {
            let error = format!("no rows of {REQUIRED_PROGRAM}");
            return Err(record_error(path, error));
        }
        let beside = path.parent().unwrap_or(path);
        let mut all = Vec::new();
        for directory in list_directories(beside).map_err(failed)? {
            match RunRecord::read(&directory) {
                Ok(run) if run.cpu_model() == shown.cpu_model() => all.push(run),
                Ok(_) => {}
                // Only the summary of the long tests may be there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(record_error(&directory, error)),
            }
        }
        Ok(ReadmeRecords { shown, all })
    }

    /// Returns the JSON of the row `id` in the shown record. Adds to it the text that says what was
    /// measured (`basis`), the floor beside its rounds, the states of the machine, and the range of
    /// each value over all records.
    fn row_json(&self, id: &str) -> Option<serde_json::Value> {
        let programs = self.shown.program(REQUIRED_PROGRAM).into_iter();
        let mut programs = programs.chain(&self.shown.programs);
        let (program, row) = programs.find_map(|program| Some((program, program.row(id)?)))?;
        let mut value = json!(row);
        value["basis"] = program.measurement_method(id).into();
        let floor: Option<[f64; 3]> = rows::row_setting(&program.settings, FLOOR_NS_KEY, id);
        value["floor"] = json!(floor);
        let states =
            |quantity| goals::quantity_by_name(quantity).machine_states(&program.settings, id);
        value["states"] = json!(states("floor"));
        value["rate_states"] = json!(states("rate"));
        let is_sole = has_single_subscriber(program, id);
        let rows = self.all.iter().flat_map(RunRecord::rows);
        let rows = rows
            .filter(|(program, row)| row.id == id && has_single_subscriber(program, id) == is_sole);
        let rows: Vec<&Row> = rows.map(|(_, row)| row).collect();
        let range = |read_value: fn(&Row) -> Option<f64>| value_range(&rows, read_value);
        value["span"] = json!({
            "p50": range(|row| Some(row.ns?.p50)),
            "floor_ratio": range(|row| row.floor_ratio),
            "msgs_per_s": range(|row| row.msgs_per_s),
        });
        Some(value)
    }
    /// Returns the text of the group `name` of tables. It names the machine, the commit and the
    /// record, to which it links with the path `link`, and states the number of missed goals.
    fn render_table_group(
        &self,
        name: &str,
        tables: &[ReadmeTable],
        link: &str,
    ) -> Outcome<String> {
        let tables = tables.iter().map(|table| self.render_table(table));
        let tables = tables.collect::<Outcome<Vec<String>>>()?;
        let programs = self.shown.programs.iter();
        let verdicts = programs.flat_map(|one| one.verdicts().into_iter().zip(repeat(&one.name)));
        let (missed, others): (Vec<_>, Vec<_>) = verdicts.partition(|(one, _)| one.is_missed());
        let undecided = others.iter().filter(|(one, _)| !one.is_met()).count();
        let shown = self
            .shown
            .program(REQUIRED_PROGRAM)
            .map(|program| json!({ "machine": program.machine, "commit": program.commit }));
        let values = context! {
            group => name,
            link,
            tables,
            shown => Value::from(Serde(shown)),
            records => self.all.len(),
            goals => others.len() + missed.len(),
            undecided,
            missed => Value::from(Serde(missed)),
        };
        let text = new_template_engine().render_str(TABLE_GROUP_TEMPLATE, values);
        Ok(text.expect("a constant, valid template"))
    }

    fn render_table(&self, table: &ReadmeTable) -> Outcome<String> {
        let headings = table.columns.headings();
        let rule = "---|".repeat(headings.len());
        let mut text = format!("| {} |\n|{rule}\n", headings.join(" | "));
        for (name, id) in &table.rows {
            let missing =
                || format!("the record has no row '{id}': record a full run of all programs");
            let mut row = self.row_json(id).ok_or_else(missing)?;
            row["name"] = name.as_str().into();
            let cells = table.columns.cells(row);
            cells[1].as_ref().ok_or_else(missing)?;
            let cells: Vec<_> = cells.into_iter().map(Option::unwrap_or_default).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        Ok(text)
    }
}

/// Returns true if the topic of the row `id` was declared to have only one subscriber. WHY this
/// matters: in old records it was in rows that have the default setting now, and with it small
/// messages stream about twice as fast.
fn has_single_subscriber(program: &ProgramRecord, id: &str) -> bool {
    program.measurement_method(id).contains("subscribers_max")
}

/// Returns the smallest and the largest value that `read_value` returns for any of `rows`.
fn value_range(rows: &[&Row], read_value: fn(&Row) -> Option<f64>) -> Option<[f64; 2]> {
    let values = rows.iter().filter_map(|row| read_value(row));
    values.fold(None, |span, value| {
        let [low, high] = span.unwrap_or([value; 2]);
        Some([value.min(low), value.max(high)])
    })
}

/// Returns the newest record in a CPU's directory: the record in which the shown program was
/// started last. If the directory is itself a record, returns that directory.
pub fn find_newest_record(path: &Path) -> Outcome<PathBuf> {
    let shown = |path: &Path| path.join(REQUIRED_PROGRAM).with_extension("json");
    if shown(path).is_file() {
        return Ok(path.to_owned());
    }
    let failed = |error| record_error(path, error);
    let found = list_directories(path).map_err(failed)?;
    let begun = |path: &PathBuf| {
        let run = RunRecord::read(&shown(path)).ok()?;
        let begun = run.programs.first()?.settings.get("begun_unix_s")?;
        Some((begun.as_u64()?, path.clone()))
    };
    let newest = found.iter().filter_map(begun).max().map(|(_, path)| path);
    newest.ok_or_else(|| record_error(path, "no record below it"))
}

/// Returns an error that names the record at `path`.
fn record_error(path: &Path, error: impl Display) -> Box<dyn Error> {
    let path = path.display();
    format!("{path}: {error}: name a directory like benchmarks/record/<cpu>/<date>-<commit>").into()
}

fn missing_marker_error(marker: &str) -> String {
    format!("the document has no line '{marker}' where it belongs")
}

fn list_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    record::list_paths(path, Path::is_dir)
}

/// Returns the document with its tables re-created from `records`. `link` is the path by which the
/// document can link to the shown record.
pub fn update_tables(document: &str, records: &ReadmeRecords, link: &str) -> Outcome<String> {
    let groups: BTreeMap<String, Vec<ReadmeTable>> =
        serde_json::from_str(TABLE_DEFINITIONS_JSON).expect("a constant, valid description");
    let mut text = document.to_owned();
    let mut found = 0;
    for (name, tables) in &groups {
        let [begin, end] = ["begin", "end"].map(|side| format!("<!-- {name}:{side} -->"));
        let Some((before, rest)) = text.split_once(&begin) else {
            continue;
        };
        let (_, after) = rest
            .split_once(&end)
            .ok_or_else(|| missing_marker_error(&end))?;
        let group = records.render_table_group(name, tables, link)?;
        text = format!("{before}{begin}\n{group}{end}{after}");
        found += 1;
    }
    match found {
        0 => Err(missing_marker_error("<!-- latency:begin -->").into()),
        _ => Ok(text),
    }
}
