//! Rounds between two rounds of the floor, for machines whose floor is not always the same.
//!
//! A virtual machine may be moved between cores that are near each other and cores that are not,
//! within seconds. Where the floor differs before and after a round, nothing can be said about
//! the state it was measured in, and it is repeated.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{self, Alternation};
use crate::measure::tsc::TscClock;
use crate::measure::workload::Round;

/// Most that the two rounds of the floor may differ by: the larger over the smaller.
pub const STEADY_RATIO_MAX: f64 = 1.2;

/// Attempts for each round wanted.
const ATTEMPTS_MAX: u32 = 3;

/// A round and the medians of the floor before and after it, in nanoseconds of one way.
#[derive(Debug, Clone)]
pub struct Bracket<S> {
    /// Median of the floor's round before.
    pub before_ns: f64,
    /// Median of the floor's round after.
    pub after_ns: f64,
    /// The measured round.
    pub subject: S,
    /// False if the floor was not the same before and after: not part of any ratio.
    pub counts: bool,
}

impl<S> Bracket<S> {
    /// The floor while the subject was measured.
    pub fn floor_ns(&self) -> f64 {
        (self.before_ns + self.after_ns) / 2.0
    }

    fn unsteadiness(&self) -> f64 {
        let low = self.before_ns.min(self.after_ns);
        let high = self.before_ns.max(self.after_ns);
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}

/// The results of rounds between rounds of the floor.
#[derive(Debug, Clone)]
pub struct Bracketed<S> {
    /// All of them, in the order they were measured.
    pub all: Vec<Bracket<S>>,
    /// All rounds of the floor, merged; `None` without any.
    pub floor: Option<Round>,
    /// Rounds that were measured again because the floor changed.
    pub repeated: u32,
    /// Rounds that count although the floor changed, after too many attempts: the least unsteady.
    pub unsteady: u32,
}

/// One state that the machine was in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct State {
    pub floor_ns: f64,
    pub rounds: usize,
    /// Median ratio to the floor.
    pub ratio: f64,
}

impl<S> Bracketed<S> {
    /// The rounds that figures and ratios are made of.
    pub fn counting(&self) -> impl Iterator<Item = &Bracket<S>> {
        self.all.iter().filter(|bracket| bracket.counts)
    }

    /// Least, median and largest floor of the rounds that count; `None` without any.
    pub fn floor_range_ns(&self) -> Option<[f64; 3]> {
        let mut floors: Vec<f64> = self.counting().map(Bracket::floor_ns).collect();
        let least = floors.iter().copied().reduce(f64::min)?;
        let largest = floors.iter().copied().reduce(f64::max)?;
        Some([least, stats::median(&mut floors), largest])
    }

    /// The rounds that count as pairs of the floor and what `p50_ns` says of the subject.
    pub fn pairs(&self, p50_ns: impl Fn(&S) -> f64) -> Alternation {
        let mut pairs = Alternation::default();
        for bracket in self.counting() {
            pairs.push(bracket.floor_ns(), p50_ns(&bracket.subject));
        }
        pairs
    }

    /// The pairs by states of the machine, the faster first: one, or two where the floor of some
    /// rounds is more than twice that of others.
    pub fn states(&self, p50_ns: impl Fn(&S) -> f64 + Copy) -> Vec<State> {
        let Some([least, _, largest]) = self.floor_range_ns() else {
            return Vec::new();
        };
        let split = if largest > 2.0 * least {
            (least * largest).sqrt()
        } else {
            largest
        };
        let state = |is_in: &dyn Fn(f64) -> bool| {
            let mut pairs = Alternation::default();
            let mut floors = Vec::new();
            for bracket in self.counting().filter(|bracket| is_in(bracket.floor_ns())) {
                floors.push(bracket.floor_ns());
                pairs.push(bracket.floor_ns(), p50_ns(&bracket.subject));
            }
            let ratio = pairs.ratio()?.median;
            Some(State {
                floor_ns: stats::median(&mut floors),
                rounds: pairs.rounds(),
                ratio,
            })
        };
        [
            state(&|floor| floor <= split),
            state(&|floor| floor > split),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Lets the least unsteady rounds count, until `rounds` do.
    fn make_do(&mut self, rounds: u32) {
        let counting = self.counting().count();
        let mut others: Vec<_> = self
            .all
            .iter_mut()
            .filter(|bracket| !bracket.counts)
            .collect();
        others.sort_by(|a, b| a.unsteadiness().total_cmp(&b.unsteadiness()));
        for bracket in others
            .into_iter()
            .take((rounds as usize).saturating_sub(counting))
        {
            bracket.counts = true;
            self.unsteady += 1;
        }
        self.repeated = (self.all.len() as u32).saturating_sub(rounds);
    }
}

/// Runs `subject` until `rounds` runs lie between two rounds of the floor that agree to within
/// [`STEADY_RATIO_MAX`]; each round of the floor is the end of one bracket and the start of the
/// next. Gives up on agreement after three times as many.
pub fn between_floors<S, E>(
    rounds: u32,
    clock: &TscClock,
    mut floor: impl FnMut() -> Result<Round, E>,
    mut subject: impl FnMut() -> Result<S, E>,
) -> Result<Bracketed<S>, E> {
    let mut measured = Bracketed {
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
            None => floor_p50_ns(&mut measured.floor, floor()?, clock),
        };
        let subject = subject()?;
        let after_ns = floor_p50_ns(&mut measured.floor, floor()?, clock);
        let mut bracket = Bracket {
            before_ns,
            after_ns,
            subject,
            counts: false,
        };
        bracket.counts = bracket.unsteadiness() <= STEADY_RATIO_MAX;
        steady += u32::from(bracket.counts);
        measured.all.push(bracket);
        before = Some(after_ns);
    }
    measured.make_do(rounds);
    Ok(measured)
}

/// Adds a round of the floor to all the others; its median.
fn floor_p50_ns(all: &mut Option<Round>, round: Round, clock: &TscClock) -> f64 {
    let p50_ns = round.p50_ns(clock);
    match all {
        Some(all) => all.merge(&round),
        None => *all = Some(round),
    }
    p50_ns
}
