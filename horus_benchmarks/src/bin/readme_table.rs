//! Writes the tables of measurements in the documents, from the records of benchmark runs:
//! `readme_table RECORD [FILE.md …]`.

use std::path::Path;
use std::process::ExitCode;

use horus_benchmarks::Outcome;
use horus_benchmarks::report::readme::{self, ReadmeRecords};

/// The documents whose tables are updated, as paths from the root of the repository.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/performance.md", "docs/actors.md"];

const USAGE: &str = "usage: readme_table RECORD [FILE.md ...]
RECORD is benchmarks/record/<cpu>/<date>-<commit>, or benchmarks/record/<cpu> for the newest of it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [record] if !record.starts_with('-') => {
            update_documents(record, &DOCUMENTS.map(str::to_owned))
        }
        [record, documents @ ..] if !record.starts_with('-') => update_documents(record, documents),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("readme_table: {error}");
            ExitCode::from(2)
        }
    }
}

fn update_documents(record: &str, documents: &[String]) -> Outcome {
    let record = readme::find_newest_record(Path::new(record))?;
    let records = ReadmeRecords::read(&record)?;
    for document in documents {
        let text = std::fs::read_to_string(document)?;
        // As many steps up as the document is below the root.
        let depth = Path::new(document).components().count() - 1;
        let link = format!("{}{}", "../".repeat(depth), record.display());
        std::fs::write(document, readme::update_tables(&text, &records, &link)?)?;
    }
    println!("tables of {}", record.display());
    Ok(())
}
