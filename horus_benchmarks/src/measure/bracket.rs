//! Measured rounds that each lie between two rounds of the floor, the fastest exchange that this
//! machine can do without any ring.
//!
//! A hypervisor can move a virtual machine at any moment between cores that are near each other and
//! cores that are not. If the floor before a round differs from the floor after it, it is unknown
//! which of the two applies to the round. The round is then measured again, with those of the other
//! candidates of its cycle.

use crate::measure::rounds::alternating_order;
use crate::measure::state::{MachineState, SAME_STATE_FLOOR_RATIO_MAX, find_machine_states};
use crate::measure::stats::{self, Ratio};

/// Maximum ratio of the slowest to the fastest floor round in a cycle that counts, if it has only
/// one candidate.
pub const STEADY_FLOOR_MAX_TO_MIN_RATIO: f64 = 1.2;

/// Maximum number of attempts to measure each requested cycle.
const ATTEMPTS_PER_CYCLE_MAX: u32 = 3;

/// A measured round, together with the medians of the floor rounds before and after it.
#[derive(Debug, Clone)]
pub struct RoundBetweenFloors<S> {
    /// Median one-way time of the floor round just before, in nanoseconds.
    pub before_ns: f64,
    /// Median one-way time of the floor round just after, in nanoseconds.
    pub after_ns: f64,
    /// The result of the measured round.
    pub result: S,
    /// True if the values of the row are computed from this round: if the floor was steady around
    /// it, or if too few rounds had a steady floor.
    pub counts: bool,
}

impl<S> RoundBetweenFloors<S> {
    /// Returns the mean of the floor before and after the round, in nanoseconds.
    pub fn mean_floor_ns(&self) -> f64 {
        (self.before_ns + self.after_ns) / 2.0
    }
}

/// The results of measured rounds of one candidate, each of which lies between two rounds of the
/// floor.
#[derive(Debug, Clone)]
pub struct RoundsBetweenFloors<S> {
    /// All rounds, in the order in which they were measured.
    pub all: Vec<RoundBetweenFloors<S>>,
    /// Number of rounds that were repeated because the floor changed during their cycles.
    pub repeated: u32,
    /// Number of rounds that count although the floor changed during their cycles.
    pub unsteady: u32,
}

impl<S> RoundsBetweenFloors<S> {
    /// Returns the rounds from which the values of the row are computed.
    pub fn rounds_in_result(&self) -> impl Iterator<Item = &RoundBetweenFloors<S>> {
        self.all.iter().filter(|bracket| bracket.counts)
    }

    /// Returns the smallest, the median and the largest floor of all rounds, in nanoseconds; `None`
    /// if there are none. WHY not only of those that count: the percentiles of a row are of the
    /// messages of all rounds.
    pub fn floor_min_median_max_ns(&self) -> Option<[f64; 3]> {
        let floors = self.all.iter().map(RoundBetweenFloors::mean_floor_ns);
        let mut floors: Vec<f64> = floors.collect();
        floors.sort_by(f64::total_cmp);
        let (least, largest) = (*floors.first()?, *floors.last()?);
        Some([least, stats::median(&mut floors), largest])
    }

    /// Returns the ratio of the rounds that count to the floors around them, for all of them and
    /// for each state that the machine was in. `p50_ns` returns the median of a round in
    /// nanoseconds.
    pub fn ratio_to_floor_by_state(
        &self,
        p50_ns: impl Fn(&S) -> f64,
    ) -> (Option<Ratio>, Vec<MachineState>) {
        let rounds = self.rounds_in_result();
        let pairs = rounds.map(|bracket| (bracket.mean_floor_ns(), p50_ns(&bracket.result)));
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let floors_ns: Vec<f64> = pairs.iter().map(|&(floor_ns, _)| floor_ns).collect();
        let ratio = stats::median_ratio_of_pairs(&pairs, stats::BOOTSTRAP_SEED);
        (ratio, find_machine_states(&floors_ns, &pairs))
    }
}

/// Measures `candidate_count` candidates in turn, and a round of the floor before and after each
/// round of a candidate. Calls `measure_candidate` with the index of the candidate; the order of
/// the candidates alternates from cycle to cycle. `measure_floor_ns` measures a round of the floor,
/// and returns its median in nanoseconds.
///
/// A cycle counts if all of its floors were about the same, so that all candidates ran in the same
/// state of the machine. The slowest floor may be 1.2 times the fastest one; in a cycle of several
/// candidates 1.4 times, as more floors differ more within one state. Stops after `rounds` cycles
/// that count, or after three times `rounds` cycles. In the latter case those with the steadiest
/// floor count as well. Returns the rounds of each candidate.
pub fn run_rounds_between_floors<S, E>(
    rounds: u32,
    candidate_count: usize,
    mut measure_floor_ns: impl FnMut() -> Result<f64, E>,
    mut measure_candidate: impl FnMut(usize) -> Result<S, E>,
) -> Result<Vec<RoundsBetweenFloors<S>>, E> {
    let mut measured: Vec<Vec<RoundBetweenFloors<S>>> =
        (0..candidate_count).map(|_| Vec::new()).collect();
    let mut unsteadiness: Vec<f64> = Vec::new();
    let steady_ratio_max = match candidate_count {
        1 => STEADY_FLOOR_MAX_TO_MIN_RATIO,
        _ => SAME_STATE_FLOOR_RATIO_MAX,
    };
    let is_steady = |ratio: &f64| *ratio <= steady_ratio_max;
    let mut last_ns: Option<f64> = None;
    for cycle in 0..rounds.saturating_mul(ATTEMPTS_PER_CYCLE_MAX) {
        if unsteadiness.iter().filter(|ratio| is_steady(ratio)).count() == rounds as usize {
            break;
        }
        let mut before_ns = match last_ns {
            Some(last_ns) => last_ns,
            None => measure_floor_ns()?,
        };
        let (mut least_ns, mut largest_ns) = (before_ns, before_ns);
        for index in alternating_order(cycle, candidate_count) {
            let result = measure_candidate(index)?;
            let after_ns = measure_floor_ns()?;
            least_ns = least_ns.min(after_ns);
            largest_ns = largest_ns.max(after_ns);
            measured[index].push(RoundBetweenFloors {
                before_ns,
                after_ns,
                result,
                counts: false,
            });
            before_ns = after_ns;
        }
        last_ns = Some(before_ns);
        unsteadiness.push(match least_ns > 0.0 {
            true => largest_ns / least_ns,
            false => f64::INFINITY,
        });
    }
    let mut steadiest: Vec<usize> = (0..unsteadiness.len()).collect();
    steadiest.sort_by(|&a, &b| unsteadiness[a].total_cmp(&unsteadiness[b]));
    steadiest.truncate(rounds as usize);
    let unsteady = steadiest
        .iter()
        .filter(|&&cycle| !is_steady(&unsteadiness[cycle]));
    let unsteady = unsteady.count() as u32;
    let repeated = (unsteadiness.len() as u32).saturating_sub(rounds);
    let all = measured.into_iter().map(|mut all| {
        steadiest.iter().for_each(|&cycle| all[cycle].counts = true);
        RoundsBetweenFloors {
            all,
            repeated,
            unsteady,
        }
    });
    Ok(all.collect())
}
