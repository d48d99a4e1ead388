//! The due times of nodes with a rate. They never drift. The code here also computes how many ticks
//! a late node skips.

use crate::scheduler::api::rate::Rate;

/// The due times of a node: a first time, and then one more after each period. Rounding errors do
/// not add up.
///
/// All times are nanoseconds of the same monotonic clock. This type reads no clock itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    due_ns: u64,
    /// The numerator of the fraction of a nanosecond by which the exact due time is later than
    /// `due_ns`. The exact due time is `due_ns + remainder / denominator`.
    remainder: u64,
    /// The whole nanoseconds of the period. The exact period is `whole_ns + rest / denominator`.
    whole_ns: u64,
    rest: u64,
    denominator: u64,
}

impl Timeline {
    /// Creates due times of which the first is `first_ns`, and the others follow at `rate`.
    ///
    /// # Panics
    ///
    /// Panics if the rate is invalid; [`Rate::check`] says whether it is.
    #[must_use]
    pub const fn new(first_ns: u64, rate: Rate) -> Self {
        let (whole_ns, rest, denominator) = rate.period_ns_as_mixed_fraction();
        Self {
            due_ns: first_ns,
            remainder: 0,
            whole_ns,
            rest,
            denominator,
        }
    }

    /// Returns the next due time, in nanoseconds.
    #[must_use]
    pub const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Returns the period in nanoseconds, rounded down.
    #[must_use]
    pub const fn period_ns(&self) -> u64 {
        self.whole_ns
    }

    /// Advances to the first due time after `now_ns`, but by at least one period. Returns the
    /// number of due times that were skipped. WHY they are skipped: catching up on missed ticks
    /// would delay the next ones.
    pub const fn advance(&mut self, now_ns: u64) -> u64 {
        self.advance_one_period();
        if self.due_ns > now_ns {
            return 0;
        }
        self.skip_and_count_due_times(now_ns)
    }

    /// Returns the same sequence of due times, but without those up to and including `now_ns`.
    #[must_use]
    pub const fn starting_after(mut self, now_ns: u64) -> Self {
        if self.due_ns <= now_ns {
            self.advance(now_ns);
        }
        self
    }

    /// Returns due times with the same period, of which the first is `first_ns`.
    #[must_use]
    pub const fn starting_at(mut self, first_ns: u64) -> Self {
        (self.due_ns, self.remainder) = (first_ns, 0);
        self
    }

    const fn advance_one_period(&mut self) {
        self.due_ns = self.due_ns.saturating_add(self.whole_ns);
        self.remainder += self.rest;
        if self.remainder >= self.denominator {
            self.remainder -= self.denominator;
            self.due_ns = self.due_ns.saturating_add(1);
        }
    }

    /// Skips all due times up to and including `until_ns`, and returns their number. Takes constant
    /// time.
    #[cold]
    const fn skip_and_count_due_times(&mut self, until_ns: u64) -> u64 {
        let period = self.whole_ns as u128 * self.denominator as u128 + self.rest as u128;
        let late = (until_ns - self.due_ns) as u128 * self.denominator as u128;
        // These are all in fractions of a nanosecond, `denominator` to one. A due time has passed
        // if its whole nanoseconds are not after `until_ns`.
        let passed = (late + self.denominator as u128 - 1 - self.remainder as u128) / period + 1;
        let moved = passed * period + self.remainder as u128;
        self.due_ns += (moved / self.denominator as u128) as u64;
        self.remainder = (moved % self.denominator as u128) as u64;
        passed as u64
    }

    /// Returns a sequence of due times at another rate, which starts at the present due time.
    #[must_use]
    pub const fn at_rate(self, rate: Rate) -> Self {
        let (whole_ns, rest, denominator) = rate.period_ns_as_mixed_fraction();
        Self {
            due_ns: self.due_ns,
            remainder: 0,
            whole_ns,
            rest,
            denominator,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Hertz;

    /// Computes a due time directly by a division, to compare the result with that of stepwise
    /// advances.
    fn due(first_ns: u64, rate: Rate, index: u64) -> u64 {
        let (whole, rest, denominator) = rate.period_ns_as_mixed_fraction();
        let ns = u128::from(index)
            * (u128::from(whole) * u128::from(denominator) + u128::from(rest))
            / u128::from(denominator);
        first_ns + ns as u64
    }

    const RATES: [f64; 8] = [0.1, 1.0, 3.0, 7.0, 29.97, 1000.0, 7777.777, 1_000_000.0];

    #[test]
    fn a_million_periods_do_not_drift() {
        for rate in RATES.map(Rate::hz) {
            let mut timeline = Timeline::new(5, rate);
            for index in 0..1_000_000 {
                assert_eq!(timeline.due_ns(), due(5, rate, index), "{rate}");
                assert_eq!(timeline.advance(timeline.due_ns()), 0);
            }
        }
    }

    #[test]
    fn a_late_node_keeps_its_phase() {
        let mut state = 1_u64;
        for rate in RATES.map(Rate::hz) {
            let mut timeline = Timeline::new(0, rate);
            let mut index = 0;
            for _ in 0..10_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let late = (state >> 33) % (5 * rate.period().as_nanos() as u64);
                let now = timeline.due_ns() + late;
                let passed = timeline.advance(now);
                index += 1 + passed;
                assert_eq!(timeline.due_ns(), due(0, rate, index), "{rate}");
                assert!(timeline.due_ns() > now, "{rate}: due in the past");
                let before = due(0, rate, index - 1);
                assert!(before <= now, "{rate}: one too many skipped");
            }
        }
    }

    #[test]
    fn a_long_sleep_costs_one_step() {
        let mut timeline = Timeline::new(0, 1.khz());
        assert_eq!(timeline.advance(10 * 86_400 * 1_000_000_000), 864_000_000);
    }

    #[test]
    fn a_new_rate_begins_with_the_next_tick() {
        let mut timeline = Timeline::new(0, 100.hz());
        timeline.advance(0);
        let mut faster = timeline.at_rate(1.khz());
        assert_eq!(faster.due_ns(), 10_000_000);
        faster.advance(10_000_000);
        assert_eq!(faster.due_ns(), 11_000_000);
    }
}
