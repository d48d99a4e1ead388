//! Waiting for the other endpoints of a topic, in this process and in others.

use horus_testing as _;

mod actors;
mod forked;
mod private;

use std::thread;
use std::time::{Duration, Instant};

use actors::{Child, End, hear, namespace_in, role, say, until};
use forked::fork;
use horus_core::message::{CmdVel, Pose2D};
use horus_core::topic::{
    DynamicPublisher, DynamicSubscriber, EndpointChange, EndpointEvents, EndpointKind, Publisher,
    Qos, Subscriber, Topic,
};
use horus_core::{EndpointError, EndpointWaitError, TopicLabel};
use horus_shm::{Mismatch, TopicName};
use private::Private;

/// The time limit of a wait that must succeed.
const GUARD: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);
/// One more than the number of deaths that a topic remembers.
const CROWD: usize = 12;

fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

/// Returns the label of the topic `t`.
fn label() -> TopicLabel {
    TopicLabel::new(&TopicName::new("t").unwrap())
}

fn timeout(kind: EndpointKind, found: usize, wanted: usize) -> EndpointWaitError {
    EndpointWaitError::Timeout {
        topic: label(),
        kind,
        found,
        wanted,
    }
}

fn too_many(kind: EndpointKind, wanted: usize, limit: usize) -> EndpointWaitError {
    EndpointWaitError::TooMany {
        topic: label(),
        kind,
        wanted,
        limit,
    }
}

#[test]
fn a_wait_returns_when_enough_are_there_and_says_how_many() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    assert_eq!(publisher.wait_for_subscribers(1, Duration::ZERO), Ok(1));
    assert_eq!(subscriber.wait_for_publishers(1, Duration::ZERO), Ok(1));
    let second = subscriber.try_clone().unwrap();
    assert_eq!(publisher.wait_for_subscribers(1, Duration::MAX), Ok(2));
    drop(second);
    let late = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let publisher = publisher;
            publisher.wait_for_subscribers(2, GUARD)
        });
        thread::sleep(SHORT);
        let late = subscriber.try_clone().unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(2));
        late
    });
    assert_eq!(late.subscriber_count(), 2);
}

#[test]
fn a_wait_for_none_returns_at_once() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    assert_eq!(publisher.wait_for_subscribers(0, Duration::MAX), Ok(0));
    let topic: Topic<CmdVel> = private.builder("t").topic().unwrap();
    assert_eq!(topic.wait_for_subscribers(0, Duration::MAX), Ok(0));
    drop(publisher);
    assert_eq!(topic.wait_for_publishers(0, Duration::MAX), Ok(0));
}

#[test]
fn a_timeout_says_how_many_were_found_and_wanted() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let begin = Instant::now();
    let error = publisher.wait_for_subscribers(3, SHORT).unwrap_err();
    assert!(begin.elapsed() >= SHORT);
    assert_eq!(error, timeout(EndpointKind::Subscriber, 1, 3));
    assert_eq!(
        error.to_string(),
        "topic 't': not enough subscribers came in time: found 1, wanted 3"
    );
    let error = subscriber.wait_for_publishers(2, SHORT).unwrap_err();
    assert_eq!(error, timeout(EndpointKind::Publisher, 1, 2));
    assert_eq!(
        horus_core::Error::from(error).to_string(),
        "topic 't': not enough publishers came in time: found 1, wanted 2"
    );
}

#[test]
fn more_than_the_topic_can_have_is_refused_at_once() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let refused = publisher.wait_for_subscribers(65, Duration::MAX);
    let error = refused.unwrap_err();
    assert_eq!(error, too_many(EndpointKind::Subscriber, 65, 64));
    assert_eq!(
        error.to_string(),
        "topic 't': 65 subscribers can never be there: the topic has room for 64"
    );
    let refused = subscriber.wait_for_publishers(usize::MAX, Duration::MAX);
    let limit = 64;
    let wanted = usize::MAX;
    assert_eq!(
        refused,
        Err(too_many(EndpointKind::Publisher, wanted, limit))
    );
    let topic: Topic<CmdVel> = private.builder("t").topic().unwrap();
    let refused = topic.wait_for_publishers(limit, Duration::MAX);
    let own = 1;
    assert_eq!(
        refused,
        Err(too_many(EndpointKind::Publisher, limit, limit - own))
    );
}

