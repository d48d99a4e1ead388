//! A change counts if it is larger than noise.

use std::slice;

use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::report::additional_values::AdditionalValues;
use horus_benchmarks::report::goals::{FLOOR_RATIO_BY_STATE_KEY, VERDICTS_KEY};
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
    }
}

fn compare_two(old: &RunRecord, new: &RunRecord) -> RunComparison {
    RunComparison::of_runs(slice::from_ref(old), slice::from_ref(new))
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
        interval: Some([median - reach, median + reach]),
    };
    Row {
        id: "r".to_owned(),
        ..Row::default()
    }
    .with_floor_ratio(Some(ratio))
}

fn change(old: Row, new: Row) -> RowChange {
    compare_two(&run("a", vec![old]), &run("a", vec![new])).rows[0].change
}

#[test]
fn a_regression_is_beyond_the_intervals_and_beyond_noise() {
    assert_eq!(
        change(ratio(1.2, 0.02), ratio(1.6, 0.02)),
        RowChange::Regression
    );
    assert_eq!(change(ratio(1.2, 0.3), ratio(1.6, 0.3)), RowChange::Same);
    assert_eq!(
        change(ratio(1.2, 0.001), ratio(1.4, 0.001)),
        RowChange::Same,
        "two runs of one commit differ as much"
    );
    assert_eq!(
        change(ratio(1.6, 0.02), ratio(1.2, 0.02)),
        RowChange::Better
    );
    assert_eq!(
        change(timed("t", 100..110), timed("t", 150..160)),
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
        .with_rates(&[rate; 6])
    };
    assert_eq!(change(rate(2e6), rate(1e6)), RowChange::Regression);
    assert_eq!(change(rate(1e6), rate(2e6)), RowChange::Better);
}

#[test]
fn few_rounds_are_neither_a_regression_nor_better() {
    let rate = |rates: &[f64]| Row {
        id: "s".to_owned(),
        ..Row::default().with_rates(rates)
    };
    let compared = [
        change(rate(&[2e6; 5]), rate(&[1e6; 6])),
        change(rate(&[1e6; 6]), rate(&[2e6; 5])),
    ];
    assert_eq!(compared, [RowChange::NoInterval; 2]);
    assert_eq!(
        change(timed("t", 100..105), timed("t", 200..205)),
        RowChange::NoInterval,
        "an interval of single samples is none"
    );
}

/// With several runs of each commit, the difference between runs of one commit is known.
#[test]
fn several_runs_show_the_noise_between_runs() {
    let runs = |medians: &[f64]| -> Vec<RunRecord> {
        let rows = medians.iter().map(|&median| vec![ratio(median, 0.01)]);
        rows.map(|rows| run("a", rows)).collect()
    };
    let change = |old: &[f64], new: &[f64]| {
        let compared = RunComparison::of_runs(&runs(old), &runs(new));
        assert_eq!(compared.rows.len(), 1);
        compared.rows[0].change
    };
    assert_eq!(change(&[1.2, 1.22], &[1.3, 1.32]), RowChange::Regression);
    assert_eq!(change(&[1.3, 1.32], &[1.2, 1.22]), RowChange::Better);
    assert_eq!(change(&[1.2, 1.35], &[1.3, 1.5]), RowChange::Same);
    assert_eq!(change(&[1.2, 1.22], &[1.3]), RowChange::Same);
}

/// Two runs of one commit, fifteen minutes apart, on a machine that other programs disturbed.
#[test]
fn two_recorded_runs_of_one_commit_differ_by_little_more_than_noise() {
    let records = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../benchmarks/record/amd-epyc-family-25-model-17/2026-11-29-62464b3519bd"
    );
    let read = |end: &str| RunRecord::read(format!("{records}{end}").as_ref()).unwrap();
    let compared = compare_two(&read(""), &read("-2"));
    let regressions = compared
        .rows
        .iter()
        .filter(|row| row.change == RowChange::Regression);
    let (found, all) = (regressions.count(), compared.rows.len());
    assert!(
        found * 50 <= all,
        "{found} of {all}:\n{}",
        compared.render()
    );
}

