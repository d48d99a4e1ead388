//! Quality of service: the settings of each preset, adoption by joiners, and refusals.

use horus_testing as _;

mod private;

use horus_core::TopicError;
use horus_core::message::{CmdVel, Imu, LaserScan};
use horus_core::topic::{Publisher, Qos, Reliability, Subscriber, Topic, WakeEdge};
use horus_shm::{Contract, OpenError, Segment, TopicName};
use private::Private;

/// Returns the settings that the creator of `topic` fixed.
fn contract(private: &Private, topic: &str) -> Contract {
    let name = TopicName::new(topic).unwrap();
    Segment::inspect(private.namespace(), &name)
        .unwrap()
        .contract()
        .clone()
}

fn error_of<T>(outcome: Result<T, TopicError>) -> TopicError {
    outcome.err().expect("this was to be refused")
}

/// Returns the setting that differs, the topic's value, and the requested value.
#[track_caller]
fn mismatch<T>(outcome: Result<T, TopicError>) -> [String; 3] {
    let error = error_of(outcome);
    match error.as_open_error() {
        Some(OpenError::QosMismatch {
            field,
            found,
            wanted,
            ..
        }) => [(*field).to_owned(), found.clone(), wanted.clone()],
        _ => panic!("not a mismatch: {error}"),
    }
}

#[test]
fn a_preset_makes_the_topic_it_describes() {
    let best = Reliability::BestEffort;
    let reliable = Reliability::Reliable;
    let membarrier = WakeEdge::Membarrier;
    let fence = WakeEdge::Fence;
    let table = [
        (Qos::new(), best, 1024, 0, false, membarrier),
        (Qos::sensor_data(), best, 8, 0, false, membarrier),
        (Qos::reliable(), reliable, 1024, 0, false, membarrier),
        (Qos::command(), best, 16, 0, false, fence),
        (Qos::latched(), best, 4, 1, true, membarrier),
    ];
    let private = Private::new();
    for (index, (qos, reliability, capacity, history, persists, edge)) in
        table.into_iter().enumerate()
    {
        let topic = format!("preset_{index}");
        let _publisher: Publisher<CmdVel> = private.publisher(&topic, qos);
        let contract = contract(&private, &topic);
        assert_eq!(contract.reliability, reliability, "{topic}");
        assert_eq!(contract.shape.capacity(), capacity, "{topic}");
        assert_eq!(
            (contract.history, contract.persists),
            (history, persists),
            "{topic}"
        );
        assert_eq!(contract.wake_edge, edge, "{topic}");
        let request = contract.shape.request();
        assert_eq!(
            (request.lane_limit, request.reader_limit),
            (16, 64),
            "{topic}"
        );
    }
}

#[test]
fn the_default_capacity_follows_the_size_of_the_message() {
    let private = Private::new();
    let _small: Publisher<CmdVel> = private.publisher("small", Qos::new());
    let _medium: Publisher<Imu> = private.publisher("medium", Qos::new());
    let _large: Publisher<LaserScan> = private.publisher("large", Qos::new());
    let capacity = |topic| contract(&private, topic).shape.capacity();
    assert_eq!(
        [capacity("small"), capacity("medium"), capacity("large")],
        [1024, 1024, 256]
    );
}

#[test]
fn open_settings_are_adopted() {
    let private = Private::new();
    let _creator: Publisher<CmdVel> = private.publisher("t", Qos::reliable().capacity(32));
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    for _ in 0..32 {
        publisher.send(CmdVel::default()).unwrap();
    }
    assert!(
        publisher.send(CmdVel::default()).unwrap_err().is_full(),
        "reliable, 32 slots"
    );
    assert_eq!(std::iter::from_fn(|| subscriber.recv()).count(), 32);
}