#[test]
fn a_topic_waits_for_others() {
    let private = Private::new();
    let topic: Topic<CmdVel> = private.builder("t").topic().unwrap();
    let none = Err(timeout(EndpointKind::Subscriber, 0, 1));
    assert_eq!(topic.wait_for_subscribers(1, SHORT), none);
    let none = Err(timeout(EndpointKind::Publisher, 0, 1));
    assert_eq!(topic.wait_for_publishers(1, SHORT), none);
    let other: Topic<CmdVel> = private.builder("t").topic().unwrap();
    assert_eq!(topic.wait_for_subscribers(1, SHORT), Ok(1));
    assert_eq!(other.wait_for_publishers(1, SHORT), Ok(1));
}

#[test]
fn an_observer_waits_but_does_not_count() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let observer = private.builder::<CmdVel>("t").observer().unwrap();
    assert_eq!(observer.wait_for_publishers(1, Duration::ZERO), Ok(1));
    let none = Err(timeout(EndpointKind::Subscriber, 0, 1));
    assert_eq!(publisher.wait_for_subscribers(1, SHORT), none);
}

#[test]
fn endpoints_of_a_type_known_at_run_time_wait_too() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let tool = DynamicSubscriber::open(private.namespace(), "t").unwrap();
    assert_eq!(tool.wait_for_publishers(1, Duration::ZERO), Ok(1));
    let second = DynamicPublisher::open(private.namespace(), "t").unwrap();
    assert_eq!(second.wait_for_subscribers(1, Duration::ZERO), Ok(1));
    assert_eq!(tool.wait_for_publishers(2, Duration::ZERO), Ok(2));
    // As both endpoints of one handle, they wait for those of others.
    assert_eq!(tool.wait_for_other_publishers(1, Duration::ZERO), Ok(1));
    let none = Err(timeout(EndpointKind::Subscriber, 0, 1));
    assert_eq!(second.wait_for_other_subscribers(1, SHORT), none);
    drop((publisher, tool));
    assert_eq!(second.wait_for_subscribers(1, SHORT), none);
}

#[test]
fn a_forked_child_gets_an_error_at_once() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let forked = || Err(EndpointError::Forked { topic: label() }.into());
    assert!(fork(|| {
        publisher.wait_for_subscribers(1, Duration::MAX) == forked()
            && publisher.wait_for_subscribers(2, Duration::MAX) == forked()
            && subscriber.wait_for_publishers(1, Duration::MAX) == forked()
    }));
    assert_eq!(publisher.wait_for_subscribers(1, Duration::ZERO), Ok(1));
}

#[test]
fn a_truncated_topic_ends_a_wait_with_an_error() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let waiting = thread::spawn(move || publisher.wait_for_subscribers(1, GUARD));
    thread::sleep(SHORT);
    let [file] = &private.topic_files()[..] else {
        panic!("one topic")
    };
    let path = private.namespace().topics_path().join(file);
    std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(0)
        .unwrap();
    let lost = EndpointError::RegionLost { topic: label() };
    assert_eq!(waiting.join().unwrap(), Err(lost.into()));
}

/// Not a test: the entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some((role, dir)) = role() else { return };
    let namespace = namespace_in(&dir);
    let builder = || Topic::<CmdVel>::builder("t").namespace(&namespace);
    match role.as_str() {
        "publisher" => {
            let mut publisher = builder().publisher().unwrap();
            say("open");
            let found = publisher.wait_for_subscribers(1, GUARD).unwrap();
            publisher.send(numbered(7)).unwrap();
            say(format!("found {found}"));
            // It stays until the parent closes the input.
            while hear().is_some() {}
        }
        "subscriber" => {
            let mut subscriber = builder().subscriber().unwrap();
            say("open");
            let found = subscriber.wait_for_publishers(1, GUARD).unwrap();
            say(format!("found {found}"));
            let message = subscriber.recv_timeout(GUARD).unwrap();
            say(format!("received {}", message.timestamp_ns));
            while hear().is_some() {}
        }
        "crowd" => {
            let _crowd = [(); CROWD].map(|()| builder().subscriber().unwrap());
            say("open");
            while hear().is_some() {}
        }
        other => panic!("no role {other}"),
    }
}

#[test]
fn processes_wait_for_each_other_in_either_order() {
    for roles in [["publisher", "subscriber"], ["subscriber", "publisher"]] {
        let private = Private::new();
        let dir = private.namespace().path().parent().unwrap();
        let mut children = roles.map(|role| {
            let mut child = Child::spawn(role, dir);
            child.await_word("open");
            child
        });
        for (child, role) in children.iter_mut().zip(roles) {
            child.await_word("found 1");
            if role == "subscriber" {
                child.await_word("received 7");
            }
        }
    }
}

