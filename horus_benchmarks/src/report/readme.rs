//! Generates the tables of measurements in the README and other documents from recorded runs. No
//! number is typed by hand.
//!
//! A record is the stored result of one benchmark run. A table shows one record, and next to each
//! value its range over all records of the same CPU. WHY the range: two runs can differ by more
//! than the 95 % interval of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::goals::Verdict;
use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::Row;
use crate::report::template::Columns;

/// The definitions of the tables of times and rates, in JSON. Each table has a name, which a
/// document repeats in the marker lines around the table.
const TABLE_DEFINITIONS: &str = include_str!("readme.json");

/// Name of the table of missed goals in the marker lines of a document.
const GOALS_MARKER: &str = "goals";

/// Name of the benchmark program that every shown record must have. Its rows come before rows of
/// other programs with the same id.
const SHOWN_PROGRAM: &str = "all_paths_latency";

/// Name of the tables of actors in the marker lines of a document.
const ACTORS_MARKER: &str = "actors";

/// Groups of tables that stand together in a document. The key is the name of the group in the
/// marker lines of the document.
type Tables = BTreeMap<String, Vec<ReadmeTable>>;

/// A table of rows of a record.
#[derive(Deserialize)]
struct ReadmeTable {
    /// The columns of the table. For each one: a heading, and a template that is filled from a row.
    /// The template of the second column must have a value in every row.
    columns: Columns,
    /// The lines of the table. For each one: the name that is shown, and the id of the row.
    rows: Vec<(String, String)>,
}

/// The reason why the tables of a document could not be updated, as a text.
pub type ReadmeError = String;

/// The record that is shown in a document, together with all records of the same CPU, including the
/// shown one.
#[derive(Debug)]
pub struct Records {
    shown: RunRecord,
    all: Vec<RunRecord>,
}

impl Records {
    /// Reads the record in the directory `path`. Also reads those records in the directories beside
    /// `path` that were made on the same CPU.
    pub fn read(path: &Path) -> Result<Records, ReadmeError> {
        let failed = record_error(path);
        let shown = RunRecord::read(path).map_err(&failed)?;
        if shown.program(SHOWN_PROGRAM).is_none() {
            return Err(failed(io::Error::other(format!(
                "no rows of {SHOWN_PROGRAM}"
            ))));
        }
        let beside = path.parent().unwrap_or(path);
        let mut all = Vec::new();
        for directory in list_directories(beside).map_err(&failed)? {
            match RunRecord::read(&directory) {
                Ok(run) if run.cpu_model() == shown.cpu_model() => all.push(run),
                Ok(_) => {}
                // Only the summary of the long tests may be there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(record_error(&directory)(error)),
            }
        }
        Ok(Records { shown, all })
    }

    /// Returns the JSON of the row `id` in the shown record. Adds to it the text that says what was
    /// measured (`basis`), and the range of each value over all records.
    fn row(&self, id: &str) -> Option<Value> {
        let programs = self.shown.program(SHOWN_PROGRAM).into_iter();
        let (program, row) = programs
            .chain(&self.shown.programs)
            .find_map(|program| Some((program, program.row(id)?)))?;
        let mut value = json!(row);
        value["basis"] = program.basis(id).into();
        value["span"] = json!({
            "p50": self.value_range(id, |row| Some(row.ns?.p50)),
            "floor_ratio": self.value_range(id, |row| row.floor_ratio),
            "msgs_per_s": self.value_range(id, |row| row.msgs_per_s),
        });
        Some(value)
    }

    /// Returns the smallest and the largest value that `figure` returns for the row `id`, over all
    /// programs of all records.
    fn value_range(&self, id: &str, figure: impl Fn(&Row) -> Option<f64>) -> Option<[f64; 2]> {
        let rows = self
            .all
            .iter()
            .flat_map(RunRecord::rows)
            .map(|(_, row)| row);
        let figures = rows.filter(|row| row.id == id).filter_map(figure);
        figures.fold(None, |span, figure| {
            let [low, high] = span.unwrap_or([figure; 2]);
            Some([figure.min(low), figure.max(high)])
        })
    }

    /// Returns the verdicts on all goals in the shown record, each with the name of the program
    /// that measured it.
    fn verdicts(&self) -> Vec<(&str, Verdict)> {
        let of = |program: &ProgramRecord| program.verdicts();
        let programs = self.shown.programs.iter();
        programs
            .flat_map(|program| of(program).into_iter().map(|one| (&*program.name, one)))
            .collect()
    }

    /// Returns the heading of the table of missed goals. It contains the CPU, the commit, the
    /// record and the number of missed goals. `link` is the path of the record, to which the
    /// heading links.
    fn goals_heading(&self, link: &str) -> String {
        let program = self.shown.program(SHOWN_PROGRAM);
        let text = |field| program.and_then(|program| program.machine_text(field));
        let [cpu, kernel, rustc] =
            ["cpu", "kernel", "rustc"].map(|field| text(field).unwrap_or("unknown"));
        let cores = program.and_then(|program| program.machine.get("cores")?.as_u64());
        let commit = program.map_or("unknown", |program| &program.commit);
        let verdicts = self.verdicts();
        let missed = verdicts.iter().filter(|(_, one)| !one.is_met()).count();
        format!(
            "{cpu} ({} cores), kernel {kernel}, {rustc}, commit `{commit}` ([record]({link})). \
             It has rows for {} of the present goals, and misses **{missed}**.",
            cores.unwrap_or_default(),
            verdicts.len(),
        )
    }

