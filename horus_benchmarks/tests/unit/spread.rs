//! An interval is that of rounds, if there are enough.

use horus_benchmarks::measure::spread::*;
use horus_benchmarks::measure::stats::{Samples, bootstrap_median_interval};

fn samples_of(values: impl IntoIterator<Item = u64>) -> Samples {
    let mut samples = Samples::new();
    values.into_iter().for_each(|value| samples.record(value));
    samples
}

#[test]
fn rounds_are_resampled_where_there_are_enough() {
    let mut all = Samples::new();
    for round in 0..10 {
        all.merge(&samples_of(
            (0..100).map(|value| 100 + round * 10 + value % 3),
        ));
    }
    let spread = MedianUncertainty::from_samples(&all, 0.5).unwrap();
    assert_eq!(
        (spread.resampled, spread.rounds),
        (ResampledValues::Rounds, 10)
    );
    assert!(spread.is_interval_of_rounds());
    let [low, high] = spread.p50_ci;
    // Rounds differ by far more than samples of one round: the interval has to show it.
    assert!(
        50.0 < low && low < 70.0 && 75.0 < high && high < 96.0,
        "{spread:?}"
    );
    assert!(spread.rounds_cv.unwrap() > 0.1 && spread.rounds_cv_mean.unwrap() > 0.1);
}

#[test]
fn five_rounds_have_the_interval_of_their_samples() {
    let mut all = Samples::new();
    (0..5).for_each(|round| all.merge(&samples_of([100 + round; 9])));
    let spread = MedianUncertainty::from_samples(&all, 1.0).unwrap();
    assert_eq!(
        (spread.resampled, spread.rounds),
        (ResampledValues::Samples, 5)
    );
    // As old records have it.
    let old = MedianUncertainty {
        resampled: ResampledValues::Rounds,
        ..spread
    };
    assert!(!old.is_interval_of_rounds());
}

#[test]
fn one_round_has_the_interval_of_its_samples() {
    let spread = MedianUncertainty::from_samples(&samples_of(1..=10_000), 1.0).unwrap();
    assert_eq!(
        (spread.resampled, spread.rounds),
        (ResampledValues::Samples, 1)
    );
    assert!(!spread.is_interval_of_rounds());
    // 5000 +- 1.96 * sqrt(10 000) / 2.
    let [low, high] = spread.p50_ci;
    assert!(
        (low - 4902.0).abs() < 10.0 && (high - 5098.0).abs() < 10.0,
        "{spread:?}"
    );
    assert!((spread.cv.unwrap() - 0.577).abs() < 0.001);
    assert_eq!(spread.rounds_cv, None);
    assert_eq!(MedianUncertainty::from_samples(&Samples::new(), 1.0), None);
}

#[test]
fn the_interval_of_samples_is_that_of_drawing_them() {
    let values: Vec<f64> = (0..401)
        .map(|value| f64::from(value * value % 1009))
        .collect();
    let samples = samples_of(values.iter().map(|&value| value as u64));
    let [low, high] = MedianUncertainty::from_samples(&samples, 1.0)
        .unwrap()
        .p50_ci;
    let (drawn_low, drawn_high) = bootstrap_median_interval(&values, 3);
    assert!((low - drawn_low).abs() < 40.0, "{low} {drawn_low}");
    assert!((high - drawn_high).abs() < 40.0, "{high} {drawn_high}");
}
