//! Rows that compare our library with a peer's library, whose ids begin with `vs_<peer>/`.

use crate::measure::stats::{self, Ratio};
use crate::report::additional_values::AdditionalValues;
use crate::report::rows::Row;

/// The quantity in which two libraries are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatencyOrThroughput {
    /// A time in nanoseconds. A smaller value is better.
    Latency,
    /// A number of messages per second. A larger value is better.
    Throughput,
}

impl LatencyOrThroughput {
    /// Returns the name of the quantity in the ids of rows.
    pub const fn id(self) -> &'static str {
        match self {
            LatencyOrThroughput::Latency => "latency",
            LatencyOrThroughput::Throughput => "throughput",
        }
    }

    /// Returns a number that is smaller for better values.
    pub const fn badness(self, value: f64) -> f64 {
        match self {
            LatencyOrThroughput::Latency => value,
            LatencyOrThroughput::Throughput => -value,
        }
    }
}

/// Returns for each round the divisor and the dividend of the ratio. The ratio is above 1 if our
/// value is better. `ours_and_theirs` has our values and then the peer's, one of each for every
/// round.
///
/// # Panics
///
/// If the two have different numbers of rounds.
pub(crate) fn ratio_pairs(
    measure: LatencyOrThroughput,
    ours_and_theirs: [&[f64]; 2],
) -> Vec<(f64, f64)> {
    let [ours, theirs] = ours_and_theirs;
    assert_eq!(ours.len(), theirs.len(), "each round has both values");
    let better = |(&ours, &theirs): (&f64, &f64)| match measure {
        LatencyOrThroughput::Latency => (ours, theirs),
        LatencyOrThroughput::Throughput => (theirs, ours),
    };
    ours.iter().zip(theirs).map(better).collect()
}

/// Makes a row that compares values measured in adjacent rounds. `ours_and_theirs` has our values
/// and then the peer's, one of each for every round. A round whose divisor is not above 0, such as
/// one in which the peer received nothing, has no ratio. Returns `None` if no round has a ratio.
pub fn comparison_row(
    id: &str,
    measure: LatencyOrThroughput,
    ours_and_theirs: [&[f64]; 2],
) -> Option<Row> {
    let [ours, theirs] = ours_and_theirs;
    let pairs = ratio_pairs(measure, ours_and_theirs);
    let kept = pairs.iter().filter(|(divisor, _)| *divisor > 0.0).count();
    let dropped = pairs.len() - kept;
    let Ratio { median, interval } = stats::median_ratio_of_pairs(&pairs, stats::BOOTSTRAP_SEED)?;
    let additional = AdditionalValues {
        ours: Some(stats::median(&mut ours.to_vec())),
        theirs: Some(stats::median(&mut theirs.to_vec())),
        ratio: Some(median),
        ratio_ci: interval,
        rounds_dropped: Some(dropped as u64).filter(|dropped| *dropped > 0),
        ..AdditionalValues::default()
    };
    Some(Row {
        id: id.to_owned(),
        additional,
        ..Row::default()
    })
}
