//! A goal is met or missed by its limit, and a verdict says if its interval reaches to both sides.

use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::report::additional_values::AdditionalValues;
use horus_benchmarks::report::goals::{
    BEST_PEER_MEMORY_KEY, FLOOR_RATIO_BY_STATE_KEY, RATE_BY_STATE_KEY, STALLS_ROW_ID, STREAMS_KEY,
    Verdict, judge_goals,
};
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::report::versus::{self, LatencyOrThroughput};
use serde_json::{Map, Value, json};

/// The verdict on the only goal of a row.
fn verdict(id: &str, row: Row) -> Option<Verdict> {
    let rows = [Row {
        id: id.to_owned(),
        ..row
    }];
    judge_goals(&rows, &Map::new())
        .into_iter()
        .find(|one| one.id == id)
}

fn word(id: &str, row: Row) -> String {
    verdict(id, row)
        .unwrap_or_else(|| panic!("{id} has no goal"))
        .verdict
}

fn of(additional: AdditionalValues) -> Row {
    Row {
        additional,
        ..Row::default()
    }
}

fn timed(ns: u64) -> Row {
    timed_rounds([ns; 6])
}

fn timed_rounds<const N: usize>(rounds: [u64; N]) -> Row {
    let mut all = Samples::new();
    for ns in rounds {
        let mut samples = Samples::new();
        samples.record(ns);
        all.merge(&samples);
    }
    Row::from_samples("", &all, 1.0)
}

/// Settings with the values of a row in two states of the machine.
fn in_two_states(key: &str, id: &str, rounds: [usize; 2], values: [f64; 2]) -> Map<String, Value> {
    let state = |index: usize, floor_ns: f64| {
        let value = values[index];
        let ratio_ci = [value * 0.95, value * 1.01];
        let rounds = rounds[index];
        json!({ "floor_ns": floor_ns, "rounds": rounds, "ratio": value, "ratio_ci": ratio_ci })
    };
    let Value::Object(settings) = json!({ key: { id: [state(0, 60.0), state(1, 240.0)] } }) else {
        unreachable!()
    };
    settings
}

#[test]
fn a_ratio_to_another_row_is_judged_by_its_interval() {
    let id = "wakeup/topic/16B";
    let word = |figures: [f64; 3]| {
        let settings = json!({ "ratio_to": { id: { "wakeup/futex": figures } } });
        let Value::Object(settings) = settings else {
            unreachable!()
        };
        let rows = [Row {
            id: id.to_owned(),
            ..Row::default()
        }];
        judge_goals(&rows, &settings)[0].verdict.clone()
    };
    assert_eq!(word([1.1, 1.0, 1.2]), "met");
    assert_eq!(word([1.4, 1.3, 1.5]), "missed");
    assert_eq!(word([1.2, 1.1, 1.3]), "met, limit within the interval");
    assert_eq!(word([1.26, 1.1, 1.3]), "missed, limit within the interval");
}

#[test]
fn a_goal_missed_on_a_restless_machine_is_missed() {
    let word = |stalled, ns| {
        let stalls = of(AdditionalValues {
            stalled_percent: Some(stalled),
            ..AdditionalValues::default()
        });
        let rows = [
            Row {
                id: STALLS_ROW_ID.to_owned(),
                ..stalls
            },
            Row {
                id: "lateness/1kHz".to_owned(),
                ..timed(ns)
            },
        ];
        judge_goals(&rows, &Map::new())[0].verdict.clone()
    };
    assert_eq!(
        word(4.2, 3_937_300),
        "missed; the CPU stood still in 4.2 % of the time"
    );
    assert_eq!(word(0.5, 3_937_300), "missed");
    assert_eq!(word(4.2, 3_000), "met");
}

