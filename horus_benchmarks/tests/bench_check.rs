//! Runs each benchmark binary with a few messages and holds its JSON to the contract.
//!
//! Nothing here depends on how fast the machine is.

use horus_testing as _;

#[path = "bench_check/actors.rs"]
mod actors;
#[path = "bench_check/common.rs"]
mod common;
#[path = "common/histogram_log.rs"]
mod histogram_log;
#[path = "bench_check/paths.rs"]
mod paths;
#[path = "bench_check/rivals.rs"]
mod rivals;

use horus_benchmarks::report::rows::Report;
use horus_benchmarks::run::bounce::PAUSES_AFTER_POLL_MAX;

use common::{ROUNDS, SAMPLES, assert_row_is_sound, run, run_paths, run_to_json};

const RAW_BASELINES: &str = env!("CARGO_BIN_EXE_raw_baselines");

const RAW_BASELINES_IDS: [&str; 11] = [
    "floor/cross_thread/one_line/8B",
    "floor/cross_thread/two_lines/8B",
    "floor/cross_process/one_line/8B",
    "floor/cross_process/two_lines/8B",
    "floor/same_thread/store_load/8B",
    "floor/same_thread/memcpy/8B",
    "floor/same_thread/memcpy/1KB",
    "floor/same_thread/memcpy/8KB",
    "floor/same_thread/memcpy/64KB",
    "floor/same_thread/mmap_write_read/8B",
    "floor/same_thread/timer/overhead",
];

const ALL_PATHS_LATENCY: &str = env!("CARGO_BIN_EXE_all_paths_latency");

const ONE_THREAD: [&str; 5] = ["direct", "spsc", "spsc_shm", "fanout_shm", "topic"];

const CHANNELS: [&str; 4] = ["spsc", "spmc", "mpsc", "fanout"];

const ONE_WAY: [&str; 7] = [
    "spsc_shm",
    "mpsc_shm",
    "spmc_shm",
    "fanout_shm",
    "fanout_shm_2p2s",
    "pod_shm",
    "topic",
];

const STREAMS: [&str; 6] = [
    "spsc_shm",
    "mpsc_shm",
    "fanout_shm",
    "topic",
    "topic_reliable",
    "topic_reliable_sole",
];

const WAKEUP_BENCHMARK: &str = env!("CARGO_BIN_EXE_wakeup_benchmark");

/// Without optional features.
const WAKEUPS: [&str; 5] = [
    "wakeup/futex",
    "wakeup/pipe",
    "wakeup/topic/16B",
    "wakeup/topic_fence/16B",
    "wakeup/wait_set/16B",
];

const AWAKE: [&str; 2] = [
    "send_to_the_awake/topic/16B",
    "send_to_the_awake/topic_fence/16B",
];

const DETERMINISM_BENCHMARK: &str = env!("CARGO_BIN_EXE_determinism_benchmark");

const SCHEDULER_BENCHMARK: &str = env!("CARGO_BIN_EXE_scheduler_benchmark");

const TICKS: [&str; 6] = [
    "tick/rust/0_nodes",
    "tick/rust/1_node",
    "tick/rust/10_nodes",
    "tick/rust/50_nodes",
    "tick/rust/1000_nodes",
    "tick/rust/50_nodes/kernel_clock",
];

const LATENESS: [&str; 8] = [
    "floor/nanosleep/1kHz",
    "lateness/1kHz",
    "floor/nanosleep/10kHz",
    "lateness/10kHz",
    "floor/nanosleep/1kHz/awake",
    "lateness/1kHz/awake",
    "floor/nanosleep/10kHz/awake",
    "lateness/10kHz/awake",
];

#[test]
fn raw_baselines_report_every_row_verified_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (output, json) = run_to_json(RAW_BASELINES, &directory.path().join("out.json"), &[]);
    let report: Report = serde_json::from_value(json.clone()).unwrap();

    let ids: Vec<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, RAW_BASELINES_IDS);
    let table = String::from_utf8(output.stdout).unwrap();
    for row in &report.rows {
        assert_row_is_sound(row);
        assert_eq!(row.lost_messages(), 0, "{}", row.id);
        assert!(table.contains(&row.id), "no {} in\n{table}", row.id);
        assert!(
            !report.measurement_method(&row.id).is_empty(),
            "{} does not say how",
            row.id
        );
    }
    for row in report
        .rows
        .iter()
        .filter(|row| row.id.starts_with("floor/cross_"))
    {
        // A round tries each number of pauses with its share of the samples; the best one counts.
        let share = SAMPLES.div_ceil(u64::from(PAUSES_AFTER_POLL_MAX) + 1);
        assert_eq!(row.sent_messages(), ROUNDS * share, "{}", row.id);
    }
    assert!(json["machine"]["timer_overhead_ns"].as_f64().unwrap() > 0.0);
    assert_eq!(json["settings"]["rounds"], ROUNDS);
    assert!(!report.commit.is_empty());
}

