//! Waiting at topics: blocking receives, iterators and wait sets.

use horus_testing as _;

mod forked;
mod heap;
mod private;

use std::thread;
use std::time::{Duration, Instant};

use forked::fork;
use horus_core::message::{CmdVel, Imu};
use horus_core::topic::{DynamicSubscriber, Qos, Ready, Reason, Subscriber, WaitSet};
use horus_core::{RecvError, RecvTimeoutError, SendError, TopicLabel, WaitError};
use horus_shm::TopicName;
use private::Private;

/// The time limit of a wait that hangs.
const GUARD: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

/// Returns a message that carries its number.
fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

fn subscriber(private: &Private, topic: &str) -> Subscriber<CmdVel> {
    private.subscriber(topic, Qos::new())
}

/// Returns the label of the topic `name`.
fn label(name: &str) -> TopicLabel {
    TopicLabel::new(&TopicName::new(name).unwrap())
}

/// Returns the error of a wait on the topic `name` that no message has ended.
fn timeout_of(name: &str, has_publisher: bool) -> RecvTimeoutError {
    RecvTimeoutError::Timeout {
        topic: label(name),
        has_publisher,
    }
}

/// A real-time node may receive with a timeout. WHY not in the first round: memory that is mapped
/// for the publisher is noted once.
#[test]
fn a_wait_that_no_message_ends_allocates_nothing() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let mut tool = DynamicSubscriber::open(private.namespace(), "t").unwrap();
    for has_publisher in [false, true] {
        let publisher = has_publisher.then(|| private.publisher::<CmdVel>("t", Qos::new()));
        let wanted = timeout_of("t", has_publisher);
        for round in 0..2 {
            let before = heap::allocator_calls();
            for timeout in [Duration::ZERO, SHORT] {
                assert_eq!(subscriber.recv_timeout(timeout), Err(wanted));
                assert_eq!(tool.recv_bytes_timeout(timeout).map(|_| ()), Err(wanted));
            }
            let calls = heap::allocator_calls() - before;
            assert!(round == 0 || calls == 0, "{calls} calls of the allocator");
        }
        drop(publisher);
    }
}

#[test]
fn a_receive_waits_at_most_its_timeout() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let begin = Instant::now();
    for spin in [Duration::ZERO, Duration::from_micros(10), GUARD] {
        subscriber.set_spin(spin);
        assert_eq!(subscriber.recv_timeout(SHORT), Err(timeout_of("t", false)));
    }
    assert!(begin.elapsed() >= 3 * SHORT);
    let mut publisher = private.publisher("t", Qos::new());
    let sending = thread::spawn(move || {
        for number in 1..=3 {
            thread::sleep(SHORT);
            publisher.send(numbered(number)).unwrap();
        }
    });
    assert_eq!(subscriber.recv_timeout(GUARD), Ok(numbered(1)));
    subscriber.set_spin(Duration::ZERO);
    assert_eq!(subscriber.recv_blocking(), Ok(numbered(2)));
    assert_eq!(subscriber.recv_blocking(), Ok(numbered(3)));
    sending.join().unwrap();
    assert_eq!(
        subscriber.recv_timeout(Duration::ZERO),
        Err(timeout_of("t", false))
    );
}

#[test]
fn iterators_yield_available_messages_or_wait() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let mut publisher = private.publisher("t", Qos::new());
    (1..=3).for_each(|number| publisher.send(numbered(number)).unwrap());
    let numbers = |message: CmdVel| message.timestamp_ns;
    assert_eq!(
        subscriber.try_iter().map(numbers).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(subscriber.try_iter().count(), 0);
    let sending = thread::spawn(move || {
        (4..=9).for_each(|number| publisher.send(numbered(number)).unwrap());
    });
    assert_eq!(
        subscriber.iter().take(2).map(numbers).collect::<Vec<_>>(),
        [4, 5]
    );
    let mut got = Vec::new();
    for message in &mut subscriber {
        got.push(message.timestamp_ns);
        if message.timestamp_ns == 9 {
            break;
        }
    }
    assert_eq!(got, [6, 7, 8, 9]);
    sending.join().unwrap();
}

#[test]
fn a_topic_handle_waits_too() {
    let private = Private::new();
    let mut topic = private.builder::<CmdVel>("t").topic().unwrap();
    topic.set_spin(Duration::ZERO);
    topic.send(numbered(1)).unwrap();
    topic.send(numbered(2)).unwrap();
    assert_eq!(topic.recv_timeout(GUARD), Ok(numbered(1)));
    assert_eq!(topic.recv_blocking(), Ok(numbered(2)));
    assert_eq!(topic.recv_timeout(SHORT), Err(timeout_of("t", true)));
    topic.send(numbered(3)).unwrap();
    assert_eq!(topic.iter().next(), Some(numbered(3)));
    assert_eq!((topic.try_iter().next(), topic.check()), (None, Ok(())));
}

