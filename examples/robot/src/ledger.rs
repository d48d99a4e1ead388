//! The ledger: what one subscriber got of one topic, and whether that adds up with what was sent.

use hdrhistogram::Histogram;
use horus_core::topic::Stats;
use serde::{Deserialize, Serialize};

use crate::check::{Checked, is_whole};

/// What a subscriber counts by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    received: u64,
    torn: u64,
}

impl Tally {
    pub(crate) fn count<M: Checked>(&mut self, message: &M) {
        self.received += 1;
        self.torn += u64::from(!is_whole(message));
    }

    /// The tally together with what the topic says was not delivered.
    pub(crate) fn ledger(&self, reader: &str, topic: &str, stats: &Stats) -> Ledger {
        Ledger {
            reader: reader.into(),
            topic: topic.into(),
            received: self.received,
            lost: stats.lost,
            skipped: stats.skipped,
            torn: self.torn,
            latency: None,
        }
    }
}

/// One line of the summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub(crate) reader: String,
    pub(crate) topic: String,
    pub(crate) received: u64,
    /// Overwritten before the subscriber came to them.
    pub(crate) lost: u64,
    /// Passed over, because the subscriber asked for the latest only.
    pub(crate) skipped: u64,
    /// Received, with another content than was sent.
    pub(crate) torn: u64,
    pub(crate) latency: Option<Latency>,
}

impl Ledger {
    pub(crate) const HEADER: &str = "topic    reader          sent  received   lost  skipped   torn\
                                     \x20   p50 us    p99 us    max us";

    /// True if every one of the `sent` messages is accounted for, and none was torn.
    pub(crate) fn holds(&self, sent: u64) -> bool {
        self.received + self.lost + self.skipped == sent && self.torn == 0
    }

    /// The line under [`Self::HEADER`], with what the publishers say they sent.
    pub(crate) fn row(&self, sent: u64) -> String {
        let Self { reader, topic, received, lost, skipped, torn, latency } = self;
        let latency = latency.as_ref().map(Latency::columns).unwrap_or_default();
        let verdict = if self.holds(sent) { "ok" } else { "DOES NOT ADD UP" };
        format!(
            "{topic:8} {reader:11} {sent:>8} {received:>9} {lost:>6} {skipped:>8} {torn:>6} \
             {latency:>29}  {verdict}"
        )
    }
}

/// How late messages were received, over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

impl Latency {
    /// What `ns` recorded; `None` if that is nothing.
    pub(crate) fn of(ns: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| ns.value_at_quantile(quantile) as f64 / 1e3;
        let latency = Self { p50_us: at(0.5), p99_us: at(0.99), max_us: ns.max() as f64 / 1e3 };
        (!ns.is_empty()).then_some(latency)
    }

    /// Three columns of 9 characters.
    pub(crate) fn columns(&self) -> String {
        format!("{:>9.1} {:>9.1} {:>9.1}", self.p50_us, self.p99_us, self.max_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_holds_only_if_every_message_is_accounted_for_and_whole() {
        let tally = Tally { received: 7, torn: 0 };
        let stats = Stats { lost: 2, skipped: 1, ..Stats::default() };
        let ledger = tally.ledger("monitor", "imu", &stats);
        assert!(ledger.holds(10));
        assert!(!ledger.holds(9) && !ledger.holds(11));
        assert!(!Ledger { torn: 1, ..ledger.clone() }.holds(10));
        assert!(ledger.row(10).ends_with("ok") && !ledger.row(11).ends_with("ok"));
    }
}
