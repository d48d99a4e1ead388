//! Warnings of this library itself: they go to the log or, in a program without one, to stderr.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ::log::{Level, LevelFilter};
use horus_shm::internals::{ForkLocal, stderr};

use super::settings::STDERR_VARIABLE;
use super::stderr::print_warning;
use super::{EscapedText, LogEntry, is_open, write};

/// The name of the logger of these warnings.
const TARGET: &str = "horus_core::topic";

/// Maximum number of warnings that a process without a log prints to stderr. WHY: other programs
/// cause them, and choose the names in them.
const PRINTED_MAX: usize = 16;

/// The texts of the warnings that this process has printed to stderr.
static PRINTED: ForkLocal<Mutex<BTreeSet<String>>> = ForkLocal::new();

/// Reports a warning of this library. It is a record of the crate `log` if the program has set a
/// logger for it, and otherwise a line of the log of this process. Without both, prints the
/// warning to stderr, once for each text, and at most [`PRINTED_MAX`] of them. Leaves it out if
/// stderr is full, or if `HORUS_LOG_STDERR` is `off`.
#[cold]
pub(crate) fn report_warning(level: Level, text: fmt::Arguments<'_>) {
    // The logger that is there without another one has this level.
    if ::log::max_level() != LevelFilter::Off {
        ::log::log!(target: TARGET, level, "{text}");
    } else if is_open() {
        let entry = LogEntry {
            target: TARGET,
            ..LogEntry::new(level)
        };
        write(&entry, text);
    } else {
        print_once(text.to_string());
    }
}

fn print_once(text: String) {
    let printed = PRINTED.get().lock();
    // WHY poison is ignored: an insertion that panics leaves the set unchanged.
    let mut printed = printed.unwrap_or_else(PoisonError::into_inner);
    if env::var_os(STDERR_VARIABLE).is_some_and(|value| value == "off" || value == "0") {
        return;
    }
    // WHY not if stderr is full: a thread that only looks for a message must not wait for it.
    if printed.len() == PRINTED_MAX || printed.contains(&text) || !stderr::is_writable() {
        return;
    }
    let is_last = printed.len() + 1 == PRINTED_MAX;
    let hint = if is_last {
        " (later warnings of this process are left out: open a log to see them)"
    } else {
        ""
    };
    print_warning(format_args!("{}{hint}", EscapedText(&text)));
    printed.insert(text);
}
