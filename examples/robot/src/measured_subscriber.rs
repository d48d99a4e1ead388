//! A subscriber that counts the messages of one topic, measures their latencies and counts the torn
//! ones.

use hdrhistogram::Histogram;
use horus_core::message::timestamp_now_ns;
use horus_core::topic::Subscriber;

use crate::Result;
use crate::check::Checked;
use crate::ledger::{Latency, Ledger, Tally};

/// Number of significant decimal digits with which the histograms store a latency.
const LATENCY_DIGITS: u8 = 3;

/// A subscriber that receives messages of type `M`, together with its statistics.
#[derive(Debug)]
pub(crate) struct MeasuredSubscriber<M: Checked> {
    subscriber: Subscriber<M>,
    tally: Tally,
    /// Latencies of all messages since the start, in nanoseconds.
    total_ns: Histogram<u64>,
    recent_ns: Histogram<u64>,
}

impl<M: Checked> MeasuredSubscriber<M> {
    pub(crate) const HEADER: &str = "topic       rate     p50 us    p99 us    max us\
                                     \x20      sent  received   lost";

    /// Opens a subscriber of `topic`, which receives every message that is sent from now on.
    pub(crate) fn new(topic: &str) -> Result<Self> {
        Ok(Self {
            subscriber: Subscriber::new(topic)?,
            tally: Tally::default(),
            total_ns: Histogram::new(LATENCY_DIGITS)?,
            recent_ns: Histogram::new(LATENCY_DIGITS)?,
        })
    }

    /// Receives all available messages, updates the statistics, and passes each message to `look`.
    pub(crate) fn drain(&mut self, mut look: impl FnMut(&M)) -> Result<()> {
        while let Some(message) = self.subscriber.recv() {
            let received_ns = timestamp_now_ns();
            // Negative only if the clock was set, which `ClockWatch` reports.
            let latency_ns = received_ns.saturating_sub(message.timestamp_ns());
            self.total_ns.record(latency_ns)?;
            self.recent_ns.record(latency_ns)?;
            self.tally.count(&message);
            look(&message);
        }
        Ok(())
    }

    /// Formats a line of the table whose header is [`Self::HEADER`]. The rates are for the
    /// `seconds` since the last line; the columns `sent`, `received` and `lost` count from the
    /// start.
    pub(crate) fn row(&mut self, seconds: f64) -> String {
        let rate_hz = self.recent_ns.len() as f64 / seconds;
        let latency = Latency::of(&self.recent_ns).as_ref().map(Latency::columns);
        let latency = latency.unwrap_or_default();
        self.recent_ns.reset();
        let topic = self.subscriber.name();
        let stats = self.subscriber.stats();
        let sent = stats.sent;
        let received = stats.received;
        let lost = stats.lost;
        format!("{topic:8} {rate_hz:>5.0} Hz {latency:>29} {sent:>9} {received:>9} {lost:>6}")
    }

    /// Returns the final message counts for the topic. `reader` is the name of this subscriber in
    /// the ledger.
    pub(crate) fn ledger(&self, reader: &str) -> Ledger {
        let ledger = self
            .tally
            .ledger(reader, self.subscriber.name(), &self.subscriber.stats());
        Ledger {
            latency: Latency::of(&self.total_ns),
            ..ledger
        }
    }
}
