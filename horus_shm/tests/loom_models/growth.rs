//! Growth: a lane whose owner goes on in a longer extent.

use std::rc::Rc;

use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::layout::ControlBlock;
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::sync::{Word, edge};
use loom::thread;

use crate::loom_memory::ends::{Consumer, Producer};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord};

/// A lane with two extents, of which the second begins at position `base`.
#[derive(Clone)]
struct Growing {
    first: LoomLane,
    second: LoomLane,
    base: u64,
    control: Rc<ControlBlock<LoomWord>>,
}

impl Growing {
    fn new(capacity: usize, gated: usize, base: u64) -> Self {
        let first = LoomLane::new(capacity, gated, CopyOptions::Racing, 1);
        let second = first.grown(base);
        let control = ControlBlock {
            changes: LoomWord::new(0),
            ..ControlBlock::default()
        };
        Self {
            first,
            second,
            base,
            control: Rc::new(control),
        }
    }

    /// Goes on in the second extent, as `RawProducer::add_longer_extent` does.
    fn grow(&self, producer: &mut Producer) {
        assert_eq!(producer.writer.position(), self.base);
        self.first.block().generation.set(self.second.generation());
        // ORDERING(change_counter): pairs with the load in `Follower::look`.
        self.control
            .changes
            .fetch_add_one_ordered(edge::CHANGE_COUNTER_PUBLISH);
        producer.writer.move_to_extent(self.second.clone());
    }
}

/// A reader that looks for new extents before each poll, as a `RawConsumer` does.
struct Follower {
    growing: Growing,
    consumer: Consumer,
    known: u64,
    is_in_second: bool,
}

impl Follower {
    fn new(growing: &Growing, consumer: Consumer) -> Self {
        Self {
            growing: growing.clone(),
            consumer,
            known: 0,
            is_in_second: false,
        }
    }

    fn look(&mut self) {
        // ORDERING(change_counter): pairs with the count in `Growing::grow`.
        let changes = self.growing.control.changes.load(edge::CHANGE_COUNTER_SEE);
        if changes == self.known || self.is_in_second {
            return;
        }
        let generation = self.growing.first.block().generation.get();
        if generation != self.growing.second.generation() {
            self.known = changes;
            return;
        }
        let reader = &mut self.consumer.reader;
        reader.set_extent_end(self.growing.base);
        if reader.has_read_up_to(self.growing.base) {
            reader.move_to_extent(self.growing.second.clone(), 0);
            self.is_in_second = true;
            self.known = changes;
        }
    }

    fn poll(&mut self) -> PollOutcome {
        self.look();
        self.consumer.poll()
    }

    fn polls(mut self, polls: u32) -> Self {
        (0..polls).for_each(|_| _ = self.poll());
        self
    }

    /// Reads the rest, and accounts for all of `sent` messages.
    fn finish(mut self, sent: u64) {
        (0..=sent + 1).for_each(|_| _ = self.poll());
        self.consumer.finish(sent);
    }
}

/// Messages from before and after the growth are received or counted as lost.
pub(crate) fn a_reader_accounts_for_all_messages_across_growth() {
    explore(2, || {
        let growing = Growing::new(2, 0, 2);
        let mut producer = Producer::first(&growing.first, 1);
        let follower = Follower::new(&growing, Consumer::ungated(&growing.first, 0));
        let reading = thread::spawn(move || follower.polls(2));
        producer.send_all(2);
        growing.grow(&mut producer);
        producer.send_all(1);
        reading.join().unwrap().finish(3);
    });
}

/// A reader that was lapped before the growth does not take the head behind the growth for one of
/// its own extent.
pub(crate) fn a_lapped_reader_stays_before_the_growth() {
    explore(super::switches(1, 2), || {
        let growing = Growing::new(2, 0, 3);
        let mut producer = Producer::first(&growing.first, 1);
        producer.send_all(2);
        let follower = Follower::new(&growing, Consumer::ungated(&growing.first, 0));
        let reading = thread::spawn(move || follower.polls(2));
        producer.send_all(1);
        growing.grow(&mut producer);
        producer.send_all(2);
        reading.join().unwrap().finish(5);
    });
}

/// A gated reader gets every message, and holds the writer back in the next extent, too.
pub(crate) fn a_gated_reader_gets_every_message_across_growth() {
    explore(2, || {
        let growing = Growing::new(2, 1, 1);
        let mut producer = Producer::first(&growing.first, 1);
        let consumer = Consumer::join(&growing.first, 0);
        let follower = Follower::new(&growing, consumer);
        let reading = thread::spawn(move || follower.polls(2));
        producer.send_all(1);
        growing.grow(&mut producer);
        let mut sent = 1;
        for _ in 0..3 {
            sent += u64::from(producer.send().is_ok());
        }
        assert!(sent >= 3, "the second extent has room for two");
        let follower = reading.join().unwrap();
        assert_eq!(follower.consumer.reader.lost(), 0);
        follower.finish(sent);
    });
}
