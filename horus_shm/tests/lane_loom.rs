//! The lane in every interleaving that matters, and the proof that each ordering matters.
//!
//! Each model states one property and explores the real algorithms on the memory of
//! `loom_memory`. The last test weakens the orderings one at a time and demands that a model
//! notices.

mod loom_memory;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use horus_shm::lane::{LaneReader, LaneWriter, NoRoom, Polled, UNGATED};
use horus_shm::layout::ControlBlock;
use horus_shm::memory::LaneMemory;
use horus_shm::sync::{Word, edge};
use horus_shm::takeover::take_over;
use horus_shm::{gate, owner};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use loom_memory::attendance::{Found, Process};
use loom_memory::mutation::{Model, Mutant, explore, killer};
use loom_memory::{Copying, LoomLane, LoomWord, MESSAGE_BYTES, killed_after};

/// The writing end of a lane: its messages say who sent them, and at which position.
struct Producer {
    writer: LaneWriter<LoomLane>,
    me: u64,
}

/// What `me` sends at position `pos`.
const fn message(me: u64, pos: u64) -> u64 {
    me * 1000 + pos
}

impl Producer {
    /// The lane's only producer so far.
    fn first(lane: &LoomLane, me: u64) -> Self {
        Self::from(lane, me, 0)
    }

    fn from(lane: &LoomLane, me: u64, pos: u64) -> Self {
        let gated = lane.gate_limit() > 0;
        let exclusive = lane.copying() == Copying::Exclusive;
        Self { writer: LaneWriter::new(lane.clone(), pos, gated, exclusive), me }
    }

    /// Claims a lane that is free, or whose owner `dead` says is dead, and takes it over.
    fn claim(lane: &LoomLane, me: u64, dead: u64) -> Option<Self> {
        let owners = [&lane.block().owner];
        owner::claim_first(owners.into_iter(), me, |owner| owner == dead)?;
        Some(Self::from(lane, me, take_over(lane, me)))
    }

    fn send(&mut self) -> Result<(), NoRoom> {
        let value = message(self.me, self.writer.position());
        let bytes = [value; 2];
        // SAFETY: a message is readable for its size, and each model has one live producer.
        unsafe { self.writer.write(bytes.as_ptr().cast(), MESSAGE_BYTES) }
    }

    fn send_all(&mut self, messages: u64) {
        (0..messages).for_each(|_| self.send().unwrap());
    }
}

/// The reading end of a lane: checks each message, and accounts for all.
struct Consumer {
    reader: LaneReader<LoomLane>,
    start: u64,
    delivered: Vec<u64>,
}

impl Consumer {
    fn ungated(lane: &LoomLane, start: u64) -> Self {
        Self::gated(lane, UNGATED, start)
    }

    /// Behind a gate that it has joined.
    fn gated(lane: &LoomLane, gate: u32, start: u64) -> Self {
        let exclusive = lane.copying() == Copying::Exclusive;
        let reader = LaneReader::new(lane.clone(), start, gate, exclusive);
        Self { reader, start, delivered: Vec::new() }
    }

    /// Behind a gate that it joins here.
    fn join(lane: &LoomLane, gate: u32, history: u64) -> Self {
        Self::gated(lane, gate, gate::join(lane, gate, history, 0))
    }

    fn poll(&mut self) -> Polled {
        // SAFETY: the closure passes a message that is writable for its size.
        self.look(|reader, dst| unsafe { reader.read(dst, MESSAGE_BYTES) })
    }

    fn poll_latest(&mut self) -> Polled {
        // SAFETY: the closure passes a message that is writable for its size.
        self.look(|reader, dst| unsafe { reader.read_latest(dst, MESSAGE_BYTES) })
    }

    fn look(&mut self, read: impl Fn(&mut LaneReader<LoomLane>, *mut u8) -> Polled) -> Polled {
        let mut bytes = [0u64; 2];
        let before = self.reader.position();
        let polled = read(&mut self.reader, bytes.as_mut_ptr().cast());
        if polled == Polled::Message {
            let [value, same] = bytes;
            assert_eq!(value, same, "torn");
            assert_eq!(value % 1000 + 1, self.reader.position(), "not this position's message");
            assert!(self.reader.position() > before, "delivered twice");
            self.delivered.push(value);
        }
        let passed = self.delivered.len() as u64 + self.reader.lost() + self.reader.skipped();
        assert_eq!(self.start + passed, self.reader.position(), "miscounted");
        polled
    }

    fn polls(mut self, polls: u32) -> Self {
        for _ in 0..polls {
            self.poll();
        }
        self
    }

    /// Reads all that is left, once the lane is at rest at position `end`.
    fn finish(&mut self, end: u64) -> &[u64] {
        while self.poll() == Polled::Message {}
        assert_eq!(self.reader.position(), end, "not at the end of a lane at rest");
        &self.delivered
    }
}

