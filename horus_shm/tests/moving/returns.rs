//! A topic file that is renamed away and back, while its endpoints are called in between: they
//! return to it.

use std::fs;
use std::sync::Arc;

use horus_shm::internals::check_names_now;
use horus_shm::{OnStalled, RawConsumer, RawProducer, ReadMode, Reliability};

use super::{Scene, expect_nothing_lost, receive, send, send_until_full};
use crate::common::{Child, eventually};

/// The endpoints that are called while the file has another name.
#[derive(Debug, Clone, Copy)]
struct Called {
    reader: bool,
    publisher: bool,
}

impl Called {
    fn all() -> [Self; 4] {
        let all = [(true, false), (false, true), (true, true), (false, false)];
        all.map(|(reader, publisher)| Self { reader, publisher })
    }
}

impl Scene {
    /// Renames the topic's file away, and lets its endpoints notice that.
    pub(super) fn rename_away(&self) {
        fs::rename(self.path(), self.away()).unwrap();
        check_names_now();
    }

    /// Renames the topic's file back, over the file that has its name meanwhile.
    pub(super) fn rename_back(&self) {
        fs::rename(self.away(), self.path()).unwrap();
        check_names_now();
    }

    pub(super) fn away(&self) -> std::path::PathBuf {
        self.namespace.topics_path().with_file_name("away")
    }
}

/// Sends a message at a time, and receives it at once.
fn exchange(ends: &mut (RawProducer, RawConsumer), numbers: std::ops::Range<u64>, what: &str) {
    for number in numbers {
        send(&mut ends.0, number..number + 1);
        assert_eq!(receive(&mut ends.1), [number], "{what}");
    }
}

/// Renames the file away and back some times. If the publisher `repeats` the messages of the file
/// that has the name in between, a reader gets those although it was never there.
fn go_and_return(
    scene: &Scene,
    mut ends: (RawProducer, RawConsumer),
    called: Called,
    repeats: bool,
) {
    let what = format!("{called:?}, repeats {repeats}");
    let (mut sent, mut lost) = (0, 0);
    let mut watch = ends.1.watch();
    for round in 0..3 {
        let what = format!("{what}, round {round}");
        exchange(&mut ends, sent..sent + 10, &what);
        sent += 10;
        scene.rename_away();
        if called.publisher {
            send(&mut ends.0, sent..sent + 3);
        }
        if called.reader {
            let found = receive(&mut ends.1);
            let all: Vec<_> = (sent..sent + 3).collect();
            assert_eq!(
                found,
                if called.publisher { &all[..] } else { &[] },
                "{what}"
            );
        }
        sent += if called.publisher { 3 } else { 0 };
        scene.rename_back();
        if called.publisher && !called.reader {
            send(&mut ends.0, sent..sent + 1);
            let missed = if repeats { 0 } else { 3 };
            let all: Vec<_> = (sent - 3 + missed..=sent).collect();
            assert_eq!(receive(&mut ends.1), all, "{what}");
            (sent, lost) = (sent + 1, lost + missed);
        }
        exchange(&mut ends, sent..sent + 10, &what);
        sent += 10;
        let stats = ends.1.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (sent, sent - lost, lost, 0), "{what}");
        let present = scene.open();
        assert!(present.is_same_file(ends.0.segment()), "{what}");
        assert!(present.is_same_file(ends.1.segment()), "{what}");
        let counts = (present.publisher_count(), present.subscriber_count());
        assert_eq!(counts, (1, 1), "{what}");
        watch.follow_consumer();
        assert!(!watch.has_message(), "{what}");
        send(&mut ends.0, sent..sent + 1);
        assert!(watch.has_message(), "{what}");
        assert_eq!(receive(&mut ends.1), [sent], "{what}");
        sent += 1;
    }
}

#[test]
fn endpoints_return_to_a_file_that_gets_its_name_back() {
    for called in Called::all() {
        for history in [0, 4] {
            let scene = Scene::new(history);
            let reader = scene.reader();
            let mut request = scene.request();
            // WHY: each return takes a lane that was never used.
            request.lane_limit = None;
            let segment = scene.open_with(&request);
            let producer = RawProducer::new(segment, OnStalled::Full).unwrap();
            go_and_return(&scene, (producer, reader), called, history > 0);
        }
    }
}

