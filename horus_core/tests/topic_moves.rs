//! Topics whose file is removed or replaced while they are in use: all go on in the new file.

use horus_testing as _;

mod private;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use horus_core::message::{Bytes, BytesHeader, CmdVel};
use horus_core::topic::{
    DynamicType, EndpointChange, Publisher, Qos, Reason, Subscriber, Topic, WaitSet,
};
use horus_core::value::Value;
use horus_core::{RecvError, RecvTimeoutError, SendError};
use horus_shm::internals::check_names_now;
use private::Private;

/// Removes the file of a topic, as `rm` does.
fn remove(private: &Private, topic: &str) {
    fs::remove_file(file_of(private, topic)).unwrap();
}

fn file_of(private: &Private, topic: &str) -> PathBuf {
    private.namespace().topics_path().join(topic)
}

fn message(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::new(0.5, 0.25)
    }
}

/// Receives until there is nothing more, and checks that the numbers follow each other from `next`
/// on. Returns the number after the last one.
fn receive(subscriber: &mut Subscriber<CmdVel>, mut next: u64) -> u64 {
    while let Some(message) = subscriber.recv() {
        assert_eq!(message.timestamp_ns, next);
        next += 1;
    }
    next
}

/// A publisher and a subscriber in this process, and the numbers of their next messages.
struct Pair<'a> {
    private: &'a Private,
    topic: &'static str,
    publisher: Publisher<CmdVel>,
    subscriber: Subscriber<CmdVel>,
    sent: u64,
    received: u64,
}

impl<'a> Pair<'a> {
    fn new(private: &'a Private, topic: &'static str, qos: Qos) -> Self {
        Self {
            private,
            topic,
            publisher: private.publisher(topic, qos),
            subscriber: private.subscriber(topic, qos),
            sent: 0,
            received: 0,
        }
    }

    fn send(&mut self) {
        self.publisher.send(message(self.sent)).unwrap();
        self.sent += 1;
    }

    fn receive(&mut self) {
        self.received = receive(&mut self.subscriber, self.received);
    }

    /// Removes the topic's file, and sends until the name leads to another one.
    fn replace(&mut self) {
        remove(self.private, self.topic);
        while !file_of(self.private, self.topic).exists() {
            self.send();
            self.receive();
            std::thread::yield_now();
        }
    }

    fn expect_all_received(&mut self) {
        self.receive();
        assert_eq!(self.received, self.sent);
        let stats = self.subscriber.stats();
        assert_eq!((stats.received, stats.sent), (self.sent, self.sent));
        assert_eq!((stats.lost, stats.waiting), (0, 0));
        assert_eq!(self.publisher.sequence(), self.sent);
        assert_eq!(self.subscriber.sequence(), self.sent);
    }
}

#[test]
fn endpoints_continue_in_a_new_file_without_a_gap() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "moved", Qos::new());
    for _ in 0..3 {
        pair.send();
        pair.replace();
        pair.expect_all_received();
        let mut other: Subscriber<CmdVel> = private.subscriber("moved", Qos::new());
        pair.send();
        assert_eq!(other.recv().unwrap().timestamp_ns, pair.sent - 1);
        pair.expect_all_received();
    }
}

/// A publisher that moves, sends and is closed at once leaves a file that nobody else has opened.
#[test]
fn a_reliable_subscriber_gets_the_last_messages_of_a_publisher_that_moved_first() {
    let private = Private::new();
    let Pair {
        mut publisher,
        mut subscriber,
        ..
    } = Pair::new(&private, "moved", Qos::reliable());
    publisher.send(message(0)).unwrap();
    remove(&private, "moved");
    let path = file_of(&private, "moved");
    let moved = path.clone();
    let sending = std::thread::spawn(move || {
        let mut sent = 1;
        while !moved.exists() {
            publisher.send(message(sent)).unwrap();
            sent += 1;
            // WHY a pause: a lap at most may be unread.
            std::thread::sleep(Duration::from_millis(5));
        }
        sent
    });
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Time enough to close, if nothing holds the publisher up.
    std::thread::sleep(Duration::from_millis(20));
    let mut next = 0;
    while !sending.is_finished() {
        next = receive(&mut subscriber, next);
    }
    assert_eq!(receive(&mut subscriber, next), sending.join().unwrap());
    let stats = subscriber.stats();
    assert_eq!((stats.lost, stats.waiting), (0, 0));
}

