//! A thread that prints lines to stderr for threads that must not wait for stderr.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_shm::internals::thread::become_library_thread;

use super::sink::{self, print_deferred};

/// The time after which the printing thread checks again for lines to print.
const PRINT_PERIOD: Duration = Duration::from_millis(10);
/// The longest time for which the end of a scheduler waits until the last lines are printed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A thread that prints to stderr the lines of threads that must not wait for stderr. It ends when
/// this value is dropped.
///
/// WHY a separate thread: if the program that reads stderr is slow, only this thread has to wait,
/// and not the thread that supervises the nodes.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    running: Option<(JoinHandle<()>, Arc<AtomicBool>)>,
}

impl Printer {
    /// Starts the thread, unless it already runs or the log of the process is not written to
    /// stderr. Costs two atomic loads if there is nothing to do. If the system cannot create a
    /// thread, the lines of threads that must not wait for stderr are not printed, but are still in
    /// the log.
    pub(crate) fn start_if_needed(&mut self) {
        if self.running.is_some() || !sink::current_sink().is_some_and(|sink| sink.writes_stderr) {
            return;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("horus log".to_owned());
        let thread = thread.spawn(move || {
            become_library_thread();
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
    /// Ends the thread. Before that, waits until all lines that were logged so far are printed, but
    /// at most a second.
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
