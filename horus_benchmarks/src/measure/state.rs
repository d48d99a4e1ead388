//! States of the machine, between which it switches while a benchmark runs: a hypervisor moves a
//! virtual machine between cores that share a cache and cores that do not. The state of a round is
//! recognised by the floor that was measured beside the round.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{self, Ratio};

/// Maximum ratio of the floors of two rounds that ran in the same state of the machine. If two
/// states were seen, the ratio between their nearest floors is larger.
pub(crate) const SAME_STATE_FLOOR_RATIO_MAX: f64 = 1.4;

/// Minimum number of rounds of each state. WHY: one or two floors may be slow because of an
/// interrupt.
const ROUNDS_PER_STATE_MIN: usize = 3;

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
    /// another library, that of the two results. Of streams, the median rate.
    pub ratio: f64,
    /// Bootstrap 95 % confidence interval of `ratio`; `None` if there are fewer than six rounds,
    /// and in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_ci: Option<[f64; 2]>,
}

impl MachineState {
    /// Returns the confidence interval of `ratio`, if there were enough rounds for one. (Older
    /// records have intervals of fewer rounds.)
    pub fn ratio_interval(&self) -> Option<[f64; 2]> {
        self.ratio_ci.filter(|_| self.has_enough_rounds())
    }

    /// Returns true if there were enough rounds for a verdict on them.
    pub const fn has_enough_rounds(&self) -> bool {
        stats::has_enough_values_for_interval(self.rounds)
    }

    /// Returns true if the floors of `self` and `other` differ by a factor of at most
    /// `SAME_STATE_FLOOR_RATIO_MAX`: both are the same state of the machine.
    pub fn is_same_as(&self, other: &MachineState) -> bool {
        let ratio = self.floor_ns / other.floor_ns;
        (1.0 / SAME_STATE_FLOOR_RATIO_MAX..=SAME_STATE_FLOOR_RATIO_MAX).contains(&ratio)
    }
}

/// Returns the one state or the two states that the machine was in during some rounds, the faster
/// one first. `floors_ns` has the floor of each round in nanoseconds, and `ratio_pairs` the divisor
/// and the dividend of the ratio that the states report.
pub fn find_machine_states(floors_ns: &[f64], ratio_pairs: &[(f64, f64)]) -> Vec<MachineState> {
    let fastest_of_slow_ns = slow_state_min_floor_ns(floors_ns);
    let is_fast = |ns: f64| ns < fastest_of_slow_ns;
    [true, false]
        .into_iter()
        .filter_map(|fast| {
            let numbers = 0..floors_ns.len().min(ratio_pairs.len());
            let numbers: Vec<usize> = numbers
                .filter(|&number| is_fast(floors_ns[number]) == fast)
                .collect();
            machine_state_of_rounds(floors_ns, ratio_pairs, numbers)
        })
        .collect()
}

/// Returns the fastest floor of the slower one of two states: the floor above the widest gap
/// between floors. Returns infinity if the machine was in one state only.
fn slow_state_min_floor_ns(floors_ns: &[f64]) -> f64 {
    let mut sorted = floors_ns.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let firsts = ROUNDS_PER_STATE_MIN..=sorted.len().saturating_sub(ROUNDS_PER_STATE_MIN);
    let gap = |&first: &usize| sorted[first] / sorted[first - 1];
    let widest = firsts.max_by(|a, b| gap(a).total_cmp(&gap(b)));
    let slow = widest.filter(|first| gap(first) > SAME_STATE_FLOOR_RATIO_MAX);
    slow.map_or(f64::INFINITY, |first| sorted[first])
}

/// Returns the state of the rounds with the given numbers; `None` if no round has a ratio.
fn machine_state_of_rounds(
    floors_ns: &[f64],
    ratio_pairs: &[(f64, f64)],
    round_numbers: Vec<usize>,
) -> Option<MachineState> {
    let own: Vec<_> = round_numbers
        .iter()
        .map(|&number| ratio_pairs[number])
        .collect();
    let Ratio { median, interval } = stats::median_ratio_of_pairs(&own, stats::BOOTSTRAP_SEED)?;
    let mut floors: Vec<_> = round_numbers
        .iter()
        .map(|&number| floors_ns[number])
        .collect();
    Some(MachineState {
        floor_ns: stats::median(&mut floors),
        rounds: round_numbers.len(),
        numbers: round_numbers,
        ratio: median,
        ratio_ci: interval,
    })
}
