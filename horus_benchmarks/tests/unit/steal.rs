//! Windows are quiet in which the hypervisor took next to nothing.

use horus_benchmarks::measure::machine::CpuTimes;
use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::steal::*;

#[test]
fn windows_are_quiet_in_which_next_to_nothing_was_taken() {
    let reading = |now_ns, all, steal| (now_ns, CpuTimes { all, steal });
    let readings = [
        reading(5, 0, 0),
        reading(10, 500, 1),
        reading(15, 1000, 3),
        reading(20, 1500, 3),
    ];
    let windows = QuietWindows::from_readings(&readings);
    assert_eq!(
        windows,
        QuietWindows {
            quiet: vec![5..10, 15..20],
            all: 3
        }
    );
    let quiet = [4, 5, 9, 10, 14, 15, 19, 20].map(|ns| windows.is_quiet_at(ns));
    assert_eq!(quiet, [false, true, true, false, false, true, true, false]);
    assert_eq!(QuietWindows::from_readings(&[]), QuietWindows::default());
}

#[test]
fn a_watch_that_is_stopped_at_once_has_no_window() {
    let cpu = pin::allowed_cpus().unwrap()[0];
    assert_eq!(
        StealWatch::start(cpu).unwrap().stop().unwrap(),
        QuietWindows::default()
    );
}
