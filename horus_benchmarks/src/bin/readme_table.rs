//! Writes the README's latency table from a record: `readme_table RECORD.json [README.md]`.

use std::process::ExitCode;

use horus_benchmarks::readme::with_table;
use horus_benchmarks::report::Report;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [record] => update(record, "README.md"),
        [record, readme] => update(record, readme),
        _ => Err("usage: readme_table RECORD.json [README.md]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("readme_table: {error}");
            ExitCode::from(2)
        }
    }
}

fn update(record: &str, readme: &str) -> Result<(), Box<dyn std::error::Error>> {
    let report: Report = serde_json::from_str(&std::fs::read_to_string(record)?)?;
    let text = std::fs::read_to_string(readme)?;
    std::fs::write(readme, with_table(&text, &report, record)?)?;
    Ok(())
}
