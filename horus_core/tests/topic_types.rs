//! Message types: each publisher and subscriber has its own, a topic may carry several, and both
//! sides learn which of them do not match.

use horus_testing as _;

mod private;

use std::time::Duration;

use horus_core::introspect::{Inspector, UnmatchedPair};
use horus_core::log::{LogReader, LogSettings};
use horus_core::message::{CmdVel, Imu, Twist};
use horus_core::topic::{DynamicSubscriber, Publisher, Qos, Subscriber};
use horus_core::{Mismatch, RecvError, RecvTimeoutError, TopicError};
use private::Private;

/// The order in which two endpoints are opened.
const ORDERS: [&str; 2] = ["publisher first", "subscriber first"];

/// The verdict on a subscriber that reads another message than all live publishers send.
const OTHER_TYPE: &str = "topic 't': all live publishers send messages of another type than this \
                          subscriber reads: use the same message in all programs";

/// Opens a reliable publisher of commands, of few slots, and a reliable subscriber of another
/// message.
fn mismatched(private: &Private, order: &str) -> (Publisher<CmdVel>, Subscriber<new::Status>) {
    let few = Qos::reliable().capacity(8);
    if order == ORDERS[0] {
        let publisher = private.publisher("t", few);
        (publisher, private.subscriber("t", Qos::reliable()))
    } else {
        let subscriber = private.subscriber("t", Qos::reliable());
        (private.publisher("t", few), subscriber)
    }
}

fn error_of<T>(outcome: Result<T, TopicError>) -> TopicError {
    outcome.err().expect("this was to be refused")
}

/// Sends commands with the numbers from 1 on until one is refused. Returns how many were sent.
fn send_until_full(publisher: &mut Publisher<CmdVel>) -> u64 {
    let numbered = |number| CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    };
    (1..=100)
        .take_while(|&number| publisher.send(numbered(number)).is_ok())
        .count() as u64
}

fn status(number: u64) -> new::Status {
    new::Status {
        timestamp_ns: number,
        volts: 12.5,
        ring: 7,
    }
}

fn old_status() -> old::Status {
    old::Status {
        timestamp_ns: 1,
        volts: 12.5,
        ring: 7,
        flags: 0,
    }
}

