//! The sessions of a lane: its owner, its first position, and the history for late joiners.

use std::rc::Rc;

use horus_shm::internals::deaths::DeathLog;
use horus_shm::internals::gate;
use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::sync::{Word, edge};
use horus_shm::internals::takeover::{self, TakeoverState};
use loom::thread;

use crate::loom_memory::ends::{Consumer, History, NOBODY, Producer, message, messages};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord, UNGATED, killed_after};

/// Wherever a producer is killed, its successor loses nothing, repeats nothing, tears nothing.
pub(crate) fn a_successor_goes_on_where_its_predecessor_was_killed() {
    for (copying, stores) in [(CopyOptions::Racing, 5), (CopyOptions::Exclusive, 4)] {
        for killed in 0..=stores {
            // WHY: past the publication it was killed after a whole write, an easier case with more
            // slots in use.
            let preemptions = if killed < stores - 1 { 2 } else { 1 };
            explore(preemptions, move || succeed(copying, killed));
        }
    }
}

fn succeed(copying: CopyOptions, killed: u32) {
    let lane = LoomLane::new(2, 1, copying, 1);
    let gated = copying == CopyOptions::Exclusive;
    let consumer = if gated {
        Consumer::join(&lane, 0)
    } else {
        Consumer::ungated(&lane, 0)
    };
    let mut victim = Producer::first(&lane, 1);
    victim.send_all(2);
    let dying = thread::spawn(move || killed_after(killed, || victim.send()));
    let reading = thread::spawn(move || consumer.polls(1));

    let written = dying.join().unwrap().is_ok();
    let to_publish = if gated { 3 } else { 4 };
    let published = written && killed >= to_publish;
    let aborted = written && !gated && (1..to_publish).contains(&killed);
    let mut successor = Producer::claim(&lane, 2, 1).unwrap();
    let resumed = 2 + u64::from(published);
    assert_eq!(successor.writer.position(), resumed);
    assert_eq!(lane.block().aborted.get(), u64::from(aborted));
    assert_eq!(lane.block().epoch_start.get(), resumed);
    let _ = successor.send();

    let mut consumer = reading.join().unwrap();
    let end = successor.writer.position();
    let all = [messages(1, 0..resumed), messages(2, resumed..end)].concat();
    consumer.finish(end);
    assert!(consumer.delivered.iter().all(|value| all.contains(value)));
    if gated {
        assert_eq!(consumer.delivered, all);
    }
}

/// A late joiner that sees the head of a successor finds the last message of the predecessor.
pub(crate) fn the_head_of_a_takeover_covers_all_published_messages() {
    for reader in [UNGATED, 0] {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, CopyOptions::Racing, 1);
            let mut victim = Producer::first(&lane, 1);
            let dying = thread::spawn(move || killed_after(4, || victim.send()));
            let theirs = lane.clone();
            let reading = thread::spawn(move || {
                if takeover::head_and_live_session_start(theirs.block(), |_| false).0 > 0 {
                    let mut consumer = Consumer::late(&theirs, reader, History::of_all(1));
                    assert_eq!(consumer.poll(), PollOutcome::Message);
                }
            });
            dying.join().unwrap().unwrap();
            let successor = Producer::claim(&lane, 2, 1).unwrap();
            assert_eq!(successor.writer.position(), 1);
            reading.join().unwrap();
        });
    }
}

/// A killed takeover leaves a lane that the next takeover continues in the same way.
pub(crate) fn a_takeover_may_be_killed_anywhere() {
    explore(0, || {
        for (killed, killed_again) in (0..=5).flat_map(|k| (0..=6).map(move |j| (k, j))) {
            let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
            let mut victim = Producer::first(&lane, 1);
            victim.send_all(2);
            killed_after(killed, || victim.send()).unwrap();
            let heir = killed_after(killed_again, || Producer::claim(&lane, 2, 1));
            let dead = if heir.is_some() { 2 } else { 1 };
            let session = |dead| {
                takeover::head_and_live_session_start(lane.block(), move |owner| owner == dead).1
            };
            assert_eq!(session(dead), None);
            let mut successor = Producer::claim(&lane, 3, dead).unwrap();
            let resumed = 2 + u64::from(killed >= 4);
            assert_eq!(successor.writer.position(), resumed);
            assert_eq!(lane.block().epoch_start.get(), resumed);
            assert_eq!(session(dead), Some(resumed));
            successor.send_all(1);
            let mut consumer = Consumer::ungated(&lane, resumed);
            assert_eq!(consumer.finish(resumed + 1), [message(3, resumed)]);
        }
    });
}

