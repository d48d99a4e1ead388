//! Reads the output of programs line by line, and passes the lines to the printer.

use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::printer::LineSource;

/// Maximum length of an output line of a program, in bytes. A longer line is split.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// A thread that reads the lines of a program waits until this value is dropped.
#[derive(Debug)]
pub(super) struct ReadingGate(
    #[expect(dead_code, reason = "dropping it wakes the thread")] Sender<()>,
);

/// Starts a thread that reads the lines of `pipe` and prints each as a line of `source`. The thread
/// begins when the returned value is dropped, and ends when no process has the other end of the
/// pipe open. Fails if the system refuses a thread.
pub(super) fn start_line_reader(
    pipe: impl Read + Send + 'static,
    source: LineSource,
) -> io::Result<ReadingGate> {
    let (gate, opened) = channel::<()>();
    let read = move || {
        // It fails when the gate is dropped.
        let _ = opened.recv();
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
    };
    thread::Builder::new().spawn(read)?;
    Ok(ReadingGate(gate))
}