#[test]
fn only_the_one_line_floor_has_a_ratio() {
    let directory = tempfile::tempdir().unwrap();
    let (_, json) = run_to_json(RAW_BASELINES, &directory.path().join("out.json"), &[]);
    for row in json["rows"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        let has_ratio = row.get("floor_ratio").is_some();
        assert_eq!(has_ratio, id.contains("one_line"), "{id}");
        if has_ratio {
            let ratio = row["floor_ratio"].as_f64().unwrap();
            assert!(ratio > 0.0, "{id}");
            assert_eq!(row.get("floor_ratio_ci"), None, "{id}: of few rounds");
        }
        assert!(
            row.get("msgs_per_s").is_none() && row.get("send_ns").is_none(),
            "{id}"
        );
    }
}

#[test]
fn a_filter_selects_rows_and_one_cpu_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let cpu = horus_benchmarks::measure::pin::allowed_cpus().unwrap()[0];
    let pair = format!("{cpu},{cpu}");
    let arguments = ["--filter", "cross_process/two_lines", "--cpus", &pair];
    let (output, json) = run_to_json(
        RAW_BASELINES,
        &directory.path().join("out.json"),
        &arguments,
    );
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["id"], "floor/cross_process/two_lines/8B");
    assert!(String::from_utf8_lossy(&output.stdout).contains("oversubscribed"));
}

#[test]
fn an_unknown_argument_is_an_error_and_help_is_not() {
    let wrong = run(RAW_BASELINES, &["--fast"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("unexpected argument '--fast'"));
    let help = run(RAW_BASELINES, &["--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("--quick"));
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let lost = [
        "--quick",
        "--rounds",
        "1",
        "--samples",
        "10",
        "--json",
        "/nowhere/out.json",
    ];
    let output = run(RAW_BASELINES, &lost);
    assert_eq!(output.status.code(), Some(1));
}

fn all_paths_ids() -> Vec<String> {
    let mut ids = Vec::new();
    let mut add = |kind: &str, place: &str, rings: &[&str]| {
        for ring in rings {
            ids.extend(
                ["16B", "304B", "1480B"].map(|size| format!("{kind}/{place}/{ring}/{size}")),
            );
        }
    };
    add("one_way", "same_thread", &ONE_THREAD);
    add("throughput", "same_thread", &STREAMS);
    add("throughput", "same_thread", &["direct", "spsc"]);
    add("one_way", "cross_thread", &CHANNELS);
    add("throughput", "cross_thread", &["spsc", "mpsc"]);
    for place in ["cross_thread", "cross_process"] {
        add("one_way", place, &ONE_WAY);
        add("throughput", place, &STREAMS);
    }
    ids.extend(["cross_thread", "cross_process"].map(|p| format!("floor/{p}/two_lines/8B")));
    ids.sort_unstable();
    ids
}

#[test]
fn all_paths_report_every_row_verified_and_leave_nothing_behind() {
    let (report, table) = run_paths(ALL_PATHS_LATENCY, &[]);
    let mut ids: Vec<String> = report.rows.iter().map(|row| row.id.clone()).collect();
    ids.sort_unstable();
    assert_eq!(ids, all_paths_ids());
    assert_eq!(report.settings["capacity"], 256);
    assert!(table.contains("Goals"), "{table}");
}

#[test]
fn a_filter_selects_paths() {
    let directory = tempfile::tempdir().unwrap();
    let filter = ["--filter", "one_way/cross_thread/topic/304B"];
    let (_, json) = run_to_json(
        ALL_PATHS_LATENCY,
        &directory.path().join("out.json"),
        &filter,
    );
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["id"], filter[1]);
    assert_eq!(rows[0]["sent"].as_u64().unwrap() % SAMPLES, 0);
}

#[test]
fn wakeups_are_of_every_way_and_compared_with_the_futex() {
    let directory = tempfile::tempdir().unwrap();
    let (output, json) = run_to_json(WAKEUP_BENCHMARK, &directory.path().join("out.json"), &[]);
    let report: Report = serde_json::from_value(json.clone()).unwrap();
    for id in WAKEUPS.iter().chain(&AWAKE) {
        let row = report.row(id).unwrap_or_else(|| panic!("no {id}"));
        assert_row_is_sound(row);
        assert_eq!(row.lost_messages(), 0, "{id}");
        assert!(
            !report.measurement_method(id).is_empty(),
            "{id} does not say how"
        );
    }
    for id in WAKEUPS {
        let row = report.row(id).unwrap();
        assert_eq!(row.sent_messages(), ROUNDS * SAMPLES, "{id}");
        assert!(
            row.send_ns
                .is_some_and(|send| 0.0 < send.p50 && send.p50 <= send.p99),
            "{id}"
        );
        let ratios = json["settings"]["ratio_to"][id].as_object().unwrap();
        assert_eq!(ratios.contains_key(WAKEUPS[0]), id != WAKEUPS[0], "{id}");
        assert!(
            ratios.len() >= WAKEUPS.len() - 1 && !ratios.contains_key(id),
            "{id}"
        );
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("x wakeup/futex"), "{table}");
}

#[test]
fn determinism_is_of_all_samples_and_of_every_run() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let (output, json) = run_to_json(DETERMINISM_BENCHMARK, &json, &[]);
    let report: Report = serde_json::from_value(json.clone()).unwrap();
    let ids: Vec<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
    let wanted = [
        "determinism/topic/16B",
        "determinism/spsc/16B",
        "determinism/cross_thread/topic/16B",
        "determinism/cross_thread/spsc/16B",
        "determinism/cross_process/topic/16B",
    ];
    assert_eq!(ids, wanted);
    for (row, raw) in report.rows.iter().zip(json["rows"].as_array().unwrap()) {
        let id = &row.id;
        assert_row_is_sound(row);
        assert_eq!(
            (row.sent_messages(), row.lost_messages()),
            (ROUNDS * SAMPLES, 0),
            "{id}"
        );
        for field in ["sd_ns", "run_cv", "run_cv_median"] {
            assert!(raw[field].as_f64().unwrap() >= 0.0, "{id}: {field}");
        }
        let misses = raw["deadline_misses"].as_u64().unwrap();
        assert_eq!(
            raw["deadline_miss_share"],
            misses as f64 / row.sent_messages() as f64,
            "{id}"
        );
        // Percentiles are within 0.05 %, and so is what lies beside the deadline.
        assert!(misses == 0 || row.ns.unwrap().max >= 999.0, "{id}");
        assert!(misses > 0 || row.ns.unwrap().max <= 1001.0, "{id}");
        assert_eq!(
            json["settings"]["runs"][id].as_array().unwrap().len() as u64,
            ROUNDS,
            "{id}"
        );
    }
    assert_eq!(json["settings"]["samples_removed"], 0);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("run CV") && !table.contains("too few for a verdict"),
        "{table}"
    );
}

