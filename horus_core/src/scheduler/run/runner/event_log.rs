//! What happens to a node, written down: events for the black box, and the last error.

use horus_shm::clock::Clock;

use crate::message::{NodeEvent, Text};
use crate::scheduler::remote::recorder::Recorder;

/// What is written down of a node, and where.
#[derive(Debug)]
pub(crate) struct EventLog {
    node: String,
    recorder: Option<Recorder>,
    /// What was noted last of what may happen in every tick.
    repeated: Repeated,
    /// Empty before the first. With room for what comes up in every tick.
    last_error: String,
}

/// Events of one kind that follow each other closely.
#[derive(Debug, Clone, Copy, Default)]
struct Repeated {
    kind: u8,
    noted_ns: u64,
    left_out: u64,
}

/// Room for an error. Those of misses are no longer.
const ERROR_BYTES: usize = 256;

/// How soon after another one of its kind an event is left out that may come in every tick.
const REPEAT_NS: u64 = 100_000_000;

impl EventLog {
    pub(crate) fn of(node: &str) -> Self {
        let (recorder, repeated) = (None, Repeated::default());
        let last_error = String::with_capacity(ERROR_BYTES);
        Self { node: node.to_owned(), recorder, repeated, last_error }
    }

    /// Where events go from now on.
    pub(crate) fn record_to(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Notes the last failure. Allocates only if it is longer than all before.
    pub(crate) fn blame(&mut self, error: &str) {
        self.last_error.clear();
        self.last_error.push_str(error);
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        Some(self.last_error.as_str()).filter(|error| !error.is_empty())
    }

    /// Writes down what may happen in every tick: of one kind, ten in a second. The next one says
    /// how many were left out. WHY: they would drive everything else out of the black box.
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

    /// Writes down what happened in this tick, or before it.
    #[cold]
    pub(crate) fn note(&self, tick: u64, kind: u8, value_ns: u64, text: &str) {
        let Some(recorder) = &self.recorder else { return };
        let event = NodeEvent::new(kind, &self.node, Clock::kernel().now_ns());
        recorder.record(event.lasting(value_ns).in_tick(tick).saying(text));
    }
}
