//! Runs the benchmarks of actors at their least and holds their rows to the contract.
//!
//! Nothing here depends on how fast the machine is.

use horus_benchmarks::report::rows::Report;
use horus_benchmarks::scenario::actors::has_all_peers;

use super::common::{ROUNDS, SAMPLES, assert_row_is_sound, run, run_to_json};

const BLITZ: &str = env!("CARGO_BIN_EXE_blitz");

/// The programs and their rows, and the number of messages for each sample.
const PROGRAMS: [(&str, &[&str], u64); 9] = [
    (
        env!("CARGO_BIN_EXE_actor_create"),
        &["create/st", "create/mt"],
        1,
    ),
    (env!("CARGO_BIN_EXE_actor_tell"), &["tell/st", "tell/mt"], 1),
    (
        env!("CARGO_BIN_EXE_actor_ask"),
        &[
            "ask/st",
            "ask/mt",
            "ask_task/st",
            "ask_outside/mt",
            "ask_outside_rare/mt",
        ],
        1,
    ),
    (
        env!("CARGO_BIN_EXE_thread_ring"),
        &["thread_ring/st", "thread_ring/mt"],
        1,
    ),
    (
        env!("CARGO_BIN_EXE_parallel_thread_ring"),
        &["parallel_ring/st", "parallel_ring/mt"],
        1,
    ),
    (
        env!("CARGO_BIN_EXE_ping_pong"),
        &["ping_pong/st", "ping_pong/mt"],
        1,
    ),
    (
        env!("CARGO_BIN_EXE_counting_actor"),
        &[
            "counting/st",
            "counting/mt",
            "counting_all/st",
            "counting_all/mt",
        ],
        1,
    ),
    (
        env!("CARGO_BIN_EXE_producer_consumer"),
        &[
            "producer_consumer/st",
            "producer_consumer/mt",
            "producer_consumer_all/st",
            "producer_consumer_all/mt",
        ],
        1,
    ),
    (BLITZ, &["blitz/st", "blitz/mt"], 10),
];

#[test]
fn every_workload_is_verified_on_one_thread_and_on_several() {
    for (program, wanted, messages) in PROGRAMS {
        let directory = tempfile::tempdir().unwrap();
        let (output, json) = run_to_json(program, &directory.path().join("out.json"), &[]);
        let report: Report = serde_json::from_value(json).unwrap();
        let is_ours = |id: &&str| id.ends_with("/ours");
        let ids = report.rows.iter().map(|row| row.id.as_str());
        let ours: Vec<&str> = ids.filter(is_ours).collect();
        let wanted: Vec<String> = wanted.iter().map(|id| format!("{id}/ours")).collect();
        assert_eq!(ours, wanted, "{program}");
        let timed = report.rows.iter().filter(|row| row.ns.is_some());
        for row in timed {
            assert_row_is_sound(row);
            let sent = ROUNDS * SAMPLES * messages;
            assert_eq!(
                (row.sent_messages(), row.lost_messages()),
                (sent, 0),
                "{}",
                row.id
            );
            assert!(row.additional.peak_mib.unwrap() > 0.0, "{}", row.id);
            assert!(!report.measurement_method(&row.id).is_empty(), "{}", row.id);
        }
        if !cfg!(feature = "actor_peers") {
            let warnings = report.machine.warnings.join("; ");
            assert!(
                warnings.contains("nothing is compared with the best peer"),
                "{warnings}"
            );
        }
        if ours.contains(&"ask/st/ours") {
            assert!(
                report
                    .measurement_method("ask/st/ours")
                    .starts_with("a question by `wait`")
            );
            assert!(
                report
                    .measurement_method("ask_task/st/ours")
                    .starts_with("a question of a task")
            );
            assert!(
                report
                    .measurement_method("ask/mt/ours")
                    .starts_with("a question of a task")
            );
        }
        let few = format!("{ROUNDS} rounds: too few for a verdict on ratios");
        assert!(report.machine.warnings.contains(&few), "{program}");
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.contains("Goals"), "{table}");
    }
}

/// The best of some peers is not the best peer.
#[test]
fn the_best_peer_is_named_only_if_all_took_part() {
    assert!(has_all_peers(&[
        "ours", "tokio", "actix", "ractor", "kameo"
    ]));
    assert!(has_all_peers(&[
        "ours", "kameo", "ractor", "actix", "tokio"
    ]));
    for some in [
        &["ours"][..],
        &["ours", "kameo"],
        &["tokio", "actix", "ractor", "kameo"],
    ] {
        assert!(!has_all_peers(some), "{some:?}");
    }
    if cfg!(feature = "actor_peers") {
        for (runtimes, are_all) in [
            ("ours,kameo", false),
            ("ours,tokio,actix,ractor,kameo", true),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let json = directory.path().join("out.json");
            let wanted = ["--runtime", runtimes, "--filter", "ask"];
            let (_, json) = run_to_json(env!("CARGO_BIN_EXE_actor_ask"), &json, &wanted);
            let report: Report = serde_json::from_value(json).unwrap();
            for id in ["vs_best_peer/ask/st", "vs_best_peer/ask_task/st"] {
                assert_eq!(report.row(id).is_some(), are_all, "{runtimes}: {id}");
            }
            let is_other_work =
                |id: &str| report.measurement_method(id).contains("not the same work");
            assert_eq!(is_other_work("vs_best_peer/ask/st"), are_all);
            assert!(!is_other_work("vs_best_peer/ask_task/st"));
        }
    }
}

#[test]
fn a_runtime_that_is_not_there_is_named() {
    let unknown = run(BLITZ, &["--runtime", "ours,erlang"]);
    assert_eq!(unknown.status.code(), Some(1));
    let message = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        message.contains("no runtime is called 'erlang'"),
        "{message}"
    );
    if !cfg!(feature = "actor_peers") {
        let left_out = run(BLITZ, &["--runtime", "tokio"]);
        let message = String::from_utf8_lossy(&left_out.stderr);
        assert!(message.contains("--features actor_peers"), "{message}");
        assert_eq!(left_out.status.code(), Some(1));
    }
}