#[test]
fn a_send_waits_for_a_slot_and_returns_the_message_without() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(2);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
    let mut publisher = private.publisher("t", qos);
    (1..=2).for_each(|number| publisher.send(numbered(number)).unwrap());
    let refused = publisher.send_timeout(numbered(3), SHORT);
    assert_eq!(refused.map_err(SendError::into_inner), Err(numbered(3)));
    let sending = thread::spawn(move || publisher.send_timeout(numbered(3), GUARD).unwrap());
    thread::sleep(SHORT);
    let got: Vec<_> = subscriber
        .iter()
        .take(3)
        .map(|message| message.timestamp_ns)
        .collect();
    assert_eq!(got, [1, 2, 3]);
    sending.join().unwrap();
}

#[test]
fn a_forked_child_waits_for_nothing() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let mut set = WaitSet::new();
    set.add(&subscriber).unwrap();
    let is_told = fork(|| {
        subscriber.recv_timeout(GUARD) == Err(RecvTimeoutError::Forked { topic: label("t") })
            && subscriber.recv_blocking() == Err(RecvError::Forked { topic: label("t") })
            && subscriber.iter().next().is_none()
            && set.wait_blocking() == Err(WaitError::Forked)
            && set.wait(GUARD) == Err(WaitError::Forked)
    });
    assert!(is_told);
}

#[test]
fn a_set_says_which_topics_have_messages_until_they_are_read() {
    let private = Private::new();
    let mut subscribers = ["a", "b", "c"].map(|topic| subscriber(&private, topic));
    let mut set = WaitSet::new();
    let keys = [0, 1, 2].map(|index| set.add(&subscribers[index]).unwrap());
    let ready = |index: usize| Ready {
        key: keys[index],
        reason: Reason::Message,
    };
    assert_eq!(set.wait(SHORT), Ok(&[][..]));
    let mut a = private.publisher("a", Qos::new());
    let mut c = private.publisher("c", Qos::new());
    a.send(numbered(1)).unwrap();
    c.send(numbered(2)).unwrap();
    for _ in 0..2 {
        assert_eq!(set.wait(GUARD), Ok(&[ready(0), ready(2)][..]));
    }
    assert_eq!(subscribers[0].recv(), Some(numbered(1)));
    assert_eq!(set.wait_blocking(), Ok(&[ready(2)][..]));
    assert_eq!(subscribers[2].latest(), Some(numbered(2)));
    assert_eq!(set.wait(Duration::ZERO), Ok(&[][..]));
    assert!(set.remove(keys[0]) && !set.remove(keys[0]));
    a.send(numbered(3)).unwrap();
    assert_eq!(set.wait(Duration::ZERO), Ok(&[][..]));
    assert_eq!(set.len(), 2);
}

#[test]
fn a_sleeping_set_is_woken_by_any_of_its_topics() {
    let private = Private::new();
    let mut subscribers = ["a", "b", "c"].map(|topic| subscriber(&private, topic));
    let mut set = WaitSet::new();
    set.set_spin(Duration::ZERO);
    let keys = [0, 1, 2].map(|index| set.add(&subscribers[index]).unwrap());
    let mut publishers = ["a", "b", "c"].map(|topic| private.publisher(topic, Qos::new()));
    let sending = thread::spawn(move || {
        for number in 0..30 {
            thread::sleep(Duration::from_millis(1));
            publishers[number % 3]
                .send(numbered(number as u64))
                .unwrap();
        }
    });
    let mut got = Vec::new();
    while got.len() < 30 {
        for ready in set.wait_blocking().unwrap() {
            assert_eq!(ready.reason, Reason::Message);
            let index = keys.iter().position(|key| *key == ready.key).unwrap();
            got.extend(
                subscribers[index]
                    .try_iter()
                    .map(|message| message.timestamp_ns),
            );
        }
    }
    got.sort_unstable();
    assert!(got.into_iter().eq(0..30));
    sending.join().unwrap();
}

#[test]
fn timers_fire_in_phase_and_count_what_they_missed() {
    let period = Duration::from_millis(10);
    let mut set = WaitSet::new();
    let before = Instant::now();
    let key = set.add_interval(period).unwrap();
    let mut periods = 0;
    for late in [0, 0, 35] {
        thread::sleep(Duration::from_millis(late));
        let ready = set.wait_blocking().unwrap();
        let [
            Ready {
                key: fired,
                reason: Reason::Timer { missed },
            },
        ] = *ready
        else {
            panic!("{ready:?}")
        };
        assert_eq!(fired, key);
        periods += 1 + missed;
        // The timer fired no earlier than its creation allows, and no period is reported twice,
        // which would run ahead of the clock.
        assert!(before + period * periods as u32 <= Instant::now());
        assert!(
            missed >= late / 10 - u64::from(late > 0),
            "{missed} missed in {late} ms"
        );
    }
}

