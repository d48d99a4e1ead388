//! Reads the output of programs line by line, and passes the lines to the printer.

use std::io::{BufRead as _, BufReader, Read};
use std::thread;

use super::printer::LineSource;

/// Maximum length of an output line of a program, in bytes. A longer line is split.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Starts a thread that reads the lines of `pipe` and prints each as a line of `source`. The thread
/// ends when no process has the other end of the pipe open.
pub(super) fn start_line_reader(pipe: impl Read + Send + 'static, source: LineSource) {
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
            source.print_line(&String::from_utf8_lossy(&line));
        }
    });
}
