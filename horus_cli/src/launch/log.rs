//! Reads the output of programs line by line, and passes the lines to the printer.

use std::io::{self, BufRead as _, BufReader, Read};
use std::mem;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::printer::LineSource;

/// Maximum length of an output line of a program, in bytes. A longer line is split.
const LINE_BYTES_MAX: usize = 64 << 10;

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
        read_lines(pipe, |line| source.print_line(line));
    };
    thread::Builder::new().spawn(read)?;
    Ok(ReadingGate(gate))
}

/// Reads the lines of `pipe` until it is closed, and calls `print` with each of them. Bytes that
/// are not UTF-8 are replaced.
fn read_lines(pipe: impl Read, mut print: impl FnMut(&str)) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    // True if the part before was as long as a line may be, without the end of its line.
    let mut is_split = false;
    loop {
        let mut part = pipe.by_ref().take((LINE_BYTES_MAX - line.len()) as u64);
        // An input that cannot be read counts as closed.
        let is_closed = part.read_until(b'\n', &mut line).unwrap_or(0) == 0;
        if is_closed && line.is_empty() {
            return;
        }
        let mut rest = Vec::new();
        let is_end = line.last() == Some(&b'\n');
        if is_end {
            line.pop();
        }
        // The end of a line that was printed.
        if is_end && line.is_empty() && mem::take(&mut is_split) {
            continue;
        }
        is_split = !is_end && line.len() == LINE_BYTES_MAX;
        if is_split {
            // WHY: the next part contains the other bytes of the character.
            rest = line.split_off(line.len() - incomplete_character_bytes(&line));
        }
        print(&String::from_utf8_lossy(&line));
        line = rest;
    }
}

/// Returns the number of bytes at the end of `bytes` that are the beginning of a character whose
/// other bytes are missing.
fn incomplete_character_bytes(bytes: &[u8]) -> usize {
    let is_beginning = |length: &usize| {
        let end = &bytes[bytes.len().saturating_sub(*length)..];
        let error = str::from_utf8(end).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3).find(is_beginning).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_split_between_characters() {
        for begin in ["", "a", "ab", "abc"] {
            let text = format!("{begin}{}", "\u{1f916}".repeat(40_000));
            let mut lines = Vec::new();
            read_lines(format!("{text}\n\nend").as_bytes(), |line| {
                lines.push(line.to_owned())
            });
            assert_eq!(lines.len(), 5);
            assert!(lines.iter().all(|line| line.len() <= LINE_BYTES_MAX));
            assert_eq!(lines[..3].concat(), text);
            assert_eq!(lines[3..], ["", "end"]);
        }
        // A line of the maximum length is no longer one.
        for begin in ["", "\u{1f916}"] {
            let text = format!("{begin}{}", "a".repeat(LINE_BYTES_MAX - begin.len()));
            let mut lines = Vec::new();
            read_lines(format!("{text}\n\n{text}").as_bytes(), |line| {
                lines.push(line.to_owned())
            });
            assert_eq!(lines, [text.as_str(), "", text.as_str()]);
        }
        // What is no character at all is replaced.
        let mut lines = Vec::new();
        let bytes = [&[b'a'; LINE_BYTES_MAX - 1][..], b"\xf0a\xff\xf0"].concat();
        read_lines(&bytes[..], |line| lines.push(line.to_owned()));
        assert_eq!(lines[1], "\u{fffd}a\u{fffd}\u{fffd}");
    }
}
