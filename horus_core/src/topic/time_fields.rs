//! Finds the time fields of a message. They decide which message of several publishers is the
//! newest.

use crate::message::clocks_now_ns;

/// The name of the field with the time by which messages are ordered, unless they have the field
/// `monotonic_ns`.
const TIMESTAMP_FIELD: &str = "timestamp_ns";

/// The name of the field with a time of CLOCK_MONOTONIC. WHY this field has precedence: the clock
/// of `timestamp_ns` can be set back, and then a message that was sent later looks older.
const MONOTONIC_FIELD: &str = "monotonic_ns";

/// A number of nanoseconds that is greater than any difference between the clocks of the two time
/// fields. It is added to times of CLOCK_MONOTONIC, so that times before the start of the machine
/// are positive, too.
const CLOCK_DIFFERENCE_NS_MAX: u64 = 1 << 62;

/// The offsets of the two fields `timestamp_ns` and `monotonic_ns` in a message; `None` for a field
/// that the message does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeFields {
    timestamp: Option<usize>,
    monotonic: Option<usize>,
}

impl TimeFields {
    /// Finds the two fields in a message. `offset_of` returns the offset of the message's `u64`
    /// field with the given name, or `None` if there is no such field.
    pub(super) fn find(offset_of: impl Fn(&str) -> Option<usize>) -> Self {
        Self {
            timestamp: offset_of(TIMESTAMP_FIELD),
            monotonic: offset_of(MONOTONIC_FIELD),
        }
    }

    /// Returns a number that is greater for the newer one of two messages. Returns 0 if messages
    /// have neither of the two fields.
    pub(super) fn published_ns(self, message: &[u8]) -> u64 {
        self.published_ns_with_clocks(message, clocks_now_ns)
    }

    fn published_ns_with_clocks(
        self,
        message: &[u8],
        clocks_now_ns: impl Fn() -> (u64, u64),
    ) -> u64 {
        let at = |offset: Option<usize>| offset.map_or(0, |offset| u64_at(message, offset));
        let timestamp_ns = at(self.timestamp);
        if self.monotonic.is_none() {
            return timestamp_ns;
        }
        match at(self.monotonic) {
            // Its publisher has only set the other time.
            0 => {
                let (now_ns, monotonic_ns) = clocks_now_ns();
                let since_begin_ns =
                    (CLOCK_DIFFERENCE_NS_MAX + monotonic_ns).saturating_add(timestamp_ns);
                since_begin_ns.saturating_sub(now_ns)
            }
            monotonic_ns => CLOCK_DIFFERENCE_NS_MAX.saturating_add(monotonic_ns),
        }
    }
}

/// Returns the `u64` at `offset` in `bytes`, or 0 if there are too few bytes.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let number = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
    number.copied().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The present times of both clocks, if the machine started at time 1000.
    const NOW: (u64, u64) = (1500, 500);

    fn published_ns(has_monotonic: bool, timestamp_ns: u64, monotonic_ns: u64) -> u64 {
        let fields = TimeFields {
            timestamp: Some(0),
            monotonic: has_monotonic.then_some(8),
        };
        let message = [timestamp_ns, monotonic_ns].map(u64::to_ne_bytes);
        fields.published_ns_with_clocks(message.as_flattened(), || NOW)
    }

    #[test]
    fn the_clock_that_cannot_be_set_decides() {
        assert_eq!(published_ns(false, 7, 9), 7);
        // Each is newer than the one before it.
        let rising = [
            (0, 0),
            (900, 0),
            (1000, 0),
            (9000, 1),
            (1100, 0),
            (1, 101),
            (1600, 0),
            (1, 601),
            (u64::MAX, 0),
        ];
        let keys = rising
            .map(|(timestamp_ns, monotonic_ns)| published_ns(true, timestamp_ns, monotonic_ns));
        assert!(keys.is_sorted_by(|older, newer| older < newer), "{keys:?}");
        assert!(published_ns(true, 0, u64::MAX) >= published_ns(true, 0, u64::MAX / 2));
    }

    #[test]
    fn a_message_without_times_or_of_too_few_bytes_is_the_oldest() {
        assert_eq!(TimeFields::find(|_| None).published_ns(&[1; 16]), 0);
        assert_eq!(
            TimeFields::find(|_| Some(1)).published_ns_with_clocks(&[1; 8], || NOW),
            CLOCK_DIFFERENCE_NS_MAX - 1000
        );
    }
}
