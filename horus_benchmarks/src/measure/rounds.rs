//! Rounds of rows that are measured in turn, so that rows can be compared round by round.

use crate::measure::stats::{Ratio, Samples, median_ratio};

/// All samples of a row, and the median of each of its rounds.
#[derive(Debug, Clone, Default)]
pub struct SamplesByRound {
    /// The samples of all rounds.
    pub samples: Samples,
    /// Median of each round in ticks, interpolated within the steps of the timer.
    pub medians: Vec<f64>,
}

impl SamplesByRound {
    /// Adds the samples of one round. The timer of the round advances in steps of
    /// `timer_step_ticks` ticks.
    pub fn add_round(&mut self, round: &Samples, timer_step_ticks: u64) {
        self.samples.merge(round);
        self.medians
            .push(round.interpolated_median(timer_step_ticks));
    }

    /// Returns the ratio of the times of `self` to those of `other`, computed round by round.
    pub fn ratio_to(&self, other: &SamplesByRound) -> Option<Ratio> {
        median_ratio(&other.medians, &self.medians)
    }
}

/// Returns the order in which a round measures `candidate_count` candidates. The order alternates
/// between forwards and backwards, so that a slow change of the machine's speed favours none of
/// them.
pub fn alternating_order(round: u32, candidate_count: usize) -> impl Iterator<Item = usize> {
    (0..candidate_count).map(move |index| match round.is_multiple_of(2) {
        true => index,
        false => candidate_count - 1 - index,
    })
}