#[test]
fn reliable_endpoints_return_to_a_file_that_gets_its_name_back() {
    for called in Called::all() {
        let scene = Scene::new(0);
        let ends = scene.reliable();
        go_and_return(&scene, ends, called, true);
    }
}

/// A reader that is called after all that, and finds the lanes of the publisher only then.
#[test]
fn a_reader_that_is_called_late_counts_what_was_sent_elsewhere() {
    for in_between in [0, 3] {
        let scene = Scene::new(0);
        let mut reader = scene.reader();
        let mut producer = scene.producer();
        send(&mut producer, 0..10);
        scene.rename_away();
        send(&mut producer, 10..10 + in_between);
        scene.rename_back();
        send(&mut producer, 10 + in_between..12 + in_between);
        let all: Vec<_> = (0..10).chain(10 + in_between..12 + in_between).collect();
        assert_eq!(receive(&mut reader), all);
        let stats = reader.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (12 + in_between, 12, in_between, 0));
    }
}

/// The publisher of another process comes back before this process notices that the name did.
#[test]
fn a_reader_that_notices_a_return_late_gets_no_message_twice() {
    for called_between in [true, false] {
        let scene = Scene::alone(0);
        let mut publisher = Child::spawn("publish history", scene.dir.path());
        assert_eq!(publisher.listen(), "here");
        let mut send = |numbers: std::ops::Range<u64>| {
            numbers.for_each(|_| assert_eq!(publisher.ask("8"), "sent"));
        };
        let mut reader = scene.reader();
        send(0..10);
        assert_eq!(receive(&mut reader), (0..10).collect::<Vec<_>>());
        scene.rename_away();
        assert_eq!(receive(&mut reader), []);
        send(10..13);
        let mut received = Vec::new();
        if called_between {
            received.extend(receive(&mut reader));
        }
        fs::rename(scene.away(), scene.path()).unwrap();
        send(13..15);
        received.extend(receive(&mut reader));
        check_names_now();
        send(15..16);
        received.extend(receive(&mut reader));
        assert_eq!(
            received,
            (10..16).collect::<Vec<_>>(),
            "called {called_between}"
        );
        expect_nothing_lost(&reader, 16);
        assert_eq!(reader.stats().sent, 16);
    }
}

/// The publisher of another process comes back before this process has looked whether the name did.
#[test]
fn a_watch_of_a_reader_that_has_to_return_is_due_only_for_its_next_calls() {
    let scene = Scene::alone(0);
    let mut publisher = Child::spawn("publish history", scene.dir.path());
    assert_eq!(publisher.listen(), "here");
    let mut send = || assert_eq!(publisher.ask("8"), "sent");
    // WHY: without a publisher there, the reader leaves the file when it next checks for one, 10 ms
    // after the last check. Then it has to wait until this process has looked at the name.
    let _stays = scene.producer();
    let mut reader = scene.reader();
    let mut watch = reader.watch();
    send();
    assert_eq!(receive(&mut reader), [0]);
    scene.rename_away();
    assert_eq!(receive(&mut reader), []);
    send();
    assert_eq!(receive(&mut reader), [1]);
    fs::rename(scene.away(), scene.path()).unwrap();
    send();
    let mut message = [0; 8];
    // One call finds the lane, and the next one returns to it.
    for is_last in [false, true] {
        watch.follow_consumer();
        assert!(watch.has_message(), "last call: {is_last}");
        assert_eq!(reader.recv_bytes(&mut message).is_some(), is_last);
    }
    assert_eq!(u64::from_le_bytes(message), 2);
    watch.follow_consumer();
    assert!(!watch.has_message());
    expect_nothing_lost(&reader, 3);
}

