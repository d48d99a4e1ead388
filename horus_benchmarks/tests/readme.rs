//! The tables of the documents are those that their records make.

use horus_testing as _;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use horus_benchmarks::report::readme::{self, ReadmeRecords, update_tables};
use serde_json::{Value, json};

#[test]
fn the_documents_show_what_their_records_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (document, row) in [
        ("README.md", "| 2:2, 16 B | "),
        ("README.md", " of the present goals, and misses "),
        ("docs/performance.md", "| lane, open, 16 B | "),
        ("docs/performance.md", "| `competitor_comparison` | "),
        ("docs/actors.md", "| `create/st` | "),
        ("benchmarks/record/amd-epyc/README.md", "| 2:2, 16 B | "),
        (
            "benchmarks/record/amd-epyc-family-25-model-17/README.md",
            "| 2:2, 16 B | ",
        ),
    ] {
        let path = root.join(document);
        let text = fs::read_to_string(&path).unwrap();
        let (_, link) = text
            .split_once("[record](")
            .expect("the table names its record");
        let (link, _) = link.split_once(')').unwrap();
        let records = ReadmeRecords::read(&path.parent().unwrap().join(link)).unwrap();
        let is_current = |text: &str| update_tables(text, &records, link).unwrap() == text;
        assert!(is_current(&text), "{document}: run `make readme`");
        let typed = text.replacen(row, &format!("{row}1"), 1);
        assert_ne!(typed, text, "{document} has no {row} to change");
        assert!(!is_current(&typed), "a typed number must be seen");
    }
}

/// The record of kill sweeps that the README names says what the README says.
#[test]
fn the_sweeps_were_at_every_instruction_and_nothing_was_wedged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let link = readme
        .split(['(', ')'])
        .find(|link| link.ends_with("/torture.txt"));
    let link = link.expect("README.md links to the record of a kill sweep");
    let record = fs::read_to_string(root.join(link)).unwrap();
    let mut calls = BTreeSet::new();
    for line in record
        .lines()
        .filter_map(|line| line.strip_prefix("RESULT kill_sweep/"))
    {
        let (id, figures) = line.split_once(": ").unwrap();
        let [kind, call, _, _] = id.split('/').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let numbers = figures
            .split([' ', ','])
            .filter_map(|word| word.parse::<u64>().ok());
        let [instructions, points, wedged] = numbers.collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert!(
            figures.contains("(release)") && points == instructions + 1,
            "{line}"
        );
        // The ring that is broken on purpose shows that the sweep can fail.
        assert_eq!(wedged > 0, kind == "Ticket", "{line}");
        calls.insert(call);
    }
    let wanted = [
        "Send",
        "SendUntil",
        "Lend",
        "Recv",
        "RecvUntil",
        "Drain",
        "Latest",
        "Borrow",
    ];
    assert!(wanted.iter().all(|call| calls.contains(call)), "{calls:?}");
}

/// A record of all rows that the tables show, each with this median.
fn record(directory: &Path, cpu: &str, begun: u64, p50: f64) {
    let percentiles = |p50: f64| {
        json!({ "min": p50, "p50": p50, "p90": p50, "p95": p50, "p99": p50, "p99_9": p50,
                "p99_99": p50, "max": p50, "mean": p50 })
    };
    let row = |id: &str, ratio: Value| {
        let ratio_ci = json!([ratio, ratio]);
        json!({ "id": id, "sent": 1, "received": 1, "lost": 0, "ns": percentiles(p50),
                "msgs_per_s": p50 * 1e6, "floor_ratio": ratio, "floor_ratio_ci": ratio_ci })
    };
    let ids = ["floor/cross_process/two_lines/8B"]
        .into_iter()
        .map(str::to_owned);
    let ways = [
        "spsc_shm",
        "mpsc_shm",
        "fanout_shm",
        "fanout_shm_2p2s",
        "pod_shm",
        "topic",
    ];
    let sizes = ["16B", "304B", "1480B"];
    let latencies = ways.iter().flat_map(|way| {
        let places = ["same_thread", "cross_process"];
        let of = move |place| sizes.map(|size| format!("one_way/{place}/{way}/{size}"));
        places.into_iter().flat_map(of)
    });
    let streams = ["spsc_shm", "topic_reliable"]
        .into_iter()
        .flat_map(|way| sizes.map(|size| format!("throughput/cross_process/{way}/{size}")));
    let rows: Vec<Value> = ids
        .chain(latencies)
        .chain(streams)
        .map(|id| row(&id, json!(p50 / 100.0)))
        .collect();
    // The streams of one row ran in two states of the machine.
    let stream = |floor_ns: f64, rate: f64| {
        json!({ "floor_ns": [floor_ns, floor_ns], "msgs_per_s": rate, "sent_per_s": rate,
                "lost": 0, "counts": true })
    };
    let streams = [vec![stream(55.0, 20e6); 6], vec![stream(182.0, 6e6); 7]].concat();
    let of_row = |value: Value| json!({ "throughput/cross_process/topic_reliable/304B": value });
    let record = json!({
        "machine": { "cpu": cpu, "cores": 2, "kernel": "k", "rustc": "r" },
        "commit": format!("c{begun}"),
        "settings": {
            "begun_unix_s": begun,
            "floor_ns": of_row(json!([53.0, 182.0, 219.0])),
            "streams": of_row(json!(streams)),
            "basis": of_row(json!("reliable topic, subscribers_max(1)")),
            // Not of rows with a present goal.
            "goals": [
                { "id": "a", "goal": "< 1 ns", "measured": "2 ns", "verdict": "missed; why" },
            ],
        },
        "rows": rows,
    });
    // A program in another language judges its rows itself.
    let other = json!({ "rows": [{ "id": "a" }], "settings": record["settings"] });
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("all_paths_latency.json"), record.to_string()).unwrap();
    fs::write(directory.join("cpp_benchmark.json"), other.to_string()).unwrap();
}

