//! The open log of this process: decides which lines are written, and where to.

use std::sync::{Mutex, OnceLock, PoisonError};

use ::log::LevelFilter;
use horus_shm::clock::Clock;
use horus_shm::internals::{ForkLocal, SetOnce};

use super::LogEntry;
use super::error::LogError;
use super::filter::LogFilter;
use super::line::TextBuffer;
use super::ring::{LogRing, RingSettings};
use super::scope::{self, ThreadIdentity};
use super::stderr;
use crate::message::{LogLineHeader, Text, timestamp_now_ns};

/// The open log of this process; empty before it is opened. A forked child has the settings of its
/// parent.
static LOG_SINK: SetOnce<LogSink> = SetOnce::new();
/// The topic in which this process keeps its log lines; `None` if it could not be created. A forked
/// child creates its own topic when it logs for the first time.
static LOG_RING: ForkLocal<OnceLock<Option<LogRing>>> = ForkLocal::new();

/// The open log of this process: where its lines are written, and with which settings.
#[derive(Debug)]
pub(super) struct LogSink {
    /// The name of the node that a line gets if the thread that logs it runs no node.
    pub(super) node: Text<64>,
    pub(super) filter: LogFilter,
    pub(super) writes_stderr: bool,
    pub(super) ring: RingSettings,
}

/// Opens the log of this process with the settings that `create_sink` returns. `create_sink` is
/// called only if the log is not open yet.
pub(super) fn open_sink(
    create_sink: impl FnOnce() -> Result<LogSink, LogError>,
) -> Result<&'static LogSink, LogError> {
    // WHY fork-local: a child may be forked while another thread holds the lock.
    static OPEN_LOCK: ForkLocal<Mutex<()>> = ForkLocal::new();
    let opening = OPEN_LOCK.get().lock();
    let _opening = opening.unwrap_or_else(PoisonError::into_inner);
    if LOG_SINK.get().is_some() {
        return Err(LogError::AlreadyOpen);
    }
    let sink = create_sink()?;
    let ring = LogRing::open(&sink.ring)?;
    // WHY the order: a thread that finds the log open must find its ring, too. It was not set
    // before, unless an earlier attempt in this process failed in between.
    let _ = LOG_RING.get().set(Some(ring));
    Ok(LOG_SINK.get_or_set(sink))
}

/// Returns the open log of this process; `None` if it is not open yet.
#[inline]
pub(super) fn current_sink() -> Option<&'static LogSink> {
    LOG_SINK.get()
}

/// Prints the lines that real-time threads have logged since the last call. Costs some nanoseconds
/// if there are none.
pub(super) fn print_deferred_lines() {
    let Some(ring) = current_sink().and_then(LogSink::ring) else {
        return;
    };
    ring.print_deferred_lines(
        |line| stderr::print_line(line, line.data()),
        |missing| {
            stderr::print_warning(format_args!(
                "{missing} lines of real-time threads were overwritten before they were printed"
            ));
        },
    );
}

impl LogSink {
    /// Returns the topic in which this process keeps its log lines; `None` if a forked child could
    /// not create one.
    fn ring(&self) -> Option<&'static LogRing> {
        let open = || {
            let failed =
                |error| stderr::print_warning(format_args!("a forked child has no log: {error}"));
            LogRing::open(&self.ring).map_err(failed).ok()
        };
        LOG_RING.get().get_or_init(open).as_ref()
    }

    /// Returns the least important level that is logged for any node or logger.
    pub(super) fn max_level(&self) -> LevelFilter {
        self.filter.max_level()
    }

    /// Returns true if a line with the level, node and logger of `entry` passes the filter.
    /// Allocates no memory.
    pub(super) fn is_enabled(&self, entry: &LogEntry<'_>) -> bool {
        entry.level <= self.max_level()
            && self
                .filter
                .allows(entry.level, self.node_name(entry), entry.target)
    }

    /// Writes a line to the log's topic and, if the settings say so, to stderr.
    pub(super) fn write(&self, entry: &LogEntry<'_>, text: &TextBuffer) {
        let thread = ThreadIdentity::current();
        let is_deferred = self.writes_stderr && scope::is_real_time_thread();
        let (source_file, source_line) = entry.source.unwrap_or_default();
        let header = LogLineHeader {
            timestamp_ns: timestamp_now_ns(),
            monotonic_ns: Clock::kernel().now_ns(),
            process_id: 0,
            thread_id: thread.id,
            source_line,
            text_bytes: text.text().len() as u32,
            cut_bytes: text.cut_bytes(),
            level: entry.level as u8,
            is_deferred: is_deferred.into(),
            thread: thread.name,
            node: Text::truncated(self.node_name(entry)),
            target: Text::truncated(entry.target),
            source_file: last_bytes_of_path(source_file),
            ..LogLineHeader::default()
        };
        if let Some(ring) = self.ring() {
            ring.write(header, text.text());
        }
        if self.writes_stderr && !is_deferred {
            stderr::print_line(&header, text.text());
        }
    }

    fn node_name<'a>(&'a self, entry: &LogEntry<'a>) -> &'a str {
        match (entry.node, scope::current_node()) {
            ("", "") => self.node.as_str(),
            ("", node) | (node, _) => node,
        }
    }
}

/// Returns the end of a path: as many whole characters as fit into the 64 bytes of the result.
fn last_bytes_of_path(path: &str) -> Text<64> {
    let mut begin = path.len().saturating_sub(64);
    while !path.is_char_boundary(begin) {
        begin += 1;
    }
    Text::truncated(&path[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(last_bytes_of_path("src/main.rs"), *"src/main.rs");
        let long = format!("{}→/main.rs", "x".repeat(100));
        let end = last_bytes_of_path(&long);
        assert!(end.as_str().ends_with("x→/main.rs"), "{end}");
        assert_eq!(end.as_str().len(), 64);
        let split = format!("→{}", "x".repeat(62));
        assert_eq!(last_bytes_of_path(&split), *"x".repeat(62).as_str());
    }
}
