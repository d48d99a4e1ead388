//! Borrowed messages beside publishers with fewer slots than those that a reader knew when it
//! reserved its pins.

use std::sync::Arc;

use crate::spawn;
use horus_shm::{
    BorrowError, Namespace, OnStalled, RawConsumer, RawProducer, RawSample, ReadMode, Request,
    Segment, TopicName, TypeInfo,
};

type Message = [u64; 512];

/// Opens the topic for publishers with `capacity` slots, which can be pinned.
fn opened(namespace: &Arc<Namespace>, capacity: u64) -> Arc<Segment> {
    opened_as(namespace, capacity, true)
}

/// Does the same as [`opened`] for slots that can be pinned, or not.
fn opened_as(namespace: &Arc<Namespace>, capacity: u64, pinnable: bool) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<Message>());
    (request.capacity, request.pinnable) = (Some(capacity), Some(pinnable));
    let name = TopicName::new("lanes").unwrap();
    Segment::open_or_create(namespace, &name, &request).unwrap()
}

fn publisher(namespace: &Arc<Namespace>, capacity: u64) -> RawProducer {
    RawProducer::new(opened(namespace, capacity), OnStalled::Full).unwrap()
}

fn reader(namespace: &Arc<Namespace>) -> RawConsumer {
    RawConsumer::new(opened(namespace, 16), ReadMode::KeepLast).unwrap()
}

fn send(publisher: &mut RawProducer, messages: u64) {
    for _ in 0..messages {
        publisher.send_bytes(&[7; size_of::<Message>()]).unwrap();
    }
}

/// Borrows messages until there is none, or no pin for it.
fn borrow_all(reader: &mut RawConsumer) -> (Vec<RawSample>, Option<BorrowError>) {
    let mut held = Vec::new();
    loop {
        match reader.borrow() {
            Ok(Some(sample)) => held.push(sample),
            Ok(None) => return (held, None),
            Err(error) => return (held, Some(error)),
        }
    }
}

/// Returns the number of messages that can be borrowed now, before pins are missing.
fn borrowed(reader: &mut RawConsumer) -> usize {
    let (held, error) = borrow_all(reader);
    assert!(
        matches!(error, Some(BorrowError::NoPins { capacity: 4, .. })),
        "{error:?}"
    );
    held.len()
}

#[test]
fn a_reader_leaves_a_slot_to_a_shorter_lane_that_it_meets_later() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut long = publisher(&namespace, 16);
    let mut reader = reader(&namespace);
    send(&mut long, 7);
    assert_eq!(borrow_all(&mut reader).0.len(), 7);

    let mut short = publisher(&namespace, 4);
    send(&mut short, 4);
    let (held, error) = borrow_all(&mut reader);
    send(&mut short, 100);
    assert!(
        matches!(
            error,
            Some(BorrowError::NoPins {
                held: 3,
                capacity: 4,
                ..
            })
        ),
        "{error:?}"
    );
    assert_eq!(held.len(), 3);
}

#[test]
fn messages_held_beside_longer_lanes_count_beside_a_shorter_one() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut long = publisher(&namespace, 16);
    let mut reader = reader(&namespace);
    send(&mut long, 5);
    let (mut held, _) = borrow_all(&mut reader);
    assert_eq!(held.len(), 5);

    let mut short = publisher(&namespace, 4);
    send(&mut short, 1);
    for _ in 3..=5 {
        assert_eq!(borrowed(&mut reader), 0, "{} are held", held.len());
        // The oldest one goes first, so the free pins are not the last ones.
        held.remove(0);
    }
    held.extend(reader.borrow().unwrap());
    assert_eq!(held.len(), 3);
    send(&mut long, 100);
    send(&mut short, 100);
    assert_eq!(borrowed(&mut reader), 0);
}

#[test]
fn a_shorter_lane_that_is_ignored_takes_no_pins() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let short = publisher(&namespace, 4);
    let mut long = publisher(&namespace, 16);
    let mut reader = reader(&namespace);
    reader.ignore(short.lane());
    send(&mut long, 7);
    assert_eq!(borrow_all(&mut reader).0.len(), 7);
}