#[test]
fn rows_that_were_measured_in_other_ways_are_not_compared() {
    let run = |basis: &str, median: f64| {
        let mut run = run("a", vec![ratio(median, 0.01)]);
        let settings = &mut run.programs[0].settings;
        settings.insert("basis".to_owned(), json!({ "r": basis }));
        run
    };
    let old = run("reliable topic, subscribers_max(1); sent 5.9M/s", 1.0);
    let compare = |new: &RunRecord| compare_two(&old, new).rows[0].change;
    let same = "reliable topic, subscribers_max(1); sent 61M/s";
    assert_eq!(compare(&run(same, 2.0)), RowChange::Regression);
    let other = run("reliable topic; sent 5.9M/s", 2.0);
    assert_eq!(compare(&other), RowChange::NotCompared);
}

#[test]
fn what_is_gone_counts_and_what_is_new_does_not() {
    let old = timed("a", 10..20);
    let new = timed("b", 10..20);
    let compared = compare_two(&run("a", vec![old.clone()]), &run("a", vec![new.clone()]));
    let changes: Vec<RowChange> = compared.rows.iter().map(|row| row.change).collect();
    assert_eq!(changes, [RowChange::Missing, RowChange::New]);
    assert!(compared.is_worse() && compared.render().contains("MISSING     x: a"));
    let same = compare_two(&run("a", vec![old.clone()]), &run("a", vec![old.clone()]));
    assert!(!same.is_worse() && same.render().contains("1 within noise"));
    let mut broken = run("a", vec![old.clone()]);
    broken.programs[0].problems.push("torn".to_owned());
    let failed = compare_two(&run("a", vec![old]), &broken);
    assert!(failed.is_worse() && failed.render().contains("FAILED      x"));
}

#[test]
fn a_value_that_is_gone_counts_as_missing() {
    let rates = |rate: f64, p50: u64| timed("s", p50..p50 + 10).with_rates(&[rate; 6]);
    let only_rate = |rate| Row {
        id: "s".to_owned(),
        msgs_per_s: rate,
        ..Row::default()
    };
    for (old, new) in [
        (only_rate(Some(60e6)), only_rate(Some(0.0))),
        (only_rate(Some(60e6)), only_rate(None)),
        (timed("s", 10..20), only_rate(None)),
        (ratio(1.2, 0.1), ratio(0.0, 0.0)),
        // Although another value is there.
        (rates(60e6, 100), rates(0.0, 100)),
    ] {
        let compared = compare_two(&run("a", vec![old]), &run("a", vec![new.clone()]));
        assert_eq!(compared.rows[0].change, RowChange::Missing, "{new:?}");
        let text = compared.render();
        assert!(
            compared.is_worse() && text.contains("-> no value above 0"),
            "{text}"
        );
    }
    assert_eq!(
        change(only_rate(None), only_rate(Some(1e6))),
        RowChange::NotCompared
    );
    assert_eq!(
        change(rates(60e6, 100), rates(6e6, 100)),
        RowChange::Same,
        "without a goal"
    );
}

/// A row whose samples are 10 us, except some outliers, which decide its 99th percentile.
fn with_tail(id: &str, tail_ns: u64) -> Row {
    let mut all = Samples::new();
    for _ in 0..10 {
        let mut round = Samples::new();
        (0..98).for_each(|_| round.record(10_000));
        (0..2).for_each(|_| round.record(tail_ns));
        all.merge(&round);
    }
    Row::from_samples(id, &all, 1.0)
}

