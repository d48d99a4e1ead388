//! Records what happens to a node: events for the black box, and the last error.

use horus_shm::clock::Clock;

use crate::message::{NodeEvent, Text};
use crate::scheduler::remote::recorder::Recorder;

/// The log of a node.
#[derive(Debug)]
pub(crate) struct EventLog {
    node: String,
    recorder: Option<Recorder>,
    /// The last event of the kinds that may come in every tick.
    repeated: Repeated,
    /// The last error; empty before the first. Has room for errors that may come in every tick.
    last_error: String,
}

/// Events of one kind that follow each other closely.
#[derive(Debug, Clone, Copy, Default)]
struct Repeated {
    kind: u8,
    noted_ns: u64,
    left_out: u64,
}

/// The room for an error. Errors of misses are no longer.
const ERROR_BYTES: usize = 256;

/// The time in which an event that may come in every tick is left out after another one of its
/// kind.
const REPEAT_NS: u64 = 100_000_000;

impl EventLog {
    pub(crate) fn of(node: &str) -> Self {
        let (recorder, repeated) = (None, Repeated::default());
        let last_error = String::with_capacity(ERROR_BYTES);
        Self { node: node.to_owned(), recorder, repeated, last_error }
    }

    /// Sets the recorder of events.
    pub(crate) fn record_to(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Stores the last failure. Allocates only if it is longer than all before.
    pub(crate) fn set_last_error(&mut self, error: &str) {
        self.last_error.clear();
        self.last_error.push_str(error);
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        Some(self.last_error.as_str()).filter(|error| !error.is_empty())
    }

    /// Records an event that may come in every tick: of one kind, ten in a second. The next one
    /// contains the number of events that were left out. WHY: they would drive all other events out
    /// of the black box.
    #[cold]
    pub(crate) fn note_often(&mut self, tick: u64, kind: u8, value_ns: u64, text: &str) {
        let now_ns = Clock::kernel().now_ns();
        let Repeated { kind: last_kind, noted_ns, left_out } = self.repeated;
        if kind == last_kind && now_ns.saturating_sub(noted_ns) < REPEAT_NS {
            self.repeated.left_out += 1;
            return;
        }
        self.repeated = Repeated { kind, noted_ns: now_ns, left_out: 0 };
        if kind == last_kind && left_out > 0 {
            let between = if text.is_empty() { "" } else { "; " };
            let more = format_args!("{text}{between}and {left_out} more before this");
            self.note(tick, kind, value_ns, Text::<128>::format(more).as_str());
        } else {
            self.note(tick, kind, value_ns, text);
        }
    }

    /// Records what happened in this tick, or before it.
    #[cold]
    pub(crate) fn note(&self, tick: u64, kind: u8, value_ns: u64, text: &str) {
        let Some(recorder) = &self.recorder else { return };
        let event = NodeEvent::new(kind, &self.node, Clock::kernel().now_ns());
        recorder.record(event.with_value_ns(value_ns).with_tick(tick).with_text(text));
    }
}
