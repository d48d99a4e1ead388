//! Quality of service: each publisher has its own settings, a subscriber has its own reliability,
//! and no endpoint decides for another.

use horus_testing as _;

mod private;

use std::thread;
use std::time::Duration;

use horus_core::message::{CmdVel, Imu, LaserScan};
use horus_core::topic::{Publisher, Qos, Reliability, Subscriber, Topic, WakeBarrier};
use horus_core::{RecvError, RecvTimeoutError, TopicError};
use horus_shm::{Offer, OpenError, Segment, TopicName};
use private::Private;

/// The order in which two endpoints are opened.
const ORDERS: [&str; 2] = ["publisher first", "subscriber first"];

/// The verdict on a subscriber that requests more than all live publishers offer.
const INCOMPATIBLE: &str = "topic 't': this subscriber requests reliable, and no live publisher of \
                            its type offers that: request best effort, or let a publisher offer \
                            reliable";

/// Returns what the publisher in each lane of `topic` offers.
fn offers(private: &Private, topic: &str) -> Vec<Offer> {
    let name = TopicName::new(topic).unwrap();
    let segment = Segment::inspect(private.namespace(), &name).unwrap();
    segment
        .offers()
        .into_iter()
        .map(|(_, offer)| offer)
        .collect()
}

/// Returns what the only publisher of `topic` offers.
fn offer(private: &Private, topic: &str) -> Offer {
    let mut offers = offers(private, topic);
    assert_eq!(offers.len(), 1, "{offers:?}");
    offers.remove(0)
}

/// Returns what a publisher offers that is alone.
fn offer_alone(qos: Qos) -> Offer {
    let private = Private::new();
    let _publisher: Publisher<CmdVel> = private.publisher("t", qos);
    offer(&private, "t")
}

/// Opens both endpoints of the topic `t` in one of [`ORDERS`].
fn pair(
    private: &Private,
    order: &str,
    publisher: Qos,
    subscriber: Qos,
) -> (Publisher<CmdVel>, Subscriber<CmdVel>) {
    if order == ORDERS[0] {
        let publisher = private.publisher("t", publisher);
        (publisher, private.subscriber("t", subscriber))
    } else {
        let subscriber = private.subscriber("t", subscriber);
        (private.publisher("t", publisher), subscriber)
    }
}

fn error_of<T>(outcome: Result<T, TopicError>) -> TopicError {
    outcome.err().expect("this was to be refused")
}

/// Sends messages with the numbers from 1 on until one is refused, `most` at most. Returns how many
/// were sent.
fn send_until_full(publisher: &mut Publisher<CmdVel>, most: u64) -> u64 {
    (1..=most)
        .take_while(|&number| publisher.send(numbered(number)).is_ok())
        .count() as u64
}

fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

fn numbers(subscriber: &mut Subscriber<CmdVel>) -> Vec<u64> {
    std::iter::from_fn(|| subscriber.recv())
        .map(|message| message.timestamp_ns)
        .collect()
}

#[test]
fn a_preset_makes_the_lane_it_describes() {
    let best = Reliability::BestEffort;
    let reliable = Reliability::Reliable;
    let membarrier = WakeBarrier::Membarrier;
    let fence = WakeBarrier::Fence;
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
        let offer = offer(&private, &topic);
        assert_eq!(offer.reliability, reliability, "{topic}");
        assert_eq!(offer.shape.capacity(), capacity, "{topic}");
        assert_eq!(
            (offer.history, offer.persists),
            (history, persists),
            "{topic}"
        );
        assert_eq!(offer.wake_barrier, edge, "{topic}");
    }
}

#[test]
fn the_default_capacity_follows_the_size_of_the_message() {
    let private = Private::new();
    let _small: Publisher<CmdVel> = private.publisher("small", Qos::new());
    let _medium: Publisher<Imu> = private.publisher("medium", Qos::new());
    let _large: Publisher<LaserScan> = private.publisher("large", Qos::new());
    let capacity = |topic| offer(&private, topic).shape.capacity();
    assert_eq!(
        [capacity("small"), capacity("medium"), capacity("large")],
        [1024, 1024, 256]
    );
}

/// The first endpoint decides nothing for those that come later.
#[test]
fn no_setting_is_adopted() {
    for order in ["reliable first", "plain first"] {
        let private = Private::new();
        let open_reliable = || private.publisher("t", Qos::reliable().capacity(32));
        let open_plain = || private.publisher("t", Qos::new());
        let (mut reliable, mut plain): (Publisher<CmdVel>, Publisher<CmdVel>);
        if order == "reliable first" {
            reliable = open_reliable();
            plain = open_plain();
        } else {
            plain = open_plain();
            reliable = open_reliable();
        }
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
        assert_eq!(send_until_full(&mut plain, 5000), 5000, "{order}");
        assert_eq!(send_until_full(&mut reliable, 5000), 32, "{order}");
        assert_eq!(
            numbers(&mut subscriber),
            (1..=32).collect::<Vec<_>>(),
            "{order}"
        );
        let offers = offers(&private, "t");
        let capacities: Vec<_> = offers.iter().map(|offer| offer.shape.capacity()).collect();
        let wanted = if order == "reliable first" {
            [32, 1024]
        } else {
            [1024, 32]
        };
        assert_eq!(capacities, wanted);
    }
}