#[test]
fn figures_of_schedulers_are_judged_by_their_limits() {
    let node = |ns| {
        of(AdditionalValues {
            ns_per_node: Some(ns),
            ..AdditionalValues::default()
        })
    };
    assert_eq!(word("tick/rust/50_nodes", node(40.0)), "met");
    assert_eq!(word("tick/rust/50_nodes", node(41.0)), "missed");
    let cpu = |percent| {
        of(AdditionalValues {
            cpu_percent: Some(percent),
            ..AdditionalValues::default()
        })
    };
    assert_eq!(
        [7.9, 8.1].map(|percent| word("lateness/1kHz", cpu(percent))),
        ["met", "missed"]
    );
    let drift = |ticks| {
        of(AdditionalValues {
            drift_ticks: Some(ticks),
            ..AdditionalValues::default()
        })
    };
    let words = [-1.5, -1.0, 1.5].map(|ticks| word("lateness/1kHz", drift(ticks)));
    assert_eq!(words, ["missed", "met", "missed"]);
}

#[test]
fn figures_of_actors_are_judged_by_their_limits() {
    let row = |id: &str, additional| Row {
        id: id.to_owned(),
        additional,
        ..timed(110_000_000)
    };
    let peak_mib = Some(80.4);
    let rows = [
        row(
            "blitz/st/ours",
            AdditionalValues {
                peak_mib,
                ..AdditionalValues::default()
            },
        ),
        row(
            "create/st/ours",
            AdditionalValues {
                bytes_each: Some(150.0),
                ..AdditionalValues::default()
            },
        ),
        row("ask_outside/mt/ours", AdditionalValues::default()),
    ];
    let settings =
        json!({ "ratio_to": { "blitz/st/ours": { BEST_PEER_MEMORY_KEY: [0.65, 0.6, 0.71] } } });
    let verdicts = judge_goals(&rows, settings.as_object().unwrap());
    let texts = |one: &Verdict| [&*one.goal, &*one.measured, &*one.verdict].join(" | ");
    let found: Vec<String> = verdicts.iter().map(texts).collect();
    for wanted in [
        "<= 80 MiB | 80.4 MiB | missed",
        "<= 150 B each | 150.0 B | met",
        "mean < 500 ns | 110000000.0 ns | missed",
        "< 110000000 ns | 110000000.00 ns [109999999.00 ns, 109999999.00 ns] | missed",
        "<= 0.70 x memory of the best peer | 0.65 [0.60, 0.71] | met, limit within the interval",
    ] {
        assert!(
            found.iter().any(|one| one == wanted),
            "{wanted}: {found:#?}"
        );
    }
}

#[test]
fn a_goal_is_met_or_missed_or_within_the_interval() {
    let id = "one_way/cross_process/spsc_shm/16B";
    let ratio = |median, low, high| {
        word(
            id,
            Row::default().with_floor_ratio(Some(Ratio {
                median,
                interval: Some([low, high]),
            })),
        )
    };
    assert_eq!(ratio(1.1, 1.05, 1.2), "met");
    assert_eq!(ratio(1.3, 1.25, 1.35), "missed");
    assert_eq!(ratio(1.19, 1.1, 1.3), "met, limit within the interval");
    assert_eq!(ratio(1.21, 1.1, 1.3), "missed, limit within the interval");
    assert_eq!(verdict(id, timed(12)), None, "it has no ratio");
    let rate = Row::default().with_rates(&[61e6; 6]);
    let rate = verdict("throughput/cross_process/spsc_shm/16B", rate).unwrap();
    assert_eq!(
        (&*rate.measured, &*rate.verdict),
        ("61.0 M/s [61.0 M/s, 61.0 M/s]", "met")
    );
    assert_eq!(
        word("one_way/same_thread/spsc_shm/16B", timed(12)),
        "missed"
    );
    let quiet = verdict("lateness/1kHz/quiet", timed(12)).unwrap();
    assert_eq!((&*quiet.measured, &*quiet.verdict), ("0.0 us", "met"));
}

