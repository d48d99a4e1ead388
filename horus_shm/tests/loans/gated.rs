//! Loans of rings with gated readers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{
    Access, Consumer, LoanError, OnStalled, Producer, RawConsumer, RawProducer, ReadMode,
    Reliability, Request, RingOptions, Segment, SpscShm, TopicName, TypeInfo,
};

use super::{common, pinnable, set_copy_pins, skips, spawn};

type Ring = SpscShm<[u64; 1024]>;

fn lends_slots(ring: &Ring) -> bool {
    let mut producer = ring.producer().unwrap();
    !matches!(producer.loan(), Err(LoanError::NotPinnable { .. }))
}

/// It makes no difference who created the ring.
#[test]
fn a_gated_ring_lends_slots_only_on_request() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let options = RingOptions::default();
    let created = Ring::create(&namespace, "gated", &options).unwrap();
    assert!(!lends_slots(&created));
    let opened = Ring::open(&namespace, "gated", &options).unwrap();
    assert!(!lends_slots(&opened));
    let opened = Ring::open(&namespace, "gated", &pinnable()).unwrap();
    assert!(lends_slots(&opened));
}

/// A borrowed message takes room only as long as it is borrowed: a publisher that is refused
/// meanwhile gives up no position.
#[test]
fn a_released_message_makes_room_after_a_refused_send() {
    let ring = SpscShm::<[u64; 512]>::heap(&pinnable()).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    for number in 0..100 {
        while producer.send([number; 512]).is_ok() {}
        let borrowed = consumer.borrow().unwrap().unwrap();
        assert!(producer.send([number; 512]).is_err(), "its slot is in use");
        assert!(producer.loan().is_err(), "its slot is in use");
        drop(borrowed);
        let sent = producer.send([number; 512]);
        sent.expect("there is room again");
    }
    assert_eq!(skips(ring.segment()), 0);
}

/// A slot that a reader copies is overwritten only if no read message of another one makes room.
#[test]
fn a_copy_is_spared_while_other_messages_are_unread() {
    let ring = SpscShm::<[u64; 512]>::heap(&pinnable()).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    (0..4).for_each(|number| producer.send([number; 512]).unwrap());
    assert_eq!(consumer.borrow().unwrap().unwrap()[0], 0);
    // Acts as if the reader were stopped just before it takes back the pin of its copy of slot 0.
    let block = ring.segment().reader_block(0, Access::Write).unwrap();
    let copy_pin = block.pins.last().unwrap();
    copy_pin.store(1 << 24 | 1, Ordering::Relaxed);
    assert!(producer.send([4; 512]).is_err(), "the slot is being copied");
    copy_pin.store(0, Ordering::Relaxed);
    producer.send([4; 512]).expect("there is room again");
    assert_eq!(skips(ring.segment()), 0);
}

/// Only the slot of the held message is skipped once all others have been read.
#[test]
fn a_held_message_takes_no_more_than_its_slot() {
    let ring = SpscShm::<[u64; 512]>::heap(&pinnable()).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    (0..4).for_each(|number| producer.send([number; 512]).unwrap());
    assert_eq!(consumer.recv().unwrap()[0], 0);
    let borrowed = consumer.borrow().unwrap().unwrap();
    producer.send([4; 512]).expect("message 0 was read");
    assert_eq!([2, 3, 4], [(); 3].map(|()| consumer.recv().unwrap()[0]));
    // The publisher has last seen room for one message, in the slot of message 1.
    producer.send([5; 512]).expect("messages 2 to 4 were read");
    assert_eq!((borrowed[0], skips(ring.segment())), (1, 1));
}

/// Opens the topic `held` with a reliable publisher that offers its last messages.
fn held(dir: &Path) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<[u64; 512]>());
    (request.capacity, request.pinnable) = (Some(4), Some(true));
    (request.reliability, request.history) = (Some(Reliability::Reliable), Some(4));
    let name = TopicName::new("held").unwrap();
    Segment::open_or_create(&spawn::namespace(dir), &name, &request).unwrap()
}

fn consumer(dir: &Path, mode: ReadMode) -> Consumer<[u64; 512]> {
    Consumer::new(RawConsumer::new(held(dir), mode).unwrap())
}

/// A loan that is dropped takes no room, also if it was in a slot that a reader copies.
#[test]
fn a_slot_that_was_lent_stays_the_next_one() {
    let dir = spawn::shm_dir();
    let segment = held(dir.path());
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::<[u64; 512]>::new(raw);
    let mut reader = consumer(dir.path(), ReadMode::Gated);
    let _copying = [(); 4].map(|()| consumer(dir.path(), ReadMode::KeepLast));
    (0..4).for_each(|number| producer.send([number; 512]).unwrap());
    let borrowed = reader.borrow().unwrap().unwrap();
    while reader.recv().is_some() {}
    // Acts as if others had stopped while they copied from all slots except the borrowed one.
    set_copy_pins(
        &segment,
        |slot| if slot == 0 { 0 } else { 1 << 24 | (slot + 1) },
    );
    let _ = producer.loan().unwrap();
    let _ = producer.loan().expect("the same slot");
    producer.send([4; 512]).expect("the slot that was lent");
    assert_eq!((borrowed[0], skips(&segment)), (0, 1));
    assert_eq!(reader.recv().unwrap()[0], 4);
}

/// A slot of a dead reader is as good as free, also if the slot before it is in use.
#[test]
fn a_dead_reader_keeps_no_slot_behind_one_in_use() {
    let dir = spawn::shm_dir();
    let segment = held(dir.path());
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::<[u64; 512]>::new(raw);
    let mut consumer = consumer(dir.path(), ReadMode::Gated);
    (0..2).for_each(|number| producer.send([number; 512]).unwrap());
    let borrowed = consumer.borrow().unwrap().unwrap();
    assert_eq!(consumer.recv().unwrap()[0], 1);
    let died = common::fork(|| borrow_two_and_die(dir.path()));
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(died, &mut status, 0) }, died);
    assert!(libc::WIFSIGNALED(status), "it borrowed two messages");
    (2..4).for_each(|number| producer.send([number; 512]).unwrap());
    // Slot 0 is borrowed, slots 2 and 3 are unread, and the dead reader has borrowed slot 1.
    let sent = producer.send([4; 512]);
    sent.expect("the slot of the dead reader is free");
    assert_eq!((borrowed[0], skips(&segment)), (0, 1));
    assert_eq!([2, 3, 4], [(); 3].map(|()| consumer.recv().unwrap()[0]));
}

/// Borrows the first two messages of the topic in a forked child, which is killed then.
fn borrow_two_and_die(dir: &Path) -> bool {
    let mut consumer = consumer(dir, ReadMode::KeepLast);
    let borrowed = [(); 2].map(|()| consumer.borrow().unwrap().unwrap());
    assert_eq!((borrowed[0][0], borrowed[1][0]), (0, 1));
    // SAFETY: the call takes no pointer.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!();
}
