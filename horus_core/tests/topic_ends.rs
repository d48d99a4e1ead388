//! The two endpoints of a topic: the messages that each receives, and the errors of a full topic.

use horus_testing as _;

mod private;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::{CmdVel, Pose2D};
use horus_core::topic::{OnStalled, Publisher, Qos, Subscriber, Topic};
use horus_core::{RecvError, SendError};
use horus_shm::{NameError, OpenError};
use private::Private;

/// Returns a message that carries its number.
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

fn send_all(publisher: &mut Publisher<CmdVel>, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        publisher.send(numbered(number)).unwrap();
    }
}

#[test]
fn messages_arrive_in_order_whether_sent_by_value_or_by_reference() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let second = &CmdVel::new(0.5, 0.1);
    let third = &numbered(3);
    publisher.send(numbered(1)).unwrap();
    publisher.send(second).unwrap();
    publisher.send_timeout(third, Duration::ZERO).unwrap();
    assert_eq!(subscriber.recv(), Some(numbered(1)));
    let mut into = CmdVel::default();
    assert!(subscriber.recv_into(&mut into));
    assert_eq!(into, *second);
    assert_eq!(subscriber.recv(), Some(numbered(3)));
    assert_eq!(subscriber.recv(), None);
    assert!(!subscriber.recv_into(&mut into));
}

#[test]
fn a_subscriber_that_came_first_loses_nothing_of_a_publisher_that_comes_later() {
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut first: Publisher<CmdVel> = private.publisher("t", Qos::new());
    send_all(&mut first, 1..=3);
    let mut second: Publisher<CmdVel> = private.publisher("t", Qos::new());
    send_all(&mut second, 11..=13);
    drop((first, second));
    let mut got = numbers(&mut subscriber);
    got.sort_unstable();
    assert_eq!(got, [1, 2, 3, 11, 12, 13]);
    assert_eq!(subscriber.lost(), 0);
}

#[test]
fn a_new_subscriber_gets_nothing_old() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    send_all(&mut publisher, 1..=3);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    assert_eq!(subscriber.recv(), None);
    send_all(&mut publisher, [4]);
    assert_eq!(numbers(&mut subscriber), [4]);
    assert_eq!(subscriber.stats().sent, 1, "counted from its arrival on");
}

#[test]
fn messages_of_an_ended_session_reach_only_its_subscribers() {
    let private = Private::new();
    let qos = Qos::new().history(2);
    let mut there: Subscriber<CmdVel> = private.subscriber("t", qos);
    let mut publisher: Publisher<CmdVel> = private.publisher("t", qos);
    send_all(&mut publisher, 1..=3);
    let mut joined: Subscriber<CmdVel> = private.subscriber("t", qos);
    assert_eq!(numbers(&mut joined), [2, 3], "history of a live publisher");
    drop(publisher);
    let mut late: Subscriber<CmdVel> = private.subscriber("t", qos);
    assert_eq!(late.recv(), None, "none of one that left");
    assert_eq!(numbers(&mut there), [1, 2, 3]);

    // The next publisher reuses the lane, but has a history of its own.
    let mut next: Publisher<CmdVel> = private.publisher("t", qos);
    send_all(&mut next, [4]);
    let mut after: Subscriber<CmdVel> = private.subscriber("t", qos);
    assert_eq!(numbers(&mut after), [4]);
    assert_eq!(numbers(&mut there), [4]);
    assert_eq!(numbers(&mut late), [4]);
}

#[test]
fn a_reliable_subscriber_gets_history_too() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(8).history(3);
    let mut publisher: Publisher<CmdVel> = private.publisher("t", qos);
    send_all(&mut publisher, 1..=20);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    assert_eq!(numbers(&mut subscriber), [18, 19, 20]);
    send_all(&mut publisher, 21..=28);
    assert!(publisher.send(numbered(29)).is_err());
    assert_eq!(numbers(&mut subscriber), [21, 22, 23, 24, 25, 26, 27, 28]);
}