/// WHY another publisher must not take the lane that the first one left: there the reader finds how
/// far it has read the messages of that one.
#[test]
fn a_publisher_that_comes_while_another_one_is_elsewhere_hides_nothing() {
    for (history, has_read, comes_first) in [
        (0, true, true),
        (0, false, true),
        (4, true, true),
        (4, false, true),
        (0, true, false),
        (4, true, false),
    ] {
        let what = format!("history {history}, has read {has_read}, comes first {comes_first}");
        let scene = Scene::new(history);
        let mut request = scene.request();
        request.lane_limit = None;
        let open = || RawProducer::new(scene.open_with(&request), OnStalled::Full).unwrap();
        let mut reader = scene.reader();
        let mut producer = open();
        send(&mut producer, 0..10);
        let mut received = Vec::new();
        if has_read {
            received = receive(&mut reader);
        }
        scene.rename_away();
        send(&mut producer, 10..13);
        scene.rename_back();
        let come = || {
            let mut other = open();
            send(&mut other, 100..101);
            other
        };
        let early = comes_first.then(come);
        send(&mut producer, 13..15);
        let _other = early.unwrap_or_else(come);
        received.extend(receive(&mut reader));
        received.retain(|&number| number != 100);
        let lost = if history == 0 { 10..13 } else { 0..0 };
        let all: Vec<_> = (0..15).filter(|number| !lost.contains(number)).collect();
        assert_eq!(received, all, "{what}");
        let stats = reader.stats();
        let found = (stats.sent, stats.lost, stats.waiting);
        assert_eq!(found, (16, lost.end - lost.start, 0), "{what}");
    }
}

/// The publisher was never in the file that comes back, in which the reader still has messages.
#[test]
fn messages_of_a_publisher_that_comes_to_a_renamed_file_keep_their_order() {
    let scene = Scene::new(0);
    let _kept = scene.open();
    let mut reader = scene.reader();
    let mut first = scene.producer();
    send(&mut first, 0..3);
    scene.rename_away();
    let mut second = scene.producer();
    send(&mut second, 100..103);
    let mut message = [0; 8];
    // The reader moves, and still has messages in the first file.
    assert!(reader.recv_bytes(&mut message).is_some());
    scene.rename_back();
    send(&mut second, 103..106);
    let received = receive(&mut reader);
    let of_second: Vec<_> = received.iter().filter(|&&number| number >= 100).collect();
    assert!(of_second.is_sorted(), "{received:?}");
    assert_eq!(received.len(), 8, "{received:?}");
    expect_nothing_lost(&reader, 9);
}

/// The publisher came back, and another one has its lane there by now.
#[test]
fn messages_keep_their_order_if_the_lane_of_their_publisher_has_another_one_by_now() {
    let scene = Scene::new(0);
    let _kept = scene.open();
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    send(&mut producer, 0..6);
    let mut message = [0; 8];
    assert!(reader.recv_bytes(&mut message).is_some());
    scene.rename_away();
    send(&mut producer, 6..8);
    scene.rename_back();
    send(&mut producer, 8..9);
    let lane = producer.lane();
    drop(producer);
    let other = scene.producer();
    assert_eq!(other.lane(), lane);
    assert_eq!(receive(&mut reader), [1, 2, 3, 4, 5, 8]);
    let stats = reader.stats();
    let found = (stats.received, stats.lost, stats.waiting);
    assert_eq!(found, (7, 2, 0));
}

/// The lanes of the publisher in both files end at the same number, because it repeated what it had
/// sent in the other file. None of them counts as read because of the other one.
#[test]
fn no_reliable_message_is_lost_if_a_publisher_repeats_all_in_the_file_that_came_back() {
    let scene = Scene::new(0);
    let mut request = scene.request();
    (request.capacity, request.reliability) = (Some(4), Some(Reliability::Reliable));
    let segment = scene.open_with(&request);
    let reader = || RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let (mut reading, mut slow) = (reader(), reader());
    let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reading), [0]);
    scene.rename_away();
    assert_eq!(receive(&mut reading), []);
    let next = send_until_full(&mut producer, 1, &[8; 9]);
    scene.rename_back();
    let next = send_until_full(&mut producer, next, &[8; 9]);
    assert_eq!(next, 5, "the lane has four slots");
    let mut received = receive(&mut reading);
    assert_eq!(receive(&mut slow), [0, 1, 2, 3, 4]);
    let next = send_until_full(&mut producer, next, &[8; 2]);
    received.extend(receive(&mut reading));
    assert_eq!(received, (1..next).collect::<Vec<_>>());
    expect_nothing_lost(&reading, next);
    assert_eq!(reading.stats().sent, next);
}

