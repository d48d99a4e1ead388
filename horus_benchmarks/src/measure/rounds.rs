//! Measurements of one row, round by round, so that rows can be compared with each other.

use crate::measure::stats::{Alternation, Ratio, Samples};

/// All samples of a row, and the median of each of its rounds.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// All samples.
    pub samples: Samples,
    /// Median of each round, interpolated within the timer's steps.
    pub medians: Vec<f64>,
}

impl Rounds {
    /// Adds a round of a timer that moves in steps of `step`.
    pub fn add(&mut self, round: &Samples, step: u64) {
        self.samples.merge(round);
        self.medians.push(round.median_within(step));
    }

    /// Returns how much longer this takes than `other`, round by round; `None` without rounds.
    pub fn ratio_to(&self, other: &Rounds) -> Option<Ratio> {
        Alternation::of(&other.medians, &self.medians).ratio()
    }
}

/// Returns the order of a round: every other one is backwards, so that a drift favours nobody.
pub fn alternating(round: u32, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| {
        if round.is_multiple_of(2) {
            index
        } else {
            count - 1 - index
        }
    })
}
