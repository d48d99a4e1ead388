//! Prints log lines and warnings to stderr.

use std::fmt::{self, Write as _};

use horus_shm::internals::stderr;

use super::line::EscapedText;
use crate::message::LogLineHeader;

/// Prints to stderr a warning about the log itself, for example about an invalid setting, or
/// another text of a process that has no log.
pub(crate) fn print_warning(text: fmt::Arguments<'_>) {
    let mut out = StderrLine::new();
    // WHY the error is ignored: there is no other place to report it.
    let _ = writeln!(out, "horus: {text}");
    out.flush();
}

/// Prints a log line to stderr. Blocks while the program that reads stderr is slow. Allocates only
/// if the text is not valid UTF-8.
pub(super) fn print_line(header: &LogLineHeader, text: &[u8]) {
    let mut out = StderrLine::new();
    // WHY the error is ignored: as above.
    let _ = write_line(&mut out, header, &String::from_utf8_lossy(text));
    out.flush();
}

/// Formats a log line like `12:04:09.113Z WARN  planner: no path`. If the text has several lines,
/// each line after the first gets a mark, so that no text can imitate another line of the log.
fn write_line(out: &mut impl fmt::Write, header: &LogLineHeader, text: &str) -> fmt::Result {
    let seconds = header.timestamp_ns / 1_000_000_000;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millisecond = header.timestamp_ns / 1_000_000 % 1000;
    let level = header.level_name();
    write!(
        out,
        "{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z {level:5} "
    )?;
    let source = header.source();
    if !source.is_empty() {
        write!(out, "{}: ", EscapedText(source))?;
    }
    for (index, part) in text.trim_end_matches('\n').split('\n').enumerate() {
        let mark = if index == 0 { "" } else { "\n    | " };
        write!(out, "{mark}{}", EscapedText(part))?;
    }
    if header.cut_bytes > 0 {
        write!(out, "… ({} bytes more)", header.cut_bytes)?;
    }
    out.write_char('\n')
}

/// The size of a buffer for a line. WHY: the longest line has 5.7 KiB, because the escape of a byte
/// of its text has up to 7 bytes.
const LINE_BYTES_MAX: usize = 6 << 10;

/// A buffer for one line for stderr. Each line of the log is written with one system call, so that
/// the lines of several threads do not mix. (The kernel may divide a line for a pipe that is nearly
/// full if the line has more than 4 KiB.)
struct StderrLine {
    bytes: [u8; LINE_BYTES_MAX],
    len: usize,
}

impl StderrLine {
    const fn new() -> Self {
        Self {
            bytes: [0; LINE_BYTES_MAX],
            len: 0,
        }
    }

    fn flush(&mut self) {
        stderr::write(&self.bytes[..self.len]);
        self.len = 0;
    }
}

impl fmt::Write for StderrLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(self.bytes.len()) {
            if part.len() > self.bytes.len() - self.len {
                self.flush();
            }
            self.bytes[self.len..][..part.len()].copy_from_slice(part);
            self.len += part.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Text;

    #[test]
    fn no_text_can_look_like_another_line_or_move_the_cursor() {
        let header = LogLineHeader {
            timestamp_ns: 1_763_899_200_123_000_000,
            level: LogLineHeader::WARN,
            node: Text::truncated("pl\x1banner"),
            cut_bytes: 9,
            ..LogLineHeader::default()
        };
        let mut out = String::new();
        write_line(&mut out, &header, "first\x1b[2J\r\nERROR other\n").unwrap();
        assert_eq!(
            out,
            "12:00:00.123Z WARN  pl\\u{1b}anner: first\\u{1b}[2J\\r\n    | ERROR other… (9 bytes \
             more)\n"
        );
    }

    /// Otherwise, a line of another thread could come between its parts.
    #[test]
    fn the_longest_line_is_written_by_one_call() {
        let header = LogLineHeader {
            timestamp_ns: u64::MAX,
            level: LogLineHeader::ERROR,
            node: Text::truncated(&"\x1b".repeat(64)),
            target: Text::truncated(&"\u{202e}".repeat(64)),
            cut_bytes: u32::MAX,
            ..LogLineHeader::default()
        };
        let text = format!("{}x", "\n".repeat(LogLineHeader::TEXT_BYTES_MAX - 1));
        let mut out = String::new();
        write_line(&mut out, &header, &text).unwrap();
        assert!(out.len() <= LINE_BYTES_MAX, "{} bytes", out.len());
    }
}
