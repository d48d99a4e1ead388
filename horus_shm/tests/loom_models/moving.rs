//! Moving: a publisher and its readers that go on in another file of their topic.

use std::rc::Rc;

use horus_shm::internals::gate;
use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::owner;
use horus_shm::internals::sync::{Word, edge};
use loom::thread;

use crate::loom_memory::ends::{Consumer, Producer, messages};
use crate::loom_memory::mutation::{explore, is_step_left_out};
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord};

/// Polls the lane of the former file and that of the present one, as `RawConsumer::poll_all_files`
/// does. Returns true if the message is from the present one.
fn turn(former: &mut Consumer, present: &mut Consumer) -> Option<bool> {
    if former.poll() == PollOutcome::Message {
        return Some(false);
    }
    let block = present.reader.memory().block();
    // ORDERING(head): pairs with the store in `LaneWriter::publish`.
    if block.head.load(edge::HEAD_SEE) <= present.reader.position() {
        return None;
    }
    if !is_step_left_out("move/former again") && former.poll() == PollOutcome::Message {
        return Some(false);
    }
    (present.poll() == PollOutcome::Message).then_some(true)
}

/// A reader gets the messages that a publisher sent before it moved before those that it sent after
/// that.
pub(crate) fn messages_from_before_a_move_come_first() {
    explore(3, || {
        let [old, new] = [(); 2].map(|()| LoomLane::new(2, 0, CopyOptions::Racing, 1));
        let mut before = Producer::first(&old, 1);
        let mut after = Producer::first(&new, 1);
        let mut former = Consumer::ungated(&old, 0);
        let mut present = Consumer::ungated(&new, 0);
        let reading = thread::spawn(move || {
            for _ in 0..2 {
                if turn(&mut former, &mut present) == Some(true) {
                    assert_eq!(former.delivered.len(), 1, "a later message came first");
                }
            }
        });
        before.send_all(1);
        after.send_all(1);
        reading.join().unwrap();
    });
}

/// A reliable publisher that moved overwrites nothing before its reader has moved, too, and the
/// reader then holds it back.
pub(crate) fn a_publisher_that_moved_keeps_a_lap_for_its_reader() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Racing, 1);
        let moved_to = Rc::new(LoomWord::new(0));
        let mut producer = Producer::first(&lane, 1);
        producer.writer.set_stop_position(lane.writer_lead_max());
        let (theirs, announced) = (lane.clone(), Rc::clone(&moved_to));
        let reading = thread::spawn(move || {
            theirs.announce(0);
            let mut consumer = Consumer::gated(&theirs, 0, gate::join_lane(&theirs, 0, 0));
            assert_eq!(consumer.start, 0);
            // ORDERING(session_owner): as in `ReaderSlot::announce_move`.
            announced.store(1, edge::SESSION_OWNER_PUBLISH);
            consumer.poll();
            consumer
        });
        for _ in 0..3 {
            // ORDERING(session_owner): as in `awaits_reader`.
            if producer.send().is_err() && moved_to.load(edge::SESSION_OWNER_SEE) == 1 {
                producer.writer.set_stop_position(u64::MAX);
            }
        }
        let mut consumer = reading.join().unwrap();
        let end = producer.writer.position();
        assert_eq!(consumer.finish(end), messages(1, 0..end));
    });
}

/// A publisher claims a lane of a file while the file loses its name. Either it sees that, or the
/// reader, which has seen that, finds it in the file.
pub(crate) fn a_reader_leaves_no_file_in_which_a_publisher_stays() {
    explore(3, || {
        let lane = LoomLane::new(1, 0, CopyOptions::Racing, 1);
        let words = [(); 2].map(|()| Rc::new(LoomWord::new(0)));
        let [owner, is_name_lost] = words.each_ref().map(Rc::clone);
        let theirs = lane.clone();
        let claiming = thread::spawn(move || {
            owner::claim_first_free_entry([&*owner].into_iter(), 1, |_| false).unwrap();
            // ORDERING(name_lost): as in `LaneClaim::claim_in_named_file`.
            theirs.fence(edge::NAME_LOST_CLAIM_FENCE);
            is_name_lost.get() == 0
        });
        let [owner, is_name_lost] = words.each_ref().map(Rc::clone);
        let reading = thread::spawn(move || {
            let may_leave = is_name_lost.get() == 1;
            // ORDERING(name_lost): as in `RawConsumer::finish_file_if_read`.
            lane.fence(edge::NAME_LOST_READER_FENCE);
            may_leave && owner.get() == 0
        });
        // The user removes the file.
        words[1].set(1);
        let (stays, leaves) = (claiming.join().unwrap(), reading.join().unwrap());
        assert!(!(stays && leaves), "the publisher sends to nobody");
    });
}
