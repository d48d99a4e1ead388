//! Gates: readers that hold the writer back, and readers that take over their places.

use std::rc::Rc;

use horus_shm::internals::lane::{NoRoom, PollOutcome};
use horus_shm::internals::memory::{LaneMemory, ReaderId};
use horus_shm::internals::owner;
use horus_shm::internals::sync::Word;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::loom_memory::ends::{Consumer, History, NOBODY, Producer, messages};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::{CopyOptions, LoomLane, killed_after};

const EACH_COPYING: [CopyOptions; 2] = [CopyOptions::Racing, CopyOptions::Exclusive];

const EACH_LANE: [CopyOptions; 3] = [
    CopyOptions::Racing,
    CopyOptions::Exclusive,
    CopyOptions::ByHead,
];

/// A gated reader gets every message, and the writer is never in a slot that is being read.
pub(crate) fn a_gated_reader_gets_every_message() {
    for copying in EACH_LANE {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, copying, 1);
            let mut consumer = Consumer::join(&lane, 0);
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(2);
            assert_eq!(producer.send(), Err(NoRoom));
            let reading = thread::spawn(move || {
                consumer.poll();
                consumer.polls(1)
            });
            let _ = producer.send();
            let _ = producer.send();
            let mut consumer = reading.join().unwrap();
            let end = producer.writer.position();
            assert_eq!(consumer.finish(end), messages(1, 0..end));
            producer.send_all(2);
            assert_eq!(producer.send(), Err(NoRoom));
        });
    }
}

/// A reader that publishes its cursor late gets every message, too.
pub(crate) fn a_drained_lane_gives_every_message() {
    for copying in EACH_LANE {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, copying, 1);
            let mut consumer = Consumer::join(&lane, 0);
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(2);
            let reading = thread::spawn(move || {
                consumer.drain(2, 2);
                consumer.drain(2, 1);
                consumer
            });
            let _ = producer.send();
            let _ = producer.send();
            let mut consumer = reading.join().unwrap();
            let end = producer.writer.position();
            assert_eq!(consumer.finish(end), messages(1, 0..end));
            producer.send_all(2);
            assert_eq!(producer.send(), Err(NoRoom));
        });
    }
}

/// The slowest of several gated readers holds the writer back, and so the other readers too.
pub(crate) fn two_gated_readers_both_get_every_message() {
    explore(2, || {
        let lane = LoomLane::new(2, 2, CopyOptions::Exclusive, 1);
        let consumers = [0, 1].map(|reader| Consumer::join(&lane, reader));
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let reading = consumers.map(|consumer| thread::spawn(move || consumer.polls(2)));
        for _ in 0..2 {
            let _ = producer.send();
        }
        let end = producer.writer.position();
        for reading in reading {
            assert_eq!(reading.join().unwrap().finish(end), messages(1, 0..end));
        }
    });
}

/// A reader that joins while the writer runs loses nothing from its start position on.
pub(crate) fn a_late_gate_holds_the_writer_from_its_start_on() {
    for copying in EACH_COPYING {
        explore(3, move || {
            let lane = LoomLane::new(1, 1, copying, 1);
            let mut producer = Producer::first(&lane, 1);
            let theirs = lane.clone();
            let reading = thread::spawn(move || Consumer::join(&theirs, 0).polls(1));
            for _ in 0..3 {
                let _ = producer.send();
            }
            let mut consumer = reading.join().unwrap();
            let end = producer.writer.position();
            let start = consumer.start;
            assert_eq!(consumer.finish(end), messages(1, start..end));
        });
    }
}

/// A late joiner that requests the newest message finds it published.
pub(crate) fn a_late_joiner_finds_the_messages_under_the_head() {
    explore(3, || {
        let lane = LoomLane::new(4, 1, CopyOptions::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            let mut consumer = Consumer::late(&theirs, 0, History::of_the_living(1, NOBODY));
            assert_eq!(consumer.poll(), PollOutcome::Message);
            consumer
        });
        producer.send_all(2);
        reading.join().unwrap().finish(3);
    });
}

