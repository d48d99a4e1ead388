//! The open lane: readers that the writer never waits for.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::layout::{ControlBlock, LaneBlock};
use horus_shm::internals::reading::ReadLanes;
use horus_shm::internals::sync::{Word, edge};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use crate::loom_memory::ends::{Consumer, Producer};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord};

/// A slot that is written again during the reader's copy is never delivered.
pub(crate) fn a_message_is_delivered_whole_or_not_at_all() {
    explore(3, || {
        let lane = LoomLane::new(1, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        let consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || consumer.polls(2));
        producer.send_all(2);
        reading.join().unwrap().finish(2);
    });
}

/// The same holds for a reader that drains.
pub(crate) fn a_drained_message_is_delivered_whole_or_not_at_all() {
    explore(3, || {
        let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let mut consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || {
            consumer.drain(2, 2);
            consumer
        });
        producer.send_all(2);
        reading.join().unwrap().finish(3);
    });
}

/// A reader counts exactly the messages that the writer overwrote before it read them.
pub(crate) fn a_lapped_reader_counts_exactly_what_it_lost() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || consumer.polls(2));
        producer.send_all(2);
        reading.join().unwrap().finish(4);
    });
}

/// A reader that is not lapped again while it searches finds a message where it continues.
pub(crate) fn a_lapped_reader_goes_on_at_a_published_slot() {
    explore(3, || {
        let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(3);
        let mut consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || {
            assert_eq!(consumer.poll(), PollOutcome::Message);
            consumer
        });
        producer.send_all(1);
        reading.join().unwrap().finish(4);
    });
}

/// Readers that are not gated share only the lane.
pub(crate) fn two_readers_do_not_disturb_each_other() {
    // WHY one switch: they only load, and two switches cost eight times the executions.
    explore(1, || {
        let lane = LoomLane::new(1, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let [one, two] = [(); 2].map(|()| {
            let consumer = Consumer::ungated(&lane, 0);
            thread::spawn(move || consumer.polls(1))
        });
        producer.send_all(1);
        one.join().unwrap().finish(2);
        two.join().unwrap().finish(2);
    });
}

/// The latest value is whole, and never older than the previous one or one known to be sent.
pub(crate) fn the_latest_value_is_as_new_as_any_sent_before_the_call() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let known = Rc::new(AtomicU64::new(1));
        let mut consumer = Consumer::ungated(&lane, 0);
        let told = Rc::clone(&known);
        let reading = thread::spawn(move || {
            for _ in 0..2 {
                // ORDERING(known): pairs with the store below.
                let known = told.load(Ordering::Acquire);
                let before = consumer.reader.position();
                match consumer.poll_latest() {
                    PollOutcome::Message => assert!(consumer.reader.position() >= known),
                    PollOutcome::Empty => {
                        assert!(before >= known);
                        assert_eq!(consumer.reader.position(), before);
                    }
                    PollOutcome::Busy => {}
                }
            }
            consumer
        });
        for sent in 2..=3 {
            producer.send_all(1);
            // ORDERING(known): pairs with the load above.
            known.store(sent, Ordering::Release);
        }
        let mut consumer = reading.join().unwrap();
        consumer.poll_latest();
        assert_eq!(consumer.reader.position(), 3);
    });
}

/// A reader that sees the count of new extents sees the generation that was stored before it.
pub(crate) fn a_reader_that_sees_a_change_sees_the_generation() {
    explore(3, || {
        let control = Rc::new(ControlBlock {
            changes: LoomWord::new(0),
            ..ControlBlock::default()
        });
        let lanes = Rc::new([0, 1].map(|_| LaneBlock {
            generation: LoomWord::new(0),
            ..LaneBlock::default()
        }));
        let claiming = [0, 1].map(|lane| {
            let control = Rc::clone(&control);
            let lanes = Rc::clone(&lanes);
            thread::spawn(move || {
                lanes[lane].generation.set(1);
                control
                    .changes
                    .fetch_add_one_ordered(edge::CHANGE_COUNTER_PUBLISH);
            })
        });
        let changes = control.changes.load(edge::CHANGE_COUNTER_SEE);
        let generations: u64 = lanes.iter().map(|lane| lane.generation.get()).sum();
        assert!(generations >= changes);
        claiming
            .into_iter()
            .for_each(|claiming| claiming.join().unwrap());
        assert_eq!(control.changes.get(), 2);
    });
}

/// A thread that waits on behalf of a reader polls each lane that the reader reads.
pub(crate) fn a_lane_that_is_read_is_polled() {
    explore(3, || {
        let lanes = Rc::new(ReadLanes::new(LoomWord::new(0), LoomWord::new(0)));
        let theirs = Rc::clone(&lanes);
        lanes.publish(0b01, 1);
        let reading = thread::spawn(move || theirs.publish(0b11, 2));
        let seen = lanes.mask_for_change_count(2);
        assert!(seen.is_none_or(|mask| mask == 0b11));
        reading.join().unwrap();
        assert_eq!(lanes.mask_for_change_count(2), Some(0b11));
        assert_eq!(lanes.mask_for_change_count(1), None);
    });
}

/// A thread that sees the bit of a lane may access the memory that was reserved before it was set.
pub(crate) fn a_lane_that_is_ready_was_reserved() {
    explore(3, || {
        let ready = Rc::new(LoomWord::new(0));
        let reserved = Rc::new([UnsafeCell::new(false), UnsafeCell::new(false)]);
        let claiming = [0, 1].map(|lane| {
            let ready = Rc::clone(&ready);
            let reserved = Rc::clone(&reserved);
            thread::spawn(move || {
                // SAFETY: the cell is alive, and loom fails the model if another thread is in it.
                reserved[lane].with_mut(|reserved| unsafe { reserved.write(true) });
                ready.set_bits_ordered(1 << lane, edge::LANE_READY_PUBLISH);
            })
        });
        let seen = ready.load(edge::LANE_READY_SEE);
        for lane in [0, 1] {
            if seen & (1 << lane) != 0 {
                // SAFETY: the cell is alive, and loom fails the model if a writer is in it.
                assert!(reserved[lane].with(|reserved| unsafe { reserved.read() }));
            }
        }
        claiming
            .into_iter()
            .for_each(|claiming| claiming.join().unwrap());
        assert_eq!(ready.get(), 0b11);
    });
}
