//! Limits the number of recorded events that may occur in every tick of a node, or for every
//! message of an actor.

use crate::message::{NodeEvent, Text};
use crate::scheduler::api::metrics::UserCall;

/// The events that may occur in every tick: the kind, and the call outside of the tick in which it
/// occurs (`None` for the tick itself). WHY each has a limit of its own: a tick may cause several.
const RATE_LIMITED_EVENTS: [(u8, Option<UserCall>); 13] = [
    (NodeEvent::FAILED, None),
    (NodeEvent::PANICKED, None),
    (NodeEvent::MISSED, None),
    (NodeEvent::CHECKPOINT, None),
    (NodeEvent::STALE_INPUT, None),
    (NodeEvent::PANICKED, Some(UserCall::OnError)),
    (NodeEvent::PANICKED, Some(UserCall::Drop)),
    (NodeEvent::PANICKED, Some(UserCall::Swap)),
    (NodeEvent::FAILED, Some(UserCall::Shutdown)),
    (NodeEvent::PANICKED, Some(UserCall::Shutdown)),
    (
        NodeEvent::SAFE_STATE_ENTERED,
        Some(UserCall::EnterSafeState),
    ),
    (NodeEvent::FAILED, Some(UserCall::EnterSafeState)),
    (NodeEvent::PANICKED, Some(UserCall::EnterSafeState)),
];

/// The shortest time, in nanoseconds, between two recorded events of the same kind and call.
pub(crate) const REPEATED_EVENT_PERIOD_NS: u64 = 100_000_000;

/// Decides which events are recorded: of those that may occur in every tick, at most ten of the
/// same kind and call in a second. WHY a limit: these events would displace all others from the
/// black box.
#[derive(Debug, Default)]
pub(crate) struct EventRateLimiter {
    repeated: [RepeatedEvent; RATE_LIMITED_EVENTS.len()],
}

/// The time of the last recorded event of a kind and call, and the number of further events that
/// have not been recorded since.
#[derive(Debug, Clone, Copy, Default)]
struct RepeatedEvent {
    /// Time of the last event of this kind and call that was recorded, in nanoseconds; 0 before
    /// the first one.
    recorded_ns: u64,
    left_out: u64,
}

impl EventRateLimiter {
    /// Returns the number of events that were left out before this one, if this one has to be
    /// recorded. Returns `None` if it has to be left out.
    pub(crate) fn take_left_out_count_if_due(
        &mut self,
        kind: u8,
        call: Option<UserCall>,
        now_ns: u64,
    ) -> Option<u64> {
        let index = RATE_LIMITED_EVENTS
            .iter()
            .position(|one| *one == (kind, call));
        let Some(last) = index.map(|index| &mut self.repeated[index]) else {
            return Some(0);
        };
        let next_ns = last.recorded_ns.saturating_add(REPEATED_EVENT_PERIOD_NS);
        if last.recorded_ns != 0 && now_ns < next_ns {
            last.left_out += 1;
            return None;
        }
        last.recorded_ns = now_ns;
        Some(std::mem::take(&mut last.left_out))
    }

    /// Returns the kinds of the events that were left out since the last one that was recorded,
    /// each with the number of these events, which then count as recorded. Called at the end, when
    /// no later event contains these numbers.
    pub(crate) fn take_left_out_counts_by_kind(&mut self) -> impl Iterator<Item = (u8, u64)> {
        let all = RATE_LIMITED_EVENTS.iter().zip(&mut self.repeated);
        all.filter(|(_, last)| last.left_out > 0)
            .map(|((kind, _), last)| (*kind, std::mem::take(&mut last.left_out)))
    }
}

/// Returns the first line of `text`. If events were left out, their number follows. Truncates the
/// line, so that there is always room for the number.
pub(crate) fn text_with_left_out_count(text: &str, left_out_count: u64) -> Text<128> {
    let line = text.lines().next().unwrap_or_default();
    if left_out_count == 0 {
        return Text::truncated(line);
    }
    let between = if line.is_empty() { "" } else { "; " };
    let suffix = Text::<64>::format(format_args!(
        "{between}and {left_out_count} more before this"
    ));
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
        let of = |text: &str| text_with_left_out_count(text, u64::MAX).as_str().to_owned();
        let suffix = "and 18446744073709551615 more before this";
        assert_eq!(of(""), suffix);
        assert_eq!(of("no port\nTraceback"), format!("no port; {suffix}"));
        let long = of(&"é".repeat(100));
        assert_eq!((long.len(), long.ends_with(suffix)), (127, true), "{long}");
    }
}
