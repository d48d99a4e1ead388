//! Measured rounds that each lie between two rounds of the floor, the fastest exchange that this
//! machine can do without any ring.
//!
//! A hypervisor can move a virtual machine at any moment between cores that are near each other and
//! cores that are not. If the floor before a round differs from the floor after it, it is unknown
//! which of the two applies to the round. The round is then measured again.

use crate::measure::state::{MachineState, split_by_state};
use crate::measure::stats::{self, Ratio};
use crate::measure::tsc::TscClock;
use crate::measure::workload::Round;

/// Maximum ratio of the slower to the faster floor round around a measured round that counts.
pub const STEADY_FLOOR_RATIO_MAX: f64 = 1.2;

/// Maximum number of attempts to measure each requested round.
const ATTEMPTS_MAX: u32 = 3;

/// A measured round, together with the medians of the floor rounds before and after it.
#[derive(Debug, Clone)]
pub struct BracketedRound<S> {
    /// Median one-way time of the floor round just before, in nanoseconds.
    pub before_ns: f64,
    /// Median one-way time of the floor round just after, in nanoseconds.
    pub after_ns: f64,
    /// The result of the measured round.
    pub subject: S,
    /// True if figures are computed from this round: if the floor was steady around it, or if too
    /// few rounds had a steady floor.
    pub counts: bool,
}

impl<S> BracketedRound<S> {
    /// Returns the mean of the floor before and after the round, in nanoseconds.
    pub fn floor_ns(&self) -> f64 {
        (self.before_ns + self.after_ns) / 2.0
    }

    fn unsteadiness(&self) -> f64 {
        let low = self.before_ns.min(self.after_ns);
        let high = self.before_ns.max(self.after_ns);
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}

/// The results of measured rounds, each of which lies between two rounds of the floor.
#[derive(Debug, Clone)]
pub struct BracketedRounds<S> {
    /// All rounds, in the order in which they were measured.
    pub all: Vec<BracketedRound<S>>,
    /// All rounds of the floor, merged into one; `None` if there were none.
    pub floor: Option<Round>,
    /// Number of rounds that were repeated because the floor changed during them.
    pub repeated: u32,
    /// Number of rounds that count although the floor changed around them.
    pub unsteady: u32,
}

impl<S> BracketedRounds<S> {
    /// Returns the rounds from which figures are computed.
    pub fn rounds_that_count(&self) -> impl Iterator<Item = &BracketedRound<S>> {
        self.all.iter().filter(|bracket| bracket.counts)
    }

    /// Returns the smallest, the median and the largest floor of the rounds that count, in
    /// nanoseconds; `None` if there are none.
    pub fn floor_range_ns(&self) -> Option<[f64; 3]> {
        let floors = self.rounds_that_count().map(BracketedRound::floor_ns);
        let mut floors: Vec<f64> = floors.collect();
        floors.sort_by(f64::total_cmp);
        let (least, largest) = (*floors.first()?, *floors.last()?);
        Some([least, stats::median(&mut floors), largest])
    }

    /// Returns the ratio of the rounds that count to the floors around them, for all of them and
    /// for each state that the machine was in. `p50_ns` returns the median of a round in
    /// nanoseconds.
    pub fn floor_ratio(&self, p50_ns: impl Fn(&S) -> f64) -> (Option<Ratio>, Vec<MachineState>) {
        let rounds = self.rounds_that_count();
        let pairs = rounds.map(|bracket| (bracket.floor_ns(), p50_ns(&bracket.subject)));
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let floors_ns: Vec<f64> = pairs.iter().map(|&(floor_ns, _)| floor_ns).collect();
        let ratio = stats::paired_ratio(&pairs, stats::BOOTSTRAP_SEED);
        (ratio, split_by_state(&floors_ns, &pairs))
    }

    /// Lets additional rounds count, those with the steadiest floor first, until `rounds` rounds
    /// count.
    fn count_steadiest(&mut self, rounds: u32) {
        let counting = self.rounds_that_count().count();
        let others = self.all.iter_mut().filter(|bracket| !bracket.counts);
        let mut others: Vec<_> = others.collect();
        others.sort_by(|a, b| a.unsteadiness().total_cmp(&b.unsteadiness()));
        let missing = (rounds as usize).saturating_sub(counting);
        for bracket in others.into_iter().take(missing) {
            bracket.counts = true;
            self.unsteady += 1;
        }
        self.repeated = (self.all.len() as u32).saturating_sub(rounds);
    }
}

/// Runs `subject` repeatedly, with a round of the floor between two runs. Stops after `rounds` runs
/// around which the floor was steady ([`STEADY_FLOOR_RATIO_MAX`]), or after three times `rounds`
/// runs. In the latter case the runs with the steadiest floor count as well.
pub fn run_between_floors<S, E>(
    rounds: u32,
    clock: &TscClock,
    mut floor: impl FnMut() -> Result<Round, E>,
    mut subject: impl FnMut() -> Result<S, E>,
) -> Result<BracketedRounds<S>, E> {
    let mut measured = BracketedRounds {
        all: Vec::new(),
        floor: None,
        repeated: 0,
        unsteady: 0,
    };
    let mut before: Option<f64> = None;
    let mut steady = 0;
    for _ in 0..rounds.saturating_mul(ATTEMPTS_MAX) {
        if steady == rounds {
            break;
        }
        let before_ns = match before {
            Some(before_ns) => before_ns,
            None => merge_floor_round(&mut measured.floor, floor()?, clock),
        };
        let subject = subject()?;
        let after_ns = merge_floor_round(&mut measured.floor, floor()?, clock);
        let mut bracket = BracketedRound {
            before_ns,
            after_ns,
            subject,
            counts: false,
        };
        bracket.counts = bracket.unsteadiness() <= STEADY_FLOOR_RATIO_MAX;
        steady += u32::from(bracket.counts);
        measured.all.push(bracket);
        before = Some(after_ns);
    }
    measured.count_steadiest(rounds);
    Ok(measured)
}

/// Merges a round of the floor into `all`, and returns the median of the round in nanoseconds.
fn merge_floor_round(all: &mut Option<Round>, round: Round, clock: &TscClock) -> f64 {
    let p50_ns = round.p50_ns(clock);
    match all {
        Some(all) => all.merge(&round),
        None => *all = Some(round),
    }
    p50_ns
}
