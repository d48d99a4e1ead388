//! The confidence in a median: its interval, and how much samples and rounds differ among
//! themselves.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{
    SEED, Samples, bootstrap_median_interval, round_ns, round_share, variation,
};

/// Rounds from which an interval is that of their medians; of fewer, it is that of the samples.
const ROUNDS_MIN: usize = 5;

/// Standard deviations on either side of the mean of a normal distribution that hold 95 % of it.
const NORMAL_95: f64 = 1.959_964;

/// The uncertainty of the values of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// 95 % interval of the median, in nanoseconds, by 10 000 bootstrap resamples.
    pub p50_ci: [f64; 2],
    /// The resampled values.
    pub resampled: Resampled,
    /// Rounds or runs that the samples are of.
    pub rounds: usize,
    /// Coefficient of variation of all samples: standard deviation by mean. One interrupted sample
    /// decides what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// Coefficient of variation of the rounds' medians: how well a round is repeated by the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_cv: Option<f64>,
    /// The same of their means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_cv_mean: Option<f64>,
}

/// The values that an interval was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resampled {
    /// The medians of rounds: holds for another run of this length on the machine as it was.
    Rounds,
    /// Single samples, for want of rounds, as if each were independent of the one before. They are
    /// not: the true interval is wider.
    Samples,
}

impl Spread {
    /// Of samples that each are `ns_per_unit`; `None` without any.
    pub fn of(samples: &Samples, ns_per_unit: f64) -> Option<Spread> {
        let parts = samples.parts();
        if parts.is_empty() {
            return None;
        }
        let medians: Vec<f64> = parts.iter().map(|part| part.p50).collect();
        let means: Vec<f64> = parts.iter().map(|part| part.mean).collect();
        let (resampled, (low, high)) = if parts.len() >= ROUNDS_MIN {
            (Resampled::Rounds, bootstrap_median_interval(&medians, SEED))
        } else {
            (Resampled::Samples, median_interval_of(samples))
        };
        Some(Spread {
            p50_ci: [low, high].map(|end| round_ns(end * ns_per_unit)),
            resampled,
            rounds: parts.len(),
            cv: samples.cv().map(round_share),
            rounds_cv: variation(&medians).map(round_share),
            rounds_cv_mean: variation(&means).map(round_share),
        })
    }
}

/// The interval that infinitely many resamples of single samples would give.
///
/// WHY no drawing: of a resample of `n`, as many are below a value as a binomial distribution
/// says, so the medians of all resamples are known without making one. A million samples, ten
/// thousand times, would take longer than the benchmark.
fn median_interval_of(samples: &Samples) -> (f64, f64) {
    let reach = NORMAL_95 * 0.5 / (samples.count() as f64).sqrt();
    let at = |quantile: f64| samples.quantile(quantile.clamp(0.0, 1.0)) as f64;
    (at(0.5 - reach), at(0.5 + reach))
}
