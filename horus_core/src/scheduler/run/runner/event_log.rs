//! Records events of a node in the black box, the scheduler's topic of events. Also keeps the
//! node's last error.

use horus_shm::clock::Clock;

use crate::message::{NodeEvent, Text};
use crate::scheduler::remote::recorder::Recorder;

/// The recorder of a node's events, and the node's last error.
#[derive(Debug)]
pub(crate) struct EventLog {
    node: String,
    recorder: Option<Recorder>,
    /// The kinds of events that may occur in every tick, each with the last recorded event, by
    /// which the number of such events is limited.
    repeated: [RepeatedEvent; RATE_LIMITED_KINDS.len()],
    /// The text of the node's last error; empty before the first one. Its capacity is large enough
    /// for the errors that may occur in every tick.
    last_error: String,
}

/// The kinds of events that may occur in every tick. WHY each has a limit of its own: a tick may
/// cause events of several kinds.
const RATE_LIMITED_KINDS: [u8; 5] = [
    NodeEvent::FAILED,
    NodeEvent::PANICKED,
    NodeEvent::MISSED,
    NodeEvent::CHECKPOINT,
    NodeEvent::STALE_INPUT,
];

/// The time of the last recorded event of a kind, and the number of further events of that kind
/// that have not been recorded since.
#[derive(Debug, Clone, Copy, Default)]
struct RepeatedEvent {
    /// The time in nanoseconds; 0 before the first event.
    recorded_ns: u64,
    left_out: u64,
}

/// The initial capacity of the text of the last error, in bytes. The text of a miss is never
/// longer, so that a miss does not allocate.
const LAST_ERROR_CAPACITY: usize = 256;

/// The shortest time, in nanoseconds, between two recorded events of the same kind, for kinds that
/// may occur in every tick.
const REPEATED_EVENT_PERIOD_NS: u64 = 100_000_000;

impl EventLog {
    pub(crate) fn new(node: &str) -> Self {
        let recorder = None;
        let repeated = Default::default();
        let last_error = String::with_capacity(LAST_ERROR_CAPACITY);
        Self {
            node: node.to_owned(),
            recorder,
            repeated,
            last_error,
        }
    }

    /// Sets the recorder that writes the events into the black box.
    pub(crate) fn set_recorder(&mut self, recorder: Recorder) {
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

    /// Records an event of a kind that may occur in every tick, but at most ten of the same kind in
    /// a second. The next recorded event contains the number of those that were left out. WHY a
    /// limit: these events would displace all others from the black box.
    #[cold]
    pub(crate) fn record_rate_limited(&mut self, tick: u64, kind: u8, value_ns: u64, text: &str) {
        let now_ns = Clock::kernel().now_ns();
        let index = RATE_LIMITED_KINDS.iter().position(|one| *one == kind);
        let Some(last) = index.map(|index| &mut self.repeated[index]) else {
            return self.record(tick, kind, value_ns, text);
        };
        if now_ns < last.recorded_ns.saturating_add(REPEATED_EVENT_PERIOD_NS)
            && last.recorded_ns != 0
        {
            last.left_out += 1;
            return;
        }
        last.recorded_ns = now_ns;
        let left_out = std::mem::take(&mut last.left_out);
        if left_out > 0 {
            let text = with_left_out(text, left_out);
            self.record(tick, kind, value_ns, text.as_str());
        } else {
            self.record(tick, kind, value_ns, text);
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

/// Returns the first line of `text`, and after it the number of events that were left out before
/// this one. Truncates the line, so that there is always room for the number.
fn with_left_out(text: &str, left_out: u64) -> Text<128> {
    let between = if text.is_empty() { "" } else { "; " };
    let suffix = Text::<64>::format(format_args!("{between}and {left_out} more before this"));
    let line = text.lines().next().unwrap_or_default();
    let mut end = line.len().min(128 - suffix.as_str().len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    Text::format(format_args!("{}{}", &line[..end], suffix.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_events_that_were_left_out_is_never_cut_off() {
        let of = |text: &str| with_left_out(text, u64::MAX).as_str().to_owned();
        let suffix = "and 18446744073709551615 more before this";
        assert_eq!(of(""), suffix);
        assert_eq!(of("no port\nTraceback"), format!("no port; {suffix}"));
        let long = of(&"é".repeat(100));
        assert_eq!((long.len(), long.ends_with(suffix)), (127, true), "{long}");
    }
}
