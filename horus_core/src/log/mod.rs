//! The log of a process: a topic that keeps its last lines, also after the process was killed.
//!
//! After [`init`], the macros of the crate [`log`](mod@::log) (and those of `tracing`, with its
//! feature `log`) write to the topic `horus/log/PROGRAM/START-PID` of the process's namespace, and
//! to stderr. The command `horus log` shows the lines of all processes, merged by time.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir_in("/dev/shm")?;
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
//!   cannot be understood are reported on stderr and left out. Default: `info`.
//! * `HORUS_LOG_STDERR=off` writes no lines to stderr. Default: `on`.
//!
//! # Cost
//!
//! A call whose level is filtered out costs a few nanoseconds. Any other call formats its text on
//! the stack and copies it into the ring: about 0.3 µs, without an allocation, a lock that it waits
//! for, or a system call; only a thread's first call makes two. Writing to stderr is a system call,
//! which blocks while the reader of a pipe is slow. So the lines of real-time nodes are not printed
//! by their own thread: a thread of the scheduler does that within some milliseconds.
//!
//! # Limits
//!
//! The ring keeps the last 448 lines, and more if several threads write at once; each line has a
//! slot of 1 KiB. The ring takes about 860 KiB of shared memory. [`LogSettings::lines`] changes
//! that. Older lines are overwritten. The end of a text of more than 752 bytes is left out, and the
//! line says how much. The lines of a process are numbered, so that a reader knows exactly how many
//! it has not seen.
//!
//! The logs of processes that have ended are kept, but of each program only those of the last 4
//! processes, and 32 in all: a process that opens its log removes older ones. `horus clean --all`
//! removes them all.

mod error;
mod filter;
mod line;
mod logger;
mod printer;
mod reader;
mod ring;
mod scope;
mod settings;
mod sink;
mod stderr;
mod topic_path;

pub use ::log::{Level, LevelFilter};
pub use error::LogError;
pub use filter::{FilterError, LogFilter};
pub use line::Visible;
pub(crate) use printer::Printer;
pub use reader::{LogReader, LogRecord};
pub use scope::set_real_time_thread;
pub(crate) use scope::{NodeScope, intern_node_name};
pub use settings::LogSettings;

use std::fmt;

use line::TextBuffer;

/// Opens the log of this process, and makes it the logger of the crate [`log`](mod@::log): the same
/// as `LogSettings::new().init()`.
///
/// # Errors
///
/// Returns [`LogError`]: the log or another logger is in place already, or the topic cannot be
/// opened.
pub fn init() -> Result<(), LogError> {
    LogSettings::new().init()
}

/// A line to be logged.
#[derive(Debug, Clone, Copy)]
pub struct LogEntry<'a> {
    /// The level of the line.
    pub level: Level,
    /// The name of the node; if it is empty, the node that ticks on this thread, or else the node
    /// of [`LogSettings::node`].
    pub node: &'a str,
    /// The name of the logger, such as a module.
    pub target: &'a str,
    /// The path of the source file, and the line in it.
    pub source: Option<(&'a str, u32)>,
}

impl LogEntry<'_> {
    /// Returns an entry without a node, logger or source.
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

/// Returns the least important level at which any line is logged; `Off` while the log is not open.
#[must_use]
pub fn max_level() -> LevelFilter {
    sink::current_sink().map_or(LevelFilter::Off, sink::LogSink::max_level)
}

/// Returns true if lines of this level, node and logger are logged. Costs some nanoseconds.
#[must_use]
pub fn is_enabled(entry: &LogEntry<'_>) -> bool {
    sink::current_sink().is_some_and(|sink| sink.is_enabled(entry))
}

/// Logs a line, unless it is filtered out. Without [`init`] or [`LogSettings::open`] it does
/// nothing.
///
/// Never blocks on the ring, and allocates nothing; see [the module](self#cost) for the cost. If
/// all lanes of the ring are in use at this moment, by threads that were interrupted while they
/// wrote, the line is lost, and readers count it.
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

/// Like [`write()`], for a text that other languages have formatted. The text may hold any bytes.
pub fn write_bytes(entry: &LogEntry<'_>, text: &[u8]) {
    let Some(sink) = sink::current_sink() else {
        return;
    };
    if sink.is_enabled(entry) {
        sink.write(entry, &TextBuffer::from_bytes(text));
    }
}
