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
const TARGET: &str = "horus_core::topic";

/// Maximum number of warnings that a process without a log prints to stderr. WHY: other programs
/// cause them, and choose the names in them.
const PRINTED_MAX: usize = 16;

/// The texts of the warnings that this process has printed to stderr.
static PRINTED_WARNINGS: ForkLocal<Mutex<BTreeSet<String>>> = ForkLocal::new();

/// The warnings of threads that must not wait for stderr, which are not printed yet.
static UNPRINTED_WARNINGS: ForkLocal<Mutex<Vec<String>>> = ForkLocal::new();

/// Reports a warning of this library. It is a record of the crate `log` if the program has set a
/// logger for it that takes warnings, and otherwise a line of the log of this process. Without
/// both, prints the warning to stderr, once for each text, and at most [`PRINTED_MAX`] of them.
/// Leaves it out if stderr is full, or if `HORUS_LOG_STDERR` is `off`.
///
/// On a thread that must not wait for stderr, such as that of a real-time node, the supervisor of
/// the scheduler prints the warning, see [`take_waiting_warnings`].
#[cold]
pub(crate) fn report_warning(level: Level, text: fmt::Arguments<'_>) {
    let max_level = ::log::max_level();
    // The logger that is there without another one has the level `Off`.
    if max_level != LevelFilter::Off && (level <= max_level || !is_open()) {
        ::log::log!(target: TARGET, level, "{text}");
    } else if is_open() {
        let entry = LogEntry {
            target: TARGET,
            ..LogEntry::new(level)
        };
        write(&entry, text);
    } else if is_real_time_thread() {
        keep_for_printer(text);
    } else if stderr::is_writable()
        && let Some(line) = admit(text.to_string())
    {
        // WHY not if stderr is full: a thread that only looks for a message must not wait for it.
        print_warning(format_args!("{line}"));
    }
}

/// Keeps a warning until [`take_waiting_warnings`]. Leaves it out if many wait, or if another
/// thread has the lock.
fn keep_for_printer(text: fmt::Arguments<'_>) {
    let waiting = match UNPRINTED_WARNINGS.get().try_lock() {
        Ok(waiting) => waiting,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    let (mut waiting, text) = (waiting, text.to_string());
    if waiting.len() < PRINTED_MAX && !waiting.contains(&text) {
        waiting.push(text);
    }
}

/// Removes and returns the warnings of threads that must not wait for stderr, as lines to print.
/// Does not block; costs a lock that nothing holds for long.
pub(crate) fn take_waiting_warnings() -> Vec<String> {
    let waiting = match UNPRINTED_WARNINGS.get().try_lock() {
        Ok(mut waiting) => std::mem::take(&mut *waiting),
        Err(_) => Vec::new(),
    };
    waiting.into_iter().filter_map(admit).collect()
}

/// Returns the line that is printed for a warning, and records that; `None` if the warning is left
/// out.
fn admit(text: String) -> Option<String> {
    if env::var_os(STDERR_VARIABLE).is_some_and(|value| value == "off" || value == "0") {
        return None;
    }
    let printed = PRINTED_WARNINGS.get().lock();
    // WHY poison is ignored: an insertion that panics leaves the set unchanged.
    let mut printed = printed.unwrap_or_else(PoisonError::into_inner);
    if printed.len() == PRINTED_MAX || printed.contains(&text) {
        return None;
    }
    let is_last = printed.len() + 1 == PRINTED_MAX;
    let hint = if is_last {
        " (later warnings of this process are left out: open a log to see them)"
    } else {
        ""
    };
    let line = format!("{}{hint}", EscapedText(&text));
    printed.insert(text);
    Some(line)
}
