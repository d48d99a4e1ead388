//! A thread that prints lines to stderr in place of the threads that must not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::sink::{self, print_deferred};

/// Time between two checks for lines to print.
const PRINT_PERIOD: Duration = Duration::from_millis(10);
/// The longest time that the end of a scheduler waits until the last lines are printed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A thread that prints the log lines of threads that must not wait for stderr. It ends when this
/// value is dropped.
///
/// WHY a thread of its own: if the reader of stderr is slow, only this thread waits for it, and not
/// the one that watches the nodes.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    running: Option<(JoinHandle<()>, Arc<AtomicBool>)>,
}

impl Printer {
    /// Starts the thread if the process has a log that is written to stderr, and the thread does
    /// not run yet. Costs two loads if there is nothing to do. If the system refuses a thread, the
    /// lines of threads that must not wait are only in the log.
    pub(crate) fn start_if_needed(&mut self) {
        if self.running.is_some() || !sink::current_sink().is_some_and(|sink| sink.writes_stderr) {
            return;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("horus log".to_owned());
        let thread = thread.spawn(move || {
            // Relaxed: the flag stands alone. The lines are ordered by the ring.
            while !over.load(Ordering::Relaxed) {
                print_deferred();
                thread::park_timeout(PRINT_PERIOD);
            }
            print_deferred();
        });
        self.running = thread.ok().map(|thread| (thread, is_over));
    }
}

impl Drop for Printer {
    /// Waits until the lines so far are printed, but at most a second.
    fn drop(&mut self) {
        let Some((thread, is_over)) = self.running.take() else {
            return;
        };
        is_over.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        let end = Instant::now() + DRAIN_TIMEOUT;
        while !thread.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_micros(200));
        }
    }
}