/// Two publishers of one topic may differ in every setting.
#[test]
fn a_setting_that_differs_is_a_publishers_own() {
    let qos = Qos::new().capacity(32).publishers_max(3).subscribers_max(5);
    let table = [
        Qos::new().capacity(64),
        Qos::new().capacity(16),
        Qos::new().reliability(Reliability::Reliable),
        Qos::new().history(1),
        Qos::new().persist_after_exit(true),
        Qos::new().wake_barrier(WakeBarrier::Fence),
        Qos::new().pinnable(true),
        Qos::new().publishers_max(4),
        Qos::new().subscribers_max(4),
    ];
    for other in table {
        for pair in [[qos, other], [other, qos]] {
            let private = Private::new();
            let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
            let mut publishers: [Publisher<CmdVel>; 2] =
                pair.map(|qos| private.publisher("t", qos));
            assert_eq!(offers(&private, "t"), pair.map(offer_alone), "{pair:?}");
            for (number, publisher) in publishers.iter_mut().enumerate() {
                publisher.send(numbered(number as u64)).unwrap();
            }
            let mut got = numbers(&mut subscriber);
            got.sort_unstable();
            assert_eq!(got, [0, 1], "{pair:?}");
            let both = private.builder::<CmdVel>("t").qos(other).topic();
            assert!(both.is_ok(), "both endpoints at once: {other:?}");
        }
    }
}

/// A subscriber takes what each publisher has.
#[test]
fn the_capacity_of_a_subscriber_has_no_effect() {
    for order in ORDERS {
        for capacity in [2, 16, 32, 33, 1024] {
            let private = Private::new();
            let publisher = Qos::new().capacity(32);
            let subscriber = Qos::new().capacity(capacity);
            let (mut publisher, mut subscriber) = pair(&private, order, publisher, subscriber);
            assert_eq!(offer(&private, "t").shape.capacity(), 32);
            assert_eq!(send_until_full(&mut publisher, 32), 32);
            let got = numbers(&mut subscriber);
            assert_eq!(got, (1..=32).collect::<Vec<_>>(), "{order}, {capacity}");
        }
    }
}

#[test]
fn a_capacity_is_rounded_up_to_a_power_of_two() {
    let private = Private::new();
    let _publisher: Publisher<CmdVel> = private.publisher("t", Qos::new().capacity(33));
    assert_eq!(offer(&private, "t").shape.capacity(), 64);
}

#[test]
fn sizes_that_no_lane_can_have_are_refused_and_leave_nothing_behind() {
    let private = Private::new();
    let capacity = "and must be 2 to 1048576 (it is rounded up to a power of two)";
    let table = [
        (Qos::new().capacity(0), "capacity is 0", capacity),
        (Qos::new().capacity(1), "capacity is 1", capacity),
        (
            Qos::new().capacity((1 << 20) + 1),
            "capacity is 1048577",
            capacity,
        ),
        (
            Qos::new().capacity(u64::MAX),
            "capacity is 18446744073709551615",
            capacity,
        ),
    ];
    for (qos, found, wanted) in table {
        let error = error_of(private.builder::<CmdVel>("t").qos(qos).publisher());
        assert!(
            matches!(error.as_open_error(), Some(OpenError::Shape(_))),
            "{error}"
        );
        assert_eq!(error.to_string(), format!("topic 't': {found}, {wanted}"));
    }
    assert!(private.topic_files().is_empty());
}

#[test]
fn limits_that_no_topic_can_have_are_refused_by_both_endpoints() {
    let private = Private::new();
    let table = [
        (Qos::new().publishers_max(0), "publishers_max is 0"),
        (Qos::new().publishers_max(65), "publishers_max is 65"),
        (Qos::new().subscribers_max(0), "subscribers_max is 0"),
        (Qos::new().subscribers_max(65), "subscribers_max is 65"),
    ];
    for (qos, found) in table {
        let builder = || private.builder::<CmdVel>("t").qos(qos);
        let refusals = [
            error_of(builder().publisher()),
            error_of(builder().subscriber()),
            error_of(builder().topic()),
        ];
        for error in refusals {
            assert!(
                matches!(error.as_open_error(), Some(OpenError::Shape(_))),
                "{error}"
            );
            let text = format!("topic 't': {found}, and must be 1 to 64");
            assert_eq!(error.to_string(), text);
        }
    }
    assert!(private.topic_files().is_empty());
}