/// Neither keeps pins that it does not use from the other one.
#[test]
fn readers_share_the_pins_of_a_shorter_lane_as_they_use_them() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut long = publisher(&namespace, 16);
    let mut readers = [reader(&namespace), reader(&namespace)];
    for reader in &mut readers {
        reader.reserve_borrows(4).unwrap();
    }
    send(&mut long, 4);
    let held = readers.each_mut().map(|reader| borrow_all(reader).0);
    assert!(held.iter().all(|held| held.len() == 4));
    drop(held);

    let mut short = publisher(&namespace, 4);
    send(&mut short, 4);
    // Each of them has to look once, to give back what it had reserved.
    let mut held: Vec<_> = readers
        .iter_mut()
        .filter_map(|reader| reader.borrow().ok().flatten())
        .collect();
    for reader in &mut readers {
        held.extend(reader.borrow().unwrap());
    }
    assert_eq!(held.len(), 3);
    send(&mut short, 100);
    for reader in &mut readers {
        assert_eq!(borrowed(reader), 0);
    }
}

/// A lane without a publisher and without a message is no limit; a later publisher of it is.
#[test]
fn a_shorter_lane_whose_publisher_left_takes_no_pins() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut long = publisher(&namespace, 16);
    let mut short = publisher(&namespace, 2);
    let mut early = reader(&namespace);
    send(&mut short, 1);
    send(&mut long, 3);
    let (held, error) = borrow_all(&mut early);
    assert_eq!(held.len(), 1, "{error:?}");
    drop(held);
    while early.recv_length().is_some() {}
    drop(short);
    let mut late = reader(&namespace);
    for reader in [&mut early, &mut late] {
        reader.reserve_borrows(3).unwrap();
    }
    send(&mut long, 3);
    let held = [&mut early, &mut late].map(|reader| borrow_all(reader).0);
    assert!(held.iter().all(|held| held.len() == 3));
    drop((held, late));

    let mut next = publisher(&namespace, 2);
    send(&mut next, 2);
    let (held, error) = borrow_all(&mut early);
    assert_eq!(held.len(), 1);
    assert!(
        matches!(error, Some(BorrowError::NoPins { capacity: 2, .. })),
        "{error:?}"
    );
    send(&mut next, 10);
}

/// A slot that was skipped for a loan that was dropped is not a message that waits.
#[test]
fn a_shorter_lane_that_ends_with_a_skipped_slot_takes_no_pins() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut long = publisher(&namespace, 16);
    let mut short = publisher(&namespace, 2);
    let mut reader = reader(&namespace);
    send(&mut short, 2);
    let _held = reader.borrow().unwrap().unwrap();
    assert!(reader.recv_length().is_some());
    let _ = short.loan().unwrap();
    drop(short);
    send(&mut long, 2);
    let (held, error) = borrow_all(&mut reader);
    assert_eq!((held.len(), error), (2, None));
}

#[test]
fn messages_can_be_borrowed_after_a_publisher_that_only_copies_left() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let copying = || {
        let opened = opened_as(&namespace, 4, false);
        RawProducer::new(opened, OnStalled::Full).unwrap()
    };
    let is_not_pinnable =
        |reader: &mut RawConsumer| matches!(reader.borrow(), Err(BorrowError::NotPinnable { .. }));
    let mut long = publisher(&namespace, 16);
    let mut reader = reader(&namespace);
    let mut tool = copying();
    send(&mut tool, 1);
    send(&mut long, 2);
    assert!(is_not_pinnable(&mut reader));
    drop(tool);
    assert!(is_not_pinnable(&mut reader), "its message is not read yet");
    let mut message = [0; size_of::<Message>()];
    while reader.stats().waiting > 1 || is_not_pinnable(&mut reader) {
        assert!(
            reader.recv_bytes(&mut message).is_some(),
            "no message was left"
        );
    }
    send(&mut long, 1);
    reader.reserve_borrows(3).unwrap();
    assert!(!borrow_all(&mut reader).0.is_empty());

    let mut next = copying();
    send(&mut next, 1);
    assert!(is_not_pinnable(&mut reader));
    assert!(reader.recv_bytes(&mut message).is_some());
    assert_eq!(reader.stats().lost, 0);
}
