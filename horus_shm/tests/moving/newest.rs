//! Readers that want only the newest message, while a former file of their topic has messages.

use std::sync::Arc;

use horus_shm::{BorrowError, OnStalled, RawConsumer, RawProducer, ReadMode, Request, TypeInfo};

use super::{Scene, receive, send};

/// The ways to receive the newest message: into a buffer, and borrowed.
const WAYS: [fn(&mut RawConsumer) -> Option<u64>; 2] = [
    |reader| {
        let [mut one, mut other] = [[0; 8]; 2];
        let (buffer, _) = reader.latest_bytes([&mut one, &mut other], &number)?;
        Some(u64::from_le_bytes([one, other][buffer]))
    },
    |reader| {
        let sample = reader.borrow_latest(&number).unwrap()?;
        Some(number(sample.bytes()))
    },
];

fn number(message: &[u8]) -> u64 {
    u64::from_le_bytes(*message.first_chunk().unwrap())
}

fn newest(reader: &mut RawConsumer, way: fn(&mut RawConsumer) -> Option<u64>) -> Vec<u64> {
    // WHY many calls: as in `receive_messages`.
    (0..64).filter_map(|_| way(reader)).collect()
}

/// The newest message of the former file comes first, and those of the present file after it. All
/// others are skipped.
#[test]
fn the_newest_message_is_never_older_than_that_of_the_call_before() {
    for way in WAYS {
        let scene = Scene::new(2);
        let mut reader = scene.reader();
        let [mut moves, mut stays] = [scene.producer(), scene.producer()];
        send(&mut moves, 0..5);
        send(&mut stays, 5..10);
        scene.remove();
        send(&mut moves, 10..13);
        assert_eq!(newest(&mut reader, way), [9, 12]);
        send(&mut stays, 13..14);
        send(&mut moves, 14..15);
        assert_eq!(newest(&mut reader, way), [14]);
        drop((moves, stays));
        assert_eq!(newest(&mut reader, way), []);
        let stats = reader.stats();
        let found = (stats.sent, stats.received, stats.skipped);
        assert_eq!(found, (15, 3, 12));
        assert_eq!((stats.lost, stats.waiting), (0, 0));
    }
}

/// A message that cannot be borrowed now is received later, so nothing newer may come before it.
#[test]
fn no_newer_message_is_borrowed_while_a_former_file_has_one_that_cannot_be_borrowed() {
    let scene = Scene::new(0);
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.capacity, request.pinnable) = (Some(2), Some(true));
    let segment = scene.open_with(&request);
    let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    send(&mut producer, 0..1);
    // WHY: a reader may hold one of two slots.
    let held = reader.borrow().unwrap().expect("message 0");
    send(&mut producer, 1..2);
    scene.remove();
    send(&mut producer, 2..3);
    for _ in 0..2 {
        let found = reader.borrow_latest(&number);
        assert!(
            matches!(found, Err(BorrowError::NoPins { .. })),
            "{found:?}"
        );
    }
    drop(held);
    assert_eq!(newest(&mut reader, WAYS[1]), [1, 2]);
    assert_eq!(receive(&mut reader), []);
    assert_eq!((reader.stats().received, reader.stats().lost), (3, 0));
}
