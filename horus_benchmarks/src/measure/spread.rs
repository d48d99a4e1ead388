//! How sure a median is: its interval, and how much samples and rounds differ among themselves.

use serde::{Deserialize, Serialize};

use crate::measure::stats::{Samples, bootstrap_median_interval, round_ns, round_share, variation};

/// Rounds from which an interval is that of their medians; of fewer, it is that of the samples.
const ROUNDS_MIN: usize = 5;

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Standard deviations on either side of the mean of a normal distribution that hold 95 % of it.
const NORMAL_95: f64 = 1.959_964;

/// How far the figures of a row can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// 95 % interval of the median, in nanoseconds, by 10 000 bootstrap resamples.
    pub p50_ci: [f64; 2],
    /// What was resampled.
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

/// What an interval was made of.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn samples_of(values: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::new();
        values.into_iter().for_each(|value| samples.record(value));
        samples
    }

    #[test]
    fn rounds_are_resampled_where_there_are_enough() {
        let mut all = Samples::new();
        for round in 0..10 {
            all.merge(&samples_of((0..100).map(|value| 100 + round * 10 + value % 3)));
        }
        let spread = Spread::of(&all, 0.5).unwrap();
        assert_eq!((spread.resampled, spread.rounds), (Resampled::Rounds, 10));
        let [low, high] = spread.p50_ci;
        // Rounds differ by far more than samples of one round: the interval has to show it.
        assert!(50.0 < low && low < 70.0 && 75.0 < high && high < 96.0, "{spread:?}");
        assert!(spread.rounds_cv.unwrap() > 0.1 && spread.rounds_cv_mean.unwrap() > 0.1);
    }

    #[test]
    fn one_round_has_the_interval_of_its_samples() {
        let spread = Spread::of(&samples_of(1..=10_000), 1.0).unwrap();
        assert_eq!((spread.resampled, spread.rounds), (Resampled::Samples, 1));
        // 5000 +- 1.96 * sqrt(10 000) / 2.
        let [low, high] = spread.p50_ci;
        assert!((low - 4902.0).abs() < 10.0 && (high - 5098.0).abs() < 10.0, "{spread:?}");
        assert!((spread.cv.unwrap() - 0.577).abs() < 0.001);
        assert_eq!(spread.rounds_cv, None);
        assert_eq!(Spread::of(&Samples::new(), 1.0), None);
    }

    #[test]
    fn the_interval_of_samples_is_that_of_drawing_them() {
        let values: Vec<f64> = (0..401).map(|value| f64::from(value * value % 1009)).collect();
        let samples = samples_of(values.iter().map(|&value| value as u64));
        let (low, high) = median_interval_of(&samples);
        let (drawn_low, drawn_high) = bootstrap_median_interval(&values, 3);
        assert!((low - drawn_low).abs() < 40.0, "{low} {drawn_low}");
        assert!((high - drawn_high).abs() < 40.0, "{high} {drawn_high}");
    }
}