#[test]
fn a_killed_process_no_longer_counts() {
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut child = Child::spawn("subscriber", dir);
    assert_eq!(publisher.wait_for_subscribers(1, GUARD), Ok(1));
    publisher.send(numbered(7)).unwrap();
    child.await_word("received 7");
    child.kill();
    let none = Err(timeout(EndpointKind::Subscriber, 0, 1));
    assert_eq!(publisher.wait_for_subscribers(1, SHORT), none);
    drop(publisher);
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut child = Child::spawn("publisher", dir);
    assert_eq!(subscriber.wait_for_publishers(1, GUARD), Ok(1));
    child.await_word("found 1");
    child.kill();
    let none = Err(timeout(EndpointKind::Publisher, 0, 1));
    assert_eq!(subscriber.wait_for_publishers(1, SHORT), none);
}

/// Returns the changes that are found now, each with the reason why the two do not match.
fn changes(events: &mut EndpointEvents) -> Vec<(EndpointChange, Option<Mismatch>)> {
    let found = std::iter::from_fn(|| events.poll().unwrap());
    found.map(|event| (event.change, event.mismatch)).collect()
}

#[test]
fn endpoints_that_join_and_leave_make_events_on_both_sides() {
    use EndpointChange::{Joined, Left};
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let early: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut subscribers = publisher.subscriber_events();
    let mut publishers = early.publisher_events();
    assert_eq!(changes(&mut subscribers), [(Joined, None)]);
    assert_eq!(changes(&mut publishers), [(Joined, None)]);
    assert_eq!(changes(&mut subscribers), []);

    let reliable: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    let other: Subscriber<Pose2D> = private.subscriber("t", Qos::new());
    let mut joined = changes(&mut subscribers);
    joined.sort_by_key(|(_, mismatch)| *mismatch == Some(Mismatch::Type));
    let wanted = [Mismatch::Reliability, Mismatch::Type];
    assert_eq!(joined, wanted.map(|reason| (Joined, Some(reason))));
    let mut unmatched = reliable.publisher_events();
    assert_eq!(
        changes(&mut unmatched),
        [(Joined, Some(Mismatch::Reliability))]
    );
    let mut unmatched = other.publisher_events();
    assert_eq!(changes(&mut unmatched), [(Joined, Some(Mismatch::Type))]);

    drop((reliable, other));
    assert_eq!(changes(&mut subscribers), [(Left, None); 2]);
    drop(publisher);
    assert_eq!(changes(&mut publishers), [(Left, None)]);
    drop(early);
    let event = subscribers.poll().unwrap().unwrap();
    assert_eq!((event.kind, event.change), (EndpointKind::Subscriber, Left));
    let process = event.process.process.unwrap();
    assert_eq!(process.pid, std::process::id());
}

#[test]
fn a_wait_for_an_event_ends_with_the_event_or_the_timeout() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut events = publisher.subscriber_events();
    let begin = Instant::now();
    assert_eq!(events.wait(SHORT), Ok(None));
    assert!(begin.elapsed() >= SHORT);
    thread::scope(|scope| {
        let waiting = scope.spawn(move || events.wait(GUARD).unwrap().unwrap().change);
        let _subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
        assert_eq!(waiting.join().unwrap(), EndpointChange::Joined);
    });
}

/// Another process may take the place of the dead one before anybody looks.
#[test]
fn a_killed_process_died_and_did_not_leave() {
    use EndpointChange::{Died, Joined};
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut events = publisher.subscriber_events();
    for is_replaced in [false, true] {
        let mut child = Child::spawn("subscriber", dir);
        assert_eq!(events.wait(GUARD).unwrap().unwrap().change, Joined);
        publisher.send(numbered(7)).unwrap();
        child.await_word("received 7");
        child.kill();
        let successor: Option<Subscriber<CmdVel>> =
            is_replaced.then(|| private.subscriber("t", Qos::new()));
        let mut wanted = vec![(Died, None)];
        wanted.extend(successor.as_ref().map(|_| (Joined, None)));
        assert_eq!(changes(&mut events), wanted);
    }
    drop((publisher, events));

    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = subscriber.publisher_events();
    let mut child = Child::spawn("publisher", dir);
    assert_eq!(events.wait(GUARD).unwrap().unwrap().change, Joined);
    child.await_word("found 1");
    child.kill();
    assert_eq!(changes(&mut events), [(Died, None)]);
}

