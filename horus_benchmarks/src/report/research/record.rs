//! Reads a directory of records. For each program, it contains the results and the way in which the
//! program ended. Parts that cannot be read become problems.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::report::goals::{self, Verdict};
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
    /// True if there is a file with the histograms of the rows next to the record.
    pub has_histograms: bool,
    /// One text for each part of the record that could not be read.
    pub problems: Vec<String>,
}

/// The content of a record file. Each row is read by itself, so that only those are missing that
/// cannot be read.
#[derive(Deserialize)]
struct RecordJson {
    #[serde(default)]
    machine: Map<String, Value>,
    #[serde(default)]
    commit: String,
    #[serde(default)]
    settings: Map<String, Value>,
    rows: Vec<Value>,
}

impl ProgramOutcome {
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
    pub fn measurement_method(&self, id: &str) -> &str {
        rows::measurement_method(&self.settings, id)
    }

    /// Returns the verdicts on the present goals. If there are none for rows of this program,
    /// returns the verdicts that it recorded, as the programs of Python and C++ do. WHY not always
    /// those: the goals and the rules for verdicts may have changed since the run.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let present = goals::judge_goals(&self.rows, &self.settings);
        if !present.is_empty() {
            return present;
        }
        let noted = self.settings.get(goals::VERDICTS_KEY).cloned();
        let noted = noted.and_then(|noted| serde_json::from_value(noted).ok());
        noted.unwrap_or_default()
    }

    /// Returns the program's warnings about circumstances that make the numbers worse than they
    /// could be.
    pub fn warnings(&self) -> Vec<&str> {
        let warnings = self.machine.get("warnings").and_then(Value::as_array);
        let texts = warnings.into_iter().flatten();
        texts.filter_map(Value::as_str).collect()
    }

    /// Returns false if the program is known to have failed, or if its record could not be read
    /// completely.
    pub fn is_complete(&self) -> bool {
        let is_ok = |one: &ProgramOutcome| one.result == OK_RESULT || one.is_skipped();
        self.problems.is_empty() && self.outcome.as_ref().is_none_or(is_ok)
    }

    /// Reads the record in the file `path`.
    fn read(path: &Path) -> ProgramRecord {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut program = ProgramRecord {
            name: name.into_owned(),
            has_histograms: path.with_extension("hlog").is_file(),
            ..ProgramRecord::default()
        };
        let text = fs::read_to_string(path);
        match text.and_then(|text| Ok(serde_json::from_str(&text)?)) {
            Ok(record) => program.add_json(record),
            Err(error) => program.problems.push(format!("cannot be read: {error}")),
        }
        program
    }

    fn add_json(&mut self, record: RecordJson) {
        self.machine = record.machine;
        self.commit = record.commit;
        self.settings = record.settings;
        for row in record.rows {
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
    /// The programs, in the order in which they ran. Programs whose order is not known follow,
    /// sorted by name.
    pub programs: Vec<ProgramRecord>,
}

impl RunRecord {
    /// Reads all records in the directory `path`. If `path` is a file, reads only that record.
    pub fn read(path: &Path) -> io::Result<RunRecord> {
        if path.is_file() {
            let programs = vec![ProgramRecord::read(path)];
            return Ok(RunRecord { programs });
        }
        let mut programs = Vec::new();
        for (name, outcome) in read_outcomes(path)? {
            programs.push(ProgramRecord {
                name,
                outcome: Some(outcome),
                ..ProgramRecord::default()
            });
        }
        for file in list_paths(path, |path| path.extension() == Some("json".as_ref()))? {
            let mut program = ProgramRecord::read(&file);
            let mut noted = programs.iter_mut();
            match noted.find(|one| one.name == program.name) {
                Some(noted) => {
                    program.outcome = noted.outcome.take();
                    *noted = program;
                }
                None => programs.push(program),
            }
        }
        if programs.is_empty() {
            let text = format!("no record (*.json) in {}", path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        Ok(RunRecord { programs })
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
        self.first_with_machine()?.machine.get("cpu")?.as_str()
    }

    /// Returns all rows of the run, each with the record of the program that measured it.
    pub fn rows(&self) -> impl Iterator<Item = (&ProgramRecord, &Row)> {
        self.programs
            .iter()
            .flat_map(|program| program.rows.iter().map(move |row| (program, row)))
    }
}

/// Returns the paths in `directory` for which `is_wanted` returns true, sorted.
pub(crate) fn list_paths(
    directory: &Path,
    is_wanted: impl Fn(&Path) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| is_wanted(path));
    paths.sort();
    Ok(paths)
}

fn read_outcomes(directory: &Path) -> io::Result<Vec<(String, ProgramOutcome)>> {
    let text = match fs::read_to_string(directory.join(OUTCOMES_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let outcomes = text.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, result) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let seconds = fields.next().and_then(|seconds| seconds.parse().ok());
        let seconds = seconds.unwrap_or_default();
        Some((name, ProgramOutcome { result, seconds }))
    });
    Ok(outcomes.collect())
}