/// The lane to which a publisher came back has the messages once more that the reader received in
/// the file in between.
#[test]
fn repeated_messages_of_a_publisher_that_came_back_count_once_at_any_moment() {
    let scene = Scene::new(4);
    let mut request = scene.request();
    request.lane_limit = None;
    let open = || RawProducer::new(scene.open_with(&request), OnStalled::Full).unwrap();
    let mut reader = scene.reader();
    // WHY: without a publisher there, the reader leaves the first file.
    let (mut producer, _stays) = (open(), open());
    send(&mut producer, 0..3);
    assert_eq!(receive(&mut reader), [0, 1, 2]);
    scene.rename_away();
    send(&mut producer, 3..6);
    assert_eq!(receive(&mut reader), [3, 4, 5]);
    scene.rename_back();
    send(&mut producer, 6..7);
    let stats = reader.stats();
    let found = (stats.sent, stats.received, stats.waiting);
    assert_eq!(found, (7, 6, 1));
    assert_eq!(receive(&mut reader), [6]);
    expect_nothing_lost(&reader, 7);
    assert_eq!(reader.stats().sent, 7);
}

impl Scene {
    /// A publisher, and another one that makes no call. WHY the other one: without a publisher, a
    /// reader leaves the file.
    fn producers_without_limit(&self) -> [RawProducer; 2] {
        let mut request = self.request();
        // WHY: each return takes a lane that was never used.
        request.lane_limit = None;
        [(); 2].map(|()| RawProducer::new(self.open_with(&request), OnStalled::Full).unwrap())
    }
}

/// The publisher came back to the first file, and left it again before the reader looked.
#[test]
fn messages_keep_their_order_if_a_file_is_renamed_several_times_between_calls() {
    for called_in_between in [false, true] {
        let scene = Scene::new(0);
        let mut reader = scene.reader();
        let [mut producer, _stays] = scene.producers_without_limit();
        send(&mut producer, 0..1);
        assert_eq!(receive(&mut reader), [0]);
        scene.rename_away();
        assert_eq!(receive(&mut reader), []);
        send(&mut producer, 1..3);
        scene.rename_back();
        send(&mut producer, 3..6);
        scene.rename_away();
        send(&mut producer, 6..8);
        let mut received = Vec::new();
        if called_in_between {
            let mut message = [0; 8];
            assert_eq!(reader.recv_bytes(&mut message), Some(8));
            received.push(u64::from_le_bytes(message));
        }
        scene.rename_back();
        received.extend(receive(&mut reader));
        send(&mut producer, 8..9);
        received.extend(receive(&mut reader));
        let what = format!("called {called_in_between}: {received:?}");
        assert!(received.is_sorted(), "{what}");
        // A reader that makes no call while the third file has the name never sees that file.
        let lost = if called_in_between { 0 } else { 2 };
        assert_eq!(received.len(), 8 - lost as usize, "{what}");
        let stats = reader.stats();
        let found = (stats.sent, stats.lost, stats.waiting);
        assert_eq!(found, (9, lost, 0), "{what}");
    }
}

/// The publisher repeats in the next file all that the reader missed in a file that it had left.
#[test]
fn a_reader_that_got_repeated_messages_does_not_get_them_where_they_were_first() {
    let scene = Scene::new(4);
    let mut request = scene.request();
    request.lane_limit = None;
    let segment = scene.open_with(&request);
    let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut reader = scene.reader();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    scene.rename_away();
    send(&mut producer, 1..2);
    assert_eq!(receive(&mut reader), [1]);
    eventually("the reader leaves the first file", || {
        receive(&mut reader);
        segment.subscriber_count() == 0
    });
    scene.rename_back();
    send(&mut producer, 2..4);
    scene.rename_away();
    // It moves, and sends no other message.
    let _ = producer.loan().unwrap();
    assert_eq!(receive(&mut reader), [2, 3]);
    scene.rename_back();
    assert_eq!(receive(&mut reader), []);
    send(&mut producer, 4..5);
    assert_eq!(receive(&mut reader), [4]);
    expect_nothing_lost(&reader, 5);
    assert_eq!(reader.stats().sent, 5);
}

