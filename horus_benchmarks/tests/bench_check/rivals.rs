//! Runs the benchmarks that compare at their least and holds their rows to the contract.
//!
//! Nothing here depends on how fast the machine is.

use std::collections::BTreeSet;

use horus_benchmarks::report::rows::{Report, Row};
use horus_benchmarks::report::versus::LatencyOrThroughput;
use horus_benchmarks::scenario::comparison::CandidateGroup;
use horus_benchmarks::scenario::scaling::EndpointCounts;
use horus_benchmarks::transport::carrier::{
    Carrier, ChannelProvider, ChannelShape, MessageSize, Transport,
};

use super::common::{assert_row_is_sound, namespaces_left_by, run_process};

const CHANNEL_COMPARISON: &str = env!("CARGO_BIN_EXE_channel_comparison");
const COMPETITOR_COMPARISON: &str = env!("CARGO_BIN_EXE_competitor_comparison");
const LARGE_MESSAGE_BENCHMARK: &str = env!("CARGO_BIN_EXE_large_message_benchmark");
const SCALABILITY_BENCHMARK: &str = env!("CARGO_BIN_EXE_scalability_benchmark");

/// Runs a benchmark at its least; its report and what it printed.
fn least(binary: &str, arguments: &[&str]) -> (Report, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let json = json.to_str().expect("a temporary path is UTF-8");
    let smallest = ["--quick", "--rounds", "2", "--samples", "2", "--json", json];
    let (output, pid) = run_process(binary, &[&smallest, arguments].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(namespaces_left_by(pid).is_empty());
    let report = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    (report, String::from_utf8(output.stdout).unwrap())
}

/// Checks a row of a comparison.
fn assert_sound(report: &Report, row: &Row, is_lossless: bool) {
    let id = &row.id;
    assert_eq!(
        row.sent_messages(),
        row.received_messages() + row.lost_messages(),
        "{id}"
    );
    assert!(
        row.received_messages() > 0 && (row.lost_messages() == 0 || !is_lossless),
        "{id}: {} lost",
        row.lost_messages()
    );
    assert!(
        !report.measurement_method(id).is_empty(),
        "{id} does not say how"
    );
    if id.starts_with("vs_") {
        let figures = &row.additional;
        assert!(figures.ratio.unwrap() > 0.0, "{id}");
        assert_eq!(figures.ratio_ci, None, "{id}: of few rounds");
        assert!(
            figures.ours.unwrap() > 0.0 && figures.theirs.unwrap() > 0.0,
            "{id}"
        );
    } else if row.msgs_per_s.is_none() {
        assert_row_is_sound(row);
        assert_eq!(row.floor_ratio.is_some(), id.contains("/cross_"), "{id}");
    }
}

/// Each row between two ends has the floor beside it. Those of others say how often they pause.
fn assert_is_beside_the_floor(report: &Report, group: &CandidateGroup) {
    let both = [
        LatencyOrThroughput::Latency,
        LatencyOrThroughput::Throughput,
    ];
    for measure in both {
        for &one in &group.candidates {
            let id = group.id(measure, one);
            let floors = report.settings["floor_ns"][&id].as_array().unwrap();
            assert!(floors.iter().all(|ns| ns.as_f64().unwrap() > 0.0), "{id}");
            assert!(report.settings["rounds_repeated"][&id].is_u64(), "{id}");
            let has_pauses = report
                .measurement_method(&id)
                .contains("pauses between empty polls");
            assert_eq!(has_pauses, !one.is_of_horus(), "{id}");
            if measure == LatencyOrThroughput::Throughput {
                let states = report.settings["rate_by_state"][&id].as_array().unwrap();
                assert!(!states.is_empty(), "{id}");
            }
        }
    }
}

fn ids(report: &Report) -> BTreeSet<&str> {
    let ids: BTreeSet<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), report.rows.len(), "two rows of one id");
    ids
}

/// The row of each candidate and of each comparison is there.
fn assert_has_all(ids: &BTreeSet<&str>, group: &CandidateGroup) {
    for measure in [
        LatencyOrThroughput::Latency,
        LatencyOrThroughput::Throughput,
    ] {
        let rows = group.candidates.iter().map(|&one| group.id(measure, one));
        let pairs = group.pairs().into_iter().map(|(one, other)| {
            group.comparison_row_id(measure, group.candidates[one], group.candidates[other])
        });
        for id in rows.chain(pairs) {
            assert!(ids.contains(&*id), "no {id}");
        }
    }
}