#[test]
fn a_latched_message_survives_all_its_processes() {
    let private = Private::new();
    for first in [1, 3] {
        let mut publisher: Publisher<CmdVel> = private.publisher("map", Qos::latched());
        send_all(&mut publisher, first..first + 2);
        drop(publisher);
        assert_eq!(private.topic_files(), ["map"]);
        for _ in 0..2 {
            let mut subscriber: Subscriber<CmdVel> = private.subscriber("map", Qos::new());
            assert_eq!(
                numbers(&mut subscriber),
                [first + 1],
                "the last one, and only that"
            );
        }
    }
    private.namespace().remove().unwrap();
    assert!(!private.namespace().path().exists());
}

#[test]
fn a_topic_that_does_not_persist_goes_with_its_last_handle() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("a/b.c", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("a/b.c", Qos::new());
    let observer = private.builder::<CmdVel>("a/b.c").observer().unwrap();
    assert_eq!(private.topic_files().len(), 1);
    drop((publisher, observer));
    assert_eq!(private.topic_files().len(), 1, "the subscriber is there");
    drop(subscriber);
    assert!(private.topic_files().is_empty());
}

#[test]
fn a_topic_handle_receives_its_own_messages() {
    let private = Private::new();
    let mut topic: Topic<CmdVel> = private.builder("t").topic().unwrap();
    topic.send(CmdVel::new(0.5, 0.1)).unwrap();
    let message = topic.recv().unwrap();
    assert_eq!((message.linear, message.angular), (0.5, 0.1));
    let seventh = &numbered(7);
    topic.send(seventh).unwrap();
    topic.send_timeout(numbered(8), Duration::ZERO).unwrap();
    assert_eq!(topic.latest(), Some(numbered(8)));
    let stats = topic.stats();
    assert_eq!(
        (stats.sent, stats.received, stats.skipped, stats.waiting),
        (3, 2, 1, 0)
    );
}

#[test]
fn ignore_own_drops_only_own_messages() {
    for qos in [Qos::new().capacity(8), Qos::reliable().capacity(8)] {
        let private = Private::new();
        let topic = || {
            private
                .builder::<CmdVel>("t")
                .qos(qos)
                .topic()
                .unwrap()
                .ignore_own()
        };
        let mut one = topic();
        let mut other = topic();
        for number in 0..20 {
            one.send(numbered(number)).unwrap();
            assert_eq!(other.recv(), Some(numbered(number)));
            other.send(numbered(100 + number)).unwrap();
            assert_eq!(one.recv(), Some(numbered(100 + number)));
        }
        assert_eq!((one.recv(), other.recv()), (None, None));
        assert_eq!(
            (one.stats().sent, one.stats().received, one.lost()),
            (20, 20, 0)
        );
    }
}

#[test]
fn a_split_handle_works_on_two_threads() {
    let private = Private::new();
    let topic: Topic<CmdVel> = private.builder("t").qos(Qos::reliable()).topic().unwrap();
    let (mut publisher, mut subscriber) = topic.split();
    let sending = thread::spawn(move || send_all(&mut publisher, 1..=1000));
    let mut got = Vec::new();
    while got.len() < 1000 {
        got.extend(numbers(&mut subscriber));
    }
    sending.join().unwrap();
    assert!(got.into_iter().eq(1..=1000));
}

#[test]
fn a_full_reliable_topic_gives_the_message_back() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::reliable().capacity(4));
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    send_all(&mut publisher, 1..=4);
    let error = publisher.send(numbered(5)).unwrap_err();
    assert!(matches!(error, SendError::Full { .. }) && error.is_full());
    assert_eq!(error.into_inner(), numbered(5));
    assert_eq!(publisher.sequence(), 4, "nothing was sent");
    assert_eq!(subscriber.recv(), Some(numbered(1)));
    send_all(&mut publisher, [5]);
    assert_eq!(numbers(&mut subscriber), [2, 3, 4, 5]);
    drop(subscriber);
    send_all(&mut publisher, 6..=20);
}

