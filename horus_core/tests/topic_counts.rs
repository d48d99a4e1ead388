//! The counts of a topic: its participants, its limits, and the ledger of every subscriber.

use horus_testing as _;

mod private;

use std::sync::mpsc::channel;
use std::thread;

use horus_core::message::{CmdVel, JointCommand, Message};
use horus_core::topic::{Backend, Publisher, Qos, Stats, Subscriber, Topic};
use horus_shm::OpenError;
use private::Private;

horus_core::message! {
    /// A message without a time.
    pub struct Plain {
        /// A number.
        pub number: u64,
    }
}

fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

/// Checks that the ledger accounts for every message sent.
#[track_caller]
fn assert_balanced(stats: Stats) {
    let accounted = stats.received + stats.lost + stats.skipped + stats.waiting;
    assert_eq!(stats.sent, accounted, "{stats:?}");
}

#[test]
fn participants_are_counted_while_they_are_there() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let counts = |end: &Publisher<CmdVel>| (end.publisher_count(), end.subscriber_count());
    assert_eq!(counts(&publisher), (1, 0));
    let second = publisher.try_clone().unwrap();
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let twin = subscriber.try_clone().unwrap();
    assert_eq!(counts(&publisher), (2, 2));
    assert_eq!((twin.publisher_count(), twin.subscriber_count()), (2, 2));
    drop(subscriber);
    assert_eq!(counts(&second), (2, 1));
    drop(publisher);
    assert_eq!(counts(&second), (1, 1));
    let both: Topic<CmdVel> = private.builder("t").topic().unwrap();
    assert_eq!(counts(&second), (2, 2));
    drop((both, twin));
    assert_eq!(counts(&second), (1, 0));
}

/// A subscriber is counted only when it has its start in every lane.
#[test]
fn what_is_sent_to_a_counted_subscriber_reaches_it() {
    const ROUNDS: u64 = 2000;
    for qos in [Qos::new(), Qos::reliable(), Qos::new().pinnable(true)] {
        let private = Private::new();
        let mut publisher: Publisher<CmdVel> = private.publisher("t", qos);
        let (sent, is_sent) = channel();
        let (over, is_over) = channel();
        let sending = thread::spawn(move || {
            for round in 1..=ROUNDS {
                while publisher.subscriber_count() == 0 {
                    std::hint::spin_loop();
                }
                publisher.send(numbered(round)).unwrap();
                sent.send(()).unwrap();
                is_over.recv().unwrap();
            }
        });
        for round in 1..=ROUNDS {
            let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
            is_sent.recv().unwrap();
            assert_eq!(subscriber.recv(), Some(numbered(round)), "{qos:?}");
            drop(subscriber);
            over.send(()).unwrap();
        }
        sending.join().unwrap();
    }
}

#[test]
fn the_backend_is_what_the_participants_make_it() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    assert_eq!(publisher.backend(), Backend::SpscShm, "alone");
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    assert_eq!(subscriber.backend(), Backend::SpscShm);
    let second_publisher = publisher.try_clone().unwrap();
    assert_eq!(subscriber.backend(), Backend::MpscShm);
    let second_subscriber = subscriber.try_clone().unwrap();
    assert_eq!(publisher.backend(), Backend::FanoutShm);
    drop(second_publisher);
    assert_eq!(publisher.backend(), Backend::SpmcShm);
    drop(second_subscriber);
    assert_eq!(publisher.backend().to_string(), "SpscShm");
    let observer = private.builder::<CmdVel>("t").observer().unwrap();
    assert_eq!(
        observer.backend(),
        Backend::SpscShm,
        "observers do not count"
    );
}

