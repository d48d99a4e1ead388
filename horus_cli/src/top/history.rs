//! The history of a topic's rate in the last minute, shown as a line of bars.

use std::collections::VecDeque;

/// Number of seconds for which the rate of a topic is kept.
pub(super) const SECONDS_KEPT: usize = 60;

/// Characters for bars of eight heights, lowest first.
const BAR_CHARACTERS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The rate of a topic in each of the last [`SECONDS_KEPT`] seconds.
#[derive(Debug, Default)]
pub(super) struct RateHistory {
    rates: VecDeque<f64>,
    /// The second to which the newest rate belongs, in seconds since 1970.
    second: u64,
}

impl RateHistory {
    /// Adds `rate_hz`, the mean rate of the topic since the last call. `timestamp_ns` is the
    /// present time, in nanoseconds since 1970. Replaces the newest rate if that belongs to the
    /// same second.
    pub(super) fn add_rate(&mut self, timestamp_ns: u64, rate_hz: f64) {
        let second = timestamp_ns / 1_000_000_000;
        if second == self.second {
            self.rates.pop_back();
        }
        let passed = match self.rates.is_empty() {
            true => 1,
            // WHY 1 at least: somebody may have set the clock back.
            false => second.saturating_sub(self.second).max(1),
        };
        self.second = second;
        for _ in 0..passed.min(SECONDS_KEPT as u64) {
            self.rates.push_back(rate_hz);
        }
        let excess = self.rates.len().saturating_sub(SECONDS_KEPT);
        self.rates.drain(..excess);
    }

    /// Returns `width` bars, each of which stands for a part of the last minute; the newest part is
    /// at the right. Each bar shows the highest rate in its part, relative to the highest rate in
    /// the minute. A space is a rate of 0.
    pub(super) fn rate_bars(&self, width: usize) -> String {
        let highest = self.rates.iter().copied().fold(0.0, f64::max);
        let missing = SECONDS_KEPT - self.rates.len();
        let bar = |index: usize| {
            let seconds = index * SECONDS_KEPT / width..(index + 1) * SECONDS_KEPT / width;
            let rates = seconds.filter_map(|second| self.rates.get(second.checked_sub(missing)?));
            let rate = rates.copied().fold(0.0, f64::max);
            if rate <= 0.0 {
                return ' ';
            }
            let height = (rate / highest * BAR_CHARACTERS.len() as f64).ceil() as usize;
            BAR_CHARACTERS[height.clamp(1, BAR_CHARACTERS.len()) - 1]
        };
        (0..width).map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_rate_is_at_the_right() {
        let mut history = RateHistory::default();
        assert_eq!(history.rate_bars(4), "    ");
        for second in 0..30_u64 {
            history.add_rate(second * 1_000_000_000, 50.0);
            history.add_rate(second * 1_000_000_000 + 1, 100.0);
        }
        assert_eq!(history.rate_bars(4), "  ██");
        for second in 30..60_u64 {
            history.add_rate(second * 1_000_000_000, 25.0);
        }
        assert_eq!(history.rate_bars(4), "██▂▂");
        history.add_rate(60_000_000_000, 0.0);
        assert_eq!(history.rate_bars(60).chars().count(), 60);
        assert!(history.rate_bars(60).ends_with("▂ "));
    }

    /// With samples that are further apart, and after the command was suspended.
    #[test]
    fn seconds_without_a_sample_have_the_mean_rate() {
        let mut history = RateHistory::default();
        for second in [0, 15, 30, 45] {
            let rate_hz = if second < 40 { 100.0 } else { 50.0 };
            history.add_rate(second * 1_000_000_000, rate_hz);
        }
        assert_eq!(history.rate_bars(4), "███▄");
        history.add_rate(3600 * 1_000_000_000, 1.0);
        assert_eq!(history.rate_bars(4), "████");
    }
}
