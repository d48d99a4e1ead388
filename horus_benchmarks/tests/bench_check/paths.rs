//! Runs the benchmarks whose rows are paths with a few messages, and holds them to the contract.

use std::collections::BTreeSet;

use horus_benchmarks::report::rows::Report;

use crate::common::{run, run_paths};

const CROSS_PROCESS: &str = env!("CARGO_BIN_EXE_cross_process_benchmark");
const ROBOTICS: &str = env!("CARGO_BIN_EXE_robotics_messages_benchmark");
const FANOUT_SHM: &str = env!("CARGO_BIN_EXE_fanout_shm_bench");
const ICEORYX2: &str = env!("CARGO_BIN_EXE_iceoryx2_comparison");

/// `<kind>/<place>/<ring>/<size>` of every combination.
fn ids(kind: &str, place: &str, rings: &[&str], sizes: &[&str]) -> Vec<String> {
    let of = |ring| {
        sizes
            .iter()
            .map(move |size| format!("{kind}/{place}/{ring}/{size}"))
    };
    rings.iter().flat_map(of).collect()
}

fn assert_ids(report: &Report, wanted: &[Vec<String>]) {
    let found: BTreeSet<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
    let wanted: Vec<String> = wanted.concat();
    assert_eq!(found, wanted.iter().map(String::as_str).collect());
    assert_eq!(found.len(), report.rows.len(), "an id occurs twice");
}

#[test]
fn processes_exchange_messages_of_every_size() {
    let (report, _) = run_paths(CROSS_PROCESS, &[]);
    let sizes = ["8B", "16B", "304B", "1480B", "4KB", "16KB", "64KB"];
    let rings = ["spsc_shm", "mpsc_shm", "fanout_shm", "pod_shm"];
    let place = "cross_process";
    assert_ids(
        &report,
        &[
            ids("one_way", place, &rings, &sizes),
            ids("throughput", place, &rings[..3], &sizes),
            ids("floor", place, &["two_lines"], &["8B"]),
        ],
    );
    // Where a word has no room for a stamp, nobody invents one.
    let small = report.row("one_way/cross_process/spsc_shm/8B").unwrap();
    assert_eq!(small.additional.tsc_ns, None);
}

#[test]
fn messages_of_robots_have_headroom_and_their_loops_a_verdict() {
    let (report, printed) = run_paths(ROBOTICS, &[]);
    let sizes = ["CmdVel", "Imu", "JointCommand", "LaserScan"];
    let of = |kind, place| ids(kind, place, &["topic"], &sizes);
    assert_ids(
        &report,
        &[
            of("one_way", "cross_thread"),
            of("throughput", "cross_thread"),
            of("one_way", "cross_process"),
            of("throughput", "cross_process"),
            ids("floor", "cross_thread", &["two_lines"], &["8B"]),
            ids("floor", "cross_process", &["two_lines"], &["8B"]),
        ],
    );
    for row in report
        .rows
        .iter()
        .filter(|row| row.id.starts_with("throughput/"))
    {
        let hz = match row.id.rsplit('/').next().unwrap() {
            "CmdVel" => 1000.0,
            "LaserScan" => 40.0,
            _ => 500.0,
        };
        let headroom = row
            .additional
            .headroom
            .unwrap_or_else(|| panic!("{} has none", row.id));
        assert!(
            (headroom * hz / row.msgs_per_s.unwrap() - 1.0).abs() < 1e-9,
            "{}",
            row.id
        );
    }
    for place in ["cross_thread", "cross_process"] {
        let loops = report.settings["real_time"][place].as_array().unwrap();
        assert_eq!(loops.len(), 5);
        for one in loops {
            let id = format!("one_way/{place}/topic/{}", one["message"].as_str().unwrap());
            let ns = report.row(&id).unwrap().ns.unwrap();
            assert_eq!(
                (&one["p99_ns"], &one["max_ns"]),
                (&ns.p99.into(), &ns.max.into())
            );
            let fits = ns.max <= one["budget_ns"].as_f64().unwrap();
            assert_eq!(one["result"] == "PASS", fits, "{one}");
        }
        assert!(
            printed.contains(&format!("Real-time suitability, {place}")),
            "{printed}"
        );
    }
}

