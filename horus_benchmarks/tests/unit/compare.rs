//! A change counts if it is larger than noise.

use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::report::research::compare::*;
use horus_benchmarks::report::research::record::{Program, Run};
use horus_benchmarks::report::rows::Row;

fn run(cpu: &str, rows: Vec<Row>) -> Run {
    let mut program = Program {
        name: "x".to_owned(),
        rows,
        ..Program::default()
    };
    program.machine.insert("cpu".to_owned(), cpu.into());
    Run {
        programs: vec![program],
        ..Run::default()
    }
}

fn timed(id: &str, rounds: std::ops::Range<u64>) -> Row {
    let mut all = Samples::new();
    for value in rounds {
        let mut round = Samples::new();
        (0..10).for_each(|_| round.record(value));
        all.merge(&round);
    }
    Row::samples(id, &all, 1.0)
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

fn change(old: Row, new: Row) -> Change {
    Comparison::new(&run("a", vec![old]), &run("a", vec![new])).rows[0].change
}

#[test]
fn a_regression_is_beyond_the_intervals_and_beyond_noise() {
    assert_eq!(
        change(ratio(1.2, 0.02), ratio(1.3, 0.02)),
        Change::Regression
    );
    assert_eq!(change(ratio(1.2, 0.06), ratio(1.3, 0.06)), Change::Same);
    assert_eq!(change(ratio(1.2, 0.001), ratio(1.22, 0.001)), Change::Same);
    assert_eq!(change(ratio(1.3, 0.02), ratio(1.2, 0.02)), Change::Better);
    assert_eq!(
        change(timed("t", 100..110), timed("t", 120..130)),
        Change::Regression
    );
    assert_eq!(
        change(timed("t", 100..110), timed("t", 101..111)),
        Change::Same
    );
    let rate = |rate| {
        Row {
            id: "s".to_owned(),
            ..Row::default()
        }
        .with_rates(&[rate; 3])
    };
    assert_eq!(change(rate(2e6), rate(1e6)), Change::Regression);
    assert_eq!(change(rate(1e6), rate(2e6)), Change::Better);
}

#[test]
fn what_is_gone_counts_and_what_is_new_does_not() {
    let old = timed("a", 10..20);
    let new = timed("b", 10..20);
    let compared = Comparison::new(&run("a", vec![old.clone()]), &run("a", vec![new.clone()]));
    let changes: Vec<Change> = compared.rows.iter().map(|row| row.change).collect();
    assert_eq!(changes, [Change::Missing, Change::New]);
    assert!(compared.is_worse() && compared.render().contains("MISSING     x: a"));
    let same = Comparison::new(&run("a", vec![old.clone()]), &run("a", vec![old.clone()]));
    assert!(!same.is_worse() && same.render().contains("1 within noise"));
    let mut broken = run("a", vec![old.clone()]);
    broken.programs[0].problems.push("torn".to_owned());
    let failed = Comparison::new(&run("a", vec![old]), &broken);
    assert!(failed.is_worse() && failed.render().contains("FAILED      x"));
}

#[test]
fn between_machines_only_ratios_are_compared() {
    let old = timed("a", 10..20);
    let new = timed("a", 100..200);
    let compared = Comparison::new(&run("a", vec![old]), &run("b", vec![new]));
    assert!(!compared.is_worse() && compared.rows[0].figures.is_none());
    let compared = Comparison::new(
        &run("a", vec![ratio(1.0, 0.01)]),
        &run("b", vec![ratio(2.0, 0.01)]),
    );
    assert!(compared.is_worse());
}