#[test]
fn what_is_drained_is_received_each_message_once_whatever_comes_between() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(64);
    let mut publisher: Publisher<CmdVel> = private.publisher("t", qos);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    let drained = |subscriber: &mut Subscriber<CmdVel>| {
        let mut numbers = Vec::new();
        let count = subscriber.drain(|message| numbers.push(message.timestamp_ns));
        assert_eq!(count, numbers.len());
        numbers
    };
    assert_eq!(drained(&mut subscriber), []);
    // Past the sampled message, and several times around the ring.
    for first in (0..1000).step_by(50) {
        send_all(&mut publisher, first..first + 50);
        assert_eq!(
            drained(&mut subscriber),
            (first..first + 50).collect::<Vec<_>>()
        );
    }
    // All slots are freed at once for the next messages.
    for first in [1000, 1064] {
        send_all(&mut publisher, first..first + 64);
        assert!(publisher.send(numbered(0)).is_err());
        assert_eq!(
            drained(&mut subscriber),
            (first..first + 64).collect::<Vec<_>>()
        );
    }
    // Messages passed on before the panic are received, and no others.
    send_all(&mut publisher, 2000..2010);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        subscriber.drain(|message| assert_ne!(message.timestamp_ns, 2004, "on purpose"))
    }));
    assert!(panicked.is_err());
    assert_eq!(drained(&mut subscriber), (2005..2010).collect::<Vec<_>>());
    let stats = subscriber.stats();
    assert_eq!(
        (stats.sent, stats.received, stats.lost, stats.waiting),
        (1138, 1138, 0, 0)
    );
}

#[test]
fn two_publishers_are_drained_in_their_orders_and_losses_are_counted() {
    let private = Private::new();
    let qos = Qos::new().capacity(16);
    let mut publishers: [Publisher<CmdVel>; 2] =
        [private.publisher("t", qos), private.publisher("t", qos)];
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    send_all(&mut publishers[0], 0..10);
    send_all(&mut publishers[1], 100..140);
    let mut numbers = Vec::new();
    while subscriber.drain(|message| numbers.push(message.timestamp_ns)) > 0 {}
    let (low, high): (Vec<u64>, Vec<u64>) = numbers.iter().partition(|&&number| number < 100);
    assert_eq!(low, (0..10).collect::<Vec<_>>());
    let lost = subscriber.lost();
    assert!(lost > 0);
    assert_eq!(high, (100 + lost..140).collect::<Vec<_>>());
}

/// A publisher that floods a topic delays the messages of each other one by half as many messages
/// as the topic has publishers at most, from slots that are copied and from those that are pinned.
#[test]
fn a_flood_of_one_publisher_delays_no_other_for_long() {
    const PUBLISHERS: u64 = 8;
    const FLOOD: u64 = 64;
    for qos in [Qos::new(), Qos::new().pinnable(true)] {
        let private = Private::new();
        let publishers = (0..PUBLISHERS).map(|_| private.publisher("t", qos));
        let mut publishers: Vec<Publisher<CmdVel>> = publishers.collect();
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
        for flooding in 0..PUBLISHERS {
            for other in (0..PUBLISHERS).filter(|other| *other != flooding) {
                for before in 0..PUBLISHERS {
                    send_all(
                        &mut publishers[flooding as usize],
                        (0..before).map(|_| FLOOD),
                    );
                    assert_eq!(numbers(&mut subscriber).len() as u64, before);
                    send_all(&mut publishers[flooding as usize], 0..FLOOD);
                    assert_eq!(subscriber.recv().unwrap().timestamp_ns, 0);
                    send_all(&mut publishers[other as usize], [FLOOD]);
                    let received = numbers(&mut subscriber);
                    let waited = received.iter().position(|number| *number == FLOOD).unwrap();
                    assert!(waited as u64 <= PUBLISHERS / 2, "{waited}");
                    assert_eq!(received.len() as u64, FLOOD);
                }
            }
        }
        assert_eq!(subscriber.lost(), 0);
    }
}