#[test]
fn two_processes_that_publish_and_subscribe_account_for_every_message() {
    let (report, _) = run_paths(FANOUT_SHM, &[]);
    let rings = ["fanout_shm_duplex", "topic_duplex"];
    let sizes = ["16B", "304B", "1480B"];
    assert_ids(
        &report,
        &[
            ids("one_way", "cross_process", &rings, &sizes),
            ids("throughput", "cross_process", &rings, &sizes),
            ids("floor", "cross_process", &["two_lines"], &["8B"]),
        ],
    );
    for row in report
        .rows
        .iter()
        .filter(|row| row.id.starts_with("throughput/"))
    {
        assert!(
            row.sent_messages().is_multiple_of(2),
            "{}: what one gets, the other gets too",
            row.id
        );
    }
}

#[test]
fn rows_of_two_ends_on_one_cpu_say_that_they_are_oversubscribed() {
    let cpu = horus_benchmarks::measure::pin::allowed_cpus().unwrap()[0];
    let pair = format!("{cpu},{cpu}");
    let (report, printed) = run_paths(
        FANOUT_SHM,
        &["--cpus", &pair, "--filter", "one_way/cross_process/fanout"],
    );
    assert!(report.rows.len() == 3 && report.rows.iter().all(|row| row.oversubscribed));
    assert!(printed.contains("oversubscribed; RTT/2"), "{printed}");
}

#[cfg(not(feature = "iceoryx2"))]
#[test]
fn without_iceoryx2_the_comparison_says_how_to_get_it() {
    let output = run(ICEORYX2, &["--quick"]);
    assert_eq!(output.status.code(), Some(77), "the code of a skipped one");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("--bin iceoryx2_comparison --features iceoryx2"),
        "{message}"
    );
}

#[cfg(feature = "iceoryx2")]
#[test]
fn iceoryx2_is_compared_on_every_path() {
    let directory = tempfile::tempdir().unwrap();
    let (_, json) = crate::common::run_to_json(ICEORYX2, &directory.path().join("out.json"), &[]);
    let report: Report = serde_json::from_value(json).unwrap();
    let ids: BTreeSet<_> = report.rows.iter().map(|row| &row.id).collect();
    assert_eq!(ids.len(), report.rows.len(), "two rows have the same id");
    for id in [
        "vs_iceoryx2/same_thread/16B",
        "vs_iceoryx2/cross_thread/16B",
        "vs_iceoryx2/cross_process/16B",
        "vs_iceoryx2/cross_process/1480B",
        "vs_iceoryx2/throughput/8B",
        "vs_iceoryx2/throughput_sole/8B",
        "vs_iceoryx2/mpmc_2p2s/16B",
        "vs_iceoryx2/loan/1480B",
        "vs_iceoryx2/loan/64KB",
        "vs_iceoryx2/wakeup",
    ] {
        let row = report.row(id).unwrap_or_else(|| panic!("no {id}"));
        assert!(
            row.sent_messages() == row.received_messages() + row.lost_messages()
                && row.received_messages() > 0,
            "{id}"
        );
        let figures = row.additional;
        assert!(
            figures.ours.unwrap() > 0.0 && figures.theirs.unwrap() > 0.0,
            "{id}"
        );
        assert!(figures.ratio.unwrap() > 0.0, "{id}");
        assert_eq!(figures.ratio_ci, None, "{id}: of two rounds");
        assert!(
            !report.measurement_method(id).is_empty(),
            "{id} does not say how"
        );
    }
    assert!(run(ICEORYX2, &["--help"]).status.success());
}
