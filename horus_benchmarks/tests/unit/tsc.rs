//! The counter is calibrated, and distrusted where it has to be.

use std::time::Duration;

use horus_benchmarks::measure::tsc::*;

#[test]
fn calibrated_clock_agrees_with_the_monotonic_clock() {
    let clock = TscClock::calibrate(Duration::from_millis(20));
    let (first_ns, first) = read_clock_and_counter(clock.source);
    std::thread::sleep(Duration::from_millis(20));
    let (last_ns, last) = read_clock_and_counter(clock.source);
    let ratio = clock.to_ns(last.since(first)) / (last_ns - first_ns) as f64;
    assert!((ratio - 1.0).abs() < 0.01, "ratio {ratio}");
    assert_eq!(clock.reading_overhead.count(), 100_000);
}

#[test]
fn resolution_is_the_usual_step_between_values_seen() {
    assert_eq!(usual_step_between([26, 52, 78, 104, 208].into_iter()), 26);
    assert_eq!(usual_step_between([25, 26, 51, 52, 77, 78].into_iter()), 25);
    assert_eq!(usual_step_between([30, 32, 34, 36].into_iter()), 2);
    assert_eq!(usual_step_between(30..90), 1);
    assert_eq!(usual_step_between([].into_iter()), 1);
    assert!(TscClock::calibrate(Duration::from_millis(1)).resolution_ticks >= 1);
}

#[test]
fn invariance_needs_every_flag() {
    let all = "processor : 0\nflags : fpu rdtscp constant_tsc nonstop_tsc\n";
    assert!(has_invariant_tsc_flags(all));
    for flag in ["rdtscp", "constant_tsc", "nonstop_tsc"] {
        assert!(
            !has_invariant_tsc_flags(&all.replace(flag, "other")),
            "{flag}"
        );
    }
    assert!(!has_invariant_tsc_flags(""));
}

#[test]
fn offset_check_refuses_time_travel_and_lopsided_paths() {
    assert!(CounterOffsetCheck::new(100.0, 110.0, 0).sane);
    assert!(!CounterOffsetCheck::new(100.0, 110.0, 1).sane);
    assert!(!CounterOffsetCheck::new(10.0, 200.0, 0).sane);
    assert_eq!(CounterOffsetCheck::new(120.0, 80.0, 0).offset_ns, 20.0);
}

#[test]
fn ticks_do_not_wrap_when_the_counter_runs_backwards() {
    assert_eq!(Ticks(5).checked_since(Ticks(7)), None);
    assert_eq!(Ticks(5).since(Ticks(7)), 0);
    assert_eq!(Ticks(9).checked_since(Ticks(7)), Some(2));
}
