//! A round counts if the floor was the same before and after it.

use std::time::Duration;

use horus_benchmarks::measure::bracket::*;
use horus_benchmarks::measure::stats::Samples;
use horus_benchmarks::measure::tsc::TscClock;
use horus_benchmarks::measure::workload::Round;
use horus_benchmarks::measure::workload::Timing;

/// Brackets of subjects that are numbered, with floors of `ticks` (the last one stays).
fn bracketed(rounds: u32, ticks: &[u64]) -> BracketedRounds<u32> {
    let clock = TscClock::calibrate(Duration::from_millis(1));
    let mut ticks = ticks.iter().copied().peekable();
    let mut last = 0;
    let floor = || {
        last = ticks.next().unwrap_or(last);
        let mut samples = Samples::new();
        samples.record(last);
        let timing = Timing::OneWay;
        Ok::<_, ()>(Round {
            timing,
            ticks: samples,
            sent: 1,
            received: 1,
            backwards: 0,
        })
    };
    let mut number = 0;
    let subject = || {
        number += 1;
        Ok(number)
    };
    run_between_floors(rounds, &clock, floor, subject).unwrap()
}

#[test]
fn a_round_in_which_the_floor_changed_is_repeated() {
    let measured = bracketed(3, &[10_000, 10_100, 50_000, 50_500, 50_000]);
    let counting: Vec<u32> = measured
        .rounds_that_count()
        .map(|bracket| bracket.subject)
        .collect();
    assert_eq!(counting, [1, 3, 4]);
    assert_eq!(
        (measured.repeated, measured.unsteady, measured.all.len()),
        (1, 0, 4)
    );
    assert_eq!(measured.floor.as_ref().unwrap().sent, 5);
    let [least, median, largest] = measured.floor_range_ns().unwrap();
    assert!(least < median && median <= largest);
    let (ratio, states) = measured.floor_ratio(|_| 5_000.0);
    assert!(ratio.unwrap().low > 0.0);
    assert_eq!(
        states.iter().map(|state| state.rounds).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(states[1].numbers, [1, 2]);
    assert!(states[0].floor_ns < states[1].floor_ns && states[0].ratio > states[1].ratio);
}

#[test]
fn on_a_restless_machine_the_least_unsteady_rounds_count() {
    let measured = bracketed(1, &[10_000, 50_000, 30_000, 300_000]);
    let counting: Vec<u32> = measured
        .rounds_that_count()
        .map(|bracket| bracket.subject)
        .collect();
    assert_eq!(counting, [2]);
    assert_eq!(
        (measured.repeated, measured.unsteady, measured.all.len()),
        (2, 1, 3)
    );
    assert_eq!(measured.floor_ratio(|_| 5_000.0).1.len(), 1);
    assert!(bracketed(0, &[10]).floor_range_ns().is_none());
}