/// The slot that a leaving reader read last is written only after it was read.
pub(crate) fn a_gate_that_leaves_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let reader = 7;
        owner::claim_first_free_entry(lane.reader_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            assert_eq!(consumer.poll(), PollOutcome::Message);
            assert!(theirs.free_reader(0, reader, reader));
        });
        let _ = producer.send();
        reading.join().unwrap();
        producer.send_all(2);
    });
}

/// The slot in which a gated reader died is written only after its place was freed.
pub(crate) fn a_gate_that_died_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [reader, reaper] = [7, 8];
        owner::claim_first_free_entry(lane.reader_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let dying = thread::spawn(move || {
            assert_eq!(killed_after(0, || consumer.poll()), PollOutcome::Message);
        });
        let theirs = lane.clone();
        let reaping = thread::spawn(move || {
            dying.join().unwrap();
            assert!(theirs.free_reader(0, reader, reaper));
        });
        let _ = producer.send();
        reaping.join().unwrap();
        producer.send_all(2);
    });
}

/// The slots that the previous reader in a place read are not overwritten because of the next one's
/// cursor.
pub(crate) fn a_gate_handed_on_carries_its_last_reads_along() {
    explore(2, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [before, after] = [7, 8];
        owner::claim_first_free_entry(lane.reader_owners(), before, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let leaving = thread::spawn(move || {
            assert_eq!(consumer.poll(), PollOutcome::Message);
            assert!(theirs.free_reader(0, before, before));
        });
        let theirs = lane.clone();
        let joining = thread::spawn(move || Consumer::adopt(&theirs, after, NOBODY));
        let _ = producer.send();
        leaving.join().unwrap();
        let joined = joining.join().unwrap();
        let _ = producer.send();
        if let Some(mut consumer) = joined {
            let start = consumer.start;
            let end = producer.writer.position();
            assert_eq!(consumer.finish(end), messages(1, start..end));
        }
    });
}

/// A writer that frees a place which its reader just left passes the last reads on to other
/// writers.
pub(crate) fn a_gate_left_and_freed_again_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [reader, other_writer] = [7, 2];
        owner::claim_first_free_entry(lane.reader_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let leaving = thread::spawn(move || {
            assert_eq!(consumer.poll(), PollOutcome::Message);
            theirs.free_reader(0, reader, reader)
        });
        let theirs = lane.clone();
        // WHY: the reader held back the writer of another lane of the same topic, too. That lane is
        // not modelled; its writer clears all cursors of the reader.
        let freeing = thread::spawn(move || theirs.free_reader(0, 0, other_writer));
        let _ = producer.send();
        assert!(leaving.join().unwrap());
        freeing.join().unwrap();
        producer.send_all(1);
    });
}

/// The place of a dead reader is freed once, and nobody else clears the cursor of its next reader.
pub(crate) fn a_dead_gate_is_reaped_once() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Racing, 1);
        let [dead, after] = [7, 8];
        owner::claim_first_free_entry(lane.reader_owners(), dead, |_| false).unwrap();
        Consumer::join(&lane, 0);
        let theirs = lane.clone();
        let other = thread::spawn(move || theirs.free_reader(0, dead, 10));
        let mine = lane.free_reader(0, dead, 9);
        let claimed = owner::claim_first_free_entry(lane.reader_owners(), after, |_| false);
        let start = claimed.map(|_| Consumer::join(&lane, 0).start);
        assert!(other.join().unwrap() != mine);
        if let Some(start) = start {
            assert_eq!(lane.reader_owners().next().unwrap().get(), after);
            assert_eq!(
                (lane.gated_reader_mask().get(), lane.cursor(0).get()),
                (1, start + 1)
            );
        }
    });
}

/// A reader that the writer stopped waiting for counts exactly the messages that it missed.
pub(crate) fn a_detached_reader_counts_exactly_what_it_lost() {
    explore(2, || {
        let lane = LoomLane::new(2, 1, CopyOptions::Racing, 1);
        let consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let reading = thread::spawn(move || consumer.polls(1));
        if producer.send() == Err(NoRoom) {
            let (reader, cursor) = producer.writer.slowest_reader().unwrap();
            producer
                .writer
                .stop_waiting_for_reader(reader, cursor, ReaderId::default());
            producer.send_all(1);
        }
        let _ = producer.send();
        let end = producer.writer.position();
        reading.join().unwrap().finish(end);
    });
}

