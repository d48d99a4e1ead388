//! Borrowed messages beside publishers with fewer slots than those that a reader knew when it
//! reserved its pins.

use std::sync::Arc;

use crate::spawn;
use horus_shm::{
    BorrowError, Namespace, OnStalled, RawConsumer, RawProducer, RawSample, ReadMode, Request,
    Segment, TopicName, TypeInfo,
};

type Message = [u64; 512];

/// Opens the topic for publishers with `capacity` slots.
fn opened(namespace: &Arc<Namespace>, capacity: u64) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<Message>());
    request.capacity = Some(capacity);
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