/// A node that is restarted takes the place of its former process before anybody looks. That place
/// may be free again by then.
#[test]
fn what_happened_to_a_process_does_not_depend_on_who_has_its_place_since() {
    use EndpointChange::{Died, Joined, Left};
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut subscribers = publisher.subscriber_events();
    let mut publishers = subscriber.publisher_events();
    assert_eq!(changes(&mut subscribers), [(Joined, None)]);
    assert_eq!(changes(&mut publishers), [(Joined, None)]);
    for (is_killed, is_free_again) in [(false, false), (false, true), (true, true), (true, false)] {
        let mut children = ["subscriber", "publisher"].map(|role| Child::spawn(role, dir));
        assert_eq!(subscribers.wait(GUARD).unwrap().unwrap().change, Joined);
        assert_eq!(publishers.wait(GUARD).unwrap().unwrap().change, Joined);
        publisher.send(numbered(7)).unwrap();
        children[0].await_word("received 7");
        children[1].await_word("found");
        for mut child in children {
            if is_killed {
                child.kill();
            } else {
                assert_eq!(child.wait(), End::Code(0));
            }
        }
        let next_subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
        let next_publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
        let mut next = Some((next_subscriber, next_publisher));
        if is_free_again {
            next = None;
        }
        let mut wanted = vec![(if is_killed { Died } else { Left }, None)];
        wanted.extend(next.as_ref().map(|_| (Joined, None)));
        assert_eq!(changes(&mut subscribers), wanted, "subscribers");
        assert_eq!(changes(&mut publishers), wanted, "publishers");
        drop(next);
        let left = usize::from(!is_free_again);
        assert_eq!(changes(&mut subscribers), vec![(Left, None); left]);
        assert_eq!(changes(&mut publishers), vec![(Left, None); left]);
    }
}

/// A topic remembers eleven deaths.
#[test]
fn an_endpoint_whose_death_may_be_forgotten_is_gone() {
    use EndpointChange::{Died, Gone, Joined, Left};
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut events = publisher.subscriber_events();
    let mut child = Child::spawn("crowd", dir);
    child.await_word("open");
    assert_eq!(changes(&mut events), [(Joined, None); CROWD]);
    child.kill();
    let next: [Subscriber<CmdVel>; CROWD] =
        [(); CROWD].map(|()| private.subscriber("t", Qos::new()));
    let mut wanted = vec![(Gone, None)];
    wanted.extend([(Died, None); CROWD - 1]);
    wanted.extend([(Joined, None); CROWD]);
    assert_eq!(changes(&mut events), wanted);
    drop(next);
    assert_eq!(changes(&mut events), [(Left, None); CROWD]);
}

#[test]
fn events_of_a_fork_are_an_error() {
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut events = publisher.subscriber_events();
    let forked = Err(EndpointError::Forked { topic: label() });
    assert!(fork(|| events.poll() == forked));
}

/// Replaces the file of the topic `t`, and returns a publisher in the new file. `scout` has moved
/// there then, so this process knows that the old file has lost its name.
fn replaced(private: &Private, scout: &mut Subscriber<CmdVel>) -> Publisher<CmdVel> {
    std::fs::remove_file(private.namespace().topics_path().join("t")).unwrap();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let is_new = |message: CmdVel| message.timestamp_ns == 100;
    until("the scout has moved", || {
        publisher.send(numbered(100)).unwrap();
        scout.recv().is_some_and(is_new)
    });
    publisher
}

#[test]
fn a_publisher_that_has_to_move_is_not_gone() {
    use EndpointChange::{Joined, Left};
    let private = Private::new();
    let mut idle: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut moved: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = subscriber.publisher_events();
    assert_eq!(changes(&mut events), [(Joined, None)]);

    let other = replaced(&private, &mut moved);
    assert_eq!(changes(&mut events), [(Joined, None)]);
    let mut late_events = moved.publisher_events();
    assert_eq!(changes(&mut late_events), [(Joined, None); 2]);
    for end in [&subscriber, &moved] {
        assert_eq!(end.wait_for_publishers(2, SHORT), Ok(2));
        assert_eq!(end.publisher_count(), 2);
    }
    // It moves.
    idle.send(numbered(8)).unwrap();
    assert_eq!(other.publisher_count(), 2);
    for end in [&subscriber, &moved] {
        assert_eq!(end.wait_for_publishers(2, SHORT), Ok(2));
        let none = Err(timeout(EndpointKind::Publisher, 2, 3));
        assert_eq!(end.wait_for_publishers(3, SHORT), none);
    }
    for events in [&mut events, &mut late_events] {
        assert_eq!(changes(events), []);
    }
    drop(idle);
    for events in [&mut events, &mut late_events] {
        assert_eq!(changes(events), [(Left, None)]);
    }
    assert_eq!(subscriber.publisher_count(), 1);
}