/// The lane waits for messages in another file, and gets another one meanwhile.
#[test]
fn a_lane_that_waits_for_other_files_does_not_wait_for_itself() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let [mut producer, _stays] = scene.producers_without_limit();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    scene.rename_away();
    assert_eq!(receive(&mut reader), []);
    send(&mut producer, 1..5);
    scene.rename_back();
    send(&mut producer, 5..7);
    // WHY a loan: the publisher does not move before it publishes the message.
    let mut loan = producer.loan().unwrap();
    loan.bytes_mut()[..8].copy_from_slice(&7_u64.to_le_bytes());
    scene.rename_away();
    let mut message = [0; 8];
    for number in 1..3_u64 {
        assert_eq!(reader.recv_bytes(&mut message), Some(8));
        assert_eq!(message, number.to_le_bytes());
    }
    assert_eq!((reader.stats().sent, reader.stats().waiting), (7, 4));
    loan.publish(8).unwrap();
    assert_eq!((reader.stats().sent, reader.stats().waiting), (8, 5));
    assert_eq!(receive(&mut reader), [3, 4, 5, 6, 7]);
    expect_nothing_lost(&reader, 8);
}

/// The lane that the publisher had when it came back waits for an earlier one, and then for a look
/// at the other files. Later messages are in the present file, or in another former one.
#[test]
fn the_newest_messages_of_files_keep_their_order_after_several_renames() {
    for moves_on in [false, true] {
        let scene = Scene::new(0);
        let mut reader = scene.reader();
        let [mut producer, _stays] = scene.producers_without_limit();
        send(&mut producer, 0..2);
        scene.rename_away();
        send(&mut producer, 2..4);
        scene.rename_back();
        send(&mut producer, 4..6);
        scene.rename_away();
        send(&mut producer, 6..8);
        let mut buffers = [[0; 8]; 2];
        let mut newest = || {
            let [first, second] = &mut buffers;
            let key = |message: &[u8]| u64::from_le_bytes(*message.first_chunk().unwrap());
            let found = reader.latest_bytes([&mut first[..], &mut second[..]], &key);
            found.map(|(at, _)| u64::from_le_bytes(buffers[at]))
        };
        assert_eq!(newest(), Some(1));
        if moves_on {
            scene.remove();
        }
        let found = [(); 3].map(|()| newest());
        assert_eq!(found, [Some(5), Some(7), None], "moves on: {moves_on}");
    }
}

/// The reader looks at all files in its calls. The publisher has moved twice since the last one.
#[test]
fn messages_repeated_in_a_file_that_came_back_count_once_between_two_calls() {
    let scene = Scene::new(4);
    let mut reader = scene.reader();
    let [mut producer, _stays] = scene.producers_without_limit();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    scene.rename_away();
    assert_eq!(receive(&mut reader), []);
    send(&mut producer, 1..5);
    scene.rename_back();
    send(&mut producer, 5..7);
    scene.rename_away();
    let mut message = [0; 8];
    for number in 1..3_u64 {
        assert_eq!(reader.recv_bytes(&mut message), Some(8));
        assert_eq!(message, number.to_le_bytes());
    }
    let found = |reader: &RawConsumer| (reader.stats().sent, reader.stats().waiting);
    assert_eq!(found(&reader), (7, 4));
    send(&mut producer, 7..9);
    assert_eq!(found(&reader), (9, 6));
    scene.rename_back();
    send(&mut producer, 9..10);
    assert_eq!(found(&reader), (10, 7));
    assert_eq!(receive(&mut reader), [3, 4, 5, 6, 7, 8, 9]);
    expect_nothing_lost(&reader, 10);
}

/// A publisher that has stayed in the file sends as fast as the reader receives.
#[test]
fn a_reader_returns_although_another_publisher_goes_on_in_its_file() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let [mut producer, mut stays] = scene.producers_without_limit();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    scene.rename_away();
    send(&mut producer, 1..2);
    assert_eq!(receive(&mut reader), [1]);
    scene.rename_back();
    send(&mut producer, 2..3);
    let mut message = [0; 8];
    let is_received = (100..200).any(|number| {
        send(&mut stays, number..number + 1);
        reader.recv_bytes(&mut message).is_some() && message == 2_u64.to_le_bytes()
    });
    assert!(is_received);
}

/// The reader finds its own publisher in the second file, and then again in the first one.
#[test]
fn a_reader_gets_no_message_of_an_ignored_publisher_after_several_renames() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let [mut producer, _stays] = scene.producers_without_limit();
    reader.ignore_publisher(producer.progress());
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), []);
    scene.rename_away();
    send(&mut producer, 1..2);
    assert_eq!(receive(&mut reader), []);
    scene.rename_back();
    send(&mut producer, 2..3);
    scene.rename_away();
    send(&mut producer, 3..4);
    scene.rename_back();
    assert_eq!(receive(&mut reader), []);
}
