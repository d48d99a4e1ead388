//! A thread that prints lines to stderr for threads that must not wait for stderr.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_shm::internals::thread::become_library_thread;

use super::sink::{self, print_deferred_lines};
use super::stderr;

/// The time after which the printing thread checks again for lines to print.
const PRINT_PERIOD: Duration = Duration::from_millis(10);
/// The longest time for which the end of a scheduler waits until the last lines are printed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The largest number of warnings that wait until stderr takes them.
const QUEUED_WARNINGS_MAX: usize = 256;

/// A thread that prints to stderr the lines of threads that must not wait for stderr. It ends when
/// this value is dropped.
///
/// WHY a separate thread: if the program that reads stderr is slow, only this thread has to wait,
/// and not the thread that supervises the nodes.
#[derive(Debug, Default)]
pub(crate) struct StderrPrinter {
    running: Option<PrinterThread>,
}

#[derive(Debug)]
struct PrinterThread {
    thread: JoinHandle<()>,
    /// The thread ends when this is dropped.
    warnings: WarningQueue,
}

/// The sending end of the queue of warnings that wait until stderr takes them.
#[derive(Debug)]
struct WarningQueue {
    lines: SyncSender<String>,
    /// The number of warnings that were left out since the last one that was not.
    left_out: u64,
}

impl WarningQueue {
    /// Adds a warning to the queue. If the queue is full, leaves it out; the next warning that is
    /// not left out says how many were. Never blocks.
    fn push(&mut self, text: fmt::Arguments<'_>) {
        let line = match self.left_out {
            0 => text.to_string(),
            left_out => format!("{left_out} lines were left out, because stderr was full; {text}"),
        };
        match self.lines.try_send(line) {
            Ok(()) => self.left_out = 0,
            Err(_) => self.left_out += 1,
        }
    }
}

impl StderrPrinter {
    /// Starts the thread, unless it already runs or the log of the process is not written to
    /// stderr. Costs two atomic loads if there is nothing to do. If the system cannot create a
    /// thread, the lines of threads that must not wait for stderr are not printed, but are still in
    /// the log.
    pub(crate) fn start_thread_if_needed(&mut self) {
        if self.running.is_none() && sink::current_sink().is_some_and(|sink| sink.writes_stderr) {
            self.start_thread();
        }
    }

    /// Prints a warning to stderr, on the printing thread, which is started if it does not run yet.
    /// Never waits for stderr: if too many warnings wait already, this one is left out, and the
    /// next line says how many were.
    pub(crate) fn print_warning(&mut self, text: fmt::Arguments<'_>) {
        if self.running.is_none() {
            self.start_thread();
        }
        if let Some(running) = &mut self.running {
            running.warnings.push(text);
        }
    }

    fn start_thread(&mut self) {
        let (lines, waiting) = sync_channel(QUEUED_WARNINGS_MAX);
        let thread = thread::Builder::new().name("horus log".to_owned());
        let thread = thread
            .spawn(move || print_warnings_and_deferred_lines(&waiting))
            .ok();
        let warnings = WarningQueue { lines, left_out: 0 };
        self.running = thread.map(|thread| PrinterThread { thread, warnings });
    }
}

/// Prints the warnings, and the lines of threads that must not wait for stderr, until no more
/// warnings can come.
fn print_warnings_and_deferred_lines(warnings: &Receiver<String>) {
    become_library_thread();
    loop {
        let waiting = warnings.recv_timeout(PRINT_PERIOD);
        if let Ok(warning) = &waiting {
            stderr::print_warning(format_args!("{warning}"));
        }
        print_deferred_lines();
        if waiting == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

impl Drop for StderrPrinter {
    /// Ends the thread. Before that, waits until all lines that were logged so far are printed, but
    /// at most a second.
    fn drop(&mut self) {
        let Some(PrinterThread { thread, warnings }) = self.running.take() else {
            return;
        };
        drop(warnings);
        let end = Instant::now() + DRAIN_TIMEOUT;
        while !thread.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_leaves_warnings_out_and_says_how_many() {
        let (lines, waiting) = sync_channel(1);
        let mut queue = WarningQueue { lines, left_out: 0 };
        let mut taken = |texts: &[&str]| -> Vec<String> {
            texts
                .iter()
                .for_each(|text| queue.push(format_args!("{text}")));
            waiting.try_iter().collect()
        };
        assert_eq!(taken(&["a", "b", "c"]), ["a"]);
        let said = "2 lines were left out, because stderr was full; d";
        assert_eq!(taken(&["d"]), [said]);
        assert_eq!(taken(&["e"]), ["e"]);
    }
}