/// A reliable publisher keeps its place in the old file until all subscribers have moved.
#[test]
fn a_reliable_publisher_that_waits_for_subscribers_to_move_counts_once() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::reliable());
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::reliable());
    let mut moved: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = publisher.subscriber_events();
    assert_eq!(changes(&mut events).len(), 2);
    let _other = replaced(&private, &mut moved);
    publisher.send(numbered(8)).unwrap();
    for end in [&subscriber, &moved] {
        assert_eq!(end.publisher_count(), 2);
    }
    assert_eq!(publisher.subscriber_count(), 2);
    assert_eq!(subscriber.recv().unwrap().timestamp_ns, 8);
    assert_eq!(publisher.subscriber_count(), 2);
    assert_eq!(changes(&mut events), []);
}

#[test]
fn a_subscriber_that_has_to_move_is_not_gone() {
    use EndpointChange::{Joined, Left};
    let private = Private::new();
    let publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    let mut moved: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut idle: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = publisher.subscriber_events();
    assert_eq!(changes(&mut events), [(Joined, None); 2]);
    let _other = replaced(&private, &mut moved);
    assert_eq!(publisher.wait_for_subscribers(2, SHORT), Ok(2));
    assert_eq!(publisher.subscriber_count(), 2);
    assert_eq!(changes(&mut events), []);
    assert_eq!(idle.recv().unwrap().timestamp_ns, 100);
    assert_eq!(publisher.subscriber_count(), 2);
    assert_eq!(changes(&mut events), []);
    drop(idle);
    assert_eq!(changes(&mut events), [(Left, None)]);
}

#[test]
fn a_publisher_that_is_killed_before_it_moves_died() {
    use EndpointChange::{Died, Joined};
    let private = Private::new();
    let dir = private.namespace().path().parent().unwrap();
    let mut moved: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut child = Child::spawn("publisher", dir);
    child.await_word("found 1");
    let subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let mut events = subscriber.publisher_events();
    assert_eq!(changes(&mut events), [(Joined, None)]);
    let _other = replaced(&private, &mut moved);
    assert_eq!(subscriber.wait_for_publishers(2, SHORT), Ok(2));
    assert_eq!(changes(&mut events), [(Joined, None)]);
    child.kill();
    let none = Err(timeout(EndpointKind::Publisher, 1, 2));
    assert_eq!(subscriber.wait_for_publishers(2, SHORT), none);
    assert_eq!(changes(&mut events), [(Died, None)]);
}

#[test]
fn a_topic_does_not_count_its_own_endpoints_while_they_move() {
    let private = Private::new();
    let topic = private.builder("t").topic().unwrap();
    let mut topic: Topic<CmdVel> = topic.ignore_own();
    let mut moved: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let expect_others = |topic: &Topic<CmdVel>| {
        assert_eq!(topic.wait_for_publishers(1, SHORT), Ok(1));
        assert_eq!(topic.wait_for_subscribers(1, SHORT), Ok(1));
        let none = Err(timeout(EndpointKind::Publisher, 1, 2));
        assert_eq!(topic.wait_for_publishers(2, SHORT), none);
        let none = Err(timeout(EndpointKind::Subscriber, 1, 2));
        assert_eq!(topic.wait_for_subscribers(2, SHORT), none);
    };
    let mut other = replaced(&private, &mut moved);
    expect_others(&topic);
    // The subscriber moves, and leaves the old file, where only its own publisher is.
    until("the subscriber has moved", || topic.recv().is_some());
    for _ in 0..5 {
        other.send(numbered(101)).unwrap();
        let received = topic.recv_timeout(GUARD).unwrap();
        assert!(received.timestamp_ns >= 100);
        thread::sleep(SHORT);
    }
    expect_others(&topic);
    topic.send(numbered(8)).unwrap();
    expect_others(&topic);
}