/// Opens a subscriber that makes a new file, after the old one was removed.
fn newcomer(private: &Private, topic: &str, qos: Qos) -> Subscriber<CmdVel> {
    remove(private, topic);
    private.subscriber(topic, qos)
}

/// Sends until `subscriber` gets a message; returns the numbers that it got.
fn send_until_met(pair: &mut Pair<'_>, subscriber: &mut Subscriber<CmdVel>) -> Vec<u64> {
    loop {
        pair.send();
        pair.receive();
        let got: Vec<_> = subscriber.try_iter().map(|got| got.timestamp_ns).collect();
        if !got.is_empty() {
            return got;
        }
        std::thread::yield_now();
    }
}

#[test]
fn who_opens_the_name_anew_meets_the_others() {
    let private = Private::new();
    for (topic, qos) in [("plain", Qos::new()), ("reliable", Qos::reliable())] {
        let mut pair = Pair::new(&private, topic, qos);
        pair.send();
        let mut newcomer = newcomer(&private, topic, qos);
        let got = send_until_met(&mut pair, &mut newcomer);
        assert_eq!(got, [pair.sent - 1]);
        pair.expect_all_received();
        let mut other = private.publisher(topic, qos);
        other.send(message(pair.sent)).unwrap();
        assert_eq!(newcomer.recv().unwrap().timestamp_ns, pair.sent);
        assert_eq!(pair.subscriber.recv().unwrap().timestamp_ns, pair.sent);
    }
}

#[test]
fn history_is_sent_once_more_and_received_once() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "latched", Qos::latched());
    pair.send();
    pair.receive();
    let mut newcomer = newcomer(&private, "latched", Qos::new());
    let got = send_until_met(&mut pair, &mut newcomer);
    assert_eq!(got, [pair.sent - 2, pair.sent - 1]);
    pair.expect_all_received();
    assert_eq!(newcomer.stats().sent, 2);
}

#[test]
fn messages_with_lengths_of_their_own_move_with_their_slots() {
    let private = Private::new();
    let mut publisher: Publisher<Bytes> = private.publisher("bytes", Qos::new());
    let mut subscriber: Subscriber<Bytes> = private.subscriber("bytes", Qos::new());
    let bytes = |number: u64, bytes: u64| {
        Bytes::new(BytesHeader::new(bytes), &vec![number as u8; bytes as usize]).unwrap()
    };
    let mut next = 0;
    for long in [100_000, 10, 300_000] {
        publisher.send(bytes(next, long)).unwrap();
        assert_eq!(
            subscriber.recv().unwrap().data(),
            vec![next as u8; long as usize]
        );
        next += 1;
        remove(&private, "bytes");
        while !file_of(&private, "bytes").exists() {
            publisher.send(bytes(next, 10)).unwrap();
            assert_eq!(
                subscriber.borrow().unwrap().unwrap().data(),
                [next as u8; 10]
            );
            next += 1;
        }
        publisher.send(bytes(next, long)).unwrap();
        assert_eq!(
            subscriber.recv().unwrap().data(),
            vec![next as u8; long as usize]
        );
        next += 1;
    }
    let stats = subscriber.stats();
    assert_eq!((stats.received, stats.sent, stats.lost), (next, next, 0));
}