#[test]
fn a_truncated_topic_is_an_error_and_can_be_opened_again() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    send_all(&mut publisher, 1..=3);
    assert_eq!(subscriber.check(), Ok(()));
    let file = private.namespace().topics_path().join("t");
    std::fs::File::options()
        .write(true)
        .truncate(true)
        .open(file)
        .unwrap();
    let error = publisher
        .send_timeout(numbered(4), Duration::from_secs(60))
        .unwrap_err();
    assert!(matches!(error, SendError::RegionLost { .. }) && !error.is_full());
    assert_eq!(error.into_inner(), numbered(4));
    assert!(subscriber.recv().is_none());
    assert!(matches!(
        subscriber.check(),
        Err(RecvError::RegionLost { .. })
    ));
    let error = publisher.try_clone().unwrap_err();
    assert!(
        matches!(error.as_open_error(), Some(OpenError::RegionLost { .. })),
        "{error}"
    );

    drop((publisher, subscriber));
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    send_all(&mut publisher, 1..=3);
    assert_eq!(numbers(&mut subscriber), [1, 2, 3]);
}

#[test]
fn send_timeout_waits_at_most_its_timeout() {
    const TIMEOUT: Duration = Duration::from_millis(20);
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::reliable().capacity(4));
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    send_all(&mut publisher, 1..=4);
    let start = Instant::now();
    let error = publisher.send_timeout(numbered(5), TIMEOUT).unwrap_err();
    assert!(start.elapsed() >= TIMEOUT);
    assert_eq!((error.is_full(), error.into_inner()), (true, numbered(5)));

    let stop = AtomicBool::new(false);
    let got = thread::scope(|scope| {
        let draining = scope.spawn(|| {
            let mut got = Vec::new();
            // Relaxed: the join orders everything else.
            while !stop.load(Ordering::Relaxed) {
                got.extend(numbers(&mut subscriber));
            }
            got.extend(numbers(&mut subscriber));
            got
        });
        for number in 5..=500 {
            publisher
                .send_timeout(numbered(number), Duration::from_secs(30))
                .unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        draining.join().unwrap()
    });
    assert!(got.into_iter().eq(1..=500));
}

#[test]
fn a_publisher_may_stop_waiting_for_a_stalled_subscriber() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(4);
    let detach = qos.on_stalled(OnStalled::Detach {
        after: Duration::ZERO,
    });
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    let mut publisher: Publisher<CmdVel> = private.publisher("t", detach);
    send_all(&mut publisher, 1..=10);
    assert_eq!(subscriber.detach_count(), 1);
    let got = numbers(&mut subscriber);
    assert_eq!(got.last(), Some(&10));
    assert_eq!(subscriber.lost() + got.len() as u64, 10);
}

#[test]
fn an_observer_receives_and_is_not_counted() {
    let private = Private::new();
    let missing = private.builder::<CmdVel>("t").observer().unwrap_err();
    assert!(
        matches!(missing.as_open_error(), Some(OpenError::NotFound { .. })),
        "{missing}"
    );
    assert!(
        private.topic_files().is_empty(),
        "an observer creates nothing"
    );
    for qos in [Qos::new().capacity(8), Qos::reliable().capacity(8)] {
        let mut publisher: Publisher<CmdVel> = private.publisher("t", qos);
        let mut observer = private.builder::<CmdVel>("t").observer().unwrap();
        assert_eq!(
            (publisher.subscriber_count(), observer.subscriber_count()),
            (0, 0)
        );
        send_all(&mut publisher, 1..=3);
        assert_eq!(numbers(&mut observer), [1, 2, 3]);
        send_all(&mut publisher, 4..=100);
        let got = numbers(&mut observer);
        assert_eq!(observer.lost() + got.len() as u64, 97);
        let mut later: Publisher<CmdVel> = private.publisher("t", Qos::new());
        send_all(&mut later, [7]);
        assert_eq!(numbers(&mut observer), [7]);
    }
}