#[test]
fn schedulers_are_measured_with_every_number_of_nodes_and_at_every_rate() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let (output, json) = run_to_json(SCHEDULER_BENCHMARK, &json, &[]);
    let report: Report = serde_json::from_value(json.clone()).unwrap();
    let row = |id: &str| {
        let row = report.row(id).unwrap_or_else(|| panic!("no {id}"));
        assert_row_is_sound(row);
        assert!(
            !report.measurement_method(id).is_empty(),
            "{id} does not say how"
        );
        row
    };
    for id in TICKS {
        let row = row(id);
        let ns_per_node = row
            .additional
            .ns_per_node
            .unwrap_or_else(|| panic!("{id} has no figure"));
        assert!(ns_per_node > 0.0 && row.lost_messages() == 0, "{id}");
    }
    for id in LATENESS {
        let row = row(id);
        // What is passed over at the end is one of them, too.
        assert!(row.sent_messages() >= SAMPLES, "{id}");
        assert!(row.additional.cpu_percent.unwrap() > 0.0, "{id}");
        assert!(row.additional.drift_ticks.unwrap().is_finite(), "{id}");
        assert!(
            json["settings"]["refused"][id].is_array(),
            "{id} does not say what was refused"
        );
    }
    let stalled = row("floor/stalls").additional.stalled_percent.unwrap();
    assert!((0.0..=100.0).contains(&stalled), "{stalled}");
    let swap = row("swap/blitz");
    assert!(
        swap.lost_messages() == 0
            && swap.sent_messages() > 0
            && swap.additional.swaps_per_s.unwrap() > 0.0
    );
    assert!(swap.msgs_per_s.unwrap() > 0.0);
    let wake = row("event/wake/16B");
    assert_eq!(
        (wake.sent_messages(), row("wakeup/futex").sent_messages()),
        (ROUNDS * SAMPLES, ROUNDS * SAMPLES)
    );
    let table = String::from_utf8(output.stdout).unwrap();
    for wanted in [
        "<= 40 ns a node",
        "p99 < 20.0 us",
        "<= 8 % CPU",
        "2.00 x wakeup/futex",
    ] {
        assert!(table.contains(wanted), "no '{wanted}' in\n{table}");
    }
}