#[test]
fn a_setting_that_differs_is_named_with_both_values() {
    let private = Private::new();
    let qos = Qos::new().capacity(32).publishers_max(3).subscribers_max(5);
    let _creator: Publisher<CmdVel> = private.publisher("t", qos);
    let table: [(Qos, [&str; 3]); 8] = [
        (Qos::new().capacity(64), ["capacity", "32", "64"]),
        (Qos::new().capacity(16), ["capacity", "32", "16"]),
        (
            Qos::new().reliability(Reliability::Reliable),
            ["reliability", "BestEffort", "Reliable"],
        ),
        (Qos::new().history(1), ["history", "0", "1"]),
        (
            Qos::new().persist_after_exit(true),
            ["persist_after_exit", "false", "true"],
        ),
        (
            Qos::new().wake_edge(WakeEdge::Fence),
            ["wake_edge", "Membarrier", "Fence"],
        ),
        (Qos::new().publishers_max(4), ["publishers_max", "3", "4"]),
        (Qos::new().subscribers_max(4), ["subscribers_max", "5", "4"]),
    ];
    for (qos, wanted) in table {
        let outcome = private.builder::<CmdVel>("t").qos(qos).publisher();
        assert_eq!(mismatch(outcome), wanted);
        let outcome = private.builder::<CmdVel>("t").qos(qos).topic();
        assert_eq!(mismatch(outcome), wanted, "both ends at once");
    }
    private.publisher::<CmdVel>("t", qos);
    assert_eq!(private.topic_files(), ["t"]);
}

#[test]
fn a_mismatch_has_a_readable_text() {
    let private = Private::new();
    let _creator: Publisher<CmdVel> = private.publisher("arm/cmd", Qos::sensor_data());
    let error = error_of(
        private
            .builder::<CmdVel>("arm/cmd")
            .capacity(64)
            .publisher(),
    );
    let text = error.to_string();
    assert!(
        text.starts_with("topic 'arm/cmd': capacity of /dev/shm/"),
        "{text}"
    );
    assert!(
        text.ends_with("/topics/arm+cmd is 8, but 64 was requested: leave it unset to adopt it"),
        "{text}"
    );
}

#[test]
fn the_capacity_of_a_subscriber_is_a_minimum() {
    let private = Private::new();
    let _creator: Publisher<CmdVel> = private.publisher("t", Qos::new().capacity(32));
    for enough in [2, 16, 17, 32] {
        private.subscriber::<CmdVel>("t", Qos::new().capacity(enough));
    }
    let outcome = private.builder::<CmdVel>("t").capacity(33).subscriber();
    assert_eq!(mismatch(outcome)[..2], ["capacity", "32"]);
}

#[test]
fn a_capacity_is_rounded_up_to_a_power_of_two() {
    let private = Private::new();
    let _creator: Publisher<CmdVel> = private.publisher("t", Qos::new().capacity(33));
    assert_eq!(contract(&private, "t").shape.capacity(), 64);
    private.publisher::<CmdVel>("t", Qos::new().capacity(40));
}

#[test]
fn sizes_that_no_topic_can_have_are_refused_and_leave_nothing_behind() {
    let private = Private::new();
    let table = [
        (Qos::new().capacity(0), "capacity is 0,"),
        (Qos::new().capacity(1), "capacity is 1,"),
        (Qos::new().capacity((1 << 20) + 1), "capacity is 1048577,"),
        (
            Qos::new().capacity(u64::MAX),
            "capacity is 18446744073709551615,",
        ),
        (Qos::new().publishers_max(0), "publishers_max is 0,"),
        (Qos::new().publishers_max(65), "publishers_max is 65,"),
        (Qos::new().subscribers_max(65), "subscribers_max is 65,"),
    ];
    for (qos, part) in table {
        let error = error_of(private.builder::<CmdVel>("t").qos(qos).publisher());
        assert!(
            matches!(error.as_open_error(), Some(OpenError::Shape(_))),
            "{error}"
        );
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(private.topic_files().is_empty());
}

#[test]
fn a_reliable_subscriber_is_refused_where_publishers_do_not_wait() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new().capacity(8));
    let qos = Qos::new().reliability(Reliability::Reliable);
    let error = error_of(private.builder::<CmdVel>("t").qos(qos).subscriber());
    match error.as_open_error() {
        Some(&OpenError::IncompatibleQos {
            offered, requested, ..
        }) => {
            assert_eq!(
                (offered, requested),
                (Reliability::BestEffort, Reliability::Reliable)
            );
        }
        _ => panic!("{error}"),
    }
    assert!(
        error.to_string().contains("the topic is best effort"),
        "{error}"
    );
    assert_eq!(publisher.subscriber_count(), 0, "it left its place behind");
    for _ in 0..100 {
        publisher.send(CmdVel::default()).unwrap();
    }
}