#[test]
fn only_a_silent_topic_misses_its_deadline() {
    let private = Private::new();
    let subscribers = ["quiet", "lively"].map(|topic| subscriber(&private, topic));
    let mut lively = private.publisher("lively", Qos::new().capacity(1024));
    let allowed = Duration::from_millis(20);
    let mut set = WaitSet::new();
    let begin = Instant::now();
    let quiet = set.add_with_deadline(&subscribers[0], allowed).unwrap();
    set.add_with_deadline(&subscribers[1], GUARD).unwrap();
    let mut missed = 0;
    while missed < 3 {
        lively.send(numbered(missed)).unwrap();
        // Unread messages do not make a topic silent, but keep the set from sleeping.
        for ready in set.wait_blocking().unwrap() {
            if let Reason::DeadlineMissed { silent } = ready.reason {
                assert_eq!(ready.key, quiet);
                missed += 1;
                assert!(silent >= allowed * missed as u32 && silent <= begin.elapsed());
            }
        }
    }
    assert!(begin.elapsed() >= 3 * allowed);
}

#[test]
fn a_message_restarts_the_deadline() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let mut publisher = private.publisher("t", Qos::new());
    let allowed = Duration::from_millis(50);
    let mut set = WaitSet::new();
    let key = set.add_with_deadline(&subscriber, allowed).unwrap();
    thread::sleep(allowed / 2);
    let sent = Instant::now();
    publisher.send(numbered(1)).unwrap();
    let ready = set.wait_blocking().unwrap();
    assert!(
        ready.contains(&Ready {
            key,
            reason: Reason::Message
        }),
        "{ready:?}"
    );
    assert!(subscriber.recv().is_some());
    let ready = set.wait_blocking().unwrap();
    let [
        Ready {
            reason: Reason::DeadlineMissed { silent },
            ..
        },
    ] = *ready
    else {
        panic!("{ready:?}")
    };
    assert!(silent >= allowed && sent.elapsed() >= allowed);
}

#[test]
fn a_dropped_subscriber_is_reported_once_and_removed() {
    let private = Private::new();
    let gone = subscriber(&private, "gone");
    let stays = subscriber(&private, "stays");
    let mut set = WaitSet::new();
    set.set_spin(Duration::ZERO);
    let key = set.add(&gone).unwrap();
    set.add(&stays).unwrap();
    let dropping = thread::spawn(move || {
        thread::sleep(SHORT);
        drop(gone);
    });
    assert_eq!(
        set.wait_blocking(),
        Ok(&[Ready {
            key,
            reason: Reason::Closed
        }][..])
    );
    dropping.join().unwrap();
    assert_eq!((set.len(), set.wait(SHORT)), (1, Ok(&[][..])));
    assert_eq!(
        private.topic_files(),
        ["stays"],
        "the set does not keep the topic"
    );
    drop(stays);
    assert!(matches!(
        set.wait_blocking(),
        Ok([Ready {
            reason: Reason::Closed,
            ..
        }])
    ));
    assert_eq!(set.wait_blocking(), Err(WaitError::Empty));
    assert_eq!(set.wait(SHORT), Ok(&[][..]), "with a timeout it is a sleep");
}

#[test]
fn a_set_is_full_with_4096_topics() {
    let private = Private::new();
    let mut subscriber = subscriber(&private, "t");
    let mut set = WaitSet::new();
    let keys: Vec<_> = (0..4096).map(|_| set.add(&subscriber).unwrap()).collect();
    let full = set.add(&subscriber).unwrap_err();
    assert_eq!((full.limit, set.len()), (4096, 4096));
    assert!(full.to_string().contains("at most 4096 topics"), "{full}");
    let mut publisher = private.publisher("t", Qos::new());
    publisher.send(numbered(1)).unwrap();
    let ready = set.wait(GUARD).unwrap();
    assert!(ready.iter().map(|ready| ready.key).eq(keys.iter().copied()));
    assert!(subscriber.recv().is_some());
    assert!(set.remove(keys[0]));
    set.add(&subscriber).unwrap();
}

