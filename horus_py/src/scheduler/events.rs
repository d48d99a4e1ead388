//! Calls the Python function `on_event` for the events of nodes, on a separate thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::scheduler::Scheduler;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;

use crate::call::check_no_coroutine_or_generator;
use crate::error::Error;
use crate::message::standard;
use crate::scheduler::python_calls::try_with_python;
use crate::scheduler::run_exceptions::RunExceptions;

/// Maximum number of events that wait for `on_event`. Additional events are only recorded in the
/// black box, and counted.
const WAITING_EVENTS_MAX: usize = 1024;

/// Maximum time for which the end of a run waits for the remaining calls of `on_event`.
const END_OF_RUN_DELIVERY_MAX: Duration = Duration::from_millis(500);

/// The shortest time between two reports of events that were not delivered, except the last.
const UNDELIVERED_REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Delivers the events of a scheduler to the Python function `on_event`.
#[derive(Debug)]
struct EventDelivery {
    events: Receiver<NodeEvent>,
    /// Number of events that found the queue full since this was last reported.
    undelivered: Arc<AtomicU64>,
    on_event: Py<PyAny>,
    scheduler: String,
    run_exceptions: Arc<RunExceptions>,
}

/// Starts the thread that calls `on_event` with every event of the scheduler `name`. WHY only when
/// the run starts: the thread keeps `on_event`, which often refers to the scheduler, alive.
///
/// WHY not on the supervisor's thread: it would wait for the GIL, and could not detect a node that
/// hangs while it holds the GIL.
pub(super) fn start_event_thread(
    scheduler: &mut Scheduler,
    name: &str,
    on_event: Py<PyAny>,
    run_exceptions: &Arc<RunExceptions>,
) -> PyResult<JoinHandle<()>> {
    let (sender, events) = sync_channel::<NodeEvent>(WAITING_EVENTS_MAX);
    let undelivered = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&undelivered);
    scheduler.on_event(move |event| {
        // An event that finds the queue full is in the black box all the same.
        if sender.try_send(*event).is_err() {
            // Relaxed: a counter, and the events themselves pass through the queue.
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let delivery = EventDelivery {
        events,
        undelivered,
        on_event,
        scheduler: name.to_owned(),
        run_exceptions: Arc::clone(run_exceptions),
    };
    Ok(thread::Builder::new()
        .name("horus-events".to_owned())
        .spawn(move || delivery.run())?)
}

impl EventDelivery {
    fn run(self) {
        let mut next_report = Instant::now();
        for event in &self.events {
            let delivered = try_with_python(|py| {
                if let Err(error) = self.deliver(py, &event) {
                    self.handle_exception(py, error);
                }
                // WHY not each time: a function that is always too slow misses events all the time.
                if Instant::now() >= next_report && self.report_undelivered_events_if_any(py) {
                    next_report = Instant::now() + UNDELIVERED_REPORT_INTERVAL;
                }
            });
            if delivered.is_none() {
                return;
            }
        }
        try_with_python(|py| self.report_undelivered_events_if_any(py));
    }

    fn deliver(&self, py: Python<'_>, event: &NodeEvent) -> PyResult<()> {
        let event = standard::python_message_of(py, event)?;
        check_no_coroutine_or_generator(&self.on_event.bind(py).call1((event,))?)
    }

    /// `KeyboardInterrupt` and `SystemExit` stop the run, as in a tick. Any other exception is
    /// passed to `sys.unraisablehook`.
    #[cold]
    fn handle_exception(&self, py: Python<'_>, error: PyErr) {
        let is_end = error.is_instance_of::<PyKeyboardInterrupt>(py)
            || error.is_instance_of::<PySystemExit>(py);
        if is_end {
            self.run_exceptions.stop_run_with_exception(error);
        } else {
            error.write_unraisable(py, Some(self.on_event.bind(py)));
        }
    }

    /// Reports how many events were not delivered since the last report. Returns false if all were.
    fn report_undelivered_events_if_any(&self, py: Python<'_>) -> bool {
        // Relaxed: a counter.
        let undelivered = self.undelivered.swap(0, Ordering::Relaxed);
        if undelivered == 0 {
            return false;
        }
        let Self { scheduler, .. } = self;
        let error = Error::new_err(format!(
            "scheduler '{scheduler}': on_event was too slow for {undelivered} events, which were \
             not delivered, because {WAITING_EVENTS_MAX} others were waiting: make it faster, or \
             read the events from the black box"
        ));
        error.write_unraisable(py, Some(self.on_event.bind(py)));
        true
    }
}

/// Waits until the thread has delivered all events, at most [`END_OF_RUN_DELIVERY_MAX`].
pub(super) fn join_event_thread(thread: &JoinHandle<()>) {
    let end = Instant::now() + END_OF_RUN_DELIVERY_MAX;
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_micros(200));
    }
}