fn compared(ratio: f64, low: f64, high: f64) -> Row {
    of(AdditionalValues {
        ratio: Some(ratio),
        ratio_ci: Some([low, high]),
        ..AdditionalValues::default()
    })
}

#[test]
fn a_goal_below_one_is_met_without_being_called_better() {
    let id = "vs_rtrb/spsc/throughput/64B";
    let judged = verdict(id, compared(0.98, 0.97, 0.99)).unwrap();
    assert_eq!(
        (&*judged.goal, &*judged.verdict),
        (">= 0.9 x theirs", "met; theirs is ahead")
    );
    assert_eq!(
        word(id, compared(0.98, 0.95, 1.02)),
        "met; neither is ahead"
    );
    assert_eq!(word(id, compared(1.1, 1.05, 1.2)), "met");
    assert_eq!(word(id, compared(0.8, 0.75, 0.85)), "missed");
}

#[test]
fn a_comparison_is_judged_by_its_interval() {
    let spsc = "vs_rtrb/spsc/latency/8B";
    assert_eq!(word(spsc, compared(1.2, 1.1, 1.3)), "met");
    assert_eq!(word(spsc, compared(0.9, 0.8, 0.95)), "missed");
    assert_eq!(
        word(spsc, compared(1.1, 0.9, 1.2)),
        "met, limit within the interval"
    );
    assert_eq!(
        word(spsc, compared(0.96, 0.94, 1.3)),
        "missed, limit within the interval"
    );
    assert_eq!(
        verdict("vs_pipe/topic/latency/8B", compared(9.0, 8.0, 10.0)),
        None
    );
    let ring = "vs_head_tail_ring/topic_reliable/throughput/64KB";
    assert_eq!(word(ring, compared(0.61, 0.6, 0.62)), "missed");
}

/// Times and rates have intervals just as ratios do.
#[test]
fn a_time_whose_interval_contains_the_limit_is_not_plainly_met() {
    let id = "tell/mt/ours";
    let judged = verdict(id, timed_rounds([39, 40, 42, 43, 50, 58, 61])).unwrap();
    assert_eq!(judged.verdict, "met, limit within the interval");
    assert!(judged.measured.starts_with("43.00 ns ["), "{judged:?}");
    assert_eq!(word(id, timed_rounds([39, 40, 42, 43, 44, 45, 46])), "met");
    let rate = Row::default().with_rates(&[40e6, 50e6, 61e6, 62e6, 63e6, 64e6, 70e6]);
    let id = "throughput/cross_process/spsc_shm/16B";
    assert_eq!(word(id, rate), "met, limit within the interval");
}

#[test]
fn fewer_than_six_values_get_no_verdict() {
    let too_few = "too few rounds for a verdict";
    assert_eq!(word("tell/mt/ours", timed_rounds([30; 5])), too_few);
    assert_eq!(word("tell/mt/ours", timed_rounds([90; 5])), too_few);
    let id = "throughput/cross_process/spsc_shm/16B";
    assert_eq!(word(id, Row::default().with_rates(&[70e6; 3])), too_few);
    let judged = verdict(id, Row::default().with_rates(&[7e6; 3])).unwrap();
    assert!(!judged.is_met() && !judged.is_missed(), "{judged:?}");
    // Records of 2026 have an interval of three streams.
    let old = Row {
        id: id.to_owned(),
        msgs_per_s_ci: Some([69e6, 71e6]),
        ..Row::default().with_rates(&[70e6; 3])
    };
    let stream = |counts: bool| {
        json!({ "floor_ns": [55.0, 56.0], "msgs_per_s": 70e6, "sent_per_s": 70e6, "lost": 0,
                "counts": counts })
    };
    let judge = |streams: usize| {
        let streams: Vec<Value> = (0..8).map(|number| stream(number < streams)).collect();
        let settings = json!({ STREAMS_KEY: { id: streams } });
        let judged = judge_goals(std::slice::from_ref(&old), settings.as_object().unwrap());
        judged[0].verdict.clone()
    };
    assert_eq!((&*judge(3), &*judge(6)), (too_few, "met"));
}

