//! The printer: a thread that writes the output of the launcher. Only this thread waits if the
//! reader of the output is slow.
//!
//! If the queue is full, programs that print lines are blocked, but the launcher is never blocked.
//! If nobody reads the output, lines are dropped and counted, so that the programs continue to run.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::become_library_thread;

use super::report::{OutputFormat, OutputLine, ProgramEvent};
use crate::failure::Failure;
use crate::output;

/// Maximum number of program lines that wait to be written. A program that prints more is blocked.
const LINES_MAX: usize = 1024;

/// Maximum number of events that wait to be written. Lines of programs are not included.
const EVENTS_MAX: usize = 1024;

/// Longest time without a written line while the queue of lines is full. After that, lines are
/// dropped.
const FULL_QUEUE_STALL_MAX: Duration = Duration::from_millis(100);

/// Longest time without a written line at the end of the launcher. After that, it ends although
/// lines wait to be written.
const FINAL_STALL_MAX: Duration = Duration::from_secs(1);

/// Maximum time that the launcher waits at its end for all lines to be written.
const FINAL_WRITE_TIME_MAX: Duration = Duration::from_secs(5);

/// Time between two attempts to write to an output that is in non-blocking mode and cannot accept
/// more now.
const RETRY_PERIOD: Duration = Duration::from_millis(10);

/// Maximum number of bytes that one call writes: `PIPE_BUF`, which a pipe accepts as one piece.
const WRITE_BYTES_MAX: usize = 4096;

/// A handle of the thread that writes the output of a launcher.
#[derive(Debug, Clone)]
pub(super) struct Printer(Arc<PrinterShared>);

#[derive(Debug)]
struct PrinterShared {
    format: OutputFormat,
    /// The names of the programs, by their indices.
    programs: Vec<String>,
    queue: Mutex<Queue>,
    has_entries: Condvar,
    has_room: Condvar,
    queue_progress: Condvar,
}

/// A line of a program, or an event, that waits to be written.
#[derive(Debug)]
struct QueueEntry {
    text: OutputLine,
    /// The index of the program that has printed the line or is the subject of the event.
    program: usize,
    /// Number of lines of the program that are lost if this entry cannot be written.
    lines: u64,
}

impl QueueEntry {
    /// Returns an entry for a line of the launcher itself on stderr.
    const fn message(line: String) -> Self {
        Self {
            text: OutputLine::for_stderr(line),
            program: 0,
            lines: 0,
        }
    }
}

/// The entries that wait to be written, and the number of lines that were dropped.
#[derive(Debug)]
struct Queue {
    waiting: VecDeque<QueueEntry>,
    /// True while the printer thread writes an entry, which it has already removed from `waiting`.
    is_writing: bool,
    /// The time of the last write, or, if it is later, the time at which an entry came into the
    /// empty queue. It shows whether the reader has stopped reading.
    last_progress: Instant,
    /// True if lines are dropped. It becomes true if the queue is full and the reader has stopped
    /// reading. It becomes false when half of the queue is empty.
    is_dropping: bool,
    /// Number of lines that were dropped since the last report about dropped lines. The key is the
    /// index of the program, and a bool: false for its stdout, true for its stderr.
    not_shown: BTreeMap<(usize, bool), u64>,
    /// Number of threads that are still reading the output of programs.
    sources: usize,
}

/// An object that prints the output lines of one program.
#[derive(Debug)]
pub(super) struct LineSource {
    printer: Printer,
    program: usize,
    stream: &'static str,
}

impl Printer {
    /// Starts the printer thread. The thread runs until the process ends.
    pub(super) fn start(programs: &[&str], format: OutputFormat) -> io::Result<Self> {
        let outputs = output::unbuffered_stdout_and_stderr()?;
        let shared = Arc::new(PrinterShared {
            format,
            programs: programs.iter().map(ToString::to_string).collect(),
            queue: Mutex::new(Queue::new()),
            has_entries: Condvar::new(),
            has_room: Condvar::new(),
            queue_progress: Condvar::new(),
        });
        let printer = Self(Arc::clone(&shared));
        let print = move || {
            // WHY: a background process that writes to its terminal after `stty tostop` is stopped
            // as a whole by SIGTTOU, unless the thread that writes blocks the signal.
            become_library_thread();
            loop {
                shared.write_next(&outputs);
            }
        };
        thread::Builder::new().spawn(print)?;
        Ok(printer)
    }

    /// Prints an event of the program with the index `program`. Never waits.
    pub(super) fn print_event(&self, program: usize, event: &ProgramEvent<'_>) {
        let Some(entry) = self.0.make_queue_entry(program, event, 1) else {
            return;
        };
        let mut queue = self.0.lock();
        if queue.waiting.len() >= LINES_MAX + EVENTS_MAX {
            return queue.count_dropped_lines(&entry);
        }
        self.0.push(&mut queue, entry);
    }