/// A lane that is free, or whose owner is dead, goes to exactly one of the claimants.
pub(crate) fn a_lane_has_one_owner() {
    for dead in [0, 9] {
        explore(3, move || {
            let lane = LoomLane::new(2, 0, CopyOptions::Racing, dead);
            let theirs = lane.clone();
            let claim = move |lane: &LoomLane, me| {
                let producer = Producer::claim(lane, me, 9);
                producer
                    .map(|mut producer| producer.send_all(1))
                    .map(|()| me)
            };
            let other = thread::spawn(move || claim(&theirs, 1));
            let mine = claim(&lane, 2);
            let winner = [other.join().unwrap(), mine]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>();
            assert_eq!(winner.len(), 1);
            assert_eq!(lane.block().owner.get(), winner[0]);
            assert_eq!(
                Consumer::ungated(&lane, 0).finish(1),
                messages(winner[0], 0..1)
            );
        });
    }
}

/// A lane that one producer leaves and another claims goes on without a gap or a repetition.
pub(crate) fn a_lane_handed_on_continues_its_positions() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, CopyOptions::Racing, 1);
        let mut leaver = Producer::first(&lane, 1);
        let leaving = thread::spawn(move || {
            leaver.send_all(1);
            leaver.leave();
        });
        let consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || consumer.polls(2));
        let mut sent = messages(1, 0..1);
        if let Some(mut producer) = Producer::claim(&lane, 2, u64::MAX) {
            producer.send_all(1);
            sent.push(message(2, 1));
        }
        leaving.join().unwrap();
        let mut consumer = reading.join().unwrap();
        assert_eq!(consumer.finish(sent.len() as u64), sent);
    });
}

/// A reader that joins after a publisher died gets none of its messages, whichever process takes
/// its lane: not even the message that was published, but not yet under the head.
pub(crate) fn a_dead_session_is_no_history() {
    for (reader, died_at, history) in [
        (UNGATED, 5, 2),
        (0, 5, 2),
        (UNGATED, 4, 2),
        (0, 4, 2),
        (UNGATED, 4, 0),
        (0, 4, 0),
    ] {
        explore(3, move || {
            let lane = LoomLane::new(4, 1, CopyOptions::Racing, 1);
            let mut victim = Producer::first(&lane, 1);
            victim.send_all(1);
            killed_after(died_at, || victim.send()).unwrap();
            let asked = History::of_the_living(history, 1);
            let theirs = lane.clone();
            let joining = thread::spawn(move || Consumer::late(&theirs, reader, asked).polls(1));
            let mut successor = Producer::claim(&lane, 2, 1).unwrap();
            successor.send_all(1);
            let mut consumer = joining.join().unwrap();
            let start = consumer.start;
            assert!(start >= 2, "position {start} is of a dead session");
            assert_eq!(consumer.finish(3), messages(2, start..3));
            let mut consumer = Consumer::late(&lane, UNGATED, asked);
            assert_eq!(consumer.finish(3), messages(2, 3 - history.min(1)..3));
        });
    }
}

/// A reader that joins before the lane has a successor gets none of them either, unless it requests
/// the messages of all senders.
pub(crate) fn messages_of_a_dead_publisher_are_history_on_request() {
    explore(0, || {
        for (died_at, reader) in [(3, UNGATED), (4, UNGATED), (5, UNGATED), (4, 0), (5, 0)] {
            let lane = LoomLane::new(4, 1, CopyOptions::Racing, 1);
            let mut victim = Producer::first(&lane, 1);
            victim.send_all(1);
            killed_after(died_at, || victim.send()).unwrap();
            let published = 1 + u64::from(died_at >= 4);
            for history in 0..=2 {
                let living = Consumer::late(&lane, reader, History::of_the_living(history, 1));
                assert_eq!(living.start, published, "of a dead session");
                let all = History {
                    dead: 1,
                    ..History::of_all(history)
                };
                let asked = Consumer::late(&lane, reader, all);
                assert_eq!(
                    asked.start,
                    published - history.min(published),
                    "{died_at} {reader} {history}"
                );
            }
        }
    });
}

