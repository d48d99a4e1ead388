//! A record of the tests that were skipped. WHY: the test harness hides the output of passing
//! tests, so nobody would see that a test was skipped. `make test` prints the record when it ends.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;

/// The environment variable that contains the path of the file to which skips are appended.
const SKIPS_FILE_VARIABLE: &str = "HORUS_TEST_SKIPS";

/// Prefix of a printed line that reports a skipped test. The record of skipped tests consists of
/// such lines.
const SKIP_PREFIX: &str = "SKIP ";

/// Records that the calling test is skipped on this machine. `reason` is one sentence that says
/// what is missing and how to install or enable it. The function does not end the test: the caller
/// has to return afterwards.
pub fn skip(reason: impl Display) {
    // WHY not `current_exe`: Miri cannot ask the kernel for it.
    let binary = PathBuf::from(env::args_os().next().unwrap_or_default());
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash, which has no meaning to a reader.
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _)| name);
    let thread = thread::current();
    record_skip(&format!(
        "{binary}::{}: {reason}",
        thread.name().unwrap_or("?")
    ));
}

/// Records the skipped tests that another process has reported. `printed` is the output of that
/// process, which perhaps could not write to the file itself.
pub fn record_skips_of_child(printed: &str) {
    printed
        .lines()
        .filter_map(|line| line.strip_prefix(SKIP_PREFIX))
        .for_each(record_skip);
}

fn record_skip(line: &str) {
    let line = line.replace('\n', " ");
    // WHY the lock: this write is not captured by the harness, which may be printing a line at this
    // moment.
    let _ = io::stdout()
        .lock()
        .write_all(format!("\n{SKIP_PREFIX}{line}\n").as_bytes());
    if let Some(file) = env::var_os(SKIPS_FILE_VARIABLE)
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(file)
    {
        // One write, so that lines of parallel tests do not mix.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
