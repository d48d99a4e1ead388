//! Describes an emergency stop for its event.

use crate::log::UtcTime;
use crate::message::EmergencyStop;

/// Returns a text about who engaged or released an emergency stop, when and why.
pub(super) fn emergency_stop_text(stop: &EmergencyStop) -> String {
    let mut text = match stop.source.as_str() {
        "" => "by a sender without a name".to_owned(),
        source => format!("by {source}"),
    };
    // WHY not 0: senders that are not written in Rust may not set the time.
    if stop.timestamp_ns > 0 {
        text += &format!(" at {}", UtcTime(stop.timestamp_ns));
    }
    if !stop.reason.is_empty() {
        text += &format!(": {}", stop.reason);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::NodeEvent;

    #[test]
    fn the_event_of_an_emergency_stop_says_who_when_and_why() {
        let stop = |source, reason| EmergencyStop {
            timestamp_ns: 1_763_899_200_123_000_000,
            ..EmergencyStop::engage(source, reason)
        };
        let text = emergency_stop_text(&stop("bumper", "front hit"));
        assert_eq!(text, "by bumper at 2025-11-23T12:00:00.123Z: front hit");
        let text = emergency_stop_text(&stop("bumper", ""));
        assert_eq!(text, "by bumper at 2025-11-23T12:00:00.123Z");
        let text = emergency_stop_text(&EmergencyStop::default());
        assert_eq!(text, "by a sender without a name");
        let event = NodeEvent::new(NodeEvent::EMERGENCY_STOP, "", 1).with_text(&text);
        assert_eq!(
            event.to_string(),
            "EMERGENCY STOP until 'horus estop release': by a sender without a name"
        );
    }
}
