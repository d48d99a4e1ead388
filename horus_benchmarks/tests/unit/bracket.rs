//! A round counts if the floor was the same before and after it.

use horus_benchmarks::measure::bracket::*;
use horus_benchmarks::measure::state::find_machine_states;

/// Brackets of subjects that are numbered, with these floors in nanoseconds (the last one stays).
fn bracketed(rounds: u32, floors: &[u64]) -> RoundsBetweenFloors<u32> {
    let mut all = bracketed_cycles(rounds, 1, floors);
    all.pop().unwrap()
}

/// The same of several candidates, in turn.
fn bracketed_cycles(
    rounds: u32,
    candidates: usize,
    floors: &[u64],
) -> Vec<RoundsBetweenFloors<u32>> {
    let mut floors = floors.iter().map(|&ns| ns as f64);
    let mut last = 0.0;
    let floor = || {
        last = floors.next().unwrap_or(last);
        Ok::<_, ()>(last)
    };
    let mut number = 0;
    let measure_candidate = |_| {
        number += 1;
        Ok(number)
    };
    run_rounds_between_floors(rounds, candidates, floor, measure_candidate).unwrap()
}

fn counting(measured: &RoundsBetweenFloors<u32>) -> Vec<u32> {
    let rounds = measured.rounds_in_result();
    rounds.map(|bracket| bracket.result).collect()
}

#[test]
fn a_round_in_which_the_floor_changed_is_repeated() {
    let near = [10_000, 10_100, 10_000, 10_100];
    let far = [50_000, 50_500, 50_000, 50_500];
    let measured = bracketed(6, &[near, far].concat());
    assert_eq!(counting(&measured), [1, 2, 3, 5, 6, 7]);
    assert_eq!(
        (measured.repeated, measured.unsteady, measured.all.len()),
        (1, 0, 7)
    );
    let [least, median, largest] = measured.floor_min_median_max_ns().unwrap();
    assert!(least < median && median <= largest);
    let (ratio, states) = measured.ratio_to_floor_by_state(|_| 5_000.0);
    assert!(ratio.unwrap().interval.unwrap()[0] > 0.0);
    assert_eq!(
        states.iter().map(|state| state.rounds).collect::<Vec<_>>(),
        [3, 3]
    );
    assert_eq!(states[1].numbers, [3, 4, 5]);
    assert!(states[0].floor_ns < states[1].floor_ns && states[0].ratio > states[1].ratio);
}

/// Otherwise one candidate would be compared with another that ran on a faster machine.
#[test]
fn a_cycle_in_which_the_machine_changed_does_not_count_for_any_candidate() {
    // The floor before the first candidate, and after each of the three.
    let measured = bracketed_cycles(2, 3, &[50, 50, 180, 182, 180, 181, 180, 182, 181, 180]);
    assert_eq!(
        measured.iter().map(counting).collect::<Vec<_>>(),
        // Every other cycle runs backwards.
        [[6, 7], [5, 8], [4, 9]]
    );
    let first = &measured[0].all[1];
    assert_eq!((first.before_ns, first.after_ns), (181.0, 180.0));
    assert!(
        measured
            .iter()
            .all(|one| (one.repeated, one.unsteady) == (1, 0))
    );
}

/// The floors of a longer cycle differ more, although the machine stays in one state.
#[test]
fn a_cycle_of_many_candidates_within_one_state_counts() {
    let near = [55, 54, 62, 66, 53, 57, 54, 65, 54];
    let repeated = |floors: &[u64]| {
        let measured = bracketed_cycles(2, 8, floors);
        (measured[0].repeated, measured[0].unsteady)
    };
    let steady = [&near[..], &near[1..]].concat();
    assert_eq!(repeated(&steady), (0, 0));
    let far = [182, 177, 203, 182, 178, 182, 188, 182];
    let moved = [&near[..5], &far[..4], &far, &far].concat();
    assert_eq!(repeated(&moved), (1, 0));
}

/// The percentiles beside it are of the messages of all rounds.
#[test]
fn the_range_of_the_floor_is_that_of_all_rounds() {
    let measured = bracketed(1, &[50, 180, 180]);
    assert_eq!(counting(&measured), [2]);
    assert_eq!(
        measured.floor_min_median_max_ns(),
        Some([115.0, 147.5, 180.0])
    );
}

#[test]
fn on_a_restless_machine_the_least_unsteady_rounds_count() {
    let measured = bracketed(1, &[10_000, 50_000, 30_000, 300_000]);
    assert_eq!(counting(&measured), [2]);
    assert_eq!(
        (measured.repeated, measured.unsteady, measured.all.len()),
        (2, 1, 3)
    );
    assert_eq!(measured.ratio_to_floor_by_state(|_| 5_000.0).1.len(), 1);
    assert!(bracketed(0, &[10]).floor_min_median_max_ns().is_none());
}

#[test]
fn one_slow_floor_is_no_state_of_the_machine() {
    let split = |floors: &[f64]| {
        let pairs: Vec<_> = floors.iter().map(|&floor| (floor, 100.0)).collect();
        let states = find_machine_states(floors, &pairs);
        states.iter().map(|state| state.rounds).collect::<Vec<_>>()
    };
    let near = [55.0; 39];
    assert_eq!(split(&[&near[..], &[250.0]].concat()), [40]);
    assert_eq!(split(&[&near[..], &[182.0, 600.0]].concat()), [41]);
    assert_eq!(
        split(&[&near[..], &[180.0, 182.0, 600.0]].concat()),
        [39, 3]
    );
    // The widest gap is not the one below the disturbance.
    let far = [180.0; 20];
    assert_eq!(split(&[&near[..], &far, &[700.0]].concat()), [39, 21]);
    assert_eq!(split(&[50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0]), [7]);
    assert_eq!(split(&[]), Vec::<usize>::new());
}

#[test]
fn a_state_of_few_rounds_has_no_interval() {
    let floors = [[55.0; 10], [182.0; 10]].concat();
    let states = find_machine_states(&floors[..15], &[(1.0, 2.0); 15]);
    assert_eq!((states[0].rounds, states[1].rounds), (10, 5));
    assert_eq!(states[0].ratio_interval(), Some([2.0, 2.0]));
    assert_eq!(states[1].ratio_interval(), None);
}
