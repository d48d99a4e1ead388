//! The record of skipped tests. The harness hides the output of a passing test, so a skip would not
//! be seen; `make test` prints this record at its end.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::thread;

/// The variable that names the file to which skips are appended.
const FILE_VARIABLE: &str = "HORUS_TEST_SKIPS";

/// The prefix of a line that reports a skip.
const MARK: &str = "SKIP ";

/// Records that the calling test does not check its property here. `reason` is one sentence that
/// says what is missing and how to get it. The test then returns.
pub fn skip(reason: impl Display) {
    let binary = env::current_exe().unwrap_or_default();
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash, which has no meaning to a reader.
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _)| name);
    let thread = thread::current();
    record(&format!("{binary}::{}: {reason}", thread.name().unwrap_or("?")));
}

/// Records the skips that another process has printed, because it may not have had this file.
pub fn repeat_skips(printed: &str) {
    printed.lines().filter_map(|line| line.strip_prefix(MARK)).for_each(record);
}

fn record(line: &str) {
    let line = line.replace('\n', " ");
    // WHY a lock: this bypasses the harness's capture, and the harness may be in the middle of a
    // line.
    let _ = io::stdout().lock().write_all(format!("\n{MARK}{line}\n").as_bytes());
    if let Some(file) = env::var_os(FILE_VARIABLE)
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(file)
    {
        // One write, so that lines of parallel tests do not mix.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
