//! Rounds of either floor may follow each other.

use std::time::Duration;

use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::pin::CpuPair;
use horus_benchmarks::measure::tsc::TscClock;
use horus_benchmarks::run::args::MeasurementEffort;
use horus_benchmarks::run::floor::*;

#[test]
fn rounds_of_either_floor_may_follow_each_other() {
    let cpu = pin::allowed_cpus().unwrap()[0];
    let cpus = CpuPair {
        near: cpu,
        far: cpu,
    };
    let clock = TscClock::calibrate(Duration::from_millis(1));
    // A thread of its own, so that the test runner's threads keep their freedom.
    std::thread::spawn(move || {
        pin::pin_current_thread(cpu).unwrap();
        let effort = MeasurementEffort {
            rounds: 3,
            warm_up: 1,
            samples: 100,
        };
        let place = Placement::CrossThread;
        let (mut floor, spin) = Floor::new(place, cpus, &clock, effort).unwrap();
        assert!(
            spin.one_line
                .p50_ns
                .iter()
                .chain(&spin.two_lines.p50_ns)
                .all(|&ns| ns > 0.0)
        );
        for lines in [
            FloorCacheLines::Two,
            FloorCacheLines::One,
            FloorCacheLines::One,
            FloorCacheLines::Two,
        ] {
            let round = floor.measure_round(lines, 3, 50).unwrap();
            assert_eq!(
                (round.sent, round.received, round.ticks.count()),
                (13, 13, 13)
            );
        }
        let offset = floor.check_counter_offset(&clock).unwrap();
        assert_eq!(offset.backwards, 0, "one CPU has one counter");
    })
    .join()
    .unwrap();
}