#[test]
fn a_bad_name_is_refused_with_its_character_and_position() {
    let private = Private::new();
    let table = [
        ("", "the topic name is empty"),
        ("/", "the topic name is empty"),
        ("a b", "\"a b\" has ' ' at byte 1"),
        ("arm/größe", "\"arm/größe\" has 'ö' at byte 6"),
        ("/a/../b", "\"/a/../b\" has an empty token at byte 3"),
        ("//a", "\"//a\" has an empty token at byte 1"),
        ("a/", "\"a/\" has an empty token at byte 2"),
        ("a+b", "\"a+b\" has '+' at byte 1"),
    ];
    for (name, part) in table {
        let error = private.builder::<CmdVel>(name).topic().unwrap_err();
        let is_of_name = matches!(error.as_open_error(), Some(OpenError::Name(_)));
        assert!(is_of_name && error.to_string().contains(part), "{error}");
    }
    let long = "a".repeat(201);
    let error = private.builder::<CmdVel>(&long).topic().unwrap_err();
    let too_long = NameError::TooLong {
        kind: horus_shm::NameKind::Topic,
        bytes: 201,
        bytes_max: 200,
    };
    assert!(matches!(error.as_open_error(), Some(OpenError::Name(name)) if *name == too_long));
    assert!(private.topic_files().is_empty());
}

#[test]
fn names_that_differ_are_different_topics() {
    let private = Private::new();
    let names = ["a", "a/b", "a.b", "a_b", "a-b", "A/b"];
    let mut topics: Vec<Topic<CmdVel>> = names
        .iter()
        .map(|name| private.builder(name).topic().unwrap())
        .collect();
    for (index, topic) in topics.iter_mut().enumerate() {
        topic.send(numbered(index as u64)).unwrap();
    }
    for (index, topic) in topics.iter_mut().enumerate() {
        assert_eq!(
            (topic.recv(), topic.recv()),
            (Some(numbered(index as u64)), None)
        );
    }
    let mut same: Subscriber<CmdVel> = private.subscriber("/a/b", Qos::new());
    topics[1].send(numbered(9)).unwrap();
    assert_eq!(numbers(&mut same), [9], "one leading slash says nothing");
}

#[test]
fn topics_of_two_namespaces_are_separate() {
    let private = Private::new();
    let second = private.sibling("second_robot");
    let mut here: Topic<CmdVel> = private.builder("t").topic().unwrap();
    let there = || {
        Topic::<Pose2D>::builder("t")
            .namespace(&second)
            .qos(Qos::reliable())
    };
    let mut there: Topic<Pose2D> = there().topic().unwrap();
    here.send(numbered(1)).unwrap();
    assert_eq!((there.recv(), here.recv()), (None, Some(numbered(1))));
    assert_eq!(there.publisher().publisher_count(), 1);
    drop(there);
    let mut reliable: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    assert_eq!(reliable.recv(), None);
    assert!(
        matches!(reliable.check(), Err(RecvError::Incompatible { .. })),
        "the other namespace's publishers are no business of ours"
    );
    second.remove().unwrap();
    here.send(numbered(2)).unwrap();
    assert_eq!(here.recv(), Some(numbered(2)));
}

#[test]
fn a_split_handle_receives_from_the_next_owner_of_its_lane() {
    for qos in [Qos::new(), Qos::reliable()] {
        let private = Private::new();
        let builder = || private.builder::<CmdVel>("t").qos(qos);
        let (mut own, mut subscriber) = builder().topic().unwrap().ignore_own().split();
        own.send(CmdVel::new(1.0, 0.0)).unwrap();
        assert_eq!(subscriber.recv().map(|message| message.linear), Some(1.0));
        drop(own);
        let mut other = builder().publisher().unwrap();
        other.send(CmdVel::new(2.0, 0.0)).unwrap();
        assert_eq!(subscriber.recv().map(|message| message.linear), Some(2.0));
        let stats = subscriber.stats();
        assert_eq!((stats.sent, stats.received, stats.waiting), (2, 2, 0));
    }
}
