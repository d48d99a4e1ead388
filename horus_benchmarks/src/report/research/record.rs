//! Reads a directory of records. For each program, it contains the results and the way in which the
//! program ended. Parts that cannot be read become problems.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::report::goals::{self, Verdict};
use crate::report::histograms;
use crate::report::rows::{self, Row};

/// Name of the file that lists how each program ended. Each line describes one program: `name TAB
/// result TAB seconds`.
pub const OUTCOMES_FILE: &str = "outcomes.tsv";

/// The result that [`OUTCOMES_FILE`] states for a program that succeeded.
pub const OK_RESULT: &str = "ok";

/// The way in which a benchmark program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutcome {
    /// [`OK_RESULT`], or the reason why the program failed or was skipped.
    pub result: String,
    /// Run time of the program, in seconds.
    pub seconds: u64,
}

/// The record of one benchmark program.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ProgramRecord {
    /// The name of the program. The names of its record files begin with it.
    pub name: String,
    /// The way in which the program ended; `None` if the run did not record it.
    pub outcome: Option<ProgramOutcome>,
    /// The description of the machine, as this program has recorded it.
    pub machine: Map<String, Value>,
    pub commit: String,
    pub settings: Map<String, Value>,
    pub rows: Vec<Row>,
    /// Histograms of the rows that have samples, by the id of the row. Their values are in
    /// picoseconds.
    pub histograms: BTreeMap<String, Histogram<u64>>,
    /// One text for each part of the record that could not be read.
    pub problems: Vec<String>,
}

impl ProgramOutcome {
    /// Returns true if the program succeeded, or if it was skipped for a stated reason.
    fn is_ok_or_skipped(&self) -> bool {
        self.result == OK_RESULT || self.is_skipped()
    }

    /// Returns true if the program was skipped. The field `result` of its outcome then contains the
    /// reason.
    pub fn is_skipped(&self) -> bool {
        self.result.starts_with("skipped")
    }
}

impl ProgramRecord {
    /// Returns the row with this id; `None` if it was not measured.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns a text that says how the row `id` was measured, such as `RTT/2`.
    pub fn basis(&self, id: &str) -> &str {
        rows::recorded_basis(&self.settings, id)
    }

    /// Returns the verdicts on the goals that the program recorded. If it recorded none, returns
    /// verdicts on the current goals.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let noted = self.settings.get(goals::VERDICTS_KEY).cloned();
        let noted = noted.and_then(|noted| serde_json::from_value(noted).ok());
        noted.unwrap_or_else(|| goals::verdicts(&self.rows, &self.settings))
    }

    /// Returns the text of `field` in the description of the machine; `None` if the description
    /// does not have it.
    pub fn machine_text(&self, field: &str) -> Option<&str> {
        self.machine.get(field)?.as_str()
    }

    /// Returns the program's warnings about circumstances that make the numbers worse than they
    /// could be.
    pub fn warnings(&self) -> Vec<&str> {
        let warnings = self.machine.get("warnings").and_then(Value::as_array);
        warnings
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Returns false if the program is known to have failed, or if its record could not be read
    /// completely.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
            && self
                .outcome
                .as_ref()
                .is_none_or(ProgramOutcome::is_ok_or_skipped)
    }

    fn new(name: &str) -> ProgramRecord {
        ProgramRecord {
            name: name.to_owned(),
            ..ProgramRecord::default()
        }
    }

    /// Reads the record in the file `path`, and the histograms in the file next to it.
    fn read(path: &Path, name: &str) -> ProgramRecord {
        let mut program = ProgramRecord::new(name);
        let text = fs::read_to_string(path);
        match text.and_then(|text| Ok(serde_json::from_str(&text)?)) {
            Ok(record) => program.add_record_json(record),
            Err(error) => program.problems.push(format!("cannot be read: {error}")),
        }
        match histograms::read_log(&path.with_extension("hlog")) {
            Ok(all) => program.histograms = all.into_iter().collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let problem = format!("histograms cannot be read: {error}");
                program.problems.push(problem);
            }
        }
        program
    }

    fn add_record_json(&mut self, mut record: Map<String, Value>) {
        let object = |value: Option<Value>| match value {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        self.machine = object(record.remove("machine"));
        self.settings = object(record.remove("settings"));
        self.commit = record
            .remove("commit")
            .and_then(|commit| Some(commit.as_str()?.to_owned()))
            .unwrap_or_default();
        let Some(Value::Array(rows)) = record.remove("rows") else {
            self.problems.push("has no list of rows".to_owned());
            return;
        };
        for row in rows {
            match Row::deserialize(&row) {
                Ok(read) => self.rows.push(read),
                Err(error) => {
                    let id = row.get("id").and_then(Value::as_str).unwrap_or("?");
                    let problem = format!("row {id} cannot be read: {error}");
                    self.problems.push(problem);
                }
            }
        }
    }
}

