//! Sequence numbers count messages, also where a publisher that could skip slots had one that
//! cannot as its successor, and where that one moves.

use horus_shm::{OnStalled, RawConsumer, RawProducer, ReadMode, Request, TypeInfo};

use super::{Scene, expect_nothing_lost, receive};

/// A topic with one lane of eight slots.
struct Lane {
    scene: Scene,
    sent: u64,
}

impl Lane {
    fn request(pinnable: bool) -> Request {
        let mut request = Request::new(TypeInfo::opaque::<u64>());
        (request.capacity, request.lane_limit) = (Some(8), Some(1));
        request.pinnable = Some(pinnable);
        request
    }

    fn publisher(&self, pinnable: bool) -> RawProducer {
        let segment = self.scene.open_with(&Self::request(pinnable));
        RawProducer::new(segment, OnStalled::Full).unwrap()
    }

    fn subscriber(&self) -> RawConsumer {
        let segment = self.scene.open_with(&Self::request(true));
        RawConsumer::new(segment, ReadMode::KeepLast).unwrap()
    }

    fn send(&mut self, publisher: &mut RawProducer) {
        publisher.send_bytes(&self.sent.to_le_bytes()).unwrap();
        self.sent += 1;
        assert_eq!(publisher.position(), self.sent, "of the publisher");
    }

    /// Sends a message, which all subscribers receive at once.
    fn exchange(&mut self, publisher: &mut RawProducer, subscribers: &mut [RawConsumer]) {
        self.send(publisher);
        for subscriber in subscribers {
            assert_eq!(receive(subscriber), [self.sent - 1]);
            assert_eq!(subscriber.sequence(), self.sent, "of a subscriber");
        }
    }

    /// Makes the publisher skip slots, because a subscriber holds a message.
    fn exchange_with_skips(&mut self, publisher: &mut RawProducer, subscriber: &mut RawConsumer) {
        self.send(publisher);
        let held = subscriber.borrow().unwrap();
        assert!(held.is_some());
        for _ in 0..40 {
            self.exchange(publisher, std::slice::from_mut(subscriber));
        }
        assert!(publisher.segment().lane_counters()[0].skips > 0);
    }
}

#[test]
fn sequence_numbers_count_no_skipped_slots_of_a_predecessor() {
    let mut lane = Lane {
        scene: Scene::new(0),
        sent: 0,
    };
    let mut early = lane.subscriber();
    let mut publisher = lane.publisher(true);
    lane.exchange_with_skips(&mut publisher, &mut early);
    drop(publisher);
    let mut publisher = lane.publisher(false);
    let before = lane.sent;
    let late = lane.subscriber();
    let mut both = [early, late];
    lane.exchange(&mut publisher, &mut both);
    lane.exchange(&mut publisher, &mut both);
    let newest = |message: &[u8]| u64::from_le_bytes(*message.first_chunk().unwrap());
    lane.send(&mut publisher);
    for subscriber in &mut both {
        let [mut one, mut other] = [[0; 8]; 2];
        assert!(
            subscriber
                .latest_bytes([&mut one, &mut other], &newest)
                .is_some()
        );
        assert_eq!(subscriber.sequence(), lane.sent);
    }
    lane.send(&mut publisher);
    for subscriber in &mut both {
        assert!(subscriber.recv_length().is_some());
        assert_eq!(subscriber.sequence(), lane.sent);
    }
    expect_nothing_lost(&both[0], lane.sent);
    expect_nothing_lost(&both[1], lane.sent - before);
    // A publisher that may skip slots goes on with the numbers, too.
    drop(publisher);
    let mut publisher = lane.publisher(true);
    lane.exchange(&mut publisher, &mut both);
    assert_eq!(publisher.segment().lane_counters()[0].sent, lane.sent);
    expect_nothing_lost(&both[0], lane.sent);
    expect_nothing_lost(&both[1], lane.sent - before);
}

#[test]
fn nothing_is_lost_when_a_publisher_moves_whose_predecessor_skipped_slots() {
    let mut lane = Lane {
        scene: Scene::new(0),
        sent: 0,
    };
    let mut subscriber = lane.subscriber();
    let mut publisher = lane.publisher(true);
    lane.exchange_with_skips(&mut publisher, &mut subscriber);
    drop(publisher);
    let mut publisher = lane.publisher(false);
    lane.exchange(&mut publisher, std::slice::from_mut(&mut subscriber));
    lane.scene.remove();
    assert_eq!(receive(&mut subscriber), []);
    lane.exchange(&mut publisher, std::slice::from_mut(&mut subscriber));
    expect_nothing_lost(&subscriber, lane.sent);
}
