//! Rounds of rows that are measured in turn, so that rows can be compared round by round.

use crate::measure::stats::{Ratio, Samples, ratio_of_medians};

/// All samples of a row, and the median of each of its rounds.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// The samples of all rounds.
    pub samples: Samples,
    /// Median of each round in ticks, interpolated within the steps of the timer.
    pub medians: Vec<f64>,
}

impl Rounds {
    /// Adds the samples of one round. The timer of the round advances in steps of `step` ticks.
    pub fn add(&mut self, round: &Samples, step: u64) {
        self.samples.merge(round);
        self.medians.push(round.median_within_steps(step));
    }

    /// Returns the ratio of the times of `self` to those of `other`, computed round by round.
    pub fn ratio_to(&self, other: &Rounds) -> Option<Ratio> {
        ratio_of_medians(&other.medians, &self.medians)
    }
}

/// Returns the order in which a round measures `count` candidates. The order alternates between
/// forwards and backwards, so that a slow change of the machine's speed favours none of them.
pub fn alternating_order(round: u32, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| match round.is_multiple_of(2) {
        true => index,
        false => count - 1 - index,
    })
}