#[test]
fn a_table_shows_one_record_and_the_span_of_all_of_its_cpu() {
    let directory = tempfile::tempdir().unwrap();
    // Named so that the newest one is not the last by name.
    for (name, cpu, begun, p50) in [
        ("2026-01-02-b", "x", 2, 150.0),
        ("2026-01-02-a", "x", 3, 130.0),
        ("2026-01-01-c", "x", 1, 190.0),
        ("2026-01-01-d", "another", 9, 900.0),
    ] {
        record(&directory.path().join(name), cpu, begun, p50);
    }
    // The oldest record measured one row with another setting.
    let oldest = directory.path().join("2026-01-01-c/all_paths_latency.json");
    let text = fs::read_to_string(&oldest).unwrap();
    let sole = r#""basis":{"one_way/cross_process/topic/16B":"topic, subscribers_max(1)","#;
    fs::write(oldest, text.replacen(r#""basis":{"#, sole, 1)).unwrap();
    // A directory with nothing but the summary of the long tests.
    fs::create_dir(directory.path().join("2026-01-03-e")).unwrap();
    // Another program of the same run has the same row, and another figure.
    let other = directory.path().join("2026-01-02-b");
    let text = fs::read_to_string(other.join("all_paths_latency.json")).unwrap();
    let text = text
        .replace("\"p50\":150.0", "\"p50\":110.0")
        .replace("\"goals\"", "\"notes\"");
    fs::write(other.join("cross_process_benchmark.json"), text).unwrap();

    let shown = directory.path().join("2026-01-02-a");
    assert_eq!(readme::find_newest_record(&shown).unwrap(), shown);
    assert_eq!(
        readme::find_newest_record(directory.path()).unwrap(),
        directory.path().join("2026-01-01-d")
    );
    fs::remove_dir_all(directory.path().join("2026-01-01-d")).unwrap();
    assert_eq!(readme::find_newest_record(directory.path()).unwrap(), shown);
    record(&directory.path().join("2026-01-01-d"), "another", 9, 900.0);

    let document = "<!-- latency:begin --><!-- latency:end -->\n\
                    <!-- goals:begin -->typed<!-- goals:end -->";
    let records = ReadmeRecords::read(&shown).unwrap();
    let made = update_tables(document, &records, "r").unwrap();
    for wanted in [
        "commit `c3` ([record](r))",
        // Three times and two rates have no interval.
        "It has rows for 12 of the present goals, and misses **4**; for 5 it has too few rounds",
        "of the 3 records of this CPU",
        "| 1:1, topic, 16 B | 130 ns | 110 ns – 150 ns | 130 ns | 130 ns | 130 ns |  | 1.30 | \
         1.30 – 1.50 |",
        "| 1:1, topic, 304 B (`Imu`) | 130 ns | 110 ns – 190 ns |",
        "| gated ring, 16 B | 130 |  | 130 – 190 | 0 |",
        "| reliable topic, 304 B, declared as the only subscriber | 130 (20 at 55 ns, 6 streams; 6 \
         at 182 ns, 7 streams) | 182 ns (53 – 219) | 130 – 190 | 0 |",
        "| `all_paths_latency` | `one_way/cross_process/topic/16B` | <= 1.25 x floor | 1.30 [1.30, \
         1.30] | missed |",
        "| `cpp_benchmark` | `a` | < 1 ns | 2 ns | missed; why |",
    ] {
        assert!(made.contains(wanted), "no {wanted} in\n{made}");
    }
    assert!(
        !made.contains("900")
            && !made.contains("typed")
            && !made.contains("| `all_paths_latency` | `a` |")
    );
    let alone = ReadmeRecords::read(&directory.path().join("2026-01-03-e")).unwrap_err();
    assert!(
        alone
            .to_string()
            .contains("benchmarks/record/<cpu>/<date>-<commit>"),
        "{alone}"
    );
}
