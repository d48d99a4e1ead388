//! Gaps: the times between successive messages of a topic, which an observer measures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use horus_core::namespace::Namespace;
use horus_core::topic::{DynamicSchema, DynamicType};
use serde::Serialize;

use super::observer::{Observer, READ_TIME_MAX};
use super::samples::Samples;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, duration};

/// Name of the message field that contains the time at which the message was created.
pub(super) const TIME_FIELD: &str = "timestamp_ns";

/// Maximum number of times that are kept until their gaps are computed. WHY a limit: a window may
/// be long, and messages may come at millions per second.
const KEPT_TIMES_MAX: usize = 1 << 16;

/// An observer that reads the times of a topic's messages, to find the gaps between them.
#[derive(Debug)]
pub(super) struct GapMeter {
    observer: Observer,
    /// The number of the last message of each lane, by which missed messages are noticed.
    last_numbers: BTreeMap<u32, u64>,
    times: MessageTimes,
}

/// The times of messages, and the gaps between them, in one window.
#[derive(Debug, Default)]
struct MessageTimes {
    /// The times of the newest messages, whose gaps are not computed yet, in nanoseconds since
    /// 1970.
    newest: Vec<u64>,
    /// The latest time of a message before those in `newest`, in nanoseconds since 1970; `None` if
    /// there was none. The next gap begins at this time.
    last: Option<u64>,
    gaps: Samples<u64>,
    /// Number of messages that the observer has missed.
    missed: u64,
}

/// The gaps, which are times between successive messages, in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct MessageGaps {
    /// Number of gaps that were measured. A gap in which the observer has missed messages does not
    /// count.
    gaps: u64,
    /// Number of messages that were overwritten before the observer read them.
    missed: u64,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl GapMeter {
    pub(super) fn open(
        context: &Context,
        namespace: &Arc<Namespace>,
        name: &str,
    ) -> Result<Self, Failure> {
        Ok(Self {
            observer: Observer::open(context, namespace, name)?,
            last_numbers: BTreeMap::new(),
            times: MessageTimes::default(),
        })
    }

    /// Records the times of the messages that have arrived since the last call. Takes not much
    /// longer than [`READ_TIME_MAX`], even if messages come faster than they are read.
    pub(super) fn read_times(&mut self) {
        let Some(subscriber) = self.observer.subscriber() else {
            return;
        };
        let kind = subscriber.message_type().clone();
        let begin = Instant::now();
        while let Some(message) = subscriber.recv_bytes() {
            let time = message_time_ns(&kind, message).unwrap_or_else(now_ns);
            if let Some(arrival) = subscriber.last_arrival()
                && let Some(last) = self.last_numbers.insert(arrival.lane, arrival.number)
                && arrival.number != last + 1
            {
                self.times
                    .skip_messages(arrival.number.saturating_sub(last + 1));
            }
            self.times.add_time(time);
            if begin.elapsed() >= READ_TIME_MAX {
                return;
            }
        }
    }

    /// Returns the gaps of the window that has ended, and begins the next window.
    pub(super) fn take_window_gaps(&mut self) -> MessageGaps {
        self.times.take_window_gaps()
    }
}

impl MessageTimes {
    fn add_time(&mut self, time_ns: u64) {
        self.newest.push(time_ns);
        if self.newest.len() == KEPT_TIMES_MAX {
            self.compute_gaps();
        }
    }

    /// Records that `missed_messages` messages were sent before the next one, and were not read.
    /// WHY: the time between two messages that are not successive is no gap.
    fn skip_messages(&mut self, missed_messages: u64) {
        self.compute_gaps();
        self.last = None;
        self.missed += missed_messages;
    }

    /// Computes the gaps between the newest messages, and drops their times.
    fn compute_gaps(&mut self) {
        self.newest.extend(self.last);
        // WHY: messages of several publishers are not read in the order in which they were sent.
        self.newest.sort_unstable();
        for pair in self.newest.windows(2) {
            self.gaps.add(pair[1] - pair[0]);
        }
        self.last = self.newest.last().copied();
        self.newest.clear();
    }

