//! States of the machine, between which it switches while a benchmark runs: a hypervisor moves a
//! virtual machine between cores that share a cache and cores that do not. The state of a round is
//! recognised by the floor that was measured beside the round.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{self, Ratio};

/// Minimum ratio of the largest to the smallest floor of a row for two states of the machine.
const TWO_STATES_FLOOR_RATIO_MIN: f64 = 2.0;

/// Maximum ratio of the floors of two rounds that ran in the same state of the machine.
const SAME_STATE_FLOOR_RATIO_MAX: f64 = 1.4;

/// A state of the machine, and the result of the rounds that ran in that state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    /// Median floor of the rounds of this state, in nanoseconds.
    pub floor_ns: f64,
    /// Number of rounds that ran in this state.
    pub rounds: usize,
    /// The numbers of these rounds. The first round of the row has the number 0.
    #[serde(default)]
    pub numbers: Vec<usize>,
    /// Median ratio of these rounds: that of the result to the floor or, in a comparison with
    /// another library, that of the two results.
    pub ratio: f64,
    /// Bootstrap 95 % confidence interval of `ratio`; `None` in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci: Option<[f64; 2]>,
}

impl MachineState {
    /// Returns true if `self` and `other` have the floor of the same state.
    pub fn is_same_as(&self, other: &MachineState) -> bool {
        let ratio = self.floor_ns / other.floor_ns;
        (1.0 / SAME_STATE_FLOOR_RATIO_MAX..=SAME_STATE_FLOOR_RATIO_MAX).contains(&ratio)
    }

    /// Returns the confidence interval of the ratio, or if it is not known, the ratio twice.
    pub fn interval(&self) -> [f64; 2] {
        self.ratio_ci.unwrap_or([self.ratio; 2])
    }
}

/// Returns the one state or the two states that the machine was in during some rounds, the faster
/// one first. `floors_ns` has the floor of each round in nanoseconds, and `pairs` the divisor and
/// the dividend of the ratio that the states report.
pub fn split_by_state(floors_ns: &[f64], pairs: &[(f64, f64)]) -> Vec<MachineState> {
    let smallest = floors_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = floors_ns.iter().copied().fold(0.0, f64::max);
    let split_ns = if largest > TWO_STATES_FLOOR_RATIO_MIN * smallest {
        (smallest * largest).sqrt()
    } else {
        largest
    };
    let is_fast = |ns: f64| ns <= split_ns;
    [true, false]
        .into_iter()
        .filter_map(|fast| {
            let numbers = 0..floors_ns.len().min(pairs.len());
            let numbers: Vec<usize> = numbers
                .filter(|&number| is_fast(floors_ns[number]) == fast)
                .collect();
            state_of_rounds(floors_ns, pairs, numbers)
        })
        .collect()
}

/// Returns the state of the rounds with the given numbers; `None` if no round has a ratio.
fn state_of_rounds(
    floors_ns: &[f64],
    pairs: &[(f64, f64)],
    numbers: Vec<usize>,
) -> Option<MachineState> {
    let own: Vec<_> = numbers.iter().map(|&number| pairs[number]).collect();
    let Ratio { median, low, high } = stats::paired_ratio(&own, stats::BOOTSTRAP_SEED)?;
    let mut floors: Vec<_> = numbers.iter().map(|&number| floors_ns[number]).collect();
    Some(MachineState {
        floor_ns: stats::median(&mut floors),
        rounds: numbers.len(),
        numbers,
        ratio: median,
        ratio_ci: Some([low, high]),
    })
}
