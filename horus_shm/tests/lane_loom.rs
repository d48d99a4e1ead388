//! The lane in every interleaving that matters, and the proof that each ordering matters.
//!
//! Each model states one property and explores the real algorithms on the memory of
//! `loom_memory`. The last tests weaken the orderings one at a time and demand that a model
//! notices.

mod loom_memory;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use horus_shm::lane::{NoRoom, Polled};
use horus_shm::layout::ControlBlock;
use horus_shm::memory::LaneMemory;
use horus_shm::sync::{Word, edge};
use horus_shm::{gate, owner, presence};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use loom_memory::attendance::{Found, Process};
use loom_memory::ends::{Consumer, Producer, message, messages};
use loom_memory::mutation::{Model, Mutant, Run, Site, explore, killer};
use loom_memory::{Copying, LoomLane, LoomWord, killed_after};

/// Frees gate 0, which is `owner`'s.
fn leave_gate(lane: &LoomLane, owner: u64, me: u64) -> bool {
    gate::free(lane.gate_block(0), [lane.cursor(0)].into_iter(), owner, me)
}

/// A slot that is written again under the reader's copy is never delivered.
fn a_message_is_delivered_whole_or_not_at_all() {
    explore(3, || {
        let lane = LoomLane::new(1, 0, Copying::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        let consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || consumer.polls(2));
        producer.send_all(2);
        reading.join().unwrap().finish(2);
    });
}

/// Whatever the writer overwrites is counted by the reader that missed it, to the message.
fn a_lapped_reader_counts_exactly_what_it_lost() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, Copying::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || consumer.polls(2));
        producer.send_all(2);
        reading.join().unwrap().finish(4);
    });
}