/// A publisher never fails because of a subscriber, and the subscriber learns why it gets nothing.
#[test]
fn a_reliable_subscriber_gets_nothing_from_a_publisher_that_does_not_wait() {
    for order in ORDERS {
        let private = Private::new();
        let (mut publisher, mut subscriber) =
            pair(&private, order, Qos::new().capacity(8), Qos::reliable());
        assert_eq!(publisher.subscriber_count(), 1, "{order}");
        assert_eq!(send_until_full(&mut publisher, 100), 100, "{order}");
        assert_eq!(subscriber.recv(), None, "{order}");
        let error = subscriber.check().unwrap_err();
        assert!(matches!(error, RecvError::Incompatible { .. }), "{error}");
        assert_eq!(error.to_string(), INCOMPATIBLE, "{order}");
        // A publisher of another type may offer reliable.
        let other: Publisher<Imu> = private.publisher("t", Qos::reliable());
        assert_eq!(subscriber.recv(), None, "{order}");
        let error = subscriber.check().unwrap_err();
        assert_eq!(error.to_string(), INCOMPATIBLE, "{order}");
        drop(other);
        let stats = subscriber.stats();
        let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (0, 0, 0, 0), "{order}");

        // One publisher that offers enough ends the error, and its leaving brings it back.
        let mut waiting: Publisher<CmdVel> = private.publisher("t", Qos::reliable().capacity(8));
        assert_eq!(send_until_full(&mut waiting, 100), 8, "{order}");
        assert_eq!(numbers(&mut subscriber), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(subscriber.check(), Ok(()), "{order}");
        drop(waiting);
        assert_eq!(subscriber.recv(), None);
        assert_eq!(subscriber.check().unwrap_err().to_string(), INCOMPATIBLE);
        drop(publisher);
        assert_eq!(subscriber.recv(), None);
        assert_eq!(subscriber.check(), Ok(()), "nobody is there");
    }
}

/// A receive does not wait for messages that cannot come.
#[test]
fn a_waiting_receive_reports_that_no_publisher_matches() {
    for order in ORDERS {
        let private = Private::new();
        let (publisher, mut subscriber) = pair(&private, order, Qos::new(), Qos::reliable());
        let error = subscriber.recv_timeout(Duration::MAX).unwrap_err();
        let is_incompatible = matches!(error, RecvTimeoutError::Incompatible { .. });
        assert!(is_incompatible, "{error}");
        assert_eq!(error.to_string(), INCOMPATIBLE, "{order}");
        let error = subscriber.recv_blocking().unwrap_err();
        assert_eq!(error.to_string(), INCOMPATIBLE, "{order}");
        drop(publisher);
        let error = subscriber
            .recv_timeout(Duration::from_millis(1))
            .unwrap_err();
        let is_timeout = matches!(error, RecvTimeoutError::Timeout { .. });
        assert!(is_timeout, "{error}");
    }
}

#[test]
fn a_publisher_that_does_not_match_ends_a_wait() {
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    let waiting = thread::spawn(move || subscriber.recv_blocking().unwrap_err());
    let _publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    assert_eq!(waiting.join().unwrap().to_string(), INCOMPATIBLE);
}

#[test]
fn a_default_subscriber_delays_no_reliable_publisher() {
    for slow in [Qos::new(), Qos::sensor_data()] {
        let private = Private::new();
        let mut publisher: Publisher<Imu> = private.publisher("t", Qos::reliable().capacity(16));
        let mut slow: Subscriber<Imu> = private.subscriber("t", slow);
        let mut reliable: Subscriber<Imu> = private.subscriber("t", Qos::reliable());
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
        assert_eq!((reliable.lost(), reliable.detach_count()), (0, 0));
    }
}

/// A subscriber that was first gives the topic no settings.
#[test]
fn the_first_endpoint_decides_nothing() {
    let private = Private::new();
    let _subscriber: Subscriber<CmdVel> = private.subscriber("by_subscriber", Qos::reliable());
    assert_eq!(offers(&private, "by_subscriber"), []);
    let mut publisher: Publisher<CmdVel> = private.publisher("by_subscriber", Qos::new());
    let best = Reliability::BestEffort;
    assert_eq!(offer(&private, "by_subscriber").reliability, best);
    assert_eq!(send_until_full(&mut publisher, 5000), 5000);

    let _publisher: Publisher<CmdVel> = private.publisher("by_publisher", Qos::sensor_data());
    private.subscriber::<CmdVel>("by_publisher", Qos::reliable());
    assert_eq!(offer(&private, "by_publisher").shape.capacity(), 8);

    let _both: Topic<CmdVel> = private
        .builder("by_both")
        .qos(Qos::command())
        .topic()
        .unwrap();
    assert_eq!(offer(&private, "by_both").wake_barrier, WakeBarrier::Fence);
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