#[test]
fn what_a_goal_limits_is_compared_too() {
    let compare = |id: &str, new: u64| {
        let runs = [15_000, new].map(|tail| run("a", vec![with_tail(id, tail)]));
        compare_two(&runs[0], &runs[1])
    };
    let worse = compare("lateness/1kHz", 5_000_000);
    assert_eq!(worse.rows[0].change, RowChange::Regression);
    assert!(worse.is_worse() && worse.render().contains("p99 15 µs -> p99 5 ms"));
    assert_eq!(worse.rows[1].change, RowChange::Same, "the median");
    assert!(!compare("lateness/1kHz", 16_000).is_worse());
    assert!(!compare("another", 5_000_000).is_worse(), "it has no goal");
    let with_values = |id: &str, additional| Row {
        id: id.to_owned(),
        additional,
        ..Row::default()
    };
    let drift = |ticks| {
        let drift_ticks = Some(ticks);
        with_values(
            "lateness/1kHz",
            AdditionalValues {
                drift_ticks,
                ..AdditionalValues::default()
            },
        )
    };
    assert_eq!(change(drift(0.0), drift(-1.0)), RowChange::Same);
    assert_eq!(change(drift(0.0), drift(-7.0)), RowChange::Regression);
    let memory = |bytes| {
        let bytes_each = Some(bytes);
        with_values(
            "create/st/ours",
            AdditionalValues {
                bytes_each,
                ..AdditionalValues::default()
            },
        )
    };
    assert_eq!(change(memory(145.0), memory(190.0)), RowChange::Regression);
    let peak = |mib| {
        let peak_mib = Some(mib);
        with_values(
            "blitz/mt/ours",
            AdditionalValues {
                peak_mib,
                ..AdditionalValues::default()
            },
        )
    };
    assert_eq!(change(peak(50.0), peak(90.0)), RowChange::Regression);
}

#[test]
fn a_goal_that_is_missed_now_and_new_losses_are_named() {
    let run = |cpu: &str, verdict: &str, goal: &str, lost: u64| {
        let row = timed("t", 100..110).with_counts(10, 10 - lost);
        let mut run = run(cpu, vec![row]);
        let verdict = json!({ "id": "t", "goal": goal, "measured": "9 ns", "verdict": verdict });
        let settings = &mut run.programs[0].settings;
        settings.insert(VERDICTS_KEY.to_owned(), json!([verdict]));
        run
    };
    let old = run("a", "met", "< 10 ns", 0);
    let compare = |new: &RunRecord| compare_two(&old, new);
    let missed = compare(&run("a", "missed", "< 10 ns", 3));
    let text = missed.render();
    assert!(
        text.contains("goal missed x: t  < 10 ns: 9 ns -> 9 ns: missed"),
        "{text}"
    );
    assert!(
        text.contains("losses      x: t  3 of 10, none before"),
        "{text}"
    );
    assert!(!missed.is_worse(), "within noise");
    for new in [
        run("a", "met, limit within the interval", "< 10 ns", 0),
        run("a", "missed", "< 5 ns", 0),
        run("b", "missed", "< 10 ns", 0),
    ] {
        let compared = compare(&new);
        assert!(compared.missed_goals.is_empty(), "{new:?}");
        assert!(compared.new_losses.is_empty(), "{new:?}");
    }
}

#[test]
fn between_machines_only_ratios_are_compared() {
    let old = timed("a", 10..20);
    let new = timed("a", 100..200);
    let compared = compare_two(&run("a", vec![old]), &run("b", vec![new]));
    assert!(!compared.is_worse() && compared.rows[0].values_text.is_none());
    assert_eq!(compared.rows[0].change, RowChange::NotCompared);
    let text = compared.render();
    assert!(text.contains("1 not compared, 0 within noise"), "{text}");
    let compared = compare_two(
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
            json!({ "floor_ns": floor_ns, "rounds": 20, "ratio": ratio, "ratio_ci": ratio_ci })
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
        let compared = compare_two(&old, &in_states(new));
        (compared.rows[0].change, compared.rows[0].floor_ns)
    };
    let same = (RowChange::Same, Some(60.0));
    assert_eq!(change(&[(62.0, 1.21), (250.0, 1.49)]), same);
    let far = (RowChange::Regression, Some(240.0));
    assert_eq!(change(&[(62.0, 1.0), (250.0, 2.1)]), far, "in one of them");
    assert_eq!(change(&[(200.0, 2.1)]), far, "in the only one");
    assert_eq!(change(&[(62.0, 1.21)]), same, "not with the far state");
    assert_eq!(change(&[(120.0, 3.0)]), (RowChange::OtherState, None));
    let other = compare_two(&old, &in_states(&[(120.0, 3.0)]));
    assert!(other.render().contains("1 in other states of the machine"));
    assert!(!other.is_worse());
}
