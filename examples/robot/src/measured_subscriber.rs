//! A subscriber that counts the messages of one topic, measures their latencies and counts the torn
//! ones.

use hdrhistogram::Histogram;
use horus_core::message::timestamp_now_ns;
use horus_core::topic::Subscriber;

use crate::Result;
use crate::check::ChecksummedMessage;
use crate::ledger::{Latency, Ledger, MessageCounts};

/// Number of significant decimal digits with which the histograms store a latency.
const LATENCY_SIGNIFICANT_DIGITS: u8 = 3;

/// A subscriber that receives messages of type `M`, together with its statistics.
#[derive(Debug)]
pub(crate) struct MeasuredSubscriber<M: ChecksummedMessage> {
    subscriber: Subscriber<M>,
    counts: MessageCounts,
    /// Latencies of all messages since the start, in nanoseconds.
    total_ns: Histogram<u64>,
    recent_ns: Histogram<u64>,
}

impl<M: ChecksummedMessage> MeasuredSubscriber<M> {
    pub(crate) const TABLE_HEADER: &str = "topic       rate     p50 us    p99 us    max us\
                                     \x20      sent  received   lost";

    /// Opens a subscriber of `topic`, which receives every message that is sent from now on.
    pub(crate) fn new(topic: &str) -> Result<Self> {
        Ok(Self {
            subscriber: Subscriber::new(topic)?,
            counts: MessageCounts::default(),
            total_ns: Histogram::new(LATENCY_SIGNIFICANT_DIGITS)?,
            recent_ns: Histogram::new(LATENCY_SIGNIFICANT_DIGITS)?,
        })
    }

    /// Receives all available messages, updates the statistics, and passes each message to
    /// `handle_message`.
    pub(crate) fn drain(&mut self, mut handle_message: impl FnMut(&M)) -> Result<()> {
        while let Some(message) = self.subscriber.recv() {
            let received_ns = timestamp_now_ns();
            // Negative only if the clock was set, which `ClockChangeDetector` reports.
            let latency_ns = received_ns.saturating_sub(message.timestamp_ns());
            self.total_ns.record(latency_ns)?;
            self.recent_ns.record(latency_ns)?;
            self.counts.count_received(&message);
            handle_message(&message);
        }
        Ok(())
    }

    /// Formats a line of the table whose header is [`Self::TABLE_HEADER`]. The rates are for the
    /// `elapsed_seconds` since the last line; the columns `sent`, `received` and `lost` count from
    /// the start.
    pub(crate) fn format_row(&mut self, elapsed_seconds: f64) -> String {
        let rate_hz = self.recent_ns.len() as f64 / elapsed_seconds;
        let latency = Latency::from_nanoseconds(&self.recent_ns)
            .as_ref()
            .map(Latency::format_columns);
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
            .counts
            .ledger(reader, self.subscriber.name(), &self.subscriber.stats());
        Ledger {
            latency: Latency::from_nanoseconds(&self.total_ns),
            ..ledger
        }
    }
}
