//! The ledger of a subscriber: its counts of messages on one topic, and a check against the number
//! of messages sent.

use hdrhistogram::Histogram;
use horus_core::topic::Stats;
use serde::{Deserialize, Serialize};

use crate::check::{ChecksummedMessage, matches_checksum};

/// The message counts that this program keeps for one of its subscribers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MessageCounts {
    received: u64,
    torn: u64,
}

impl MessageCounts {
    pub(crate) fn count_received<M: ChecksummedMessage>(&mut self, message: &M) {
        self.received += 1;
        self.torn += u64::from(!matches_checksum(message));
    }

    /// Returns a ledger that combines these counts with `stats`, the topic's counts of sent and
    /// undelivered messages.
    pub(crate) fn ledger(&self, reader: &str, topic: &str, stats: &Stats) -> Ledger {
        Ledger {
            reader: reader.into(),
            topic: topic.into(),
            sent: stats.sent,
            received: self.received,
            lost: stats.lost,
            skipped: stats.skipped,
            torn: self.torn,
            latency: None,
        }
    }
}

/// The message counts of one subscriber of one topic, which make one line of the summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub(crate) reader: String,
    pub(crate) topic: String,
    /// Number of messages that all publishers of the topic have sent since the subscriber joined.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Number of messages that were overwritten before the subscriber read them.
    pub(crate) lost: u64,
    /// Number of messages that the subscriber skipped because it takes only the latest message.
    pub(crate) skipped: u64,
    /// Number of received messages whose content does not match their checksum.
    pub(crate) torn: u64,
    pub(crate) latency: Option<Latency>,
}

impl Ledger {
    pub(crate) const TABLE_HEADER: &str = "topic    reader          sent  received   lost  skipped\
         \x20  torn    p50 us    p99 us    max us";

    /// Returns true if all messages that were sent are accounted for, and none was torn.
    pub(crate) fn adds_up(&self) -> bool {
        self.received + self.lost + self.skipped == self.sent && self.torn == 0
    }

    /// Formats the ledger as a line of the table whose header is [`Self::TABLE_HEADER`].
    pub(crate) fn format_row(&self) -> String {
        let Self {
            reader,
            topic,
            sent,
            received,
            lost,
            skipped,
            torn,
            latency,
        } = self;
        let latency = latency
            .as_ref()
            .map(Latency::format_columns)
            .unwrap_or_default();
        let verdict = if self.adds_up() {
            "ok"
        } else {
            "DOES NOT ADD UP"
        };
        format!(
            "{topic:8} {reader:11} {sent:>8} {received:>9} {lost:>6} {skipped:>8} {torn:>6} \
             {latency:>29}  {verdict}"
        )
    }
}

/// Statistics of the latencies of all messages that a subscriber received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

impl Latency {
    /// Computes the statistics of a histogram of latencies in nanoseconds; returns `None` if the
    /// histogram is empty.
    pub(crate) fn from_nanoseconds(ns: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| ns.value_at_quantile(quantile) as f64 / 1e3;
        let latency = Self {
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: ns.max() as f64 / 1e3,
        };
        (!ns.is_empty()).then_some(latency)
    }

    /// Formats the statistics as three table columns of 9 characters each.
    pub(crate) fn format_columns(&self) -> String {
        format!(
            "{:>9.1} {:>9.1} {:>9.1}",
            self.p50_us, self.p99_us, self.max_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_holds_only_if_every_message_is_accounted_for_and_whole() {
        let counts = MessageCounts {
            received: 7,
            torn: 0,
        };
        let stats = Stats {
            lost: 2,
            skipped: 1,
            sent: 10,
            ..Stats::default()
        };
        let ledger = counts.ledger("monitor", "imu", &stats);
        assert!(ledger.adds_up() && ledger.format_row().ends_with("ok"));
        let wrong = [(9, 0), (11, 0), (10, 1)];
        for (sent, torn) in wrong {
            let ledger = Ledger {
                sent,
                torn,
                ..ledger.clone()
            };
            assert!(!ledger.adds_up() && !ledger.format_row().ends_with("ok"));
        }
    }
}
