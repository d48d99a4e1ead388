//! Calls the Python function `on_event` for the events of nodes, on a separate thread.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::scheduler::Scheduler;
use pyo3::prelude::*;

use crate::message::standard;
use crate::scheduler::python_calls::with_python;

/// Maximum number of events that wait for `on_event`. Additional events are only recorded in the
/// black box.
const EVENTS_MAX: usize = 1024;

/// Maximum time for which the end of a run waits for the remaining calls of `on_event`.
const EVENTS_DRAIN_MAX: Duration = Duration::from_millis(500);

/// Starts the thread that calls `on_event` with every event of the scheduler.
///
/// WHY not on the supervisor's thread: it would wait for the GIL, and could not detect a node that
/// hangs while it holds the GIL.
pub(super) fn start_event_thread(
    scheduler: &mut Scheduler,
    on_event: Py<PyAny>,
) -> PyResult<JoinHandle<()>> {
    let (sender, events) = sync_channel::<NodeEvent>(EVENTS_MAX);
    scheduler.on_event(move |event| {
        // An event that finds the queue full is in the black box all the same.
        let _ = sender.try_send(*event);
    });
    let work = move || deliver_events(&events, &on_event);
    Ok(thread::Builder::new()
        .name("horus-events".to_owned())
        .spawn(work)?)
}

fn deliver_events(events: &Receiver<NodeEvent>, on_event: &Py<PyAny>) {
    for event in events {
        let delivered = with_python(|py| {
            let delivered =
                standard::object_of(py, &event).and_then(|event| on_event.call1(py, (event,)));
            if let Err(error) = delivered {
                error.write_unraisable(py, Some(on_event.bind(py)));
            }
        });
        if delivered.is_none() {
            return;
        }
    }
}

/// Waits until the thread has delivered all events, at most [`EVENTS_DRAIN_MAX`].
pub(super) fn join_event_thread(thread: &JoinHandle<()>) {
    let end = Instant::now() + EVENTS_DRAIN_MAX;
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_micros(200));
    }
}