/// A reader that is lapped no further while it looks finds a message where it goes on.
fn a_lapped_reader_goes_on_at_a_published_slot() {
    explore(3, || {
        let lane = LoomLane::new(2, 0, Copying::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(3);
        let mut consumer = Consumer::ungated(&lane, 0);
        let reading = thread::spawn(move || {
            assert_eq!(consumer.poll(), Polled::Message);
            consumer
        });
        producer.send_all(1);
        reading.join().unwrap().finish(4);
    });
}

/// Readers without a gate share nothing but the lane.
fn two_readers_do_not_disturb_each_other() {
    // WHY: one switch. They only load, and two switches cost eight times the executions.
    explore(1, || {
        let lane = LoomLane::new(1, 0, Copying::Racing, 1);
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

/// Behind a gate every message arrives, and the writer is never in a slot that is being read.
fn a_gated_reader_gets_every_message() {
    for copying in [Copying::Racing, Copying::Exclusive] {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, copying, 1);
            let mut consumer = Consumer::join(&lane, 0, 0);
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

/// The slowest of several gates holds the writer back, and the others along with it.
fn two_gated_readers_both_get_every_message() {
    explore(2, || {
        let lane = LoomLane::new(2, 2, Copying::Exclusive, 1);
        let consumers = [0, 1].map(|gate| Consumer::join(&lane, gate, 0));
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

/// Whoever joins while the writer runs on loses nothing from the position it starts at.
fn a_late_gate_holds_the_writer_from_its_start_on() {
    for copying in [Copying::Racing, Copying::Exclusive] {
        explore(3, move || {
            let lane = LoomLane::new(1, 1, copying, 1);
            let mut producer = Producer::first(&lane, 1);
            let theirs = lane.clone();
            let reading = thread::spawn(move || Consumer::join(&theirs, 0, 0).polls(1));
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

/// A late joiner that asks for the newest message finds it published.
fn a_late_joiner_finds_what_the_head_promised() {
    explore(3, || {
        let lane = LoomLane::new(4, 1, Copying::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            let mut consumer = Consumer::join(&theirs, 0, 1);
            assert_eq!(consumer.poll(), Polled::Message);
            consumer
        });
        producer.send_all(2);
        reading.join().unwrap().finish(3);
    });
}

/// The slot that a leaving reader read last is written only after it was read.
fn a_gate_that_leaves_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, Copying::Exclusive, 1);
        let reader = 7;
        owner::claim_first(lane.gate_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            assert_eq!(consumer.poll(), Polled::Message);
            assert!(leave_gate(&theirs, reader, reader));
        });
        let _ = producer.send();
        reading.join().unwrap();
        producer.send_all(2);
    });
}

/// The slot that a reader died in is written only after its gate was reaped.
fn a_gate_that_died_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, Copying::Exclusive, 1);
        let [reader, reaper] = [7, 8];
        owner::claim_first(lane.gate_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let dying = thread::spawn(move || {
            assert_eq!(killed_after(0, || consumer.poll()), Polled::Message);
        });
        let theirs = lane.clone();
        let reaping = thread::spawn(move || {
            dying.join().unwrap();
            assert!(leave_gate(&theirs, reader, reaper));
        });
        let _ = producer.send();
        reaping.join().unwrap();
        producer.send_all(2);
    });
}

/// What the previous reader behind a gate read is not overwritten by way of the next one's cursor.
fn a_gate_handed_on_carries_its_last_reads_along() {
    explore(2, || {
        let lane = LoomLane::new(1, 1, Copying::Exclusive, 1);
        let [before, after] = [7, 8];
        owner::claim_first(lane.gate_owners(), before, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let leaving = thread::spawn(move || {
            assert_eq!(consumer.poll(), Polled::Message);
            assert!(leave_gate(&theirs, before, before));
        });
        let theirs = lane.clone();
        let joining = thread::spawn(move || {
            owner::claim_first(theirs.gate_owners(), after, |_| false)?;
            Some(Consumer::join(&theirs, 0, 0))
        });
        let _ = producer.send();
        leaving.join().unwrap();
        let joined = joining.join().unwrap();
        let _ = producer.send();
        if let Some(mut consumer) = joined {
            let (start, end) = (consumer.start, producer.writer.position());
            assert_eq!(consumer.finish(end), messages(1, start..end));
        }
    });
}

/// A writer that frees a gate which its reader just left hands the last reads on to the others.
fn a_gate_left_and_freed_again_has_read_its_last_message() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, Copying::Exclusive, 1);
        let [reader, other_writer] = [7, 2];
        owner::claim_first(lane.gate_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let leaving = thread::spawn(move || {
            assert_eq!(consumer.poll(), Polled::Message);
            leave_gate(&theirs, reader, reader)
        });
        let theirs = lane.clone();
        // WHY: it gated another lane of the same topic, which is not modelled, and whose writer
        // looks after all cursors of the gate.
        let freeing = thread::spawn(move || leave_gate(&theirs, 0, other_writer));
        let _ = producer.send();
        assert!(leaving.join().unwrap());
        freeing.join().unwrap();
        producer.send_all(1);
    });
}

/// A dead gate is freed by one of its reapers, and the others leave its next reader alone.
fn a_dead_gate_is_reaped_once() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, Copying::Racing, 1);
        let [dead, after] = [7, 8];
        owner::claim_first(lane.gate_owners(), dead, |_| false).unwrap();
        gate::join(&lane, 0, 0, 0);
        let theirs = lane.clone();
        let other = thread::spawn(move || leave_gate(&theirs, dead, 10));
        let mine = leave_gate(&lane, dead, 9);
        let claimed = owner::claim_first(lane.gate_owners(), after, |_| false);
        let start = claimed.map(|_| gate::join(&lane, 0, 0, 0));
        assert!(other.join().unwrap() != mine);
        if let Some(start) = start {
            assert_eq!(lane.gate_block(0).owner.get(), after);
            assert_eq!(lane.cursor(0).get(), start + 1);
        }
    });
}

/// A reader that the writer stopped waiting for learns exactly what it missed.
fn a_detached_reader_counts_exactly_what_it_lost() {
    explore(2, || {
        let lane = LoomLane::new(2, 1, Copying::Racing, 1);
        let consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let reading = thread::spawn(move || consumer.polls(1));
        if producer.send() == Err(NoRoom) {
            let (gate, cursor) = producer.writer.slowest_gate().unwrap();
            producer.writer.give_up(gate, cursor);
            producer.send_all(1);
        }
        let _ = producer.send();
        let end = producer.writer.position();
        reading.join().unwrap().finish(end);
    });
}

/// Wherever a producer is killed, its successor loses nothing, repeats nothing, tears nothing.
fn a_successor_goes_on_where_its_predecessor_was_killed() {
    for (copying, stores) in [(Copying::Racing, 5), (Copying::Exclusive, 4)] {
        for killed in 0..=stores {
            // WHY: past the publication it was killed after a whole write, an easier case with
            // more slots in play.
            let preemptions = if killed < stores - 1 { 2 } else { 1 };
            explore(preemptions, move || succeed(copying, killed));
        }
    }
}