fn causes(pairs: &[UnmatchedPair]) -> Vec<Mismatch> {
    pairs.iter().map(|pair| pair.cause).collect()
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
fn a_strict_endpoint_refuses_another_schema_by_its_first_different_field() {
    let private = Private::new();
    let _creator: Publisher<old::Status> = private.publisher("status", Qos::new());
    let strict = || {
        let builder = private.builder::<new::Status>("status");
        builder.qos(Qos::new().strict(true))
    };
    let refusals = [
        error_of(strict().publisher()),
        error_of(strict().subscriber()),
        error_of(strict().observer()),
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
    let strict = private
        .builder::<CmdVel>("status")
        .qos(Qos::new().strict(true));
    let error = error_of(strict.publisher());
    assert!(
        error
            .to_string()
            .ends_with("message 'CmdVel' here, 'Status' in the topic"),
        "{error}"
    );
}

/// Each subscriber gets the messages that it reads, and nobody waits for those of another type.
#[test]
fn a_topic_may_carry_two_types() {
    for order in ORDERS {
        let private = Private::new();
        let (mut commands, mut statuses) = mismatched(&private, order);
        let mut follower: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
        let count = |follower: &mut Subscriber<CmdVel>| follower.drain(|_| {});
        for _ in 0..2 {
            assert_eq!(send_until_full(&mut commands), 8, "{order}");
            assert_eq!(statuses.recv(), None, "{order}");
            assert_eq!(count(&mut follower), 8, "{order}");
        }
        let mut publisher: Publisher<new::Status> = private.publisher("t", Qos::reliable());
        publisher.send(status(1)).unwrap();
        assert_eq!(statuses.recv(), Some(status(1)), "{order}");
        assert_eq!(statuses.check(), Ok(()), "{order}");
        assert_eq!(count(&mut follower), 0, "{order}");
        assert_eq!(follower.check(), Ok(()), "{order}");
        let stats = follower.stats();
        assert_eq!((stats.sent, stats.received, stats.lost), (16, 16, 0));
        let stats = statuses.stats();
        assert_eq!((stats.sent, stats.received, stats.lost), (1, 1, 0));
    }
}

/// Also before the subscriber has looked at the lane.
#[test]
fn messages_of_another_type_are_neither_waiting_nor_lost() {
    for order in ORDERS {
        let private = Private::new();
        let (mut publisher, mut subscriber) = mismatched(&private, order);
        let all = |subscriber: &Subscriber<new::Status>| {
            let stats = subscriber.stats();
            [stats.sent, stats.received, stats.lost, stats.waiting]
        };
        let inspector = Inspector::open_in(private.namespace(), "t").unwrap();
        let seen = || {
            let [reader] = &inspector.subscribers()[..] else {
                panic!("one subscriber")
            };
            [reader.received, reader.lost, reader.waiting]
        };
        // More than the slots hold: nobody holds the publisher back.
        assert_eq!(send_until_full(&mut publisher), 100);
        assert_eq!((all(&subscriber), seen()), ([0; 4], [0; 3]), "{order}");
        assert!(subscriber.recv().is_none());
        assert_eq!((all(&subscriber), seen()), ([0; 4], [0; 3]), "{order}");
    }
}

#[test]
fn both_sides_learn_that_their_messages_differ() {
    for order in ORDERS {
        let private = Private::new();
        let (mut commands, mut statuses) = mismatched(&private, order);
        let minute = Duration::from_secs(60);
        let error = statuses.recv_timeout(minute).unwrap_err();
        let RecvTimeoutError::Incompatible { cause, .. } = error else {
            panic!("{order}: {error}");
        };
        assert_eq!(cause, Mismatch::Type, "{order}");
        let with_both = format!("{OTHER_TYPE} (message 'Status' here, 'CmdVel' in the topic)");
        assert_eq!(error.to_string(), with_both, "{order}");
        for error in [
            statuses.recv_blocking().unwrap_err(),
            statuses.check().unwrap_err(),
        ] {
            let cause = match error {
                RecvError::Incompatible { cause, .. } => Some(cause),
                _ => None,
            };
            assert_eq!(cause, Some(Mismatch::Type), "{order}: {error}");
            assert_eq!(error.to_string(), with_both, "{order}");
        }
        let difference = statuses.schema_difference().unwrap().to_string();
        assert_eq!(difference, "message 'Status' here, 'CmdVel' in the topic");

        let seen = commands.unmatched_subscribers();
        assert_eq!(causes(&seen), [Mismatch::Type], "{order}");
        let pid = |end: &UnmatchedPair| end.subscriber.process.as_ref().map(|own| own.pid);
        assert_eq!(pid(&seen[0]), Some(std::process::id()));
        let inspector = Inspector::open_in(private.namespace(), "t").unwrap();
        assert_eq!(inspector.unmatched_pairs(), seen, "{order}");
        assert_eq!(inspector.message_type(), "CmdVel", "{order}");

        // A publisher that matches ends the error, but not that of the other pair.
        let other: Publisher<new::Status> = private.publisher("t", Qos::new());
        assert_eq!(statuses.recv(), None, "{order}");
        let error = statuses.check().unwrap_err().to_string();
        assert!(error.contains("requests reliable"), "{order}: {error}");
        assert_eq!(statuses.schema_difference(), None, "{order}");
        let pairs = causes(&inspector.unmatched_pairs());
        assert_eq!(pairs, [Mismatch::Type, Mismatch::Reliability], "{order}");
        assert_eq!(causes(&other.unmatched_subscribers()), pairs[1..]);
        drop((statuses, other));
        assert_eq!(inspector.unmatched_pairs(), [], "{order}");
        assert_eq!(send_until_full(&mut commands), 100, "{order}");
    }
}

/// The reason does not depend on which of several publishers came first.
#[test]
fn the_difference_does_not_depend_on_the_order_of_publishers() {
    let difference = |imu_first: bool| {
        let private = Private::new();
        let imu = || -> Publisher<Imu> { private.publisher("t", Qos::new()) };
        let twist = || -> Publisher<Twist> { private.publisher("t", Qos::new()) };
        let (first, second): (Option<_>, _) = if imu_first {
            (Some(imu()), twist())
        } else {
            (None, twist())
        };
        let _publishers = (first.unwrap_or_else(imu), second);
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
        assert_eq!(subscriber.recv(), None);
        subscriber.schema_difference().unwrap()
    };
    assert_eq!(difference(true), difference(false));
}

/// A subscriber logs each publisher that does not match it once, whatever that sends. A publisher
/// logs each subscriber that was there before it.
#[test]
fn a_mismatch_is_logged_once_for_each_publisher() {
    let private = Private::new();
    let settings = LogSettings::new().namespace(private.namespace());
    settings.stderr(false).init().unwrap();
    let topic = "logged";
    let mut statuses: Subscriber<old::Status> = private.subscriber(topic, Qos::reliable());
    let mut changed: Publisher<new::Status> = private.publisher(topic, Qos::new());
    let mut careless: Publisher<old::Status> = private.publisher(topic, Qos::new());
    for number in 0..100 {
        changed.send(status(number)).unwrap();
        careless.send(old_status()).unwrap();
        assert_eq!(statuses.recv(), None);
    }
    let texts = |reader: &mut LogReader| -> Vec<String> {
        let mut lines = reader.poll().unwrap();
        // Another test may be in the middle of a line.
        for _ in 0..60_000 {
            if !reader.has_withheld_lines() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            lines.extend(reader.poll().unwrap());
        }
        assert!(!reader.has_withheld_lines());
        let texts = lines
            .into_iter()
            .map(|record| record.line.text().to_string());
        texts
            .filter(|text| text.contains("topic 'logged'"))
            .collect()
    };
    let mut reader = LogReader::new(private.namespace());
    let own = format!("process {} (", std::process::id());
    let (of_publishers, found): (Vec<_>, Vec<_>) = texts(&mut reader)
        .into_iter()
        .partition(|text| text.contains("from this publisher"));
    assert_eq!(of_publishers.len(), 2, "{of_publishers:#?}");
    assert!(of_publishers[0].contains("it reads another message"));
    assert!(of_publishers[1].contains("it requests reliable"));
    assert!(of_publishers.iter().all(|text| text.contains(&own)));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|text| text.contains(&own)), "{found:#?}");
    let difference = "field 'ring': u16 @12 here, u32 @12 in the topic";
    assert!(found[0].contains(difference), "{found:#?}");
    assert!(found[1].contains("offers best effort"), "{found:#?}");
    // Another subscriber is part of other pairs, which its constructor finds.
    let late: Subscriber<old::Status> = private.subscriber(topic, Qos::reliable());
    let again = texts(&mut reader);
    assert_eq!(again, found);
    drop(late);
    // Another publisher in the same lane is another pair.
    drop(changed);
    let _another: Publisher<Imu> = private.publisher(topic, Qos::new());
    assert_eq!(statuses.recv(), None);
    let found = texts(&mut reader);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("it reads another message"));
    assert!(found[1].contains("'Status' here, 'Imu' in the topic"));
}