#[test]
fn a_subscriber_that_sleeps_moves() {
    let private = Private::new();
    for qos in [Qos::new(), Qos::command()] {
        let mut pair = Pair::new(&private, "asleep", qos);
        std::thread::scope(|scope| {
            let Pair {
                subscriber,
                publisher,
                ..
            } = &mut pair;
            let receiver = scope.spawn(|| {
                let mut received = Vec::new();
                while received.last() != Some(&u64::MAX) {
                    received.push(subscriber.recv_blocking().unwrap().timestamp_ns);
                }
                received
            });
            remove(&private, "asleep");
            let mut sent = 0;
            while !file_of(&private, "asleep").exists() {
                std::thread::yield_now();
            }
            for _ in 0..10 {
                publisher.send(message(sent)).unwrap();
                sent += 1;
            }
            publisher.send(message(u64::MAX)).unwrap();
            let received = receiver.join().unwrap();
            assert!(
                received.iter().copied().eq((0..sent).chain([u64::MAX])),
                "{received:?}"
            );
        });
    }
}

/// A publisher that makes no call stays in the old file. What it sends there at last still comes.
#[test]
fn the_messages_of_several_publishers_keep_their_orders() {
    const LEFT: u64 = 1 << 40;
    const IDLE: u64 = 2 << 40;
    let private = Private::new();
    let mut pair = Pair::new(&private, "several", Qos::new());
    let mut idle = private.publisher("several", Qos::new());
    let mut left = private.publisher("several", Qos::new());
    left.send(message(LEFT)).unwrap();
    remove(&private, "several");
    while !file_of(&private, "several").exists() {
        pair.send();
    }
    drop(left);
    idle.send(message(IDLE)).unwrap();
    pair.send();
    idle.send(message(IDLE + 1)).unwrap();
    let got: Vec<_> = pair
        .subscriber
        .try_iter()
        .map(|got| got.timestamp_ns)
        .collect();
    let of = |first: u64| {
        got.iter()
            .copied()
            .filter(move |got| got / LEFT == first / LEFT)
    };
    let lost = pair.subscriber.lost();
    assert!(of(0).eq(lost..pair.sent), "{lost} of {} lost", pair.sent);
    assert!(of(LEFT).eq([LEFT]));
    assert!(of(IDLE).eq([IDLE, IDLE + 1]));
    let stats = pair.subscriber.stats();
    assert_eq!(stats.sent, pair.sent + 3);
    assert_eq!(stats.received + stats.lost, stats.sent);
}

#[test]
fn a_handle_with_both_ends_still_ignores_its_own_messages() {
    let private = Private::new();
    let mut own = private
        .builder::<CmdVel>("own")
        .topic()
        .unwrap()
        .ignore_own();
    let mut other = private.builder::<CmdVel>("own").topic().unwrap();
    remove(&private, "own");
    let mut sent = 0;
    while !file_of(&private, "own").exists() {
        own.send(message(sent)).unwrap();
        sent += 1;
        assert_eq!(own.recv(), None);
        assert!(other.recv().is_some());
    }
    own.send(message(sent)).unwrap();
    assert_eq!(own.recv(), None);
    other.send(message(7)).unwrap();
    assert_eq!(own.recv().unwrap().timestamp_ns, 7);
    assert_eq!(other.recv().unwrap().timestamp_ns, sent);
    assert_eq!(own.stats().sent, 1);
    let (mut publisher, mut subscriber) = own.split();
    publisher.send(message(8)).unwrap();
    assert_eq!(subscriber.recv().unwrap().timestamp_ns, 8);
}

/// Receives all, and checks that nothing comes but the messages after the split.
fn expect_own_after_split(own: Topic<CmdVel>, sent: u64, what: &str) {
    let (mut publisher, mut subscriber) = own.split();
    publisher.send(message(sent)).unwrap();
    publisher.send(message(sent + 1)).unwrap();
    // WHY many calls: one moves, and each other may find that a file is read whole.
    let received: Vec<_> = (0..64).filter_map(|_| subscriber.recv()).collect();
    let received: Vec<_> = received.iter().map(|own| own.timestamp_ns).collect();
    assert_eq!(received, [sent, sent + 1], "{what}");
    let stats = subscriber.stats();
    let found = (stats.sent, stats.received, stats.lost);
    assert_eq!(found, (2, 2, 0), "{what}");
}