fn succeed(copying: Copying, killed: u32) {
    let lane = LoomLane::new(2, 1, copying, 1);
    let gated = copying == Copying::Exclusive;
    let consumer = if gated { Consumer::join(&lane, 0, 0) } else { Consumer::ungated(&lane, 0) };
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

/// A late joiner that sees the head of a successor finds what the predecessor published last.
fn a_takeover_vouches_for_what_it_found_published() {
    explore(3, || {
        let lane = LoomLane::new(2, 1, Copying::Racing, 1);
        let mut victim = Producer::first(&lane, 1);
        let dying = thread::spawn(move || killed_after(4, || victim.send()));
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            let start = gate::join(&theirs, 0, 1, 0);
            let mut consumer = Consumer::gated(&theirs, 0, start);
            if theirs.block().head.load(edge::HEAD_SEE) > 0 {
                assert_eq!(consumer.poll(), Polled::Message);
            }
        });
        dying.join().unwrap().unwrap();
        let successor = Producer::claim(&lane, 2, 1).unwrap();
        assert_eq!(successor.writer.position(), 1);
        reading.join().unwrap();
    });
}

/// Whoever sees a head of the new epoch knows where that epoch began, and whose it is.
fn a_head_names_the_epoch_it_belongs_to() {
    explore(3, || {
        let lane = LoomLane::new(2, 0, Copying::Racing, 0);
        let theirs = lane.clone();
        let looking = thread::spawn(move || {
            let block = theirs.block();
            if block.head.load(edge::HEAD_SEE) > 0 {
                assert_eq!(block.epoch_owner.get(), 2);
                assert_eq!(block.epoch.get(), 1);
            }
        });
        let mut producer = Producer::claim(&lane, 2, 0).unwrap();
        producer.send_all(1);
        looking.join().unwrap();
    });
}

/// A takeover that is killed leaves a lane that the next takeover goes on with just the same.
fn a_takeover_may_be_killed_anywhere() {
    explore(0, || {
        for (killed, killed_again) in (0..=5).flat_map(|k| (0..=5).map(move |j| (k, j))) {
            let lane = LoomLane::new(2, 0, Copying::Racing, 1);
            let mut victim = Producer::first(&lane, 1);
            victim.send_all(2);
            killed_after(killed, || victim.send()).unwrap();
            let heir = killed_after(killed_again, || Producer::claim(&lane, 2, 1));
            let dead = if heir.is_some() { 2 } else { 1 };
            let mut successor = Producer::claim(&lane, 3, dead).unwrap();
            let resumed = 2 + u64::from(killed >= 4);
            assert_eq!(successor.writer.position(), resumed);
            assert_eq!(lane.block().epoch_start.get(), resumed);
            assert_eq!(lane.block().epoch_owner.get(), 3);
            successor.send_all(1);
            let mut consumer = Consumer::ungated(&lane, resumed);
            assert_eq!(consumer.finish(resumed + 1), [message(3, resumed)]);
        }
    });
}

/// A lane that is free, or whose owner is dead, goes to exactly one of those who want it.
fn a_lane_has_one_owner() {
    for dead in [0, 9] {
        explore(3, move || {
            let lane = LoomLane::new(2, 0, Copying::Racing, dead);
            let theirs = lane.clone();
            let claim = move |lane: &LoomLane, me| {
                let producer = Producer::claim(lane, me, 9);
                producer.map(|mut producer| producer.send_all(1)).map(|()| me)
            };
            let other = thread::spawn(move || claim(&theirs, 1));
            let mine = claim(&lane, 2);
            let winner = [other.join().unwrap(), mine].into_iter().flatten().collect::<Vec<_>>();
            assert_eq!(winner.len(), 1);
            assert_eq!(lane.block().owner.get(), winner[0]);
            assert_eq!(Consumer::ungated(&lane, 0).finish(1), messages(winner[0], 0..1));
        });
    }
}

