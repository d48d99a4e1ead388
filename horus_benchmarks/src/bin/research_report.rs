//! Creates an HTML page and a CSV file from a directory of benchmark records, or compares two such
//! directories.

use std::path::Path;
use std::process::ExitCode;

use horus_benchmarks::Outcome;
use horus_benchmarks::report::research::compare::RunComparison;
use horus_benchmarks::report::research::record::RunRecord;
use horus_benchmarks::report::research::{csv, page};

const USAGE: &str = "\
Reads the records (*.json, *.hlog) of a run of all benchmarks.

Usage: research_report DIR            writes DIR/report.html and DIR/results.csv
       research_report --compare OLD NEW
       research_report --compare OLD OLD-2 ... -- NEW NEW-2 ...

OLD and NEW are directories, or single records; several are runs of the same commit. A row is
compared by its ratio, or else by its median or rate, and by each quantity for which it has a goal.
The exit code is 1 if one of them became worse by more than noise, is missing, or fails now; 2 if
the records cannot be read. Noise is 5 % if each side has several runs, and otherwise 25 %.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        ["--compare", runs @ ..] => match runs.iter().position(|one| *one == "--") {
            Some(at) if at > 0 && at + 1 < runs.len() => compare_runs(&runs[..at], &runs[at + 1..]),
            None if runs.len() == 2 => compare_runs(&runs[..1], &runs[1..]),
            _ => Err(USAGE.into()),
        },
        [directory] if !directory.starts_with('-') => write_report(Path::new(directory)),
        _ => Err(USAGE.into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("research_report: {error}");
        ExitCode::from(2)
    })
}

fn write_report(directory: &Path) -> Outcome<ExitCode> {
    let run = read_run(directory)?;
    let full = std::fs::canonicalize(directory)?;
    let mut names = full.iter().rev().take(2).map(|name| name.to_string_lossy());
    let date = names.next().unwrap_or_default();
    let name = names
        .next()
        .map_or(date.to_string(), |cpu| format!("{cpu}, {date}"));
    std::fs::write(directory.join("results.csv"), csv::render(&run))?;
    let report = directory.join("report.html");
    std::fs::write(&report, page::render(&run, &name)?)?;
    println!("{}", report.display());
    Ok(ExitCode::SUCCESS)
}

fn compare_runs(old: &[&str], new: &[&str]) -> Outcome<ExitCode> {
    let read = |paths: &[&str]| -> Outcome<Vec<RunRecord>> {
        paths.iter().map(|path| read_run(Path::new(path))).collect()
    };
    let comparison = RunComparison::of_runs(&read(old)?, &read(new)?);
    print!("{}", comparison.render());
    Ok(ExitCode::from(u8::from(comparison.is_worse())))
}

fn read_run(path: &Path) -> Outcome<RunRecord> {
    RunRecord::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
