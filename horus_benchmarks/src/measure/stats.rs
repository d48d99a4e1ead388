//! Statistics of a set of samples: percentiles of all samples, percentiles without outliers, and
//! confidence intervals.

use fastrand::Rng;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The random seed of every bootstrap, so that the same samples give the same confidence interval.
pub const BOOTSTRAP_SEED: u64 = 7;

/// Number of random resamples for each confidence interval.
pub const BOOTSTRAP_RESAMPLES: usize = 10_000;

/// Number of significant decimal digits with which a histogram stores a sample. Percentiles are
/// within 0.05 % of the exact ones.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Maximum value that a histogram stores for a sample. A larger sample is stored as this value.
pub const SAMPLE_VALUE_MAX: u64 = 1 << 42;

/// A histogram of samples in their own unit, such as the ticks of one operation or of a batch.
/// Samples are never removed.
///
/// Minimum, maximum, mean and standard deviation are exact; percentiles are within 0.05 %. A merged
/// set keeps the median and the mean of each of its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    #[serde(with = "histogram_as_pairs")]
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
    sum: u64,
    sum_of_squares: u128,
    parts: Vec<RoundSummary>,
}

/// Median and mean of one of the sets of samples that were merged: a round or a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RoundSummary {
    pub p50: f64,
    pub mean: f64,
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, SAMPLE_VALUE_MAX, SIGNIFICANT_DIGITS)
        .expect("constant bounds that the histogram accepts")
}

impl Default for Samples {
    fn default() -> Samples {
        Samples::new()
    }
}

impl Samples {
    /// Creates an empty set.
    pub fn new() -> Samples {
        Samples {
            histogram: empty_histogram(),
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0,
            parts: Vec::new(),
        }
    }