/// A lane that one producer leaves and another claims goes on without a gap or a repetition.
fn a_lane_handed_on_continues_its_positions() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, Copying::Racing, 1);
        let mut leaver = Producer::first(&lane, 1);
        let theirs = lane.clone();
        let leaving = thread::spawn(move || {
            leaver.send_all(1);
            owner::release(&theirs.block().owner);
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

/// Whoever sees the bit of a lane may touch what was reserved before it was set.
fn a_lane_that_is_ready_was_reserved() {
    explore(3, || {
        let control = ControlBlock { ready: LoomWord::new(0), ..ControlBlock::default() };
        let control = Rc::new(control);
        let reserved = Rc::new([UnsafeCell::new(false), UnsafeCell::new(false)]);
        let claiming = [0, 1].map(|lane| {
            let (control, reserved) = (Rc::clone(&control), Rc::clone(&reserved));
            thread::spawn(move || {
                // SAFETY: the cell is alive, and loom fails the model if anybody else is in it.
                reserved[lane].with_mut(|reserved| unsafe { reserved.write(true) });
                control.ready.set_bits(1 << lane, edge::READY_PUBLISH);
            })
        });
        let ready = control.ready.load(edge::READY_SEE);
        for lane in [0, 1] {
            if ready & (1 << lane) != 0 {
                // SAFETY: the cell is alive, and loom fails the model if a writer is in it.
                assert!(reserved[lane].with(|reserved| unsafe { reserved.read() }));
            }
        }
        claiming.into_iter().for_each(|claiming| claiming.join().unwrap());
        assert_eq!(control.ready.get(), 0b11);
    });
}

/// The latest value is whole, never older than the one before, nor than what is known to be sent.
fn the_latest_value_is_as_new_as_any_sent_before_the_call() {
    explore(2, || {
        let lane = LoomLane::new(2, 0, Copying::Racing, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let known = Rc::new(AtomicU64::new(1));
        let mut consumer = Consumer::ungated(&lane, 0);
        let told = Rc::clone(&known);
        let reading = thread::spawn(move || {
            for _ in 0..2 {
                let known = told.load(Ordering::Acquire);
                let before = consumer.reader.position();
                match consumer.poll_latest() {
                    Polled::Message => assert!(consumer.reader.position() >= known),
                    Polled::Empty => {
                        assert!(before >= known);
                        assert_eq!(consumer.reader.position(), before);
                    }
                    Polled::Busy => {}
                }
            }
            consumer
        });
        for sent in 2..=3 {
            producer.send_all(1);
            known.store(sent, Ordering::Release);
        }
        let mut consumer = reading.join().unwrap();
        consumer.poll_latest();
        assert_eq!(consumer.reader.position(), 3);
    });
}

/// The writer stays out of the slot that a gated reader skipped to.
fn a_gated_reader_may_skip_to_the_latest() {
    for copying in [Copying::Racing, Copying::Exclusive] {
        explore(3, move || {
            let lane = LoomLane::new(2, 1, copying, 1);
            let mut consumer = Consumer::join(&lane, 0, 0);
            let mut producer = Producer::first(&lane, 1);
            producer.send_all(2);
            let reading = thread::spawn(move || {
                assert_eq!(consumer.poll_latest(), Polled::Message);
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

/// The name leads to the file that a process attends, for as long as it attends it.
fn a_topic_is_never_split() {
    for found in [Found::Nothing, Found::Unattended, Found::HalfRetired] {
        for killed in [false, true] {
            explore(2, move || {
                let [one, two, three] = Process::all(found);
                let attend = |process: &Process, killed: bool| {
                    let Some(file) = process.join() else { return };
                    assert!(file.has_the_name());
                    thread::yield_now();
                    assert!(file.has_the_name());
                    if killed { file.leave_killed() } else { file.leave() }
                };
                let other = thread::spawn(move || attend(&one, killed));
                attend(&two, false);
                other.join().unwrap();
                assert!(three.join().unwrap().has_the_name());
            });
        }
    }
}

/// A file whose name was removed by hand is not joined.
fn a_file_without_its_name_is_not_attended() {
    explore(2, || {
        let [one, two, _] = Process::all(Found::Unattended);
        let file = one.open().unwrap();
        two.remove_by_hand();
        let other = thread::spawn(move || two.join().unwrap().has_the_name());
        assert_ne!(presence::attach(&file).unwrap(), presence::Attach::Attached);
        assert!(other.join().unwrap());
    });
}

macro_rules! models {
    ($($name:ident),* $(,)?) => {
        static MODELS: [Model; [$(stringify!($name)),*].len()] =
            [$(Model::new(stringify!($name), $name)),*];

        /// Each model on sound memory.
        mod sound {
            $(
                #[test]
                fn $name() {
                    super::check(stringify!($name));
                }
            )*
        }
    };
}

models! {
    a_message_is_delivered_whole_or_not_at_all,
    a_lapped_reader_counts_exactly_what_it_lost,
    a_lapped_reader_goes_on_at_a_published_slot,
    two_readers_do_not_disturb_each_other,
    a_gated_reader_gets_every_message,
    two_gated_readers_both_get_every_message,
    a_late_gate_holds_the_writer_from_its_start_on,
    a_late_joiner_finds_what_the_head_promised,
    a_gate_that_leaves_has_read_its_last_message,
    a_gate_that_died_has_read_its_last_message,
    a_gate_handed_on_carries_its_last_reads_along,
    a_gate_left_and_freed_again_has_read_its_last_message,
    a_dead_gate_is_reaped_once,
    a_detached_reader_counts_exactly_what_it_lost,
    a_successor_goes_on_where_its_predecessor_was_killed,
    a_takeover_vouches_for_what_it_found_published,
    a_head_names_the_epoch_it_belongs_to,
    a_takeover_may_be_killed_anywhere,
    a_lane_has_one_owner,
    a_lane_handed_on_continues_its_positions,
    a_lane_that_is_ready_was_reserved,
    the_latest_value_is_as_new_as_any_sent_before_the_call,
    a_gated_reader_may_skip_to_the_latest,
    a_topic_is_never_split,
    a_file_without_its_name_is_not_attended,
}

fn check(name: &str) {
    let model = MODELS.iter().find(|model| model.name == name).unwrap();
    let run = model.sound();
    println!("{name}: {} executions in {:.1?}", run.iterations, run.took);
    if let Some(failure) = &run.failure {
        panic!("execution {} of {name}: {failure}", run.iterations);
    }
}

/// Prints which model each of `mutants` is killed by, and returns those that live.
fn survivors(mutants: impl Iterator<Item = Mutant>) -> Vec<Mutant> {
    mutants.filter(|&mutant| report(mutant, killer(&MODELS, mutant, u64::MAX))).collect()
}

/// True if the mutant lives.
fn report(mutant: Mutant, killer: Option<(&Model, Run)>) -> bool {
    let name = mutant.to_string();
    match &killer {
        Some((model, run)) => println!("{name:<36}{} (execution {})", model.name, run.iterations),
        None => println!("{name:<36}SURVIVES"),
    }
    killer.is_none()
}

/// Without any one of the orderings, some model fails.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    MODELS.iter().for_each(|model| check(model.name));
    println!("{:<36}killed by", "weakened to relaxed");
    let edges = edge::ALL.into_iter().chain(edge::DISCOVERY);
    let survivors = survivors(edges.map(|edge| Mutant::Edge(edge.label)));
    assert!(survivors.is_empty(), "no model needs {survivors:?}");
}

/// Uses of an edge that another one implies: label, file, and which of the uses in the file.
///
/// The second store of `gate::join` comes after its own `gate/join` fence, which is a release.
const IMPLIED: &[(&str, &str, usize)] = &[("cursor/advance", "gate.rs", 1)];

/// Each single line that uses an ordering needs it.
#[test]
fn every_use_of_an_edge_is_needed() {
    const CHEAP_EXECUTIONS: u64 = 10_000;
    let mut algorithms: BTreeSet<Site> =
        MODELS.iter().flat_map(|model| model.sound().sites.iter().copied()).collect();
    algorithms.retain(|site| site.file.contains("src"));
    let implied: Vec<Site> = IMPLIED
        .iter()
        .filter_map(|&(label, file, use_of_many)| {
            let mut uses = algorithms.clone();
            uses.retain(|site| site.label == label && site.file.ends_with(file));
            uses.into_iter().nth(use_of_many)
        })
        .collect();
    let needed = algorithms.into_iter().filter(|site| !implied.contains(site)).map(Mutant::Site);
    let survivors = survivors(needed);
    assert!(survivors.is_empty(), "no model needs {survivors:?}");
    for mutant in implied.into_iter().map(Mutant::Site) {
        let killer = killer(&MODELS, mutant, CHEAP_EXECUTIONS);
        assert!(report(mutant, killer), "{mutant} is not implied any more");
    }
}

/// Without the locks and looks of presence, some model fails.
#[test]
fn every_step_of_presence_is_needed() {
    let steps = ["presence/share", "presence/exclude", "presence/look", "presence/linked"];
    let survivors = survivors(steps.into_iter().map(Mutant::Flaw));
    assert!(survivors.is_empty(), "no model needs {survivors:?}");
}
