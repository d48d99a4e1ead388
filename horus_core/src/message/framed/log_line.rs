//! A line of a log.

use std::borrow::Cow;
use std::fmt;

use super::{Framed, Header, array_error_text};
use crate::message::{DType, Primitive, Tail, Text};

crate::message! {
    /// The header of a [`LogLine`], which [`log`](mod@crate::log) writes. The text of the line
    /// follows.
    #[derive(Default)]
    pub struct LogLineHeader {
        /// Time of the call, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Time of the call, by CLOCK_MONOTONIC: nanoseconds.
        pub monotonic_ns: u64,
        /// Number of the line in its process, from 1 on; a gap is a line that was lost: no unit.
        pub sequence: u64,
        /// Process id, in its own PID namespace: no unit.
        pub process_id: u32,
        /// Thread id, in its own PID namespace: no unit.
        pub thread_id: u32,
        /// Line of the source file, 0 if unknown: no unit.
        pub source_line: u32,
        /// Length of the text that follows: bytes.
        pub text_bytes: u32,
        /// Number of bytes at the end of the text that were cut off, because they did not fit:
        /// bytes.
        pub cut_bytes: u32,
        /// One of the constants from `ERROR` to `TRACE`: no unit.
        pub level: u8,
        /// 1 if another thread prints the line, because the thread that logged it must not wait for
        /// stderr: no unit.
        pub is_deferred: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 2],
        /// Name of the thread: text.
        pub thread: Text<16>,
        /// Name of the node that logged the line, empty if no node did: text.
        pub node: Text<64>,
        /// Name of the logger, such as a module of Rust: text.
        pub target: Text<64>,
        /// Path of the source file, without its beginning if it is long; empty if unknown: text.
        pub source_file: Text<64>,
    }

    /// Something failed.
    pub const ERROR: u8 = 1;
    /// Something is wrong, and the program goes on.
    pub const WARN: u8 = 2;
    /// Something that a user wants to know.
    pub const INFO: u8 = 3;
    /// Something that a developer wants to know.
    pub const DEBUG: u8 = 4;
    /// A step of the program, for developers who follow each of them.
    pub const TRACE: u8 = 5;
}
layout! {
    LogLineHeader = 256 {
        timestamp_ns: 0, monotonic_ns: 8, sequence: 16, process_id: 24, thread_id: 28,
        source_line: 32, text_bytes: 36, cut_bytes: 40, level: 44, is_deferred: 45, _reserved: 46,
        thread: 48, node: 64, target: 128, source_file: 192,
    }
}

/// A line of the log of a process. No ROS type.
///
/// ```
/// use horus_core::message::{LogLine, LogLineHeader, Text};
///
/// let header = LogLineHeader {
///     level: LogLineHeader::WARN,
///     node: Text::literal("planner"),
///     text_bytes: 7,
///     ..LogLineHeader::default()
/// };
/// let line = LogLine::new(header, b"no path")?;
/// assert_eq!(line.text(), "no path");
/// assert_eq!(line.to_string(), "WARN  planner: no path");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type LogLine<D = super::Buffer> = Framed<LogLineHeader, D>;

impl Header for LogLineHeader {
    const NAME: &str = "LogLine";
    const TRAILING_DATA: Tail = Tail {
        name: "text",
        primitive: Primitive::U8,
    };
    /// Initial capacity of a slot: a message with a text of [`LogLineHeader::TEXT_BYTES_MAX`]
    /// bytes. A slot then takes 1 KiB, including its stamp and the length of the message.
    const MAX_MESSAGE_BYTES: u64 = (size_of::<Self>() + Self::TEXT_BYTES_MAX) as u64;

    fn data_bytes(&self) -> u64 {
        u64::from(self.text_bytes)
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused = || array_error_text(Self::NAME, "u8 in a row", dtype, shape);
        match *shape {
            [bytes] if dtype == DType::U8 => {
                self.text_bytes = u32::try_from(bytes).map_err(|_| refused())?;
                Ok(())
            }
            _ => Err(refused()),
        }
    }
}

impl LogLineHeader {
    /// The maximum length of the text of a log line, in bytes. A longer text is truncated.
    pub const TEXT_BYTES_MAX: usize = 752;

    /// Returns the name of the line's log level, such as `WARN`; `?` if the level is unknown.
    #[must_use]
    pub const fn level_name(&self) -> &'static str {
        match self.level {
            Self::ERROR => "ERROR",
            Self::WARN => "WARN",
            Self::INFO => "INFO",
            Self::DEBUG => "DEBUG",
            Self::TRACE => "TRACE",
            _ => "?",
        }
    }

    /// Returns the origin of the log line: the name of its node, or the name of the logger if the
    /// line has no node.
    #[must_use]
    pub fn source(&self) -> &str {
        if self.node.is_empty() {
            self.target.as_str()
        } else {
            self.node.as_str()
        }
    }
}

impl<D: AsRef<[u8]>> Framed<LogLineHeader, D> {
    /// Returns the text of the log line, with U+FFFD in place of bytes that are not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.data())
    }
}

impl<D: AsRef<[u8]>> fmt::Display for Framed<LogLineHeader, D> {
    /// Formats the line like `WARN  planner: no path`. If the text was truncated, appends a note
    /// such as `… (12 bytes more)`. The text is not escaped, and may contain control characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:5} {}: {}",
            self.level_name(),
            self.source(),
            self.text()
        )?;
        match self.cut_bytes {
            0 => Ok(()),
            bytes => write!(f, "… ({bytes} bytes more)"),
        }
    }
}