#[test]
fn a_keep_last_subscriber_of_a_reliable_topic_delays_no_publisher() {
    let private = Private::new();
    let mut publisher: Publisher<Imu> = private.publisher("t", Qos::reliable().capacity(16));
    let best_effort = Qos::new().reliability(Reliability::BestEffort);
    let mut slow: Subscriber<Imu> = private.subscriber("t", best_effort);
    let mut reliable: Subscriber<Imu> = private.subscriber("t", Qos::new());
    for number in 1..=100 {
        publisher
            .send(Imu {
                timestamp_ns: number,
                ..Imu::default()
            })
            .unwrap();
        assert_eq!(reliable.recv().map(|imu| imu.timestamp_ns), Some(number));
    }
    let got: Vec<u64> = std::iter::from_fn(|| slow.recv())
        .map(|imu| imu.timestamp_ns)
        .collect();
    assert_eq!(slow.lost() + got.len() as u64, 100);
    assert_eq!(got.last(), Some(&100));
    assert!(got.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{got:?}");
    assert_eq!((reliable.lost(), reliable.detached()), (0, 0));
}

#[test]
fn the_first_endpoint_creates_the_topic() {
    let private = Private::new();
    let subscriber: Subscriber<CmdVel> = private.subscriber("by_subscriber", Qos::reliable());
    assert_eq!(
        contract(&private, "by_subscriber").reliability,
        Reliability::Reliable
    );
    let mut publisher: Publisher<CmdVel> = private.publisher("by_subscriber", Qos::new());
    for _ in 0..1024 {
        publisher.send(CmdVel::default()).unwrap();
    }
    assert!(
        publisher.send(CmdVel::default()).is_err(),
        "the subscriber's choice holds"
    );
    drop(subscriber);

    let _publisher: Publisher<CmdVel> = private.publisher("by_publisher", Qos::sensor_data());
    private.subscriber::<CmdVel>("by_publisher", Qos::new());
    assert_eq!(contract(&private, "by_publisher").shape.capacity(), 8);

    let _both: Topic<CmdVel> = private
        .builder("by_both")
        .qos(Qos::command())
        .topic()
        .unwrap();
    assert_eq!(contract(&private, "by_both").wake_edge, WakeEdge::Fence);
}

mod old {
    horus_core::message! {
        /// The message as an old program knows it.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub ring: u16,
            pub flags: u16,
        }
    }
}

mod new {
    horus_core::message! {
        /// The same message after a change.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub ring: u32,
        }
    }
}

#[test]
fn another_schema_is_refused_by_its_first_different_field() {
    let private = Private::new();
    let _creator: Publisher<old::Status> = private.publisher("status", Qos::new());
    let refusals = [
        error_of(private.builder::<new::Status>("status").publisher()),
        error_of(private.builder::<new::Status>("status").subscriber()),
        error_of(private.builder::<new::Status>("status").observer()),
    ];
    for error in refusals {
        assert!(
            matches!(error, TopicError::SchemaMismatch { .. }),
            "{error}"
        );
        assert!(error.as_open_error().is_none());
        assert_eq!(
            error.to_string(),
            "topic 'status' carries another message: field 'ring': u32 @12 here, u16 @12 in the \
             topic"
        );
    }
    let error = error_of(private.builder::<CmdVel>("status").publisher());
    assert!(
        error
            .to_string()
            .ends_with("message 'CmdVel' here, 'Status' in the topic"),
        "{error}"
    );
}

#[test]
fn an_error_shows_a_rounded_capacity_as_requested() {
    let private = Private::new();
    let _there: Publisher<CmdVel> = private.publisher("there", Qos::new().capacity(64));
    let other = private
        .builder::<CmdVel>("there")
        .qos(Qos::new().capacity(100))
        .publisher();
    let [field, found, wanted] = mismatch(other);
    assert_eq!(
        (&*field, &*found, &*wanted),
        ("capacity", "64", "128 (100, rounded up)")
    );
    private
        .builder::<CmdVel>("there")
        .qos(Qos::new().capacity(33))
        .publisher()
        .unwrap();
}

#[test]
fn control_characters_are_escaped_in_an_error() {
    let private = Private::new();
    let name = "a\u{1b}[31m\nb\u{9b}c\u{202e}";
    let text = error_of(private.builder::<CmdVel>(name).publisher()).to_string();
    assert!(
        !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{text:?}"
    );
    assert!(
        text.contains("topic 'a\\u{1b}[31m\\nb\\u{9b}c\\u{202e}'"),
        "{text}"
    );
}