    /// Returns the text above a table of times. It names the machine and the commit, and explains
    /// how the times were measured and what the column `span` shows: the range of the same row over
    /// all records of this CPU. `link` leads to the record.
    fn times_introduction(&self, link: &str) -> String {
        format!(
            "{}\nTwo pinned processes, half a round trip, all samples, nothing subtracted. *span*: \
             the lowest and the highest value of the row in all programs of the {} records of this \
             CPU. *× floor*: the median, over the rounds, of the ratio to the floor beside the \
             round; it differs from the quotient of the medians.\n\n",
            self.goals_heading(link),
            self.all.len(),
        )
    }
}

/// Returns the newest record in a CPU's directory: the record in which the shown program was
/// started last. If the directory is itself a record, returns that directory.
pub fn newest_record(path: &Path) -> Result<PathBuf, ReadmeError> {
    let shown = |path: &Path| path.join(SHOWN_PROGRAM).with_extension("json");
    if shown(path).is_file() {
        return Ok(path.to_owned());
    }
    let failed = record_error(path);
    let found = list_directories(path).map_err(&failed)?;
    let begun = |path: &PathBuf| {
        let run = RunRecord::read(&shown(path)).ok()?;
        let begun = run.programs.first()?.settings.get("begun_unix_s")?;
        Some((begun.as_u64()?, path.clone()))
    };
    let newest = found.iter().filter_map(begun).max().map(|(_, path)| path);
    newest.ok_or_else(|| failed(io::Error::other("no record below it")))
}

/// Returns a function that converts an I/O error to an error text that names the record at `path`.
fn record_error(path: &Path) -> impl Fn(io::Error) -> ReadmeError {
    let path = path.display();
    move |error| {
        format!("{path}: {error}: name a directory like benchmarks/record/<cpu>/<date>-<commit>")
    }
}

fn marker_error(marker: &str) -> ReadmeError {
    format!("the document has no line '{marker}' where it belongs")
}

fn list_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    Ok(found)
}

/// Returns the document with its tables re-created from `records`. `link` is the path by which the
/// document can link to the shown record.
pub fn update_tables(document: &str, records: &Records, link: &str) -> Result<String, ReadmeError> {
    let tables: Tables =
        serde_json::from_str(TABLE_DEFINITIONS).expect("a constant, valid description");
    let mut text = document.to_owned();
    let mut found = 0;
    for name in tables.keys().map(String::as_str).chain([GOALS_MARKER]) {
        let [begin, end] = ["begin", "end"].map(|side| format!("<!-- {name}:{side} -->"));
        let Some((before, rest)) = text.split_once(&begin) else {
            continue;
        };
        let (_, after) = rest.split_once(&end).ok_or_else(|| marker_error(&end))?;
        let table = match tables.get(name) {
            Some(tables) => render_tables(name, tables, records, link)?,
            None => render_goals(records, link),
        };
        text = format!("{before}{begin}\n{table}{end}{after}");
        found += 1;
    }
    match found {
        0 => Err(marker_error("<!-- latency:begin -->")),
        _ => Ok(text),
    }
}

fn render_tables(
    name: &str,
    tables: &[ReadmeTable],
    records: &Records,
    link: &str,
) -> Result<String, ReadmeError> {
    let tables: Result<Vec<_>, _> = tables.iter().map(|table| table.render(records)).collect();
    let introduction = if name == ACTORS_MARKER {
        format!("{}\n\n", records.goals_heading(link))
    } else {
        records.times_introduction(link)
    };
    Ok(introduction + &tables?.join("\n"))
}

impl ReadmeTable {
    fn render(&self, records: &Records) -> Result<String, ReadmeError> {
        let headings = self.columns.headings();
        let rule = "---|".repeat(headings.len());
        let mut text = format!("| {} |\n|{rule}\n", headings.join(" | "));
        for (name, id) in &self.rows {
            let missing =
                || format!("the record has no row '{id}': record a full run of all programs");
            let mut row = records.row(id).ok_or_else(missing)?;
            row["name"] = name.as_str().into();
            let cells = self.columns.cells(row);
            cells[1].as_ref().ok_or_else(missing)?;
            let cells: Vec<_> = cells.into_iter().map(Option::unwrap_or_default).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        Ok(text)
    }
}

fn render_goals(records: &Records, link: &str) -> String {
    let mut text = format!("{}\n\n", records.goals_heading(link));
    text.push_str("| program | row | goal | measured | verdict |\n|---|---|---|---|---|\n");
    for (program, verdict) in records.verdicts().iter().filter(|(_, one)| !one.is_met()) {
        let Verdict {
            id,
            goal,
            measured,
            verdict,
        } = verdict;
        let _ = writeln!(
            text,
            "| `{program}` | `{id}` | {goal} | {measured} | {verdict} |"
        );
    }
    text
}
