//! Gaps: the times between successive messages of a topic, which an observer measures.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use horus_core::namespace::Namespace;
use horus_core::topic::{DynamicSchema, DynamicType};
use serde::Serialize;

use super::observer::Observer;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, duration};

/// Name of the message field that contains the time at which the message was created.
pub(super) const TIME_FIELD: &str = "timestamp_ns";

/// An observer that reads the times of a topic's messages, to find the gaps between them.
#[derive(Debug)]
pub(super) struct GapMeter {
    observer: Observer,
    /// The times of the messages in the current window, in nanoseconds since 1970.
    times: Vec<u64>,
    /// The latest time of a message in the windows before, in nanoseconds since 1970; `None` if
    /// there was none. The first gap of a window begins at it.
    last: Option<u64>,
}

/// The gaps, which are times between successive messages, in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Gaps {
    /// Number of gaps that were measured. The observer may lose messages, so it can be smaller than
    /// the number of messages sent.
    gaps: usize,
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
            times: Vec::new(),
            last: None,
        })
    }

    /// Records the times of the messages that have arrived since the last call.
    pub(super) fn read_times(&mut self) {
        let Some(subscriber) = self.observer.subscriber() else {
            return;
        };
        let kind = subscriber.message_type().clone();
        while let Some(message) = subscriber.recv_bytes() {
            self.times
                .push(time_of(&kind, message).unwrap_or_else(now_ns));
        }
    }

    /// Returns the gaps of the window that has ended, and begins the next window.
    pub(super) fn take(&mut self) -> Gaps {
        let mut times = std::mem::take(&mut self.times);
        times.extend(self.last);
        // WHY: messages of several publishers are not read in the order in which they were sent.
        times.sort_unstable();
        self.last = times.last().copied();
        Gaps::between(&times)
    }
}

impl Gaps {
    fn between(times: &[u64]) -> Self {
        let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let at = |share: f64| {
            let index = (share * gaps.len() as f64).ceil() as usize;
            gaps.get(index.max(1) - 1).copied()
        };
        Self {
            gaps: gaps.len(),
            min_ns: at(0.0),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: at(1.0),
        }
    }

    /// Returns a text with the number of gaps and their percentiles.
    pub(super) fn text(&self) -> String {
        let time = |ns: Option<u64>| {
            ns.map_or_else(|| "-".to_owned(), |ns| duration(Duration::from_nanos(ns)))
        };
        format!(
            "{} gaps: min {}  p50 {}  p99 {}  max {}",
            count(self.gaps as u64),
            time(self.min_ns),
            time(self.p50_ns),
            time(self.p99_ns),
            time(self.max_ns)
        )
    }
}

/// Returns the value of the field [`TIME_FIELD`] in a message. Returns `None` if there is no such
/// field, or if its value is 0.
fn time_of(kind: &DynamicType, message: &[u8]) -> Option<u64> {
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
        let gaps = Gaps::between(&[10, 20, 40, 41]);
        assert_eq!(
            (gaps.gaps, gaps.min_ns, gaps.p50_ns),
            (3, Some(1), Some(10))
        );
        assert_eq!((gaps.p99_ns, gaps.max_ns), (Some(20), Some(20)));
        assert_eq!(Gaps::between(&[7]).max_ns, None);
    }
}
