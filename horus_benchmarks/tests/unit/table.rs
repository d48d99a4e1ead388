//! The report shows the tail, the basis, and only the columns that apply.

use std::time::Duration;

use horus_benchmarks::measure::machine::Machine;
use horus_benchmarks::measure::pin::CpuPair;
use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::measure::tsc::TscClock;
use horus_benchmarks::report::rows::{Report, Row};
use horus_benchmarks::report::table::render;

fn report() -> Report {
    let clock = TscClock::calibrate(Duration::from_millis(1));
    let machine = Machine::probe(CpuPair::choose(None).unwrap(), &clock).unwrap();
    let mut report = Report::new(machine, "abc".to_owned());
    let mut samples = Samples::new();
    (1..=1000).for_each(|value| samples.record(value));
    samples.record(123_456);
    let ratio = Ratio {
        median: 1.25,
        interval: Some([1.2, 1.3]),
    };
    let row = Row::from_samples("one_way/cross_thread/x/16B", &samples, 1.0);
    report.add_row(row.with_floor_ratio(Some(ratio)), "RTT/2");
    report
}

#[test]
fn the_worst_sample_and_the_way_of_measuring_are_in_the_table() {
    let text = render(&report());
    for wanted in [
        "123456",
        "RTT/2",
        "1.25 [1.20, 1.30]",
        "commit abc",
        "not subtracted",
    ] {
        assert!(text.contains(wanted), "no '{wanted}' in\n{text}");
    }
}

#[test]
fn a_row_with_more_busy_threads_than_cpus_says_so() {
    let mut report = report();
    let cpus = report.machine.usable_cpus();
    for threads in [cpus, cpus + 1] {
        let row = Row {
            id: format!("x/{threads}"),
            ..Row::default()
        };
        report.add_row(row.with_busy_threads(threads), "streams");
    }
    assert!(!report.rows[1].oversubscribed && report.rows[2].oversubscribed);
    assert!(render(&report).contains("oversubscribed; streams"));
    report.machine.pinned.far = report.machine.pinned.near;
    report.add_row(
        Row {
            id: "one_way/cross_thread/y".to_owned(),
            ..Row::default()
        },
        "",
    );
    assert!(report.rows[3].oversubscribed);
}

#[test]
fn columns_that_apply_to_no_row_are_left_out() {
    let text = render(&report());
    assert!(!text.contains("msgs/s"));
    assert!(!text.contains("send p50"));
}

#[test]
fn times_and_rates_are_in_tables_of_their_own() {
    let mut report = report();
    report.add_row(
        Row {
            id: "x".to_owned(),
            msgs_per_s: Some(5e6),
            ..Row::default()
        },
        "",
    );
    let text = render(&report);
    let headings: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| id"))
        .collect();
    assert!(headings.len() == 2 && text.contains("5.00M"), "{text}");
    assert!(
        !headings[0].contains("msgs/s") && headings[1].contains("msgs/s"),
        "{text}"
    );
}