/// The records of all programs of a run.
#[derive(Debug, Clone, Default)]
pub struct RunRecord {
    /// The path of the directory that contains the records.
    pub directory: PathBuf,
    /// The programs, in the order in which they ran. Programs whose order is not known follow,
    /// sorted by name.
    pub programs: Vec<ProgramRecord>,
}

impl RunRecord {
    /// Reads all records in the directory `path`. If `path` is a file, reads only that record.
    pub fn read(path: &Path) -> io::Result<RunRecord> {
        let stem = |path: &Path| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        };
        if path.is_file() {
            let directory = path.parent().unwrap_or(Path::new("")).to_owned();
            let programs = stem(path).map(|name| ProgramRecord::read(path, &name));
            return Ok(RunRecord {
                directory,
                programs: programs.into_iter().collect(),
            });
        }
        let outcomes = read_outcomes(path)?;
        let mut programs: Vec<ProgramRecord> = Vec::new();
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                programs.extend(stem(&path).map(|name| ProgramRecord::read(&path, &name)));
            }
        }
        for (name, outcome) in &outcomes {
            let found = programs.iter().position(|program| program.name == *name);
            let index = found.unwrap_or_else(|| {
                programs.push(ProgramRecord::new(name));
                programs.len() - 1
            });
            programs[index].outcome = Some(outcome.clone());
        }
        if programs.is_empty() {
            let text = format!("no record (*.json) in {}", path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let place = |name: &str| outcomes.iter().position(|(other, _)| other == name);
        programs.sort_by_key(|one| (place(&one.name).unwrap_or(usize::MAX), one.name.clone()));
        Ok(RunRecord {
            directory: path.to_owned(),
            programs,
        })
    }

    /// Returns the first row that has one of these ids, and the program that measured it. If
    /// several programs measured the row, returns that of the program that ran first.
    pub fn find(&self, ids: &[impl AsRef<str>]) -> Option<(&ProgramRecord, &Row)> {
        ids.iter().find_map(|id| {
            self.programs
                .iter()
                .find_map(|program| Some((program, program.row(id.as_ref())?)))
        })
    }

    /// Returns the record of the program `name`; `None` if it did not measure anything.
    pub fn program(&self, name: &str) -> Option<&ProgramRecord> {
        self.programs
            .iter()
            .find(|program| program.name == name && !program.rows.is_empty())
    }

    /// Returns the record of the first program that has a description of the machine; `None` if
    /// there is none.
    pub fn first_with_machine(&self) -> Option<&ProgramRecord> {
        self.programs
            .iter()
            .find(|program| program.machine.contains_key("cpu"))
    }

    /// Returns the name of the CPU on which the run was made.
    pub fn cpu_model(&self) -> Option<&str> {
        self.first_with_machine()?.machine_text("cpu")
    }

    /// Returns all rows of the run, each with the record of the program that measured it.
    pub fn rows(&self) -> impl Iterator<Item = (&ProgramRecord, &Row)> {
        self.programs
            .iter()
            .flat_map(|program| program.rows.iter().map(move |row| (program, row)))
    }
}

fn read_outcomes(directory: &Path) -> io::Result<Vec<(String, ProgramOutcome)>> {
    let text = match fs::read_to_string(directory.join(OUTCOMES_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next()?.to_owned();
        let result = fields.next()?.to_owned();
        let seconds = fields
            .next()
            .and_then(|seconds| seconds.parse().ok())
            .unwrap_or(0);
        Some((name, ProgramOutcome { result, seconds }))
    };
    Ok(text.lines().filter_map(line).collect())
}