    /// Adds one sample. Takes a few nanoseconds and does not allocate.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_repeated(value, 1);
    }

    #[inline]
    fn record_repeated(&mut self, value: u64, count: u64) {
        self.histogram.saturating_record_n(value, count);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value.saturating_mul(count));
        let square = u128::from(value) * u128::from(value);
        let squares = square.saturating_mul(u128::from(count));
        self.sum_of_squares = self.sum_of_squares.saturating_add(squares);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Samples) {
        self.parts = [self.round_summaries(), other.round_summaries()].concat();
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Returns the median and the mean of each set that was merged, in the order of merging; those
    /// of this set if nothing was merged.
    pub fn round_summaries(&self) -> Vec<RoundSummary> {
        if self.parts.is_empty() && self.count() > 0 {
            return vec![RoundSummary {
                p50: self.interpolated_median(1),
                mean: self.mean(),
            }];
        }
        self.parts.clone()
    }

    /// Returns each recorded value and the number of samples with that value, in ascending order.
    /// The smallest and the largest are exact.
    pub fn value_counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|bucket| {
            let value = self.histogram.median_equivalent(bucket.value_iterated_to());
            (value.clamp(self.min(), self.max), bucket.count_at_value())
        })
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the smallest sample; 0 if there are none.
    pub fn min(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min }
    }

    /// Returns the largest sample; 0 if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean of the samples; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    /// Returns the standard deviation of the samples; 0 if there are none.
    pub fn standard_deviation(&self) -> f64 {
        let count = u128::from(self.count().max(1));
        // WHY integers: a small deviation is the difference of two large sums, which floats round.
        let square = u128::from(self.sum).saturating_mul(u128::from(self.sum));
        let scaled = count
            .saturating_mul(self.sum_of_squares)
            .saturating_sub(square);
        (scaled as f64).sqrt() / count as f64
    }

    /// Returns the standard deviation divided by the mean; `None` if the mean is 0.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        (self.sum > 0).then(|| self.standard_deviation() / self.mean())
    }

    /// Returns the smallest value that the fraction `quantile` of the samples does not exceed.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let value = self.histogram.value_at_quantile(quantile);
        self.histogram
            .median_equivalent(value)
            .clamp(self.min(), self.max)
    }

    /// Returns the median of the samples; 0 if there are none. Interpolates within the `timer_step`
    /// in which the timer advances, as is usual for grouped data.
    ///
    /// WHY: the timer's steps may be larger than the differences of interest. The number of samples
    /// on either side of a step still shows such differences.
    pub fn interpolated_median(&self, timer_step: u64) -> f64 {
        let middle = self.quantile(0.5);
        let half = timer_step.max(1) as f64 / 2.0;
        let lowest = middle.saturating_sub(half.ceil() as u64 - 1);
        let highest = middle + half.ceil() as u64 - 1;
        let below = if lowest == 0 {
            0
        } else {
            self.histogram.count_between(0, lowest - 1)
        };
        let inside = self.histogram.count_between(lowest, highest);
        if inside == 0 {
            return middle as f64;
        }
        let share = (self.count() as f64 / 2.0 - below as f64) / inside as f64;
        middle as f64 + (share - 0.5) * 2.0 * half
    }

    /// Returns percentiles in nanoseconds. The unit of the samples is `ns_per_unit` nanoseconds.
    pub fn percentiles(&self, ns_per_unit: f64) -> Percentiles {
        let at = |quantile| round_to_picoseconds(self.quantile(quantile) as f64 * ns_per_unit);
        Percentiles {
            min: round_to_picoseconds(self.min() as f64 * ns_per_unit),
            p1: Some(at(0.01)),
            p5: Some(at(0.05)),
            p25: Some(at(0.25)),
            p50: at(0.50),
            p75: Some(at(0.75)),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: round_to_picoseconds(self.max as f64 * ns_per_unit),
            mean: round_to_picoseconds(self.mean() * ns_per_unit),
        }
    }

    /// Returns percentiles without outliers: samples more than 1.5 interquartile ranges away from
    /// the quartiles (Tukey's fences). A report shows them beside
    /// [`percentiles`](Self::percentiles), never alone.
    pub fn percentiles_without_outliers(&self, ns_per_unit: f64) -> PercentilesWithoutOutliers {
        let [q1, q3] = [0.25, 0.75].map(|quantile| self.quantile(quantile) as f64);
        let reach = 1.5 * (q3 - q1);
        let (low, high) = (q1 - reach, q3 + reach);
        let mut kept = Samples::new();
        for (value, count) in self.value_counts() {
            if low <= value as f64 && value as f64 <= high {
                kept.record_repeated(value, count);
            }
        }
        PercentilesWithoutOutliers {
            ns: kept.percentiles(ns_per_unit),
            removed: self.count() - kept.count(),
            cv: kept.coefficient_of_variation().map(round_to_six_decimals),
        }
    }
}

/// The form in which a child process sends a histogram: pairs of a value and its count.
mod histogram_as_pairs {
    use hdrhistogram::Histogram;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        histogram: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let recorded = histogram.iter_recorded();
        serializer.collect_seq(recorded.map(|b| (b.value_iterated_to(), b.count_at_value())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let mut histogram = super::empty_histogram();
        for (value, count) in Vec::deserialize(deserializer)? {
            histogram.saturating_record_n(value, count);
        }
        Ok(histogram)
    }
}

/// Percentiles in nanoseconds, rounded to 0.001 ns. Older records do not have all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names say it, and they are those of the JSON"
)]
pub struct Percentiles {
    pub min: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p1: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p5: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p25: Option<f64>,
    pub p50: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p75: Option<f64>,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub max: f64,
    pub mean: f64,
}

/// Percentiles of the samples that Tukey's filter has kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PercentilesWithoutOutliers {
    /// The percentiles in nanoseconds.
    #[serde(flatten)]
    pub ns: Percentiles,
    /// Number of samples that were removed as outliers.
    pub removed: u64,
    /// Coefficient of variation of the samples that were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
}

