//! Rounds are compared with the rounds next to them, in alternating order.

use horus_benchmarks::measure::rounds::{SamplesByRound, alternating_order};
use horus_benchmarks::measure::stats::Samples;

#[test]
fn every_other_round_is_backwards_and_a_ratio_is_of_rounds_next_to_each_other() {
    let mut all = [SamplesByRound::default(), SamplesByRound::default()];
    let mut order = Vec::new();
    for number in 0..4 {
        for index in alternating_order(number, all.len()) {
            order.push(index);
            let mut round = Samples::new();
            round.record(if index == 0 { 100 } else { 300 } * (u64::from(number) + 1));
            all[index].add_round(&round, 1);
        }
    }
    assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0]);
    assert_eq!((all[0].samples.count(), all[0].medians.len()), (4, 4));
    let ratio = all[1].ratio_to(&all[0]).unwrap();
    assert!((ratio.median - 3.0).abs() < 1e-9);
    assert_eq!(SamplesByRound::default().ratio_to(&all[0]), None);
}