/// The publisher has moved, and the subscriber has not.
#[test]
fn a_handle_that_is_split_while_it_moves_receives_its_own_messages() {
    let private = Private::new();
    let other: Publisher<CmdVel> = private.builder("own").publisher().unwrap();
    let builder = private.builder::<CmdVel>("own");
    let mut own = builder.topic().unwrap().ignore_own();
    own.send(message(0)).unwrap();
    remove(&private, "own");
    check_names_now();
    own.send(message(1)).unwrap();
    assert!(file_of(&private, "own").exists());
    expect_own_after_split(own, 2, "in the next file");
    drop(other);
}

/// The publisher has two lanes in the file to which it has come back.
#[test]
fn a_handle_that_is_split_after_it_came_back_receives_its_own_messages() {
    for is_called in [false, true] {
        let private = Private::new();
        let builder = private.builder::<CmdVel>("own");
        let mut own = builder.topic().unwrap().ignore_own();
        let topic = file_of(&private, "own");
        let away = private.namespace().topics_path().with_file_name("away");
        own.send(message(0)).unwrap();
        for number in [1, 2] {
            let [from, to] = match number {
                1 => [&topic, &away],
                _ => [&away, &topic],
            };
            fs::rename(from, to).unwrap();
            check_names_now();
            own.send(message(number)).unwrap();
            if is_called {
                assert_eq!(own.recv(), None);
            }
        }
        expect_own_after_split(own, 3, &format!("called: {is_called}"));
    }
}

#[test]
fn a_reliable_handle_that_ignores_itself_does_not_wait_for_itself() {
    let private = Private::new();
    let builder = private.builder::<CmdVel>("own");
    let qos = Qos::reliable().capacity(4);
    let mut own = builder.qos(qos).topic().unwrap().ignore_own();
    remove(&private, "own");
    while !file_of(&private, "own").exists() {
        own.send(message(0)).unwrap();
    }
    (1..20).for_each(|number| own.send(message(number)).unwrap());
}

#[test]
fn a_reliable_handle_that_is_split_while_it_moves_loses_nothing() {
    let private = Private::new();
    let builder = private.builder::<CmdVel>("own");
    let qos = Qos::reliable().capacity(8);
    let mut own = builder.qos(qos).topic().unwrap().ignore_own();
    remove(&private, "own");
    check_names_now();
    own.send(message(0)).unwrap();
    assert!(file_of(&private, "own").exists());
    let (mut publisher, mut subscriber) = own.split();
    let accepted = (1..20).take_while(|&number| publisher.send(message(number)).is_ok());
    let accepted = accepted.count() as u64;
    assert!(accepted >= 4, "{accepted}");
    assert_eq!(receive(&mut subscriber, 1), 1 + accepted);
    assert_eq!(subscriber.stats().lost, 0);
}

/// Each poll looks into the file to which the publisher has come back, and into those before.
#[test]
fn a_subscriber_in_a_file_that_comes_back_joins_and_leaves_once() {
    use EndpointChange::{Joined, Left};
    let private = Private::new();
    let topic = file_of(&private, "t");
    let away = private.namespace().topics_path().with_file_name("away");
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let idle: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = publisher.subscriber_events();
    let mut changes = || {
        let events = std::iter::from_fn(|| events.poll().unwrap());
        events.map(|event| event.change).collect::<Vec<_>>()
    };
    assert_eq!(changes(), [Joined]);
    fs::rename(&topic, &away).unwrap();
    check_names_now();
    let _other: Publisher<CmdVel> = private.publisher("t", Qos::new());
    assert_eq!(changes(), []);
    fs::rename(&away, &topic).unwrap();
    check_names_now();
    assert_eq!(changes(), []);
    publisher.send(message(0)).unwrap();
    drop(idle);
    assert_eq!(changes(), [Left]);
}

#[test]
fn an_observer_moves_when_there_is_a_file_again() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "observed", Qos::new());
    let mut observer: Subscriber<CmdVel> = private.builder("observed").observer().unwrap();
    let mut seen = receive(&mut observer, 0);
    for _ in 0..2 {
        remove(&private, "observed");
        while !file_of(&private, "observed").exists() {
            pair.send();
            pair.receive();
            seen = receive(&mut observer, seen);
        }
        pair.send();
        while seen < pair.sent {
            seen = receive(&mut observer, seen);
        }
        pair.expect_all_received();
    }
    let stats = observer.stats();
    assert_eq!((stats.received, stats.lost), (seen, 0));
}

