//! Loans that are dropped: they send nothing, and what they leave in the lane is no message.

use std::sync::Arc;

use horus_shm::{
    BorrowError, Consumer, FanoutShm, OnStalled, Producer, RawConsumer, RawProducer, ReadMode,
    Request, RingOptions, Sample, Segment,
};

use super::{sized, skips};

type Message = [u64; 512];

#[test]
fn a_loan_that_is_dropped_was_never_sent() {
    let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.loan().unwrap()[0] = 1;
    assert_eq!(consumer.recv(), None);
    let mut loan = producer.loan().unwrap();
    (*loan)[0] = 2;
    loan.publish().unwrap();
    assert_eq!(consumer.recv().unwrap()[0], 2);
    assert_eq!((producer.position(), consumer.stats().lost), (1, 0));
}

/// A ring of two slots. The holder has received messages 0 and 1 and keeps message 0, and the late
/// subscriber has received message 0. A loan that was dropped has skipped the slot that is held,
/// and overwritten message 1.
struct Scene {
    producer: Producer<Message>,
    holder: Consumer<Message>,
    held: Sample<Message>,
    late: Consumer<Message>,
}

fn scene() -> Scene {
    let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(2)).unwrap();
    let mut producer = ring.producer().unwrap();
    let [mut holder, mut late] = [(); 2].map(|()| ring.consumer().unwrap());
    (0..2).for_each(|number| producer.send([number; 512]).unwrap());
    let held = holder.borrow().unwrap().unwrap();
    assert_eq!(holder.recv().unwrap()[0], 1);
    assert_eq!(late.recv().unwrap()[0], 0);
    let _ = producer.loan().unwrap();
    assert_eq!(skips(ring.segment()), 1);
    Scene {
        producer,
        holder,
        held,
        late,
    }
}

#[test]
fn a_skipped_slot_is_no_message_that_cannot_be_borrowed() {
    let mut scene = scene();
    let nothing = scene.holder.borrow().map(|_| ());
    assert_eq!(nothing, Ok(()), "there is no message");
    let key = |bytes: &[u8]| u64::from(bytes[0]);
    let nothing = scene.holder.borrow_latest(&key).map(|_| ());
    assert_eq!(nothing, Ok(()), "there is no message");
    scene.producer.send([2; 512]).unwrap();
    let refused = scene.holder.borrow();
    assert!(matches!(refused, Err(BorrowError::NoPins { held: 1, .. })));
    assert_eq!(scene.holder.recv().unwrap()[0], 2);
    assert_eq!(scene.held[0], 0);
}

/// A call for the latest message does not stay at an overwritten one if only skips follow.
#[test]
fn the_latest_message_is_not_awaited_at_one_that_is_gone() {
    let mut scene = scene();
    assert_eq!(scene.late.latest(), None);
    let stats = scene.late.stats();
    let ledger = (stats.received, stats.lost, stats.waiting, stats.busy);
    assert_eq!(ledger, (1, 1, 0, 0), "{stats:?}");
    scene.producer.send([2; 512]).unwrap();
    assert_eq!(scene.late.latest().unwrap()[0], 2);
    assert_eq!(scene.late.stats().lost, 1);
}

/// A receive call does not return without a message if only skips are left in the shorter slots.
#[test]
fn a_message_in_longer_slots_is_found_behind_a_skipped_slot() {
    type Receive = fn(&mut RawConsumer) -> Option<usize>;
    let ways: [Receive; 3] = [
        |reader| reader.recv_bytes(&mut [0; 500]),
        |reader| reader.recv_length(),
        |reader| Some(reader.borrow().unwrap()?.bytes().len()),
    ];
    for receive in ways {
        let mut request = Request::new(sized(64));
        request.capacity = Some(4);
        let segment = Segment::heap(&request).unwrap();
        let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
        let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
        (0..4).for_each(|number| producer.send_bytes(&[number; 8]).unwrap());
        let _held = reader.borrow().unwrap().unwrap();
        (1..4).for_each(|_| assert_eq!(receive(&mut reader), Some(8)));
        let _ = producer.loan().unwrap();
        assert_eq!(skips(&segment), 1);
        producer.send_bytes(&[4; 200]).unwrap();
        assert_eq!(receive(&mut reader), Some(200));
    }
}
