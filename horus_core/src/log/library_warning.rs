//! Warnings of this library itself: they go to the log or, in a program without one, to stderr.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::sync::{Mutex, PoisonError, TryLockError};

use ::log::{Level, LevelFilter};
use horus_shm::internals::{ForkLocal, stderr};

use super::scope::is_real_time_thread;
use super::settings::STDERR_VARIABLE;
use super::stderr::print_warning;
use super::{EscapedText, LogEntry, is_open, write};

/// The name of the logger of these warnings.
const LOG_TARGET: &str = "horus_core::topic";

/// Maximum number of warnings that a process without a log prints to stderr. WHY: other programs
/// cause them, and choose the names in them.
const PRINTED_WARNINGS_MAX: usize = 16;

/// The kinds of the warnings that this process has printed to stderr.
static PRINTED_WARNINGS: ForkLocal<Mutex<BTreeSet<String>>> = ForkLocal::new();

/// The warnings of threads that must not wait for stderr, which are not printed yet.
static QUEUED_WARNINGS: ForkLocal<Mutex<Vec<Warning>>> = ForkLocal::new();

/// A warning that is to be printed.
#[derive(Debug)]
struct Warning {
    /// A text that is the same for warnings of which only the first is printed.
    kind: String,
    text: String,
}

/// Reports a warning of this library. It is a record of the crate `log` if the program has set a
/// logger for it that takes warnings, and otherwise a line of the log of this process. Without
/// both, prints the warning to stderr, once for each text, and at most [`PRINTED_WARNINGS_MAX`] of
/// them. Leaves it out if stderr is full, or if `HORUS_LOG_STDERR` is `off`.
///
/// On a thread that must not wait for stderr, such as that of a real-time node, the supervisor of
/// the scheduler prints the warning, see [`take_queued_warnings`].
#[cold]
pub(crate) fn report_warning(level: Level, text: fmt::Arguments<'_>) {
    report_warning_of_kind(level, text, text);
}

/// Reports a warning as [`report_warning`] does, but prints only the first one of each `kind`. WHY:
/// otherwise a program that is started again and again would use up the warnings that are printed,
/// because each text has the id of another process.
#[cold]
pub(crate) fn report_warning_of_kind(
    level: Level,
    kind: fmt::Arguments<'_>,
    text: fmt::Arguments<'_>,
) {
    let max_level = ::log::max_level();
    // The logger that is there without another one has the level `Off`.
    if max_level != LevelFilter::Off && (level <= max_level || !is_open()) {
        ::log::log!(target: LOG_TARGET, level, "{text}");
        return;
    }
    if is_open() {
        let entry = LogEntry {
            target: LOG_TARGET,
            ..LogEntry::new(level)
        };
        write(&entry, text);
        return;
    }
    let warning = || Warning {
        kind: kind.to_string(),
        text: text.to_string(),
    };
    if is_real_time_thread() {
        queue_for_printer(warning);
    } else if stderr::is_writable()
        && let Some(line) = format_unless_suppressed(warning())
    {
        // WHY not if stderr is full: a thread that only looks for a message must not wait for it.
        print_warning(format_args!("{line}"));
    }
}

/// Keeps a warning until [`take_queued_warnings`]. Leaves it out if many wait, or if another
/// thread has the lock.
fn queue_for_printer(warning: impl FnOnce() -> Warning) {
    let waiting = match QUEUED_WARNINGS.get().try_lock() {
        Ok(waiting) => waiting,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    let (mut waiting, warning) = (waiting, warning());
    let is_new = !waiting.iter().any(|other| other.kind == warning.kind);
    if waiting.len() < PRINTED_WARNINGS_MAX && is_new {
        waiting.push(warning);
    }
}

/// Removes and returns the warnings of threads that must not wait for stderr, as lines to print.
/// Does not block; costs a lock that nothing holds for long.
pub(crate) fn take_queued_warnings() -> Vec<String> {
    let waiting = match QUEUED_WARNINGS.get().try_lock() {
        Ok(mut waiting) => std::mem::take(&mut *waiting),
        Err(_) => Vec::new(),
    };
    waiting
        .into_iter()
        .filter_map(format_unless_suppressed)
        .collect()
}

/// Returns the line that is printed for a warning, and records that; `None` if the warning is left
/// out.
fn format_unless_suppressed(Warning { kind, text }: Warning) -> Option<String> {
    if env::var_os(STDERR_VARIABLE).is_some_and(|value| value == "off" || value == "0") {
        return None;
    }
    let printed = PRINTED_WARNINGS.get().lock();
    // WHY poison is ignored: an insertion that panics leaves the set unchanged.
    let mut printed = printed.unwrap_or_else(PoisonError::into_inner);
    if printed.len() == PRINTED_WARNINGS_MAX || printed.contains(&kind) {
        return None;
    }
    let is_last = printed.len() + 1 == PRINTED_WARNINGS_MAX;
    let hint = if is_last {
        " (later warnings of this process are left out: open a log to see them)"
    } else {
        ""
    };
    let line = format!("{}{hint}", EscapedText(&text));
    printed.insert(kind);
    Some(line)
}