#[test]
fn a_clone_is_a_participant_of_its_own() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::reliable().capacity(4));
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    publisher.send(numbered(1)).unwrap();
    let mut second_publisher = publisher.try_clone().unwrap();
    let mut second = subscriber.try_clone().unwrap();
    assert_eq!(second.recv(), None, "it starts now");
    second_publisher.send(numbered(2)).unwrap();
    assert_eq!(
        (publisher.sequence(), second_publisher.sequence()),
        (1, 1),
        "lanes of their own"
    );
    let mut got: Vec<_> = std::iter::from_fn(|| subscriber.recv()).collect();
    got.sort_unstable_by_key(|message| message.timestamp_ns);
    assert_eq!(got, [numbered(1), numbered(2)]);
    assert_eq!((second.recv(), second.recv()), (Some(numbered(2)), None));
    // The clone of a reliable subscriber is reliable.
    (0..4).for_each(|number| publisher.send(numbered(number)).unwrap());
    assert_eq!(std::iter::from_fn(|| subscriber.recv()).count(), 4);
    assert!(publisher.send(numbered(4)).is_err());
    drop(second);
    publisher.send(numbered(4)).unwrap();
}

#[test]
fn one_publisher_too_many_gets_the_limit_in_its_error() {
    let private = Private::new();
    let mut publishers: Vec<Publisher<CmdVel>> = (0..64)
        .map(|_| private.publisher("t", Qos::new()))
        .collect();
    for refused in [
        private.builder::<CmdVel>("t").publisher().unwrap_err(),
        publishers[0].try_clone().unwrap_err(),
        private.builder::<CmdVel>("t").topic().unwrap_err(),
    ] {
        let limit = refused.as_open_error();
        assert!(
            matches!(limit, Some(OpenError::TooManyPublishers { limit: 64, .. })),
            "{refused}"
        );
        assert!(
            refused.to_string().contains(
                "all 64 places of publishers are taken: close one of them, because no topic has \
                 more"
            ),
            "{refused}"
        );
    }
    assert_eq!(publishers[0].publisher_count(), 64);
    assert_eq!(
        publishers[0].subscriber_count(),
        0,
        "the refused handle left nothing behind"
    );
    publishers.pop();
    private.publisher::<CmdVel>("t", Qos::new());
}

/// A publisher's own limit concerns only that publisher.
#[test]
fn a_publisher_may_be_the_only_one_of_its_kind() {
    let private = Private::new();
    let only = || {
        private
            .builder::<CmdVel>("t")
            .qos(Qos::new().publishers_max(1))
            .publisher()
    };
    let first = only().unwrap();
    let refused = only().unwrap_err();
    let limit = refused.as_open_error();
    assert!(
        matches!(limit, Some(OpenError::TooManyPublishers { limit: 1, .. })),
        "{refused}"
    );
    assert_eq!(
        refused.to_string(),
        "topic 't': all 1 places of publishers are taken: close one of them, or allow this one \
         more of the 64 of the topic"
    );
    let other: Publisher<CmdVel> = private.publisher("t", Qos::new());
    assert_eq!(other.publisher_count(), 2);
    drop(first);
    only().unwrap();
}

#[test]
fn one_subscriber_too_many_gets_the_limit_in_its_error() {
    let private = Private::new();
    let mut subscribers: Vec<Subscriber<CmdVel>> = (0..64)
        .map(|_| private.subscriber("t", Qos::new()))
        .collect();
    for refused in [
        private.builder::<CmdVel>("t").subscriber().unwrap_err(),
        subscribers[0].try_clone().unwrap_err(),
        private.builder::<CmdVel>("t").topic().unwrap_err(),
    ] {
        let limit = refused.as_open_error();
        assert!(
            matches!(limit, Some(OpenError::TooManySubscribers { limit: 64, .. })),
            "{refused}"
        );
        assert!(
            refused.to_string().contains(
                "all 64 places of subscribers are taken: close one of them, because no topic has \
                 more"
            ),
            "{refused}"
        );
    }
    assert_eq!(
        subscribers[0].publisher_count(),
        0,
        "the refused handle left nothing behind"
    );
    private.builder::<CmdVel>("t").observer().unwrap();
    subscribers.pop();
    private.subscriber::<CmdVel>("t", Qos::new());
}