    /// Prints `text`, a note for the user, to stderr. Prints nothing if the option `--quiet` was
    /// given. Never waits.
    pub(super) fn print_note(&self, text: &str) {
        if !self.0.format.is_quiet {
            let mut queue = self.0.lock();
            self.0
                .push(&mut queue, QueueEntry::message(format!("{text}\n")));
        }
    }

    /// Returns an object that prints the lines of one program. `stream` is the name of the
    /// program's output stream. [`Self::print_failure_and_flush`] waits until that object is
    /// dropped.
    pub(super) fn line_source(&self, program: usize, stream: &'static str) -> LineSource {
        self.0.lock().sources += 1;
        LineSource {
            printer: self.clone(),
            program,
            stream,
        }
    }

    /// Prints the message of a failure, and waits until everything is written. Gives up if the
    /// reader has stopped reading or is too slow. Returns `result` without its message.
    pub(super) fn print_failure_and_flush(
        &self,
        mut result: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        let mut queue = self.0.lock();
        queue.last_progress = begin;
        if let Err(failure) = &mut result
            && let Some(line) = failure.take_message_line()
        {
            self.0.push(&mut queue, QueueEntry::message(line));
        }
        loop {
            let left = queue.remaining_wait(begin, Instant::now());
            if left.is_zero() {
                return result;
            }
            let waited = self.0.queue_progress.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl LineSource {
    /// Prints a line of the program's output. Waits while the queue is full and lines are still
    /// being written. Drops the line if the reader of the output has stopped reading.
    pub(super) fn print_line(&self, text: &str) {
        let shared = &self.printer.0;
        let stream = self.stream;
        let line = ProgramEvent::Line { stream, text };
        let Some(entry) = shared.make_queue_entry(self.program, &line, 1) else {
            return;
        };
        let mut queue = shared.lock();
        loop {
            match queue.find_room(Instant::now()) {
                QueueRoom::Free => return shared.push(&mut queue, entry),
                QueueRoom::None => return queue.count_dropped_lines(&entry),
                QueueRoom::Wait(left) => {
                    let waited = shared.has_room.wait_timeout(queue, left);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

impl Drop for LineSource {
    fn drop(&mut self) {
        self.printer.0.lock().sources -= 1;
        self.printer.0.queue_progress.notify_all();
    }
}

impl PrinterShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the queue entry for an event; `None` if the event is not shown.
    fn make_queue_entry(
        &self,
        program: usize,
        event: &ProgramEvent<'_>,
        lines: u64,
    ) -> Option<QueueEntry> {
        let text = self.format.output_line(&self.programs[program], event)?;
        Some(QueueEntry {
            text,
            program,
            lines,
        })
    }

    fn push(&self, queue: &mut Queue, entry: QueueEntry) {
        queue.push(entry, Instant::now());
        self.has_entries.notify_one();
    }

    /// Waits for an entry of the queue, and writes it to stdout or stderr, which are `outputs`.
    fn write_next(&self, outputs: &[File; 2]) {
        let entry = self.take_entry();
        let output = &outputs[usize::from(entry.text.is_error)];
        let written = self.write_all_to(output, entry.text.text.as_bytes());
        let mut queue = self.lock();
        queue.is_writing = false;
        if written.is_err() {
            queue.count_dropped_lines(&entry);
        }
        drop(queue);
        self.queue_progress.notify_all();
    }

    /// Waits for the next entry of the queue, removes it and returns it.
    fn take_entry(&self) -> QueueEntry {
        let mut queue = self.lock();
        loop {
            if queue.waiting.len() <= LINES_MAX / 2 {
                self.report_dropped_lines(&mut queue);
            }
            if let Some(entry) = queue.waiting.pop_front() {
                queue.is_writing = true;
                drop(queue);
                self.has_room.notify_one();
                return entry;
            }
            let waited = self.has_entries.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops dropping lines. First adds an entry to the queue that reports the dropped lines.
    fn report_dropped_lines(&self, queue: &mut Queue) {
        queue.is_dropping = false;
        // WHY not if nothing waits: a closed output refuses the report, too, and then the next one.
        if queue.waiting.is_empty() {
            return;
        }
        for ((program, is_error), lines) in std::mem::take(&mut queue.not_shown) {
            let report = self.make_queue_entry(program, &ProgramEvent::NotShown { lines }, lines);
            queue.waiting.extend(report.map(|mut report| {
                // WHY there: the other output may have a reader that missed nothing.
                report.text.is_error = is_error;
                report
            }));
        }
    }

    fn write_all_to(&self, mut output: &File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match output.write(&bytes[..bytes.len().min(WRITE_BYTES_MAX)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.lock().last_progress = Instant::now();
                    self.queue_progress.notify_all();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process that has the same output open may have made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(RETRY_PERIOD),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The room in the queue for another line.
#[derive(Debug, PartialEq, Eq)]
enum QueueRoom {
    Free,
    /// The queue has no room now. There may be room after this time.
    Wait(Duration),
    /// The queue has no room, and the reader has stopped reading.
    None,
}

impl Queue {
    fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            is_writing: false,
            last_progress: Instant::now(),
            is_dropping: false,
            not_shown: BTreeMap::new(),
            sources: 0,
        }
    }

    fn push(&mut self, entry: QueueEntry, now: Instant) {
        if self.waiting.is_empty() && !self.is_writing {
            self.last_progress = now;
        }
        self.waiting.push_back(entry);
    }

    fn find_room(&mut self, now: Instant) -> QueueRoom {
        if self.is_dropping {
            return QueueRoom::None;
        }
        if self.waiting.len() < LINES_MAX {
            return QueueRoom::Free;
        }
        let left = FULL_QUEUE_STALL_MAX.saturating_sub(now.duration_since(self.last_progress));
        if left.is_zero() {
            self.is_dropping = true;
            return QueueRoom::None;
        }
        QueueRoom::Wait(left)
    }

    fn count_dropped_lines(&mut self, entry: &QueueEntry) {
        if entry.lines > 0 {
            let key = (entry.program, entry.text.is_error);
            *self.not_shown.entry(key).or_default() += entry.lines;
        }
    }

    /// Returns how much longer the launcher may wait for the output to be written. `wait_begin` is
    /// the time at which it started to wait. Returns zero if nothing is left to write.
    fn remaining_wait(&self, wait_begin: Instant, now: Instant) -> Duration {
        if self.waiting.is_empty() && !self.is_writing && self.sources == 0 {
            return Duration::ZERO;
        }
        let since = |time: Instant| now.saturating_duration_since(time);
        let left = FINAL_WRITE_TIME_MAX.saturating_sub(since(wait_begin));
        left.min(FINAL_STALL_MAX.saturating_sub(since(self.last_progress)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> QueueEntry {
        QueueEntry {
            text: OutputLine::for_stderr(String::new()),
            program: 0,
            lines: 1,
        }
    }

    fn full_queue(now: Instant) -> Queue {
        let mut queue = Queue::new();
        while queue.find_room(now) == QueueRoom::Free {
            queue.push(entry(), now);
        }
        queue
    }

    #[test]
    fn a_slow_reader_holds_up_the_programs_and_one_that_stands_still_does_not() {
        let begin = Instant::now();
        // WHY later than the queue was made: that no reader was needed is no stall.
        let mut now = begin + FINAL_WRITE_TIME_MAX;
        let mut queue = full_queue(now);
        assert_eq!(queue.waiting.len(), LINES_MAX);
        for _ in 0..10 {
            assert_eq!(queue.find_room(now), QueueRoom::Wait(FULL_QUEUE_STALL_MAX));
            now += FULL_QUEUE_STALL_MAX / 2;
            assert_eq!(
                queue.find_room(now),
                QueueRoom::Wait(FULL_QUEUE_STALL_MAX / 2)
            );
            queue.last_progress = now;
        }
        now += FULL_QUEUE_STALL_MAX;
        assert_eq!(queue.find_room(now), QueueRoom::None);
        // It stays so until the reader has made half of the queue empty.
        queue.waiting.pop_front();
        queue.last_progress = now;
        assert_eq!(queue.find_room(now), QueueRoom::None);
    }

    #[test]
    fn the_end_waits_for_progress_but_not_for_ever() {
        let begin = Instant::now();
        let mut queue = full_queue(begin);
        assert_eq!(queue.remaining_wait(begin, begin), FINAL_STALL_MAX);
        assert_eq!(
            queue.remaining_wait(begin, begin + FINAL_STALL_MAX),
            Duration::ZERO
        );
        queue.last_progress = begin + FINAL_WRITE_TIME_MAX;
        let shortly_before = begin + FINAL_WRITE_TIME_MAX.mul_f64(0.9);
        assert!(!queue.remaining_wait(begin, shortly_before).is_zero());
        assert!(queue.remaining_wait(begin, queue.last_progress).is_zero());
        // Without anything to write, it does not wait, but a program may still print something.
        queue.waiting.clear();
        assert!(queue.remaining_wait(begin, begin).is_zero());
        queue.sources = 1;
        assert!(!queue.remaining_wait(begin, begin).is_zero());
    }
}