/// A tool that adopts a type reads what live publishers send, not what the first program sent.
#[test]
fn a_tool_adopts_the_type_of_the_live_publisher() {
    let private = Private::new();
    let mut before: Publisher<old::Status> = private.publisher("t", Qos::latched());
    before.send(old_status()).unwrap();
    drop(before);
    let observe = || DynamicSubscriber::observe(private.namespace(), "t").unwrap();
    assert_eq!(observe().message_type().name(), "Status");
    let mut after: Publisher<Twist> = private.publisher("t", Qos::new());
    let mut tool = observe();
    after.send(Twist::default()).unwrap();
    assert_eq!(tool.message_type().name(), "Twist");
    assert!(tool.recv().is_some());
}

/// The messages that an old program keeps do not prevent the new one from starting.
#[test]
fn an_upgraded_program_starts_beside_what_its_predecessor_keeps() {
    let private = Private::new();
    let mut before: Publisher<old::Status> = private.publisher("status", Qos::latched());
    before.send(old_status()).unwrap();
    drop(before);
    let mut subscriber: Subscriber<new::Status> = private.subscriber("status", Qos::new());
    assert_eq!(subscriber.recv(), None);
    let mut after: Publisher<new::Status> = private.publisher("status", Qos::latched());
    after.send(status(1)).unwrap();
    assert_eq!(subscriber.recv(), Some(status(1)));
    let mut late: Subscriber<new::Status> = private.subscriber("status", Qos::new());
    assert_eq!(late.recv(), Some(status(1)));
}
