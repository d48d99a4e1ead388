//! The uncertainty of a median: its 95 % confidence interval, and the variation among samples.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{
    Samples, coefficient_of_variation, has_enough_values_for_interval, median_interval,
    round_to_picoseconds, round_to_six_decimals,
};

/// Half the width of the range that contains 95 % of a normal distribution, in standard deviations.
const NORMAL_95_PERCENT_HALF_WIDTH: f64 = 1.959_964;

/// The uncertainty of the median in a row of results.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MedianUncertainty {
    /// 95 % confidence interval of the median in nanoseconds, from 10 000 bootstrap resamples.
    pub p50_ci: [f64; 2],
    /// The values that were resampled for the confidence interval.
    pub resampled: ResampledValues,
    /// Number of rounds or runs from which the samples come.
    pub rounds: usize,
    /// Coefficient of variation of all samples: standard deviation divided by mean. A single sample
    /// with an interrupt can dominate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// Coefficient of variation of the rounds' medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds_cv: Option<f64>,
    /// Coefficient of variation of the rounds' means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds_cv_mean: Option<f64>,
}

/// The kind of values from which a confidence interval was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResampledValues {
    /// Medians of rounds. If the machine does not change, the median of another run of this length
    /// is likely to lie in the interval.
    Rounds,
    /// Single samples, because there were too few rounds. This assumes that samples are independent
    /// of each other. They are not, so the true interval is wider.
    Samples,
}

impl MedianUncertainty {
    /// Returns true if the confidence interval is one of 95 %: if there were enough rounds, and
    /// their medians were resampled. (Older records have intervals of five rounds.)
    pub fn is_interval_of_rounds(&self) -> bool {
        self.resampled == ResampledValues::Rounds && has_enough_values_for_interval(self.rounds)
    }

    /// Returns the spread of `samples`, if there are any. Their unit is `ns_per_unit` nanoseconds.
    pub fn from_samples(samples: &Samples, ns_per_unit: f64) -> Option<MedianUncertainty> {
        let parts = samples.round_summaries();
        if parts.is_empty() {
            return None;
        }
        let medians: Vec<f64> = parts.iter().map(|part| part.p50).collect();
        let means: Vec<f64> = parts.iter().map(|part| part.mean).collect();
        let (resampled, ends) = match median_interval(&medians) {
            Some(ends) => (ResampledValues::Rounds, ends),
            None => (
                ResampledValues::Samples,
                median_interval_of_samples(samples),
            ),
        };
        Some(MedianUncertainty {
            p50_ci: ends.map(|end| round_to_picoseconds(end * ns_per_unit)),
            resampled,
            rounds: parts.len(),
            cv: samples
                .coefficient_of_variation()
                .map(round_to_six_decimals),
            rounds_cv: coefficient_of_variation(&medians).map(round_to_six_decimals),
            rounds_cv_mean: coefficient_of_variation(&means).map(round_to_six_decimals),
        })
    }
}

/// Returns the 95 % interval of the median that a bootstrap with infinitely many resamples of
/// single samples would give.
///
/// WHY it draws none: the number of values in a resample that are below a given value follows a
/// binomial distribution, so the distribution of the medians is known. Drawing 10 000 resamples of
/// a million samples would take longer than the benchmark.
fn median_interval_of_samples(samples: &Samples) -> [f64; 2] {
    let reach = NORMAL_95_PERCENT_HALF_WIDTH * 0.5 / (samples.count() as f64).sqrt();
    let at = |quantile: f64| samples.quantile(quantile.clamp(0.0, 1.0)) as f64;
    [at(0.5 - reach), at(0.5 + reach)]
}
