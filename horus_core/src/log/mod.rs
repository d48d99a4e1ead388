//! The log of a process: a topic that keeps the last lines, even after the process was killed.
//!
//! After [`init`], the macros of the crate [`log`](mod@::log) write to stderr and to the topic
//! `horus/log/PROGRAM/START-PID` in the namespace of the process. So do the macros of `tracing`
//! with its feature `log`. The command `horus log` shows the lines of all processes, merged by
//! time.
//!
//! ```
//! # fn main() -> horus_core::Result<()> {
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # // SAFETY: this program has one thread.
//! # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
//! use horus_core::log::LogReader;
//! use horus_core::namespace::Namespace;
//!
//! horus_core::log::init()?;
//! log::warn!("the battery is at {} %", 7);
//!
//! let mut reader = LogReader::new(&Namespace::current()?);
//! let lines = reader.poll()?;
//! assert_eq!(lines[0].line.text(), "the battery is at 7 %");
//! assert_eq!(reader.lost(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Environment
//!
//! * `HORUS_LOG` selects the lines, for example `info,planner=debug`: see [`LogFilter`]. Parts that
//!   cannot be understood are reported on stderr and left out. If no part is left, the filter of
//!   the program applies ([`LogSettings::filter`]). Default: `info`.
//! * `HORUS_LOG_STDERR=off` writes no lines to stderr. Default: `on`.
//!
//! # Cost
//!
//! A call whose level is filtered out costs a few nanoseconds. Any other call formats its text on
//! the stack and copies it into the ring. That takes about 0.3 µs, without an allocation or a
//! system call, and at most 10 µs more while other threads write their lines; only the first call
//! of a thread makes two system calls. Writing to stderr is a system call, which blocks while the
//! program that reads stderr through a pipe is slow. Therefore, real-time nodes do not print their
//! lines on their own threads: a thread of the scheduler prints them within some milliseconds.
//!
//! # Limits
//!
//! The ring keeps at least the last 448 lines; [`LogSettings::lines`] changes that number. Newer
//! lines overwrite older ones. A line that is written while another thread is interrupted in the
//! middle of one goes into a smaller part of the ring, which keeps at least its last 56 lines, an
//! eighth. Each line has a slot of 1 KiB, and the ring takes about 860 KiB of
//! shared memory. A text is cut after 752 bytes, and the line says how many bytes were cut off. The
//! lines of a process are numbered, so that a reader knows exactly how many it has missed.
//!
//! The log of a process is kept after the process has ended. When a process opens its log, it
//! removes older logs of ended processes: only the last 4 of each program, and 32 in all, are kept.
//! The command `horus clean --all` removes all of them.

mod error;
mod filter;
mod library_warning;
mod line;
mod logger;
mod printer;
mod reader;
mod ring;
mod scope;
mod settings;
mod sink;
pub(crate) mod stderr;
mod topic_path;
mod utc_time;

pub use ::log::{Level, LevelFilter};
pub use error::LogError;
pub use filter::{FilterError, LogFilter};
pub(crate) use library_warning::{report_warning, report_warning_of_kind, take_queued_warnings};
pub use line::EscapedText;
pub(crate) use printer::StderrPrinter;
pub use reader::{LogReader, LogRecord};
pub use scope::set_real_time_thread;
pub(crate) use scope::{NodeScope, intern_node_name};
pub use settings::LogSettings;
pub use utc_time::UtcTime;

use std::fmt;

use line::TextBuffer;

/// Opens the log of this process with the default settings, and makes it the logger of the crate
/// [`log`](mod@::log). Does the same as `LogSettings::new().init()`.
///
/// # Errors
///
/// Returns [`LogError`] if the log is already open, if the crate `log` already has another logger,
/// or if the topic cannot be opened.
pub fn init() -> Result<(), LogError> {
    LogSettings::new().init()
}

/// The description of a line that a program logs: everything except the line's text.
#[derive(Debug, Clone, Copy)]
pub struct LogEntry<'a> {
    /// The level of the line, which says how important the line is.
    pub level: Level,
    /// The name of the node that logs the line. If it is empty, the line gets the name of the node
    /// that runs on this thread. If no node runs on it, the line gets the name that was set by
    /// [`LogSettings::node`].
    pub node: &'a str,
    /// The name of the logger, for example the path of a module.
    pub target: &'a str,
    /// The path of the source file and the line number in it; `None` if they are not known.
    pub source: Option<(&'a str, u32)>,
}

impl LogEntry<'_> {
    /// Returns an entry that has only a level: its node and logger are empty, and its source is
    /// `None`.
    #[must_use]
    pub const fn new(level: Level) -> Self {
        Self {
            level,
            node: "",
            target: "",
            source: None,
        }
    }
}

/// Returns true if this process has opened its log.
#[must_use]
pub fn is_open() -> bool {
    sink::current_sink().is_some()
}

/// Returns the least important level that is logged for any node or logger; `Off` while the log is
/// not open.
#[must_use]
pub fn max_level() -> LevelFilter {
    sink::current_sink().map_or(LevelFilter::Off, sink::LogSink::max_level)
}

/// Returns true if a line with the level, node and logger of `entry` would be logged. Costs some
/// nanoseconds.
#[must_use]
pub fn is_enabled(entry: &LogEntry<'_>) -> bool {
    sink::current_sink().is_some_and(|sink| sink.is_enabled(entry))
}

/// Logs a line, unless the filter excludes it. Does nothing before [`init`] or
/// [`LogSettings::open`].
///
/// Never waits for other threads that log, and allocates no memory. [The module](self#cost)
/// describes the cost. If all lanes of the log are in use by threads that were interrupted while
/// they wrote a line, the line is lost. Readers see that a line is missing.
pub fn write(entry: &LogEntry<'_>, text: fmt::Arguments<'_>) {
    let Some(sink) = sink::current_sink() else {
        return;
    };
    if !sink.is_enabled(entry) {
        return;
    }
    let mut buffer = TextBuffer::new();
    // WHY before the ring: the text is formatted by code of the user, which may log or panic.
    buffer.format(text);
    sink.write(entry, &buffer);
}

/// Logs a line as [`write()`] does. `text` was formatted by a program in another language, and may
/// contain any bytes.
pub fn write_bytes(entry: &LogEntry<'_>, text: &[u8]) {
    write_prefix(entry, text, 0);
}

/// Logs a line as [`write_bytes`] does. `text` is the beginning of its text, and `left_out` the
/// number of bytes that the caller has left out behind it. The line counts them as cut off.
pub fn write_prefix(entry: &LogEntry<'_>, text: &[u8], left_out: u64) {
    let Some(sink) = sink::current_sink() else {
        return;
    };
    if sink.is_enabled(entry) {
        let mut buffer = TextBuffer::from_bytes(text);
        buffer.add_left_out_bytes(left_out);
        sink.write(entry, &buffer);
    }
}