#[test]
fn channels_are_compared_in_every_shape_and_size() {
    let (report, printed) = least(CHANNEL_COMPARISON, &[]);
    let ids = ids(&report);
    for row in &report.rows {
        assert_sound(&report, row, true);
    }
    for size in [8, 16, 64, 256, 1024].map(MessageSize::Bytes) {
        let makers = ChannelProvider::ONE_THREAD_PROVIDERS
            .map(|maker| Carrier::Channel(maker, ChannelShape::OneToOne));
        for transport in Transport::combinations(&makers, &[size]) {
            assert!(ids.contains(&*format!("one_way/same_thread/{}", transport.id())));
        }
        for shape in ChannelShape::COMPARED_SHAPES {
            let place = shape.id();
            let group = CandidateGroup {
                candidates: shape.compared_carriers(),
                place,
                size,
                versus: None,
            };
            assert_has_all(&ids, &group);
            assert_is_beside_the_floor(&report, &group);
        }
    }
    assert!(
        printed.contains("x theirs") && printed.contains("< 3 ns"),
        "{printed}"
    );
}

#[test]
fn transports_are_compared_as_far_as_they_carry_the_size() {
    let (report, printed) = least(COMPETITOR_COMPARISON, &["--duration", "0.01"]);
    let ids = ids(&report);
    for row in &report.rows {
        let may_lose = ["/topic/", "/udp/", "vs_"]
            .iter()
            .any(|part| row.id.contains(part));
        assert_sound(&report, row, !may_lose);
    }
    for size in [8, 32, 304, 1480, 4096, 16_384, 65_536].map(MessageSize::Bytes) {
        let mut candidates = Carrier::CARRIERS_BETWEEN_PROCESSES.to_vec();
        candidates.retain(|carrier| match carrier.unsupported_reason(size.bytes()) {
            None => true,
            Some(reason) => {
                let id = format!("{}/{}", carrier.id(), size.id());
                assert_eq!(report.settings["left_out"][id].as_str(), Some(&*reason));
                false
            }
        });
        assert!(candidates.contains(&Carrier::UnixStream));
        let group = CandidateGroup {
            candidates,
            place: "cross_process",
            size,
            versus: None,
        };
        assert_has_all(&ids, &group);
        assert_is_beside_the_floor(&report, &group);
    }
    assert!(printed.contains(">= 10.0 x theirs"), "{printed}");
}

#[test]
fn large_messages_are_copied_and_lent_beside_a_copy() {
    let (report, _) = least(LARGE_MESSAGE_BENCHMARK, &[]);
    let ids = ids(&report);
    for row in &report.rows {
        assert_row_is_sound(row);
        assert_eq!(
            (row.sent_messages(), row.lost_messages()),
            (4, 0),
            "{}",
            row.id
        );
        assert!(
            report.measurement_method(&row.id).contains("GB/s"),
            "{}",
            row.id
        );
    }
    for size in ["4KB", "64KB", "1024KB", "8192KB"] {
        assert!(ids.contains(&*format!("memcpy/{size}")), "{ids:?}");
        for manner in ["copy", "loan"] {
            let id = format!("large/cross_process/{manner}/{size}");
            assert!(ids.contains(&*id), "no {id}");
            let ratio = &report.settings["ratio_to"][&id][format!("memcpy/{size}")];
            // Of so few rounds, it has no interval.
            assert!(ratio.as_f64().is_some_and(|ratio| ratio > 0.0), "{ratio}");
        }
    }
}

#[test]
fn crowds_receive_or_lose_what_is_sent_and_say_if_they_want_more_cpus() {
    let (report, printed) = least(SCALABILITY_BENCHMARK, &[]);
    let cpus = horus_benchmarks::measure::pin::allowed_cpus()
        .unwrap()
        .len();
    let subjects: [(&str, &[u64]); 5] = [
        ("topics", &[1, 10, 100, 1000]),
        ("wait_set", &[1, 2, 8, 32, 128, 1000]),
        ("publishers", &[1, 2, 4, 8, 16, 64]),
        ("idle_publishers", &[1, 2, 4, 8, 16, 64]),
        ("subscribers", &[1, 2, 4, 8, 16, 64]),
    ];
    for (subject, counts) in subjects {
        for count in counts {
            let id = format!("cost/{subject}/{count}");
            let row = report.row(&id).unwrap_or_else(|| panic!("no {id}"));
            assert_row_is_sound(row);
            assert!(row.sent_messages() > 0 && row.lost_messages() == 0, "{id}");
        }
    }
    let costs = subjects.iter().map(|(_, counts)| counts.len());
    let rows = 2 * EndpointCounts::all_measured().count() + costs.sum::<usize>();
    assert_eq!(report.rows.len(), rows);
    for members in ["threads", "processes"] {
        for crowd in EndpointCounts::all_measured() {
            let id = format!("scalability/{members}/{}", crowd.id());
            let row = report.row(&id).unwrap_or_else(|| panic!("no {id}"));
            assert_sound(&report, row, false);
            assert_eq!(row.oversubscribed, crowd.total() > cpus, "{id}");
            assert!(row.additional.scaling_percent.unwrap() > 0.0, "{id}");
            assert!(row.additional.msgs_per_s_per_member.unwrap() > 0.0, "{id}");
        }
    }
    assert!(
        printed.contains("scaling") && printed.contains("lost"),
        "{printed}"
    );
}
