//! Running a benchmark and holding its rows to the contract: what the tests of all of them share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use horus_benchmarks::report::rows::{Report, Row};
use serde_json::Value;

use crate::histogram_log::read_histogram_log;

/// Carriers on which nothing is overwritten before it is read.
const LOSSLESS: [&str; 7] = [
    "/spsc_shm/",
    "/mpsc_shm/",
    "/topic_reliable/",
    "/topic_reliable_sole/",
    "/direct/",
    "/spsc/",
    "/mpsc/",
];

pub(crate) const ROUNDS: u64 = 2;
pub(crate) const SAMPLES: u64 = 100;

/// Held while a benchmark runs. WHY: two at once would spin for each other's CPUs.
static CPUS: Mutex<()> = Mutex::new(());

/// Runs a benchmark; also its process id.
pub(crate) fn run_process(binary: &str, arguments: &[&str]) -> (Output, u32) {
    let _cpus = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command
        .spawn()
        .expect("the binary was built with this test");
    let pid = child.id();
    (
        child.wait_with_output().expect("its output can be read"),
        pid,
    )
}

pub(crate) fn run(binary: &str, arguments: &[&str]) -> Output {
    run_process(binary, arguments).0
}

pub(crate) fn run_to_json(binary: &str, json: &Path, arguments: &[&str]) -> (Output, Value) {
    let rounds = ROUNDS.to_string();
    let samples = SAMPLES.to_string();
    let mut all = vec![
        "--quick",
        "--rounds",
        &rounds,
        "--samples",
        &samples,
        "--json",
    ];
    all.push(json.to_str().expect("a temporary path is UTF-8"));
    all.extend(arguments);
    let output = run(binary, &all);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read_to_string(json).unwrap();
    let histograms = read_histogram_log(&json.with_extension("hlog")).unwrap();
    assert!(
        histograms
            .iter()
            .all(|(id, samples)| text.contains(id) && !samples.is_empty())
    );
    (output, serde_json::from_str(&text).unwrap())
}

pub(crate) fn assert_row_is_sound(row: &Row) {
    let id = &row.id;
    assert!(row.received_messages() > 0, "{id}");
    assert_eq!(
        row.sent_messages(),
        row.received_messages() + row.lost_messages(),
        "{id}"
    );
    let ns = row.ns.unwrap_or_else(|| panic!("{id} has no percentiles"));
    let low = [ns.p1, ns.p5, ns.p25].map(|percentile| percentile.expect("new records have it"));
    let high = [ns.p90, ns.p95, ns.p99, ns.p99_9, ns.p99_99, ns.max];
    let rising = [&[ns.min][..], &low, &[ns.p50], ns.p75.as_slice(), &high].concat();
    assert!(rising.is_sorted() && ns.min >= 0.0, "{id}: {rising:?}");
    assert!(ns.min <= ns.mean && ns.mean <= ns.max, "{id}");
    let filtered = row
        .filtered_ns
        .unwrap_or_else(|| panic!("{id} has no filtered view"));
    assert!(
        filtered.ns.max <= ns.max && filtered.removed < row.sent_messages(),
        "{id}"
    );
    let spread = row
        .spread
        .unwrap_or_else(|| panic!("{id} does not say how sure it is"));
    assert!(
        spread.rounds > 0 && spread.p50_ci[0] <= spread.p50_ci[1],
        "{id}: {spread:?}"
    );
}

/// Directories that the process `pid` made for itself and left behind.
pub(crate) fn namespaces_left_by(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("horus-bench-{pid}-");
    let entries = ["/dev/shm".into(), std::env::temp_dir()]
        .into_iter()
        .flat_map(std::fs::read_dir);
    let names = entries.flatten().flatten().map(|entry| entry.path());
    names
        .filter(|path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(&prefix))
        })
        .collect()
}

/// Checks a row of `all_paths_latency`: nothing depends on the speed of the machine.
fn assert_path_row_is_sound(row: &Row, settings: &Value) {
    let id = &row.id;
    let is_stream = id.starts_with("throughput/");
    if is_stream {
        assert_eq!(
            row.sent_messages(),
            row.received_messages() + row.lost_messages(),
            "{id}"
        );
        assert!(
            row.received_messages() > 0 && row.msgs_per_s.unwrap() > 0.0,
            "{id}"
        );
        assert!(row.ns.is_none() && row.send_ns.is_none(), "{id}");
    } else {
        assert_row_is_sound(row);
        assert_eq!(row.lost_messages(), 0, "{id}");
        assert!(row.msgs_per_s.is_none(), "{id}");
    }
    if LOSSLESS.iter().any(|ring| id.contains(ring)) {
        assert_eq!(row.lost_messages(), 0, "{id}");
    }
    let between_two = id.contains("/cross_");
    assert_eq!(
        row.floor_ratio.is_some(),
        id.starts_with("one_way/") && between_two,
        "{id}"
    );
    if let Some(ratio) = row.floor_ratio {
        assert!(ratio > 0.0, "{id}");
        assert_eq!(row.floor_ratio_ci, None, "{id}: of few rounds");
        let send = row
            .send_ns
            .unwrap_or_else(|| panic!("{id} does not say what send costs"));
        assert!(0.0 <= send.p50 && send.p50 <= send.p99, "{id}");
        assert!(settings["one_way_by_tsc"].get(id).is_some(), "{id}");
    }
    if between_two && !id.starts_with("floor/") {
        let floors = settings["floor_ns"][id].as_array().unwrap();
        assert!(floors.iter().all(|ns| ns.as_f64().unwrap() > 0.0), "{id}");
        assert!(settings["rounds_repeated"][id].is_u64(), "{id}");
    }
    if between_two && is_stream {
        for stream in settings["streams"][id].as_array().unwrap() {
            assert!(stream["sent_per_s"].as_f64().unwrap() > 0.0, "{id}");
            assert_eq!(stream["floor_ns"].as_array().unwrap().len(), 2, "{id}");
        }
    }
}

/// Runs a benchmark of paths at its least, and holds all of its rows to the contract; its report
/// and what it printed.
pub(crate) fn run_paths(binary: &str, arguments: &[&str]) -> (Report, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let smallest = ["--quick", "--rounds", "1", "--samples", "3", "--json"];
    let json = json.to_str().expect("a temporary path is UTF-8");
    let (output, pid) = run_process(binary, &[&smallest[..], &[json], arguments].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(namespaces_left_by(pid), Vec::<PathBuf>::new());
    let report: Report = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let settings = Value::Object(report.settings.clone());
    for row in report.rows.iter().filter(|row| !row.id.starts_with("vs_")) {
        assert_path_row_is_sound(row, &settings);
        assert!(table.contains(&row.id), "no {} in\n{table}", row.id);
        assert!(
            !report.measurement_method(&row.id).is_empty(),
            "{} does not say how",
            row.id
        );
    }
    (report, table)
}