#[test]
fn one_reliable_subscriber_too_many_gets_the_limit_in_its_error() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(8).subscribers_max(4);
    let mut subscribers: Vec<Subscriber<CmdVel>> =
        (0..4).map(|_| private.subscriber("t", qos)).collect();
    for refused in [
        private
            .builder::<CmdVel>("t")
            .qos(qos)
            .subscriber()
            .unwrap_err(),
        subscribers[0].try_clone().unwrap_err(),
        private.builder::<CmdVel>("t").qos(qos).topic().unwrap_err(),
    ] {
        let limit = refused.as_open_error();
        assert!(
            matches!(limit, Some(OpenError::TooManySubscribers { limit: 4, .. })),
            "{refused}"
        );
        assert_eq!(
            refused.to_string(),
            "topic 't': all 4 places of subscribers are taken: close one of them, or allow this \
             one more of the 64 of the topic"
        );
    }
    assert_eq!(
        subscribers[0].subscriber_count(),
        4,
        "the refused ones gave their places back"
    );
    assert_eq!(
        subscribers[0].publisher_count(),
        0,
        "the refused handle left nothing behind"
    );
    // The limit is theirs alone.
    private.subscriber::<CmdVel>("t", Qos::reliable());
    subscribers.pop();
    private.subscriber::<CmdVel>("t", qos);
}

#[test]
fn every_subscriber_of_a_topic_may_be_reliable() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(8);
    let subscribers: Vec<Subscriber<CmdVel>> =
        (0..64).map(|_| private.subscriber("t", qos)).collect();
    assert_eq!(subscribers[0].subscriber_count(), 64);
    let refused = private.builder::<CmdVel>("t").subscriber().unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("topic 't': all 64 places of subscribers")
    );
}

#[test]
fn a_lapped_subscriber_counts_exactly_what_it_lost() {
    for (capacity, messages) in [(2, 3), (4, 100), (8, 9), (64, 1000), (1024, 1025)] {
        let private = Private::new();
        let mut publisher: Publisher<CmdVel> =
            private.publisher("t", Qos::new().capacity(capacity));
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
        (1..=messages).for_each(|number| publisher.send(numbered(number)).unwrap());
        let at_first = subscriber.stats();
        assert_eq!(at_first.lost + at_first.waiting, messages);
        assert_balanced(at_first);
        let mut received = 0;
        while let Some(message) = subscriber.recv() {
            received += 1;
            assert_eq!(
                message.timestamp_ns,
                subscriber.lost() + received,
                "capacity {capacity}"
            );
            assert_eq!(subscriber.sequence(), message.timestamp_ns);
            assert_balanced(subscriber.stats());
        }
        assert!(received > 0 && subscriber.lost() > 0, "capacity {capacity}");
        let stats = subscriber.stats();
        assert_eq!(
            (stats.sent, stats.received, stats.waiting),
            (messages, received, 0)
        );
        assert_eq!((stats.lost, received), (at_first.lost, at_first.waiting));
        assert_eq!(subscriber.sequence(), publisher.sequence());
    }
}

#[test]
fn the_ledger_balances_over_several_publishers_that_come_and_go() {
    let private = Private::new();
    let qos = Qos::new().capacity(8);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    let mut sent = 0;
    for round in 1..=5 {
        let mut publishers: Vec<Publisher<CmdVel>> =
            (0..round).map(|_| private.publisher("t", qos)).collect();
        for publisher in &mut publishers {
            (0..3 * round).for_each(|number| publisher.send(numbered(number)).unwrap());
            sent += 3 * round;
        }
        for _ in 0..round {
            subscriber.recv();
        }
        drop(publishers);
        assert_eq!(subscriber.stats().sent, sent);
        assert_balanced(subscriber.stats());
    }
    while subscriber.recv().is_some() {}
    assert_balanced(subscriber.stats());
    assert_eq!(subscriber.stats().waiting, 0);
}