/// Latched history is that of the last session that sent messages. A publisher that comes back
/// keeps it until its first message, and a reader that joins meanwhile gets no message of an
/// earlier session, and at least one message.
pub(crate) fn latched_history_is_that_of_one_session() {
    for (reader, sends) in [(UNGATED, 0), (0, 0), (UNGATED, 1), (0, 1)] {
        explore(3, move || {
            let lane = LoomLane::new(4, 1, CopyOptions::Racing, 1);
            let mut first = Producer::first(&lane, 1);
            first.send_all(1);
            first.leave();
            let mut second = Producer::claim(&lane, 2, NOBODY).unwrap();
            second.send_all(1);
            second.leave();
            let asked = History::of_all(3);
            let theirs = lane.clone();
            let joining = thread::spawn(move || Consumer::late(&theirs, reader, asked).polls(1));
            let mut third = Producer::claim(&lane, 3, NOBODY).unwrap();
            third.send_all(sends);
            let consumer = joining.join().unwrap();
            let start = consumer.start;
            assert!((1..=2).contains(&start), "{start} is not in one session");
            let consumer = Consumer::late(&lane, UNGATED, asked);
            assert_eq!(consumer.start, 1 + sends, "the last session that sent");
        });
    }
}

/// A reader that joins while a publisher takes over the lane misses no message of it: the reader
/// starts before the message, or has seen that the message is history, or looks again.
pub(crate) fn a_message_after_a_takeover_is_new_or_history() {
    for latched in [0, 1] {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, CopyOptions::Racing, 1);
            Producer::first(&lane, 1).leave();
            let theirs = lane.clone();
            let joining = thread::spawn(move || {
                let block = theirs.block();
                let state = TakeoverState::load(block);
                let (_, session) = takeover::head_and_live_session_start(block, |_| false);
                let has_history = block.latched.get() != 0 || session.is_some();
                theirs.announce(0);
                let start = gate::join_lane(&theirs, 0, u64::MAX);
                start == 0 || has_history || !state.is_unchanged(&theirs)
            });
            let mut publisher = Producer::claim(&lane, 2, NOBODY).unwrap();
            lane.block().latched.set(latched);
            publisher.send_all(1);
            assert!(joining.join().unwrap(), "the message is missed");
        });
    }
}

/// Whoever sees that a place has another endpoint, or none any more, sees that the one before it
/// died there.
pub(crate) fn a_death_is_recorded_before_its_place_shows_another_endpoint() {
    explore(3, || {
        let lane = LoomLane::new(2, 1, CopyOptions::Racing, 1);
        drop(Producer::first(&lane, 1));
        let deaths = Rc::new(DeathLog {
            count: LoomWord::new(0),
            recent: std::array::from_fn(|_| LoomWord::new(0)),
        });
        let (theirs, log) = (lane.clone(), Rc::clone(&deaths));
        let watching = thread::spawn(move || {
            let joined = Word::load(&theirs.block().epoch_owner, edge::SESSION_OWNER_SEE);
            assert!(
                joined == 1 || log.contains_death(0, 1),
                "{joined} after a death"
            );
        });
        deaths.record_death(0, lane.block().epoch_owner.get());
        Producer::claim(&lane, 2, 1).unwrap().leave();
        watching.join().unwrap();
        assert!(!deaths.contains_death(0, 2), "it left");
    });
}

/// A publisher that leaves and comes back has a new session. A reader that saw the lane free
/// between the two gets no message of the first, and no reader treats messages of the second as
/// history of the first.
pub(crate) fn an_ended_session_is_no_history() {
    for reader in [UNGATED, 0] {
        explore(2, move || {
            let lane = LoomLane::new(4, 1, CopyOptions::Racing, 1);
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(2);
            let asked = History::of_the_living(2, NOBODY);
            let theirs = lane.clone();
            let joining = thread::spawn(move || {
                // WHY Relaxed: the code that counts publishers does the same.
                let ended = theirs.block().owner.get() == 0;
                (ended, Consumer::late(&theirs, reader, asked).polls(1))
            });
            producer.leave();
            assert_eq!(
                takeover::head_and_live_session_start(lane.block(), |_| false),
                (2, None)
            );
            let mut producer = Producer::claim(&lane, 1, NOBODY).unwrap();
            producer.send_all(1);
            let (ended, mut consumer) = joining.join().unwrap();
            let start = consumer.start;
            assert!(
                start >= 2 || start == 0 && !ended,
                "{start} is of an ended session"
            );
            assert_eq!(consumer.finish(3), messages(1, start..3));
            let mut consumer = Consumer::late(&lane, UNGATED, asked);
            assert_eq!(consumer.finish(3), messages(1, 2..3));
        });
    }
}