/// The writer stays out of the slot that a gated reader skipped to.
pub(crate) fn a_gated_reader_may_skip_to_the_latest() {
    for copying in EACH_COPYING {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, copying, 1);
            let mut consumer = Consumer::join(&lane, 0);
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(2);
            let reading = thread::spawn(move || {
                assert_eq!(consumer.poll_latest(), PollOutcome::Message);
                consumer
            });
            let _ = producer.send();
            let _ = producer.send();
            let end = producer.writer.position();
            let mut consumer = reading.join().unwrap();
            consumer.finish(end);
            assert_eq!(consumer.reader.lost(), 0);
        });
    }
}

/// Wherever a joining reader is killed, its successor starts where the writer waits.
pub(crate) fn a_gate_killed_while_joining_holds_the_writer_for_the_next() {
    for copying in EACH_COPYING {
        for killed in 0..=3 {
            // WHY: a reader that stored no cursor did not join, an easier case with as much to
            // explore. A passed cursor needs two switches.
            let preemptions = if killed < 2 { 1 } else { 2 };
            explore(preemptions, move || adopt_after_join(copying, killed));
        }
    }
}

fn adopt_after_join(copying: CopyOptions, killed: u32) {
    let lane = LoomLane::new(1, 1, copying, 1);
    let [dead, after] = [7, 8];
    owner::claim_first_free_entry(lane.reader_owners(), dead, |_| false).unwrap();
    let mut producer = Producer::first(&lane, 1);
    let theirs = lane.clone();
    let adopting = thread::spawn(move || {
        killed_after(killed, || Consumer::join(&theirs, 0));
        Consumer::adopt(&theirs, after, dead).unwrap().polls(1)
    });
    for _ in 0..3 {
        let _ = producer.send();
    }
    let mut consumer = adopting.join().unwrap();
    let start = consumer.start;
    let end = producer.writer.position();
    assert_eq!(consumer.finish(end), messages(1, start..end));
}

/// A reader that takes the place of a killed reader continues where that one stopped.
pub(crate) fn a_gate_killed_while_reading_is_resumed() {
    for killed in [0, 1] {
        explore(3, move || {
            let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
            let [dead, after] = [7, 8];
            let mut consumer = Consumer::adopt(&lane, dead, NOBODY).unwrap();
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(1);
            let theirs = lane.clone();
            let adopting = thread::spawn(move || {
                assert_eq!(
                    killed_after(killed, || consumer.poll()),
                    PollOutcome::Message
                );
                Consumer::adopt(&theirs, after, dead).unwrap().polls(1)
            });
            for _ in 0..2 {
                let _ = producer.send();
            }
            let mut consumer = adopting.join().unwrap();
            let start = consumer.start;
            let end = producer.writer.position();
            assert_eq!(start, u64::from(killed));
            assert_eq!(consumer.finish(end), messages(1, start..end));
        });
    }
}

/// The place of a dead reader goes to a reader that takes it or to the writer that frees it, not to
/// both.
pub(crate) fn a_dead_gate_is_adopted_or_reaped() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [me, dead, after] = [1, 7, 8];
        Consumer::adopt(&lane, dead, NOBODY).unwrap();
        let mut producer = Producer::first(&lane, me);
        producer.send_all(1);
        let theirs = lane.clone();
        let adopting = thread::spawn(move || {
            Consumer::adopt(&theirs, after, dead).map(|consumer| consumer.polls(1))
        });
        if producer.send() == Err(NoRoom) && lane.free_reader(0, dead, me) {
            let _ = producer.send();
        }
        let _ = producer.send();
        if let Some(mut consumer) = adopting.join().unwrap() {
            let start = consumer.start;
            let end = producer.writer.position();
            assert_eq!(consumer.finish(end), messages(me, start..end));
        }
    });
}

