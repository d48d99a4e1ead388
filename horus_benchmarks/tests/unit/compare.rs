//! A change counts if it is larger than noise.

use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::report::goals::FLOOR_RATIO_BY_STATE_KEY;
use horus_benchmarks::report::research::compare::*;
use horus_benchmarks::report::research::record::{ProgramRecord, RunRecord};
use horus_benchmarks::report::rows::Row;
use serde_json::json;

fn run(cpu: &str, rows: Vec<Row>) -> RunRecord {
    let mut program = ProgramRecord {
        name: "x".to_owned(),
        rows,
        ..ProgramRecord::default()
    };
    program.machine.insert("cpu".to_owned(), cpu.into());
    RunRecord {
        programs: vec![program],
        ..RunRecord::default()
    }
}

fn timed(id: &str, rounds: std::ops::Range<u64>) -> Row {
    let mut all = Samples::new();
    for value in rounds {
        let mut round = Samples::new();
        (0..10).for_each(|_| round.record(value));
        all.merge(&round);
    }
    Row::from_samples(id, &all, 1.0)
}

fn ratio(median: f64, reach: f64) -> Row {
    let ratio = Ratio {
        median,
        low: median - reach,
        high: median + reach,
    };
    Row {
        id: "r".to_owned(),
        ..Row::default()
    }
    .with_floor_ratio(Some(ratio))
}

fn change(old: Row, new: Row) -> RowChange {
    RunComparison::new(&run("a", vec![old]), &run("a", vec![new])).rows[0].change
}

#[test]
fn a_regression_is_beyond_the_intervals_and_beyond_noise() {
    assert_eq!(
        change(ratio(1.2, 0.02), ratio(1.3, 0.02)),
        RowChange::Regression
    );
    assert_eq!(change(ratio(1.2, 0.06), ratio(1.3, 0.06)), RowChange::Same);
    assert_eq!(
        change(ratio(1.2, 0.001), ratio(1.22, 0.001)),
        RowChange::Same
    );
    assert_eq!(
        change(ratio(1.3, 0.02), ratio(1.2, 0.02)),
        RowChange::Better
    );
    assert_eq!(
        change(timed("t", 100..110), timed("t", 120..130)),
        RowChange::Regression
    );
    assert_eq!(
        change(timed("t", 100..110), timed("t", 101..111)),
        RowChange::Same
    );
    let rate = |rate| {
        Row {
            id: "s".to_owned(),
            ..Row::default()
        }
        .with_rates(&[rate; 3])
    };
    assert_eq!(change(rate(2e6), rate(1e6)), RowChange::Regression);
    assert_eq!(change(rate(1e6), rate(2e6)), RowChange::Better);
}

#[test]
fn what_is_gone_counts_and_what_is_new_does_not() {
    let old = timed("a", 10..20);
    let new = timed("b", 10..20);
    let compared = RunComparison::new(&run("a", vec![old.clone()]), &run("a", vec![new.clone()]));
    let changes: Vec<RowChange> = compared.rows.iter().map(|row| row.change).collect();
    assert_eq!(changes, [RowChange::Missing, RowChange::New]);
    assert!(compared.is_worse() && compared.render().contains("MISSING     x: a"));
    let same = RunComparison::new(&run("a", vec![old.clone()]), &run("a", vec![old.clone()]));
    assert!(!same.is_worse() && same.render().contains("1 within noise"));
    let mut broken = run("a", vec![old.clone()]);
    broken.programs[0].problems.push("torn".to_owned());
    let failed = RunComparison::new(&run("a", vec![old]), &broken);
    assert!(failed.is_worse() && failed.render().contains("FAILED      x"));
}

#[test]
fn between_machines_only_ratios_are_compared() {
    let old = timed("a", 10..20);
    let new = timed("a", 100..200);
    let compared = RunComparison::new(&run("a", vec![old]), &run("b", vec![new]));
    assert!(!compared.is_worse() && compared.rows[0].figures.is_none());
    let compared = RunComparison::new(
        &run("a", vec![ratio(1.0, 0.01)]),
        &run("b", vec![ratio(2.0, 0.01)]),
    );
    assert!(compared.is_worse());
}

/// A run of one row, whose ratio in each state of the machine is `states`: floor and ratio.
fn in_states(states: &[(f64, f64)]) -> RunRecord {
    let states: Vec<_> = states
        .iter()
        .map(|&(floor_ns, ratio)| {
            let ratio_ci = [ratio - 0.01, ratio + 0.01];
            json!({ "floor_ns": floor_ns, "rounds": 5, "ratio": ratio, "ratio_ci": ratio_ci })
        })
        .collect();
    let mut run = run("a", vec![ratio(1.5, 0.5)]);
    let settings = &mut run.programs[0].settings;
    settings.insert(FLOOR_RATIO_BY_STATE_KEY.to_owned(), json!({ "r": states }));
    run
}

#[test]
fn a_ratio_is_compared_in_each_state_of_the_machine() {
    let old = in_states(&[(60.0, 1.2), (240.0, 1.5)]);
    let change = |new: &[(f64, f64)]| {
        let compared = RunComparison::new(&old, &in_states(new));
        (compared.rows[0].change, compared.rows[0].floor_ns)
    };
    let same = (RowChange::Same, Some(60.0));
    assert_eq!(change(&[(62.0, 1.21), (250.0, 1.49)]), same);
    let far = (RowChange::Regression, Some(240.0));
    assert_eq!(change(&[(62.0, 1.0), (250.0, 1.7)]), far, "in one of them");
    assert_eq!(change(&[(200.0, 1.7)]), far, "in the only one");
    assert_eq!(change(&[(62.0, 1.21)]), same, "not with the far state");
    assert_eq!(change(&[(120.0, 3.0)]), (RowChange::OtherState, None));
    let other = RunComparison::new(&old, &in_states(&[(120.0, 3.0)]));
    assert!(other.render().contains("1 in other states of the machine"));
    assert!(!other.is_worse());
}
