//! A publisher of another process that grows so often that lane files are gone before a subscriber
//! looks for them, perhaps after a move.

use horus_shm::internals::{check_names_now, forbid_name_watch_thread};
use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, Request, Segment, TopicName, TypeInfo,
};

use super::{Scene, TOPIC, expect_nothing_lost, receive, receive_messages, send_until_full};
use crate::common::{Child, say};

/// The lengths of messages that need a lane file each.
const LENGTHS: [usize; 6] = [8, 5_000, 20_000, 80_000, 320_000, 1_280_000];
/// Number of lane files of a publisher that have names.
const NAMED_EXTENTS: u64 = 4;

/// Sends messages of the lengths that it is told, line by line. Keeps `history` messages. If
/// `notices_moves` is false, it never moves to another file.
pub(super) fn publish(history: u32, notices_moves: bool) {
    forbid_name_watch_thread();
    let namespace = Namespace::current().unwrap();
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let mut request = Request::new(type_info);
    request.history = Some(history);
    let segment =
        Segment::open_or_create(&namespace, &TopicName::new(TOPIC).unwrap(), &request).unwrap();
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    say("here");
    for (number, line) in (0_u64..).zip(std::io::stdin().lines()) {
        if notices_moves {
            check_names_now();
        }
        let mut message = vec![0; line.unwrap().parse().unwrap()];
        message[..8].copy_from_slice(&number.to_le_bytes());
        producer.send_bytes(&message).unwrap();
        say("sent");
    }
}

fn send(publisher: &mut Child, bytes: usize) {
    assert_eq!(publisher.ask(&bytes.to_string()), "sent");
}

#[test]
fn a_reader_counts_no_message_that_was_sent_before_it_was_opened() {
    for before in [0, 20] {
        let scene = Scene::alone(0);
        let mut reader = scene.reader();
        let mut publisher = Child::spawn("publish", scene.dir.path());
        assert_eq!(publisher.listen(), "here");
        if before > 0 {
            (0..before).for_each(|_| send(&mut publisher, LENGTHS[0]));
            drop(reader);
            scene.remove();
            reader = scene.reader();
        }
        LENGTHS
            .iter()
            .for_each(|&bytes| send(&mut publisher, bytes));
        let sent = LENGTHS.len() as u64;
        let lost = sent - NAMED_EXTENTS;
        let stats = reader.stats();
        let found = (stats.sent, stats.lost, stats.waiting);
        assert_eq!(found, (sent, lost, NAMED_EXTENTS), "{before} before");
        let [seen] = &reader.segment().reader_counters()[..] else {
            panic!("one reader is there");
        };
        let found = (seen.received, seen.lost, seen.waiting);
        assert_eq!(found, (0, lost, NAMED_EXTENTS), "{before} before");
        let numbers = before + lost..before + sent;
        let lengths = LENGTHS.into_iter().skip(lost as usize);
        let all: Vec<_> = numbers.zip(lengths).collect();
        assert_eq!(receive_messages(&mut reader), all);
        let stats = reader.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (sent, NAMED_EXTENTS, lost, 0), "{before} before");
    }
}

/// A message that a reader counts as waiting must not turn out to be lost.
#[test]
fn messages_in_a_lane_file_that_is_gone_are_lost_at_once() {
    let scene = Scene::alone(0);
    let mut reader = scene.reader();
    let mut publisher = Child::spawn("publish", scene.dir.path());
    assert_eq!(publisher.listen(), "here");
    send(&mut publisher, LENGTHS[0]);
    assert_eq!(receive(&mut reader), [0]);
    // The reader has the first lane file mapped, and has not read it to its end.
    send(&mut publisher, LENGTHS[0]);
    LENGTHS[1..]
        .iter()
        .for_each(|&bytes| send(&mut publisher, bytes));
    let sent = LENGTHS.len() as u64 + 1;
    let waiting = NAMED_EXTENTS + 1;
    let ledger = |reader: &RawConsumer| {
        let stats = reader.stats();
        (stats.sent, stats.received, stats.lost, stats.waiting)
    };
    let lost = sent - 1 - waiting;
    assert_eq!(ledger(&reader), (sent, 1, lost, waiting));
    assert_eq!(receive(&mut reader), [1, 3, 4, 5, 6]);
    assert_eq!(ledger(&reader), (sent, 1 + waiting, lost, 0));
}

/// A publisher moves, sends one message, and dies. Another one takes over its lane, and grows until
/// its first lane file is gone. A reader that moved, or came, before both finds the lane then.
#[test]
fn a_reader_counts_no_message_as_lost_that_a_predecessor_sent_elsewhere() {
    const BEFORE: u64 = 20;
    for (role, history) in [("publish", 0), ("publish history", 4)] {
        for was_there in [false, true] {
            let what = format!("history {history}, was there {was_there}");
            let scene = Scene::alone(0);
            let mut reader = scene.reader();
            let mut first = Child::spawn(role, scene.dir.path());
            assert_eq!(first.listen(), "here");
            (0..BEFORE).for_each(|_| send(&mut first, LENGTHS[0]));
            if was_there {
                assert_eq!(receive(&mut reader).len() as u64, BEFORE);
                scene.remove();
                assert_eq!(receive(&mut reader), []);
            } else {
                drop(reader);
                scene.remove();
                reader = scene.reader();
            }
            send(&mut first, LENGTHS[0]);
            first.kill();
            let mut second = Child::spawn("publish", scene.dir.path());
            assert_eq!(second.listen(), "here");
            LENGTHS.iter().for_each(|&bytes| send(&mut second, bytes));
            let repeated = if was_there { 0 } else { history };
            let received_before = if was_there { BEFORE } else { 0 };
            let sent = received_before + repeated + 1 + LENGTHS.len() as u64;
            let numbers: Vec<_> = (2..LENGTHS.len() as u64).collect();
            assert_eq!(receive(&mut reader), numbers, "{what}");
            let lost = sent - received_before - NAMED_EXTENTS;
            let stats = reader.stats();
            let found = (stats.sent, stats.received, stats.lost, stats.waiting);
            let received = received_before + NAMED_EXTENTS;
            assert_eq!(found, (sent, received, lost, 0), "{what}");
        }
    }
}

/// The lane of the former file has a longer extent behind the one with the first message.
#[test]
fn a_reader_that_moved_receives_a_longer_message_behind_a_short_one() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    assert_eq!(send_until_full(&mut producer, 0, &[8, 10_000]), 2);
    scene.remove();
    assert_eq!(receive_messages(&mut reader), [(0, 8), (1, 10_000)]);
    expect_nothing_lost(&reader, 2);
}

/// The publisher grows in the former file after the reader has moved.
#[test]
fn a_reader_that_moved_receives_a_longer_message_of_a_publisher_that_did_not() {
    for is_killed in [false, true] {
        let scene = Scene::alone(0);
        let mut reader = scene.reader();
        let mut watch = reader.watch();
        let mut publisher = Child::spawn("publish unaware", scene.dir.path());
        assert_eq!(publisher.listen(), "here");
        send(&mut publisher, 8);
        assert_eq!(receive(&mut reader), [0]);
        scene.remove();
        assert_eq!(receive(&mut reader), []);
        send(&mut publisher, 80_000);
        if is_killed {
            publisher.kill();
        }
        assert_eq!(receive_messages(&mut reader), [(1, 80_000)]);
        watch.follow_consumer();
        assert!(!watch.has_message(), "killed: {is_killed}");
        expect_nothing_lost(&reader, 2);
    }
}
