//! A row has the fields of the contract.

use horus_benchmarks::measure::stats::{Ratio, Samples};
use horus_benchmarks::report::rows::*;

#[test]
fn a_row_has_the_fields_of_the_contract_and_no_others() {
    let mut samples = Samples::new();
    samples.record(100);
    let ratio = Ratio {
        median: 1.5,
        interval: Some([1.25, 1.75]),
    };
    let row = Row::from_samples("one_way/same_thread/direct/16B", &samples, 1.0);
    let row = Row {
        send_ns: Some(SendTimes { p50: 1.0, p99: 2.0 }),
        msgs_per_s: Some(3.0),
        ..row.with_floor_ratio(Some(ratio))
    };
    let value = serde_json::to_value(&row).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut wanted = [
        "id",
        "sent",
        "received",
        "lost",
        "ns",
        "filtered_ns",
        "spread",
        "send_ns",
        "msgs_per_s",
        "floor_ratio",
        "floor_ratio_ci",
    ];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!(value["floor_ratio_ci"], serde_json::json!([1.25, 1.75]));
    let ns: Vec<&String> = value["ns"].as_object().unwrap().keys().collect();
    let wanted = [
        "max", "mean", "min", "p1", "p25", "p5", "p50", "p75", "p90", "p95", "p99", "p99_9",
        "p99_99",
    ];
    assert_eq!(ns, wanted);
    let read = serde_json::from_value::<Row>(value).unwrap();
    assert_eq!(
        Row {
            samples: row.samples.clone(),
            ..read
        },
        row
    );
}

#[test]
fn rates_have_the_interval_of_their_streams() {
    let row = Row::default().with_rates(&[1.0, 2.0, 3.0, 3.0, 3.5, 4.0, 90.0]);
    let [low, high] = row.msgs_per_s_ci.unwrap();
    assert_eq!(row.msgs_per_s, Some(3.0));
    assert!((1.0..3.0).contains(&low) && high > 3.0, "{low} {high}");
    assert_eq!(Row::default().with_rates(&[]), Row::default());
    let few = Row::default().with_rates(&[1.0, 2.0, 3.0, 4.0, 90.0]);
    assert_eq!((few.msgs_per_s, few.msgs_per_s_ci), (Some(3.0), None));
}

#[test]
fn what_does_not_apply_is_left_out() {
    let text = serde_json::to_string(&Row::default()).unwrap();
    assert_eq!(text, r#"{"id":""}"#);
}

/// Some rows of Python and C++ measure calls that send nothing.
#[test]
fn a_row_may_have_no_messages() {
    let text = r#"{"id":"cpp/ffi/abi_version","operations":1000,"msgs_per_s":2.0}"#;
    let row: Row = serde_json::from_str(text).unwrap();
    assert_eq!(row.counts, None);
    assert_eq!(
        (
            row.sent_messages(),
            row.received_messages(),
            row.lost_messages()
        ),
        (0, 0, 0)
    );
    let text = r#"{"id":"a","sent":3,"received":0,"lost":3,"ratio":2.5}"#;
    let row: Row = serde_json::from_str(text).unwrap();
    assert_eq!(
        (
            row.sent_messages(),
            row.received_messages(),
            row.lost_messages()
        ),
        (3, 0, 3)
    );
    assert_eq!(serde_json::to_string(&row).unwrap(), text);
}