    fn take_window_gaps(&mut self) -> MessageGaps {
        self.compute_gaps();
        let mut gaps = std::mem::take(&mut self.gaps);
        let [p50_ns, p99_ns] = gaps.percentiles([50.0, 99.0]);
        MessageGaps {
            gaps: gaps.count(),
            missed: std::mem::take(&mut self.missed),
            min_ns: gaps.min(),
            p50_ns,
            p99_ns,
            max_ns: gaps.max(),
        }
    }
}

impl MessageGaps {
    /// Returns a text with the number of gaps and their percentiles.
    pub(super) fn text(&self) -> String {
        let time = |ns: Option<u64>| {
            ns.map_or_else(|| "-".to_owned(), |ns| duration(Duration::from_nanos(ns)))
        };
        let missed = match self.missed {
            0 => String::new(),
            missed => format!("  ({} messages not seen)", count(missed)),
        };
        format!(
            "{} gaps: min {}  p50 {}  p99 {}  max {}{missed}",
            count(self.gaps),
            time(self.min_ns),
            time(self.p50_ns),
            time(self.p99_ns),
            time(self.max_ns)
        )
    }
}

/// Returns the value of the field [`TIME_FIELD`] in a message. Returns `None` if there is no such
/// field, or if its value is 0.
fn message_time_ns(kind: &DynamicType, message: &[u8]) -> Option<u64> {
    let DynamicSchema::Plain { layout, .. } = kind.schema() else {
        return None;
    };
    let time = layout.get(message, TIME_FIELD).ok()?.as_u64();
    time.filter(|time| *time > 0)
}

/// Returns the current time of CLOCK_REALTIME, in nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_messages() {
        let mut times = MessageTimes::default();
        [20, 10, 41, 40]
            .into_iter()
            .for_each(|time| times.add_time(time));
        let gaps = times.take_window_gaps();
        assert_eq!(
            (gaps.gaps, gaps.min_ns, gaps.p50_ns),
            (3, Some(1), Some(10))
        );
        assert_eq!((gaps.p99_ns, gaps.max_ns), (Some(20), Some(20)));
        // The first gap of a window begins at the last message of the window before.
        times.add_time(48);
        assert_eq!(times.take_window_gaps().max_ns, Some(7));
        assert_eq!(times.take_window_gaps().max_ns, None);
    }

    /// The observer looks once a millisecond, and messages may come faster than a lane holds them.
    #[test]
    fn there_is_no_gap_where_messages_were_missed() {
        let mut times = MessageTimes::default();
        [10, 20].into_iter().for_each(|time| times.add_time(time));
        times.skip_messages(47);
        [500, 511].into_iter().for_each(|time| times.add_time(time));
        let gaps = times.take_window_gaps();
        assert_eq!((gaps.gaps, gaps.missed), (2, 47));
        assert_eq!((gaps.min_ns, gaps.max_ns), (Some(10), Some(11)));
        let text = gaps.text();
        assert!(text.ends_with("  (47 messages not seen)"), "{text}");
        times.skip_messages(3);
        times.add_time(900);
        let gaps = times.take_window_gaps();
        assert_eq!((gaps.gaps, gaps.missed), (0, 3));
        assert_eq!(times.take_window_gaps().missed, 0);
    }

    #[test]
    fn a_long_window_takes_bounded_memory() {
        let mut times = MessageTimes::default();
        let number = 3 * KEPT_TIMES_MAX as u64 + 7;
        (0..number).for_each(|index| times.add_time(index * 5));
        assert!(times.newest.capacity() <= 2 * KEPT_TIMES_MAX);
        let gaps = times.take_window_gaps();
        assert_eq!(gaps.gaps, number - 1);
        assert_eq!((gaps.min_ns, gaps.max_ns), (Some(5), Some(5)));
    }
}
