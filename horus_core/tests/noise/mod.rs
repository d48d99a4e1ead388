//! Deterministic noise for tests, and the number of rounds of a run.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::io::Write;

/// Prints the seed of a case that fails.
pub struct Case(pub u64);

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with HORUS_TEST_SEED={}", self.0);
        }
    }
}

/// Returns the seeds of `cases` cases, or the one in `HORUS_TEST_SEED`.
pub fn seeds(cases: u64) -> std::ops::Range<u64> {
    let seed = std::env::var("HORUS_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok());
    // WHY fewer: miri is a thousand times slower.
    let cases = if cfg!(miri) {
        (cases / 500).max(1)
    } else {
        cases
    };
    seed.map_or(0..cases, |seed| seed..seed + 1)
}

/// Returns the number of rounds: `usual`, or `torture` if the environment asks for it.
pub fn rounds(usual: u64, torture: u64) -> u64 {
    if std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1") {
        torture
    } else {
        usual
    }
}

/// Prints the result of a test, as `RESULT <id>: <values>`, past the capture of the harness.
pub fn result(id: &str, values: impl std::fmt::Display) {
    // WHY the newline: the harness may be in the middle of a line of its own.
    let line = format!("\nRESULT {id}: {values}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}
