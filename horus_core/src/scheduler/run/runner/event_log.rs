//! Records events of a node in the black box, the scheduler's topic of events. Also keeps the
//! node's last error.

use horus_shm::clock::Clock;

use crate::message::NodeEvent;
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::remote::recorder::EventRecorder;
use crate::scheduler::run::event_limit::{EventRateLimiter, text_with_left_out_count};

/// The recorder of a node's events, and the node's last error.
#[derive(Debug)]
pub(crate) struct EventLog {
    node: String,
    recorder: Option<EventRecorder>,
    limit: EventRateLimiter,
    /// The text of the node's last error; empty before the first one. Its capacity is large enough
    /// for the errors that may occur in every tick.
    last_error: String,
}

/// The initial capacity of the text of the last error, in bytes. The text of a miss is never
/// longer, so that a miss does not allocate.
const LAST_ERROR_CAPACITY_BYTES: usize = 256;

impl EventLog {
    pub(crate) fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            recorder: None,
            limit: EventRateLimiter::default(),
            last_error: String::with_capacity(LAST_ERROR_CAPACITY_BYTES),
        }
    }

    /// Sets the recorder that writes the events into the black box.
    pub(crate) fn set_recorder(&mut self, recorder: EventRecorder) {
        self.recorder = Some(recorder);
    }

    /// Stores the text of the node's last error. Allocates memory only if this text is longer than
    /// all previous ones.
    pub(crate) fn set_last_error(&mut self, error: &str) {
        self.last_error.clear();
        self.last_error.push_str(error);
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        Some(self.last_error.as_str()).filter(|error| !error.is_empty())
    }

    /// Records an event that may occur in every tick, but at most ten of the same kind and call in
    /// a second. `call` is the call outside of the tick in which it occurs; `None` for the tick.
    /// The next recorded event contains the number of those that were left out.
    #[cold]
    pub(crate) fn record_rate_limited(
        &mut self,
        tick: u64,
        (kind, call): (u8, Option<UserCall>),
        value_ns: u64,
        text: &str,
    ) {
        let now_ns = Clock::kernel().now_ns();
        if let Some(left_out) = self.limit.take_left_out_count_if_due(kind, call, now_ns) {
            let text = text_with_left_out_count(text, left_out);
            self.record(tick, kind, value_ns, text.as_str());
        }
    }

    /// Records an event in the black box. The event happened during tick number `tick`, or between
    /// the previous tick and that one.
    #[cold]
    pub(crate) fn record(&self, tick: u64, kind: u8, value_ns: u64, text: &str) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        let event = NodeEvent::new(kind, &self.node, Clock::kernel().now_ns());
        recorder.record(
            event
                .with_value_ns(value_ns)
                .with_tick(tick)
                .with_text(text),
        );
    }
}
