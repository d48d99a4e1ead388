//! Percentiles, intervals and ratios are held to slow, obvious versions of themselves.

use fastrand::Rng;
use horus_benchmarks::measure::stats::*;

const QUANTILES: [f64; 7] = [0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999];

fn long_tailed(seed: u64, count: usize) -> Vec<u64> {
    let mut rng = Rng::with_seed(seed);
    (0..count)
        .map(|_| {
            let body = 300 + rng.u64(..) % 64;
            if rng.usize(..200) == 0 {
                body * (1 + rng.u64(..) % 500)
            } else {
                body
            }
        })
        .collect()
}

fn samples_of(values: &[u64]) -> Samples {
    let mut samples = Samples::new();
    values.iter().for_each(|&value| samples.record(value));
    samples
}

/// The smallest value that at least `quantile` of all values do not exceed.
fn naive_quantile(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn assert_close(found: f64, wanted: f64, what: &str) {
    assert!(
        (found - wanted).abs() <= wanted.abs() * 0.001,
        "{what}: {found}, wanted {wanted}"
    );
}

#[test]
fn quantiles_match_a_sorted_vector() {
    for seed in 0..16 {
        let mut values = long_tailed(seed, 20_000);
        let samples = samples_of(&values);
        values.sort_unstable();
        for quantile in QUANTILES {
            let wanted = naive_quantile(&values, quantile) as f64;
            let found = samples.quantile(quantile) as f64;
            assert_close(found, wanted, &format!("seed {seed} quantile {quantile}"));
        }
        assert_eq!(samples.min(), values[0]);
        assert_eq!(samples.max(), *values.last().unwrap());
        let sum: u64 = values.iter().sum();
        assert_eq!(samples.mean(), sum as f64 / values.len() as f64);
    }
}

#[test]
fn percentiles_are_scaled_and_in_order() {
    let p = samples_of(&long_tailed(7, 50_000)).percentiles(0.5);
    let ordered = [p.min, p.p50, p.p90, p.p95, p.p99, p.p99_9, p.p99_99, p.max];
    assert!(ordered.is_sorted(), "{ordered:?}");
    assert!((150.0..190.0).contains(&p.p50));
}

/// In steps of 1 each number from 1 to 100,000 has its own rank.
#[test]
fn every_percentile_is_the_one_that_its_name_says() {
    let values: Vec<u64> = (1..=100_000).collect();
    let p = samples_of(&values).percentiles(2.0);
    let table = [
        ("p1", p.p1.unwrap(), 0.01),
        ("p5", p.p5.unwrap(), 0.05),
        ("p25", p.p25.unwrap(), 0.25),
        ("p50", p.p50, 0.50),
        ("p75", p.p75.unwrap(), 0.75),
        ("p90", p.p90, 0.90),
        ("p95", p.p95, 0.95),
        ("p99", p.p99, 0.99),
        ("p99_9", p.p99_9, 0.999),
        ("p99_99", p.p99_99, 0.9999),
    ];
    for (name, found, quantile) in table {
        // Two neighbours in the table differ by far more than a bucket of the histogram is wide.
        assert_close(found, 2.0 * naive_quantile(&values, quantile) as f64, name);
    }
    assert_eq!((p.min, p.max, p.mean), (2.0, 200_000.0, 100_001.0));
}

#[test]
fn the_median_is_found_within_the_steps_of_a_coarse_timer() {
    for seed in 0..8 {
        let mut rng = Rng::with_seed(seed);
        let fine: Vec<u64> = (0..20_000)
            .map(|_| 300 + seed * 7 + rng.u64(..) % 40 + rng.u64(..) % 40)
            .collect();
        // A timer with steps of 26 that starts at any phase.
        let coarse: Vec<u64> = fine
            .iter()
            .map(|&value| {
                let phase = rng.u64(..) % 26;
                (phase + value) / 26 * 26
            })
            .collect();
        let wanted = samples_of(&fine).quantile(0.5) as f64;
        let found = samples_of(&coarse).interpolated_median(26);
        assert!(
            (found - wanted).abs() < 2.0,
            "seed {seed}: {found}, wanted {wanted}"
        );
        assert!(
            (samples_of(&fine).interpolated_median(1) - wanted).abs() <= 0.5,
            "seed {seed}"
        );
    }
    assert_eq!(Samples::new().interpolated_median(26), 0.0);
    assert_eq!(samples_of(&[5]).interpolated_median(26), 5.0);
}

#[test]
fn the_largest_sample_survives_however_large() {
    let mut samples = samples_of(&[100, 200]);
    samples.record(SAMPLE_VALUE_MAX * 3);
    assert_eq!(samples.max(), SAMPLE_VALUE_MAX * 3);
    assert_eq!(samples.count(), 3);
    assert_eq!(samples.percentiles(1.0).max, (SAMPLE_VALUE_MAX * 3) as f64);
}

#[test]
fn filtered_view_matches_naive_tukey_and_counts_what_it_took() {
    for seed in 0..16 {
        let mut values = long_tailed(seed, 20_000);
        let samples = samples_of(&values);
        values.sort_unstable();
        let q1 = naive_quantile(&values, 0.25) as f64;
        let q3 = naive_quantile(&values, 0.75) as f64;
        let fences = q1 - 1.5 * (q3 - q1)..=q3 + 1.5 * (q3 - q1);
        values.retain(|&value| fences.contains(&(value as f64)));

        let filtered = samples.percentiles_without_outliers(1.0);
        assert_eq!(
            filtered.removed,
            samples.count() - values.len() as u64,
            "seed {seed}"
        );
        let wanted = naive_quantile(&values, 0.99) as f64;
        assert_close(filtered.ns.p99, wanted, &format!("seed {seed}"));
        assert!(filtered.ns.max < samples.max() as f64);
    }
}

#[test]
fn merged_samples_equal_samples_recorded_together() {
    let left = long_tailed(1, 5_000);
    let right = long_tailed(2, 7_000);
    let together = samples_of(&[left.clone(), right.clone()].concat());
    let mut merged = samples_of(&left);
    merged.merge(&samples_of(&right));
    assert_eq!(merged.percentiles(1.0), together.percentiles(1.0));
    assert_eq!(merged.count(), 12_000);
    assert_eq!(
        (merged.standard_deviation(), merged.mean()),
        (together.standard_deviation(), together.mean())
    );
}

#[test]
fn merged_samples_have_the_extremes_of_all_parts() {
    for (one, other) in [([1, 5], [3, 9]), ([3, 9], [1, 5])] {
        let mut merged = samples_of(&one);
        merged.merge(&samples_of(&other));
        assert_eq!((merged.min(), merged.max()), (1, 9));
    }
}

/// A bucket of the histogram is wider than one sample.
#[test]
fn a_quantile_lies_between_the_extremes() {
    for value in [100_003, 1_000_003, 7_777_777] {
        assert_eq!(samples_of(&[value; 3]).quantile(0.5), value);
    }
}

#[test]
fn the_fences_stand_one_and_a_half_quartile_ranges_away() {
    let filtered = |last| {
        let values: Vec<u64> = (1..=99).chain([last]).collect();
        samples_of(&values)
            .percentiles_without_outliers(1.0)
            .removed
    };
    // The quartiles are 25 and 75.
    assert_eq!([140, 149, 160].map(filtered), [0, 0, 1]);
}

#[test]
fn a_variation_is_that_of_a_sample() {
    assert!((coefficient_of_variation(&[1.0, 3.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
    assert_eq!(
        (
            coefficient_of_variation(&[1.0]),
            coefficient_of_variation(&[-1.0, 1.0])
        ),
        (None, None)
    );
}

#[test]
fn nanoseconds_are_rounded_to_picoseconds() {
    assert_eq!(
        (round_to_picoseconds(1.23456), round_to_picoseconds(0.0004)),
        (1.235, 0.0)
    );
}

#[test]
fn merged_samples_remember_what_each_part_said() {
    let sets = [
        long_tailed(1, 500),
        long_tailed(2, 700),
        long_tailed(3, 600),
    ]
    .map(|v| samples_of(&v));
    let mut merged = Samples::new();
    assert_eq!(merged.round_summaries(), []);
    sets.iter().for_each(|set| merged.merge(set));
    let wanted: Vec<RoundSummary> = sets.iter().flat_map(Samples::round_summaries).collect();
    assert_eq!(wanted.len(), 3);
    assert_eq!(merged.round_summaries(), wanted);
    // Merged into others, they stay what they are.
    let mut all = sets[0].clone();
    all.merge(&merged);
    assert_eq!(all.round_summaries()[1..], wanted);
}

#[test]
fn standard_deviation_matches_the_formula() {
    for seed in 0..8 {
        let values = long_tailed(seed, 3_000);
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        let squares: f64 = values
            .iter()
            .map(|&value| (value as f64 - mean).powi(2))
            .sum();
        let samples = samples_of(&values);
        assert_close(
            samples.standard_deviation(),
            (squares / values.len() as f64).sqrt(),
            "sd",
        );
        assert_close(
            samples.coefficient_of_variation().unwrap(),
            samples.standard_deviation() / mean,
            "cv",
        );
    }
    assert_eq!(
        samples_of(&[2, 4, 4, 4, 5, 5, 7, 9]).standard_deviation(),
        2.0
    );
    assert_eq!(samples_of(&[10; 4]).standard_deviation(), 0.0);
    assert_eq!(
        (
            Samples::new().standard_deviation(),
            Samples::new().coefficient_of_variation()
        ),
        (0.0, None)
    );
}

#[test]
fn samples_survive_the_trip_through_json() {
    for samples in [vec![], vec![u64::MAX], long_tailed(3, 9_000)] {
        let samples = samples_of(&samples);
        let text = serde_json::to_string(&samples).unwrap();
        let back: Samples = serde_json::from_str(&text).unwrap();
        assert_eq!(back.percentiles(1.0), samples.percentiles(1.0));
        assert_eq!(back, samples);
    }
}

#[test]
fn empty_samples_are_all_zero() {
    let p = Samples::new().percentiles(1.0);
    assert_eq!((p.min, p.p50, p.max, p.mean), (0.0, 0.0, 0.0, 0.0));
    assert_eq!(Samples::new().percentiles_without_outliers(1.0).removed, 0);
}

#[test]
fn median_matches_a_sorted_vector() {
    for length in 1..40 {
        let mut rng = Rng::with_seed(length);
        let mut values: Vec<f64> = (0..length).map(|_| rng.usize(..50) as f64).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let wanted = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        assert_eq!(median(&mut values), wanted, "length {length}");
    }
}

#[test]
fn ratio_of_proportional_rounds_is_exact_however_noisy_the_rounds() {
    let floor: Vec<f64> = (0..20)
        .map(|round| 100.0 + f64::from(round * 37 % 11))
        .collect();
    let subject: Vec<f64> = floor.iter().map(|floor| floor * 1.25).collect();
    let ratio = median_ratio(&floor, &subject).unwrap();
    assert_eq!(median_ratio(&floor, &[]), None);
    let [low, high] = ratio.interval.unwrap();
    for found in [ratio.median, low, high] {
        assert!((found - 1.25).abs() < 1e-12);
    }
    assert_eq!(median_ratio_of_pairs(&[(0.0, 1.0)], 1), None);
}

#[test]
fn interval_is_reproducible_and_covers_the_true_median_about_as_often_as_promised() {
    let trials = 60;
    let mut covered = 0;
    for seed in 0..trials {
        let mut rng = Rng::with_seed(seed ^ 0x5eed);
        let pairs: Vec<(f64, f64)> = (0..24)
            .map(|_| (1.0, 1.0 + rng.usize(..10_001) as f64 / 10_000.0))
            .collect();
        let ratio = median_ratio_of_pairs(&pairs, seed).unwrap();
        assert_eq!(Some(ratio), median_ratio_of_pairs(&pairs, seed));
        let [low, high] = ratio.interval.unwrap();
        assert!(low <= ratio.median && ratio.median <= high);
        covered += u64::from(low <= 1.5 && 1.5 <= high);
    }
    assert!(
        covered * 100 >= trials * 85,
        "covered {covered} of {trials}"
    );
}

#[test]
fn fewer_than_six_values_have_no_interval() {
    let rounds: Vec<f64> = (0..6).map(f64::from).collect();
    assert_eq!(median_interval(&rounds[..5]), None);
    let [low, high] = median_interval(&rounds).unwrap();
    assert!(low < 2.5 && high > 2.5, "{low} {high}");
    let few = median_ratio(&[1.0; 5], &rounds[..5]).unwrap();
    assert_eq!((few.median, few.interval), (2.0, None));
    assert_eq!(few.to_json(), serde_json::json!(2.0));
}
