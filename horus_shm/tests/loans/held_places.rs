//! The messages that a dead reader had borrowed, while another process holds its place, to free it
//! or to claim it, and is stopped.

use std::sync::atomic::Ordering;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::owner::OWNER_HELD_BIT;
use horus_shm::{Access, BorrowError, FanoutShm, RingOptions};

use crate::skips;

type Message = [u64; 512];

#[test]
fn the_pins_of_a_dead_reader_take_no_slot_while_its_place_is_held() {
    let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let [mut dead, mut live] = [(); 2].map(|()| ring.consumer().unwrap());
    for number in 0..4 {
        producer.send([number; 512]).unwrap();
    }
    let pinned = dead.borrow().unwrap().expect("a message");
    live.recv().unwrap();
    let held = [(); 2].map(|()| live.borrow().unwrap().expect("a message"));
    let refused = live.borrow().map(|_| ());
    assert!(
        matches!(refused, Err(BorrowError::NoPins { .. })),
        "{refused:?}"
    );

    // The place is the first one. It is now as one that a process of this owner word holds.
    let block = ring.segment().reader_block(0, Access::Write).unwrap();
    block.owner.fetch_or(OWNER_HELD_BIT, Ordering::Relaxed);
    let last = live.borrow().unwrap().expect("a message");
    for number in 4..14 {
        producer.send([number; 512]).unwrap();
    }
    drop(last);
    for number in 14..24 {
        producer.send([number; 512]).unwrap();
    }
    let before = skips(ring.segment());
    drop(held);
    for number in 24..34 {
        producer.send([number; 512]).unwrap();
    }
    assert_eq!(
        skips(ring.segment()),
        before,
        "a slot of the dead reader was skipped"
    );
    block.owner.fetch_and(!OWNER_HELD_BIT, Ordering::Relaxed);
    drop(pinned);
}