/// The claims of a lane tell apart the publishers that had it one after the other.
#[test]
fn the_last_arrival_has_the_claims_of_its_own_file() {
    let private = Private::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("claims").namespace(private.namespace());
    let mut subscriber = builder().subscriber().unwrap();
    drop(builder().publisher().unwrap());
    let mut second = builder().publisher().unwrap();
    second.send_bytes(b"\x07").unwrap();
    remove(&private, "claims");
    check_names_now();
    let _newcomer = builder().publisher().unwrap();
    assert!(subscriber.recv_bytes().is_some());
    let arrival = subscriber.last_arrival().unwrap();
    assert_eq!((arrival.number, arrival.claims), (1, 2));
}

#[test]
fn a_wait_set_follows_a_subscriber() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "set", Qos::new());
    let mut set = WaitSet::new();
    let key = set.add(&pair.subscriber).unwrap();
    for _ in 0..2 {
        pair.replace();
        pair.expect_all_received();
        pair.send();
        let ready = set.wait_blocking().unwrap();
        assert_eq!((ready[0].key, ready[0].reason), (key, Reason::Message));
        pair.expect_all_received();
        assert!(set.wait(Duration::ZERO).unwrap().is_empty());
    }
    drop(pair);
    assert_eq!(set.wait_blocking().unwrap()[0].reason, Reason::Closed);
    assert!(set.is_empty());
    assert!(private.topic_files().is_empty());
}

#[test]
fn a_name_that_cannot_be_followed_is_an_error_until_it_can() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "blocked", Qos::new());
    remove(&private, "blocked");
    fs::create_dir(file_of(&private, "blocked")).unwrap();
    let error = loop {
        match pair.publisher.send(message(pair.sent)) {
            Ok(()) => pair.sent += 1,
            Err(error) => break error,
        }
        pair.receive();
    };
    assert!(matches!(error, SendError::NameLost { .. }), "{error}");
    let error = loop {
        pair.receive();
        if let Err(error) = pair.subscriber.check() {
            break error;
        }
    };
    assert!(matches!(error, RecvError::NameLost { .. }), "{error}");
    let error = pair.subscriber.recv_timeout(Duration::MAX).unwrap_err();
    assert!(
        matches!(error, RecvTimeoutError::NameLost { .. }),
        "{error}"
    );
    fs::remove_dir(file_of(&private, "blocked")).unwrap();
    while pair.publisher.send(message(pair.sent)).is_err() {}
    pair.sent += 1;
    while pair.subscriber.check().is_err() {
        pair.receive();
    }
    pair.expect_all_received();
}

#[test]
fn a_removed_namespace_is_reported_and_not_made_anew() {
    expect_namespace_removed(|path| fs::remove_dir_all(path).unwrap());
}

#[test]
fn a_renamed_namespace_is_reported_and_not_made_anew() {
    expect_namespace_removed(|path| fs::rename(path, path.with_extension("old")).unwrap());
}

/// Expects an error once `remove` has removed the directory of a namespace.
fn expect_namespace_removed(remove: impl Fn(&Path)) {
    let private = Private::new();
    let mut pair = Pair::new(&private, "stays", Qos::new());
    remove(private.namespace().path());
    while pair.subscriber.check().is_ok() {
        pair.send();
        pair.receive();
    }
    let error = pair.subscriber.check().unwrap_err();
    assert!(
        matches!(error, RecvError::NamespaceRemoved { .. }),
        "{error}"
    );
    let error = pair.subscriber.recv_timeout(Duration::MAX).unwrap_err();
    assert!(
        matches!(error, RecvTimeoutError::NamespaceRemoved { .. }),
        "{error}"
    );
    pair.send();
    pair.expect_all_received();
    assert!(!private.namespace().path().exists());
}