/// A process that is stopped while it frees the place of a dead reader holds back no writer.
pub(crate) fn a_gate_whose_reaper_is_stopped_is_abandoned() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [reader, reaper] = [7, 8];
        owner::claim_first_free_entry(lane.reader_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let dying = thread::spawn(move || {
            assert_eq!(killed_after(0, || consumer.poll()), PollOutcome::Message);
        });
        let theirs = lane.clone();
        let reaping = thread::spawn(move || {
            dying.join().unwrap();
            // Only the exchange by which it holds the place.
            killed_after(1, || theirs.free_reader(0, reader, reaper))
        });
        producer.send_or_abandon();
        reaping.join().unwrap();
        producer.send_or_abandon();
        assert!(producer.writer.position() > 1);
    });
}

/// A dead reader's gate is continued by its successor, or abandoned by the writer, and not both.
pub(crate) fn a_gate_is_continued_or_abandoned() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [me, dead, after] = [1, 7, 8];
        Consumer::adopt(&lane, dead, NOBODY).unwrap();
        let mut producer = Producer::first(&lane, me);
        producer.send_all(1);
        let theirs = lane.clone();
        let adopting = thread::spawn(move || {
            let consumer = Consumer::adopt(&theirs, after, dead);
            consumer.unwrap().polls(1)
        });
        producer.send_or_abandon();
        producer.send_or_abandon();
        let mut consumer = adopting.join().unwrap();
        let start = consumer.start;
        let end = producer.writer.position();
        assert_eq!(consumer.finish(end), messages(me, start..end));
    });
}

/// A writer that finds an abandoned gate waits for the reader that comes next.
pub(crate) fn the_next_reader_in_an_abandoned_place_is_awaited() {
    explore(super::switches(2, 3), || {
        let lane = LoomLane::new(1, 1, CopyOptions::Exclusive, 1);
        let [me, dead, reaper, after] = [1, 7, 8, 9];
        Consumer::adopt(&lane, dead, NOBODY).unwrap();
        killed_after(1, || lane.free_reader(0, dead, reaper));
        // The writer of another lane.
        assert!(owner::try_abandon_gate(lane.reader_owner(0)).is_some());
        let mut producer = Producer::first(&lane, me);
        producer.send_all(1);
        let theirs = lane.clone();
        let adopting = thread::spawn(move || {
            // The reaper continues.
            theirs.ungate(0);
            owner::release_entry(theirs.reader_owner(0));
            let consumer = Consumer::adopt(&theirs, after, NOBODY);
            consumer.unwrap().polls(1)
        });
        for _ in 0..3 {
            producer.send_or_abandon();
        }
        let mut consumer = adopting.join().unwrap();
        let start = consumer.start;
        let end = producer.writer.position();
        assert_eq!(consumer.finish(end), messages(me, start..end));
    });
}

/// Processes that clear what a dead reader announced are never in its block at once, or with its
/// successor.
pub(crate) fn a_dead_reader_is_cleared_by_one_process_at_a_time() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, CopyOptions::Racing, 1);
        let [dead, after] = [7, 8];
        owner::claim_first_free_entry(lane.reader_owners(), dead, |_| false).unwrap();
        let announced = Rc::new(UnsafeCell::new(true));
        let clear = |announced: &UnsafeCell<bool>| {
            // SAFETY: the cell is alive, and loom fails the model if another thread is in it.
            announced.with_mut(|announced| unsafe { announced.write(false) });
        };
        let clearing = [9, 10].map(|me| {
            let (lane, announced) = (lane.clone(), Rc::clone(&announced));
            thread::spawn(move || {
                let word = lane.reader_owners().next().unwrap();
                owner::try_clear_dead_slot(word, dead, me, || clear(&announced))
            })
        });
        let word = lane.reader_owners().next().unwrap();
        if owner::claim_first_free_entry([word].into_iter(), after, |owner| owner == dead).is_some()
        {
            clear(&announced);
        }
        for clearing in clearing {
            clearing.join().unwrap();
        }
        assert!([dead, after].contains(&word.get()));
    });
}