#[test]
fn subscribers_that_are_dropped_at_once_leave_all_others_in_the_set_in_order() {
    let private = Private::new();
    let (dropped, kept) = (subscriber(&private, "t"), subscriber(&private, "t"));
    let mut set = WaitSet::new();
    let mut closed = Vec::new();
    let mut open = Vec::new();
    for at in 0..4096 {
        if at % 3 == 1 || at > 4000 {
            open.push(set.add(&kept).unwrap());
        } else {
            closed.push(set.add(&dropped).unwrap());
        }
    }
    drop(dropped);
    let reported = set.wait(GUARD).unwrap();
    assert!(reported.iter().all(|ready| ready.reason == Reason::Closed));
    assert!(reported.iter().map(|ready| &ready.key).eq(&closed));
    assert_eq!(set.len(), open.len());
    private
        .publisher("t", Qos::new())
        .send(numbered(1))
        .unwrap();
    let reported = set.wait(GUARD).unwrap();
    assert!(reported.iter().map(|ready| &ready.key).eq(&open));
    assert!(closed.iter().all(|key| !set.remove(*key)));
    assert!(open.iter().all(|key| set.remove(*key)) && set.is_empty());
}

#[test]
fn a_message_of_each_of_1000_topics_ends_a_wait() {
    let private = Private::new();
    let small = || Qos::new().capacity(2);
    let name = |index| format!("t{index}");
    let mut set = WaitSet::new();
    let mut subscribers = Vec::new();
    for index in 0..1000 {
        let builder = private.builder::<CmdVel>(&name(index)).qos(small());
        subscribers.push(builder.subscriber().unwrap());
        set.add(&subscribers[index]).unwrap();
    }
    // Index 125 is the last one for which the thread sleeps itself.
    for index in [0, 125, 126, 253, 999] {
        let mut publisher = private.publisher(&name(index), small());
        let sending = thread::spawn(move || {
            thread::sleep(SHORT);
            publisher.send(numbered(1)).unwrap();
            publisher
        });
        let ready = set.wait_blocking().unwrap().to_vec();
        assert_eq!(ready.len(), 1, "{ready:?}");
        assert_eq!(
            (ready[0].key.to_u64(), ready[0].reason),
            (index as u64 + 1, Reason::Message)
        );
        assert_eq!(subscribers[index].recv(), Some(numbered(1)));
        drop(sending.join().unwrap());
    }
    drop(subscribers.pop());
    assert_eq!(set.wait_blocking().unwrap()[0].reason, Reason::Closed);
    assert_eq!(set.len(), 999);
    assert_eq!(set.wait(SHORT), Ok(&[][..]));
}

#[test]
fn an_observer_in_a_set_is_polled() {
    let private = Private::new();
    let mut publisher = private.publisher("t", Qos::new());
    let mut observer = private.builder::<CmdVel>("t").observer().unwrap();
    let mut set = WaitSet::new();
    let key = set.add(&observer).unwrap();
    let sending = thread::spawn(move || {
        thread::sleep(SHORT);
        publisher.send(numbered(1)).unwrap();
        publisher
    });
    assert_eq!(
        set.wait_blocking(),
        Ok(&[Ready {
            key,
            reason: Reason::Message
        }][..])
    );
    assert_eq!(observer.recv_timeout(GUARD), Ok(numbered(1)));
    drop(sending.join().unwrap());
}

/// A subscriber is not due for messages that it may not receive, and is for those that follow.
#[test]
fn a_wait_set_sleeps_beside_a_publisher_that_does_not_match() {
    let private = Private::new();
    let mut subscriber = private.builder::<Imu>("t").subscriber().unwrap();
    let mut other = private.builder::<CmdVel>("t").publisher().unwrap();
    let mut set = WaitSet::new();
    set.add(&subscriber).unwrap();
    for _ in 0..3 {
        other.send(CmdVel::default()).unwrap();
        assert!(subscriber.recv().is_none());
        let ready = set.wait(Duration::from_millis(30)).unwrap();
        assert!(ready.is_empty(), "it may not receive anything");
    }
    drop(other);
    assert!(set.wait(Duration::from_millis(30)).unwrap().is_empty());
    // In the lane of the other one, too.
    let mut matching = private.builder::<Imu>("t").publisher().unwrap();
    for _ in 0..3 {
        matching.send(Imu::default()).unwrap();
        assert!(!set.wait(GUARD).unwrap().is_empty());
        assert!(subscriber.recv().is_some() && subscriber.recv().is_none());
    }
    let mut other = private.builder::<CmdVel>("t").publisher().unwrap();
    other.send(CmdVel::default()).unwrap();
    matching.send(Imu::default()).unwrap();
    assert!(!set.wait(GUARD).unwrap().is_empty());
    assert!(subscriber.recv().is_some() && subscriber.recv().is_none());
    assert!(set.wait(Duration::from_millis(30)).unwrap().is_empty());
}
