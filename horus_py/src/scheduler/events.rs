//! Events of nodes, for which a thread of its own calls `on_event`.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::scheduler::Scheduler;
use pyo3::prelude::*;

use crate::message::standard;
use crate::scheduler::python_calls::attached;

/// The number of events that may wait for `on_event`. Others are only in the black box.
const EVENTS_MAX: usize = 1024;

/// The time for which the end of a run waits for `on_event` to return.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Has `tell` called with every event, by a thread of its own.
///
/// WHY not by the supervisor's: that would wait for the GIL, and find no stall of it.
pub(super) fn tell_events(scheduler: &mut Scheduler, tell: Py<PyAny>) -> PyResult<JoinHandle<()>> {
    let (sender, events) = sync_channel::<NodeEvent>(EVENTS_MAX);
    scheduler.on_event(move |event| {
        // WHY: what has no room is in the black box.
        let _ = sender.try_send(*event);
    });
    let work = move || tell_all(&events, &tell);
    Ok(thread::Builder::new().name("horus-events".to_owned()).spawn(work)?)
}

fn tell_all(events: &Receiver<NodeEvent>, tell: &Py<PyAny>) {
    for event in events {
        let told = attached(|py| {
            let told = standard::object_of(py, &event).and_then(|event| tell.call1(py, (event,)));
            if let Err(error) = told {
                error.write_unraisable(py, Some(tell.bind(py)));
            }
        });
        if told.is_none() {
            return;
        }
    }
}

/// Waits until the thread has told all events, but not for long.
pub(super) fn join(thread: &JoinHandle<()>) {
    let end = Instant::now() + LAST_WORDS;
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_micros(200));
    }
}
