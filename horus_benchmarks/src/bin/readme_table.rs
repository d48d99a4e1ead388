//! Writes the tables of the documents from a record: `readme_table RECORD.json [FILE.md …]`.

use std::path::Path;
use std::process::ExitCode;

use horus_benchmarks::readme::with_tables;
use horus_benchmarks::report::Report;

/// The documents with tables, from the root of the repository.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/performance.md"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [record] => DOCUMENTS.iter().try_for_each(|document| update(record, document)),
        [record, documents @ ..] => {
            documents.iter().try_for_each(|document| update(record, document))
        }
        [] => Err("usage: readme_table RECORD.json [FILE.md ...]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("readme_table: {error}");
            ExitCode::from(2)
        }
    }
}

fn update(record: &str, document: &str) -> Result<(), Box<dyn std::error::Error>> {
    let report: Report = serde_json::from_str(&std::fs::read_to_string(record)?)?;
    let text = std::fs::read_to_string(document)?;
    // As many steps up as the document is below the root.
    let depth = Path::new(document).components().count() - 1;
    let link = format!("{}{record}", "../".repeat(depth));
    std::fs::write(document, with_tables(&text, &report, &link)?)?;
    Ok(())
}
