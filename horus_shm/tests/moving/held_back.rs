//! Reliable publishers that wait for subscribers which have not moved yet.

use std::sync::Arc;

use horus_shm::{OnStalled, RawConsumer, RawProducer, ReadMode, Reliability};

use super::{Scene, receive, send, send_until_full};

/// More messages than the lane has slots.
const MANY: [usize; 20] = [8; 20];

impl Scene {
    /// A reliable publisher that has moved, and whose four slots are full, because the subscriber
    /// has not moved. Returns the number of its next message, too.
    fn held_back(&self) -> (RawProducer, RawConsumer, u64) {
        let mut request = self.request();
        (request.capacity, request.reliability) = (Some(4), Some(Reliability::Reliable));
        let segment = self.open_with(&request);
        let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
        let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
        send(&mut producer, 0..1);
        assert_eq!(receive(&mut reader), [0]);
        self.remove();
        let next = send_until_full(&mut producer, 1, &MANY);
        assert!(next <= 5, "the lane has four slots");
        (producer, reader, next)
    }
}

#[test]
fn the_reader_that_has_not_moved_is_named_as_the_slowest() {
    let scene = Scene::new(0);
    let (mut producer, mut reader, next) = scene.held_back();
    let slowest = producer.slowest_reader().expect("there is a reader");
    assert_eq!(slowest.process.unwrap().pid, std::process::id());
    assert_eq!(receive(&mut reader), (1..next).collect::<Vec<_>>());
    send(&mut producer, next..next + 1);
    drop(reader);
    assert_eq!(producer.slowest_reader(), None);
}