/// A ratio of two medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median of the ratios of all rounds.
    pub median: f64,
    /// The 95 % confidence interval of the median, if there are enough rounds for one.
    pub interval: Option<[f64; 2]>,
}

impl Ratio {
    /// Returns the ratio as records have it: the median and both ends of its confidence interval,
    /// or the median alone.
    pub fn to_json(self) -> Value {
        match self.interval {
            Some([low, high]) => json!([self.median, low, high]),
            None => json!(self.median),
        }
    }
}

/// Returns the ratio of the medians in `dividends` to those in `divisors`, each of which was
/// measured next to the one with the same index; `None` if there are none. Other work on the
/// machine slows both, so the ratio is reliable even if the times are not.
pub fn median_ratio(divisors: &[f64], dividends: &[f64]) -> Option<Ratio> {
    let pairs: Vec<(f64, f64)> = divisors
        .iter()
        .copied()
        .zip(dividends.iter().copied())
        .collect();
    median_ratio_of_pairs(&pairs, BOOTSTRAP_SEED)
}

/// Returns the median of `dividend / divisor` over `(divisor, dividend)` pairs, and its 95 %
/// confidence interval, computed like that of [`median_interval`] with the given `random_seed`.
/// Ignores pairs whose divisor is not above 0. Returns `None` if no pair remains.
pub fn median_ratio_of_pairs(
    divisors_and_dividends: &[(f64, f64)],
    random_seed: u64,
) -> Option<Ratio> {
    let mut ratios: Vec<f64> = divisors_and_dividends
        .iter()
        .filter(|(divisor, _)| *divisor > 0.0)
        .map(|(divisor, dividend)| dividend / divisor)
        .collect();
    if ratios.is_empty() {
        return None;
    }
    Some(Ratio {
        interval: has_enough_values_for_interval(ratios.len())
            .then(|| bootstrap_median_interval(&ratios, random_seed).into()),
        median: median(&mut ratios),
    })
}

/// Returns the median of `values`, which is the mean of the middle two if their number is even.
/// Reorders `values`. Panics if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    assert!(!values.is_empty(), "no median of nothing");
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + upper) / 2.0
}

/// Returns the 95 % confidence interval of the median of `values`, from [`BOOTSTRAP_RESAMPLES`]
/// bootstrap resamples (percentile method). The same `random_seed` gives the same interval. Panics
/// if there are no values.
pub fn bootstrap_median_interval(values: &[f64], random_seed: u64) -> (f64, f64) {
    let mut rng = Rng::with_seed(random_seed);
    let mut resample = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..BOOTSTRAP_RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                *slot = values[rng.usize(..values.len())];
            }
            median(&mut resample)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let tail = BOOTSTRAP_RESAMPLES / 40;
    (medians[tail], medians[BOOTSTRAP_RESAMPLES - 1 - tail])
}

/// Minimum number of values for a 95 % interval of their median. WHY: even the interval from the
/// smallest to the largest of five values contains the true median only 15 times out of 16.
const MEDIAN_INTERVAL_VALUES_MIN: usize = 6;

/// Returns true if a 95 % interval of a median can be computed from `values` independent values.
/// Fewer values are also too few for a verdict.
pub const fn has_enough_values_for_interval(value_count: usize) -> bool {
    value_count >= MEDIAN_INTERVAL_VALUES_MIN
}

/// Returns the 95 % confidence interval of the median of `values`, as
/// [`bootstrap_median_interval`] computes it; `None` if there are too few values.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    has_enough_values_for_interval(values.len())
        .then(|| bootstrap_median_interval(values, BOOTSTRAP_SEED).into())
}

/// Rounds a number of nanoseconds to picoseconds.
pub fn round_to_picoseconds(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e3
}

/// Rounds a ratio to six decimal places.
pub fn round_to_six_decimals(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}

/// Returns the coefficient of variation of a few values: the sample standard deviation divided by
/// the mean. There is none of fewer than two values, or if the mean is not above 0.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1 && mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}