fn messages(me: u64, positions: std::ops::Range<u64>) -> Vec<u64> {
    positions.map(|pos| message(me, pos)).collect()
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
    explore(2, || {
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
        let [reader] = [7];
        owner::claim_first(lane.gate_owners(), reader, |_| false).unwrap();
        let mut consumer = Consumer::join(&lane, 0, 0);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(1);
        let theirs = lane.clone();
        let reading = thread::spawn(move || {
            assert_eq!(consumer.poll(), Polled::Message);
            let block = theirs.gate_block(0);
            assert!(gate::free(block, [theirs.cursor(0)].into_iter(), reader, reader));
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
            let block = theirs.gate_block(0);
            assert!(gate::free(block, [theirs.cursor(0)].into_iter(), reader, reaper));
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
            let block = theirs.gate_block(0);
            assert!(gate::free(block, [theirs.cursor(0)].into_iter(), before, before));
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

/// A dead gate is freed by one of its reapers, and the others leave its next reader alone.
fn a_dead_gate_is_reaped_once() {
    explore(3, || {
        let lane = LoomLane::new(1, 1, Copying::Racing, 1);
        let [dead, after] = [7, 8];
        owner::claim_first(lane.gate_owners(), dead, |_| false).unwrap();
        gate::join(&lane, 0, 0, 0);
        let reap = move |lane: &LoomLane, me| {
            gate::free(lane.gate_block(0), [lane.cursor(0)].into_iter(), dead, me)
        };
        let theirs = lane.clone();
        let other = thread::spawn(move || reap(&theirs, 10));
        let mine = reap(&lane, 9);
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
        let reading = thread::spawn(move || consumer.polls(2));
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
    let stores = |copying| if copying == Copying::Racing { 5 } else { 4 };
    for copying in [Copying::Racing, Copying::Exclusive] {
        (0..=stores(copying)).for_each(|killed| explore(2, move || succeed(copying, killed)));
    }
}

fn succeed(copying: Copying, killed: u32) {
    let lane = LoomLane::new(2, 1, copying, 1);
    let gated = copying == Copying::Exclusive;
    let consumer = if gated { Consumer::join(&lane, 0, 0) } else { Consumer::ungated(&lane, 0) };
    let mut victim = Producer::first(&lane, 1);
    victim.send_all(2);
    let dying = thread::spawn(move || killed_after(killed, || victim.send()));
    let reading = thread::spawn(move || consumer.polls(2));

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
        let control = Arc::new(control);
        let reserved = Arc::new([UnsafeCell::new(false), UnsafeCell::new(false)]);
        let claiming = [0, 1].map(|lane| {
            let (control, reserved) = (Arc::clone(&control), Arc::clone(&reserved));
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
        let known = Arc::new(AtomicU64::new(0));
        let mut consumer = Consumer::ungated(&lane, 0);
        let told = Arc::clone(&known);
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
        for sent in 1..=3 {
            producer.send_all(1);
            known.store(sent, Ordering::Release);
        }
        let mut consumer = reading.join().unwrap();
        consumer.poll_latest();
        assert_eq!(consumer.reader.position(), 3);
    });
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
        assert_ne!(
            horus_shm::presence::attach(&file).unwrap(),
            horus_shm::presence::Attach::Attached
        );
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
    a_late_gate_holds_the_writer_from_its_start_on,
    a_late_joiner_finds_what_the_head_promised,
    a_gate_that_leaves_has_read_its_last_message,
    a_gate_that_died_has_read_its_last_message,
    a_gate_handed_on_carries_its_last_reads_along,
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

/// Without any one of the orderings, or of the looks of presence, some model fails.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    let edges = edge::ALL.into_iter().chain(edge::DISCOVERY).map(|edge| Mutant::Edge(edge.label));
    let flaws = ["presence/share", "presence/exclude", "presence/look", "presence/linked"];
    let mut survivors = Vec::new();
    println!("{:<18}killed by", "weakened");
    for mutant in edges.chain(flaws.map(Mutant::Flaw)) {
        match killer(&MODELS, mutant) {
            Some((model, run)) => println!("{mutant:<18}{} ({})", model.name, run.iterations),
            None => survivors.push(mutant),
        }
    }
    for model in &MODELS {
        check(model.name);
    }
    assert!(survivors.is_empty(), "no model needs {survivors:?}");
}
#[test]
fn zz_sites() {
    let mut sites = std::collections::BTreeSet::new();
    for m in &MODELS {
        sites.extend(m.sound().sites.iter().copied());
    }
    for site in sites {
        if site.file.contains("tests/") {
            continue;
        }
        let t = std::time::Instant::now();
        match killer(&MODELS, Mutant::Site(site)) {
            Some((model, run)) => println!(
                "{:<40}{} ({}) {}",
                Mutant::Site(site).to_string(),
                model.name,
                run.iterations,
                run.failure.unwrap().lines().next().unwrap()
            ),
            None => println!("{:<40} SURVIVES", Mutant::Site(site).to_string()),
        }
        println!("   {:?}", t.elapsed());
    }
}
// ---- LAB
fn lab(name: &'static str, explore: fn()) {
    let run = Model::new(name, explore).run(None);
    println!("LAB {name}: {:?} after {} in {:?}", run.failure, run.iterations, run.took);
}

// Writer finds gate free (owner 0, cursor stale) and frees it itself.
fn lab_writer_frees_left_gate() {
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
            let block = theirs.gate_block(0);
            assert!(gate::free(block, [theirs.cursor(0)].into_iter(), reader, reader));
        });
        if producer.send().is_err() && lane.gate_block(0).owner.get() == 0 {
            if gate::free(lane.gate_block(0), [lane.cursor(0)].into_iter(), 0, 1) {
                producer.send_all(1);
            }
        }
        reading.join().unwrap();
    });
}

// adoption of a gate whose owner died inside join
fn lab_adopt(stores: u32) {
    explore(3, move || {
        let lane = LoomLane::new(1, 1, Copying::Exclusive, 1);
        owner::claim_first(lane.gate_owners(), 7, |_| false).unwrap();
        let mut producer = Producer::first(&lane, 1);
        let theirs = lane.clone();
        let dying = thread::spawn(move || { killed_after(stores, || gate::join(&theirs, 0, 0, 0)); });
        let theirs = lane.clone();
        let adopting = thread::spawn(move || {
            dying.join().unwrap();
            owner::claim_first(theirs.gate_owners(), 8, |o| o == 7).unwrap();
            let head = theirs.block().head.load(edge::HEAD_SEE);
            let cursor = theirs.cursor(0).get();
            let start = if cursor != 0 && cursor - 1 <= head { cursor - 1 } else { gate::join(&theirs, 0, 0, 0) };
            Consumer::gated(&theirs, 0, start).polls(1)
        });
        for _ in 0..3 { let _ = producer.send(); }
        let mut consumer = adopting.join().unwrap();
        let end = producer.writer.position();
        let start = consumer.start;
        assert_eq!(consumer.finish(end), messages(1, start..end), "lost");
    });
}

// history behind an exclusive gate
fn lab_history_exclusive() {
    explore(3, || {
        let lane = LoomLane::new(2, 1, Copying::Exclusive, 1);
        let mut producer = Producer::first(&lane, 1);
        producer.send_all(2);
        let theirs = lane.clone();
        let reading = thread::spawn(move || Consumer::join(&theirs, 0, 1).polls(1));
        let _ = producer.send();
        let _ = producer.send();
        reading.join().unwrap();
    });
}

// session start of a late joiner, as RawConsumer::start
fn lab_session(same: bool, ordered: bool) {
    explore(3, move || {
        let lane = LoomLane::new(4, 0, Copying::Racing, 1);
        let mut before = Producer::first(&lane, 1);
        before.send_all(2);
        owner::release(&lane.block().owner);
        let me = if same { 1 } else { 2 };
        let theirs = lane.clone();
        let joining = thread::spawn(move || {
            let block = theirs.block();
            let was = block.owner.get();
            let see = horus_shm::sync::Edge { label: "epoch/see", ordering: Ordering::Acquire };
            let epoch_owner = if ordered { block.epoch_owner.load(see) } else { block.epoch_owner.get() };
            let session = was != 0 && was == epoch_owner;
            let history = u64::from(session);
            let head = block.head.load(edge::HEAD_SEE);
            let floor = block.epoch_start.get();
            let start = head.saturating_sub(history).max(floor.min(head));
            assert!(start >= 2, "history of a dead session: start {start}");
        });
        owner::claim_first([&lane.block().owner].into_iter(), me, |_| false).unwrap();
        if ordered {
            // take_over with a release on epoch_owner
            lane.block().epoch_start.set(2);
            lane.block().epoch_owner.store(me, horus_shm::sync::Edge { label: "epoch/publish", ordering: Ordering::Release });
            lane.block().head.store(2, edge::HEAD_PUBLISH);
        } else {
            take_over(&lane, me);
        }
        joining.join().unwrap();
    });
}

// leftovers
fn lab_leftover() {
    explore(3, || {
        let [one, two, three] = Process::all(Found::Nothing);
        let mine = two.join().unwrap();
        let theirs = one.join().unwrap();
        let other = thread::spawn(move || theirs.leave());
        mine.leave();
        other.join().unwrap();
        assert!(three.open().is_none(), "left over");
    });
}

#[test]
fn zlab() {
    lab("writer_frees_left_gate", lab_writer_frees_left_gate);
    println!("{:?}", Model::new("x", lab_writer_frees_left_gate).run(Some(Mutant::Edge("owner/claim"))).failure);
    lab("adopt after 0 stores", || lab_adopt(0));
    lab("adopt after 1 store", || lab_adopt(1));
    lab("adopt after 2 stores", || lab_adopt(2));
    lab("history exclusive", lab_history_exclusive);
    lab("session other", || lab_session(false, false));
    lab("session same", || lab_session(true, false));
    lab("session other ordered", || lab_session(false, true));
    lab("leftover", lab_leftover);
    println!("retired alone: {:?}", killer(&MODELS, Mutant::Flaw("presence/retired")).map(|k| k.0.name));
}