#[test]
fn what_is_overwritten_is_lost_before_the_subscriber_looks() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new().capacity(16));
    let mut by_one: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut by_latest: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    for number in 0..1000 {
        publisher.send(numbered(number)).unwrap();
    }
    for subscriber in [&by_one, &by_latest] {
        let stats = subscriber.stats();
        assert_balanced(stats);
        assert_eq!((stats.lost, stats.waiting), (986, 14));
    }
    assert_eq!(by_latest.latest(), Some(numbered(999)));
    assert_eq!(by_one.recv(), Some(numbered(986)));
    let expected = [(&by_one, 0, 13), (&by_latest, 13, 0)];
    for (subscriber, skipped, waiting) in expected {
        let stats = subscriber.stats();
        assert_balanced(stats);
        assert_eq!(
            (stats.lost, stats.skipped, stats.waiting),
            (986, skipped, waiting)
        );
    }
}

#[test]
fn latest_has_the_newest_timestamp_of_all_publishers() {
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut publishers: [Publisher<CmdVel>; 3] =
        std::array::from_fn(|_| private.publisher("t", Qos::new()));
    assert_eq!(subscriber.latest(), None);
    let mut skipped = 0;
    for turn in 0..6_u64 {
        let newest = (turn % 3) as usize;
        for (index, publisher) in publishers.iter_mut().enumerate() {
            let time = 10 * turn + if index == newest { 9 } else { index as u64 };
            publisher.send(numbered(100 + time - 1)).unwrap();
            publisher.send(numbered(100 + time)).unwrap();
        }
        assert_eq!(subscriber.latest(), Some(numbered(100 + 10 * turn + 9)));
        assert_eq!(subscriber.sequence(), publishers[newest].sequence());
        assert_eq!(subscriber.latest(), None, "nothing newer");
        skipped += 5;
        assert_eq!(subscriber.stats().skipped, skipped);
        assert_balanced(subscriber.stats());
    }
    assert_eq!(subscriber.stats().received, 6);
}

#[test]
fn latest_works_for_messages_without_a_time() {
    assert!(
        Plain::SCHEMA
            .fields
            .iter()
            .all(|field| field.name != "timestamp_ns")
    );
    let private = Private::new();
    let mut publisher: Publisher<Plain> = private.publisher("t", Qos::new());
    let mut subscriber: Subscriber<Plain> = private.subscriber("t", Qos::new());
    for number in 1..=5 {
        publisher.send(Plain { number }).unwrap();
    }
    assert_eq!(subscriber.latest(), Some(Plain { number: 5 }));
    let stats = subscriber.stats();
    assert_eq!((stats.received, stats.skipped, stats.sent), (1, 4, 5));
}

#[test]
fn latest_frees_slots_of_a_reliable_publisher() {
    let private = Private::new();
    let mut publisher: Publisher<JointCommand> =
        private.publisher("t", Qos::reliable().capacity(4));
    let mut subscriber: Subscriber<JointCommand> = private.subscriber("t", Qos::reliable());
    for turn in 0..10_u64 {
        for number in 1..=4 {
            let command = JointCommand {
                timestamp_ns: 4 * turn + number,
                ..Default::default()
            };
            publisher.send(command).unwrap();
        }
        let mut newest = JointCommand::default();
        let newest = if turn % 2 == 0 {
            subscriber.latest()
        } else {
            subscriber.latest_into(&mut newest).then_some(newest)
        };
        assert_eq!(
            newest.map(|command| command.timestamp_ns),
            Some(4 * turn + 4)
        );
    }
    assert!(!subscriber.latest_into(&mut JointCommand::default()));
    assert_balanced(subscriber.stats());
    assert_eq!((subscriber.lost(), subscriber.stats().skipped), (0, 30));
}

#[test]
fn sequence_numbers_continue_when_a_lane_is_reused() {
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    assert_eq!(subscriber.sequence(), 0, "nothing received yet");
    let mut sent = 0;
    for _ in 0..3 {
        let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
        assert_eq!(publisher.sequence(), sent);
        for _ in 0..4 {
            publisher.send(CmdVel::default()).unwrap();
            sent += 1;
            assert_eq!(publisher.sequence(), sent);
        }
        while subscriber.recv().is_some() {}
        assert_eq!(subscriber.sequence(), sent);
    }
    assert_balanced(subscriber.stats());
}