/// Otherwise the only round of a state would miss a goal, or meet it.
#[test]
fn a_state_of_few_rounds_gets_no_verdict() {
    let id = "vs_rtrb/spsc/throughput/16B";
    let judge = |rounds, values| {
        let rows = [Row {
            id: id.to_owned(),
            ..compared(1.14, 1.12, 1.17)
        }];
        let settings = in_two_states(FLOOR_RATIO_BY_STATE_KEY, id, rounds, values);
        let verdict = judge_goals(&rows, &settings).remove(0);
        (verdict.is_met(), verdict.is_missed(), verdict.verdict)
    };
    let text = "met (floor 60 ns); too few rounds for a verdict: 1 (floor 240 ns)";
    assert_eq!(judge([39, 1], [1.14, 0.86]), (true, false, text.to_owned()));
    let text = "too few rounds for a verdict: 5 (floor 60 ns); \
                too few rounds for a verdict: 5 (floor 240 ns)";
    assert_eq!(judge([5, 5], [1.14, 0.86]), (false, false, text.to_owned()));
    let text = "met (floor 60 ns); met; theirs is ahead (floor 240 ns)";
    assert_eq!(
        judge([20, 20], [1.14, 0.96]),
        (true, false, text.to_owned())
    );
}

/// A stream between far cores is slower, whatever the ring.
#[test]
fn a_rate_is_judged_in_each_state_of_the_machine() {
    let id = "throughput/cross_process/spsc_shm/304B";
    let rows = [Row {
        id: id.to_owned(),
        ..Row::default().with_rates(&[6e6; 13])
    }];
    let settings = in_two_states(RATE_BY_STATE_KEY, id, [6, 7], [24e6, 6e6]);
    let judged = judge_goals(&rows, &settings).remove(0);
    assert_eq!(judged.verdict, "missed (floor 240 ns); met (floor 60 ns)");
    let wanted = "24.0 M/s [22.8 M/s, 24.2 M/s] (floor 60 ns), \
                  6.0 M/s [5.7 M/s, 6.1 M/s] (floor 240 ns)";
    assert_eq!(judged.measured, wanted);
    // The states of a record without them follow from its streams.
    let stream = |floor: f64, rate: f64| {
        json!({ "floor_ns": [floor, floor], "msgs_per_s": rate, "sent_per_s": rate, "lost": 0,
                "counts": true })
    };
    let streams = [vec![stream(55.0, 24e6); 6], vec![stream(182.0, 6e6); 7]].concat();
    let settings = json!({ STREAMS_KEY: { id: streams } });
    let judged = judge_goals(&rows, settings.as_object().unwrap()).remove(0);
    assert_eq!(judged.verdict, "missed (floor 182 ns); met (floor 55 ns)");
}

/// A machine that was in two states has to meet a goal in both.
#[test]
fn a_ratio_is_judged_in_each_state_of_the_machine() {
    let judge = |id: &str, row: Row, near: f64, far: f64| {
        let state = |floor_ns: f64, ratio: f64| {
            let ratio_ci = [ratio - 0.1, ratio + 0.01];
            json!({ "floor_ns": floor_ns, "rounds": 6, "ratio": ratio, "ratio_ci": ratio_ci })
        };
        let states = [state(60.0, near), state(240.0, far)];
        let Value::Object(settings) = json!({ FLOOR_RATIO_BY_STATE_KEY: { id: states } }) else {
            unreachable!()
        };
        let rows = [Row {
            id: id.to_owned(),
            ..row
        }];
        let verdict = judge_goals(&rows, &settings).remove(0);
        (verdict.is_met(), verdict.verdict)
    };
    let topic = |near, far| {
        let ratio = Ratio {
            median: 1.2,
            interval: Some([1.1, 1.3]),
        };
        let row = Row::default().with_floor_ratio(Some(ratio));
        judge("one_way/cross_process/topic/16B", row, near, far)
    };
    assert_eq!(
        topic(1.2, 1.1),
        (true, "met (floor 60 ns); met (floor 240 ns)".to_owned())
    );
    let missed = "missed, limit within the interval (floor 240 ns); met (floor 60 ns)";
    assert_eq!(topic(1.1, 1.3), (false, missed.to_owned()));
    let (is_met, text) = judge("vs_rtrb/spsc/latency/8B", compared(1.2, 1.1, 1.3), 0.8, 1.5);
    assert_eq!(
        (is_met, &*text),
        (false, "missed (floor 60 ns); met (floor 240 ns)")
    );
}

