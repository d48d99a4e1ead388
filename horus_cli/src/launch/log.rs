//! The output of programs, line by line.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::SyncSender;
use std::thread;

/// The longest line in bytes: a longer one is split.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// A line that a program printed.
#[derive(Debug)]
pub(super) struct LogLine {
    /// The index of the program.
    pub(super) program: usize,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// Starts a thread that sends the lines of `pipe` to `lines`. It ends once no process has the other
/// end of the pipe open.
pub(super) fn read(
    program: usize,
    is_error: bool,
    pipe: impl Read + Send + 'static,
    lines: SyncSender<LogLine>,
) {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            let mut part = pipe.by_ref().take(LINE_BYTES_MAX);
            // An input that cannot be read counts as closed.
            if part.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            let line = LogLine {
                program,
                is_error,
                text,
            };
            if lines.send(line).is_err() {
                return;
            }
        }
    });
}