#[test]
fn few_rounds_have_a_ratio_without_an_interval() {
    let ours = [10.0, 20.0, 15.0, 11.0, 12.0, 13.0];
    let theirs = ours.map(|ns| ns * 3.0);
    let row = |rounds: usize| {
        let figures = [&ours[..rounds], &theirs[..rounds]];
        versus::comparison_row("x", LatencyOrThroughput::Latency, figures).unwrap()
    };
    let few = row(5);
    assert_eq!(
        (few.additional.ratio, few.additional.ratio_ci),
        (Some(3.0), None)
    );
    let judged = verdict("vs_best_peer/create/st", few).unwrap();
    assert_eq!(
        (&*judged.measured, &*judged.verdict),
        ("3.00", "too few rounds for a verdict")
    );
    let enough = row(6);
    assert_eq!(enough.additional.ratio_ci, Some([3.0, 3.0]));
    assert_eq!(word("vs_best_peer/create/st", enough), "met");
}

#[test]
fn rounds_without_a_ratio_are_counted() {
    let [ours, mut theirs] = [[30.0; 7], [10.0; 7]];
    theirs[2] = 0.0;
    let row =
        versus::comparison_row("x", LatencyOrThroughput::Throughput, [&ours, &theirs]).unwrap();
    assert_eq!(
        (row.additional.ratio, row.additional.rounds_dropped),
        (Some(3.0), Some(1))
    );
    assert_eq!(
        word("vs_udp/topic/throughput/8B", row),
        "missed; 1 rounds without a value of the divisor are left out"
    );
    let own =
        versus::comparison_row("x", LatencyOrThroughput::Throughput, [&theirs, &ours]).unwrap();
    assert_eq!(own.additional.rounds_dropped, None, "a ratio of 0 is one");
    let none = versus::comparison_row("x", LatencyOrThroughput::Throughput, [&ours[..1], &[0.0]]);
    assert!(none.is_none());
}

#[test]
#[should_panic(expected = "each round has both values")]
fn rounds_are_never_left_out_because_one_list_is_shorter() {
    let _ = versus::comparison_row("x", LatencyOrThroughput::Latency, [&[1.0, 2.0], &[1.0]]);
}

#[test]
fn better_is_less_time_and_more_messages() {
    let few = [10.0, 20.0, 15.0];
    let many = [20.0, 40.0, 30.0];
    let row = |measure, ours: &[f64], theirs: &[f64]| {
        versus::comparison_row("x", measure, [ours, theirs])
    };
    let latency = row(LatencyOrThroughput::Latency, &few, &many)
        .unwrap()
        .additional;
    let wanted = (Some(15.0), Some(30.0), Some(2.0));
    assert_eq!((latency.ours, latency.theirs, latency.ratio), wanted);
    assert_eq!(
        row(LatencyOrThroughput::Throughput, &few, &many)
            .unwrap()
            .additional
            .ratio,
        Some(0.5)
    );
    assert!(row(LatencyOrThroughput::Latency, &[], &[]).is_none());
}
