//! A whole topic in random schedules: joined, claimed, taken over, read, left and removed by three
//! processes and a later one. One of the three may be killed after any of its stores.
//!
//! The algorithms run on the memory of the loom models, with shuttle underneath: where loom visits
//! every execution of a small case, this visits some executions of a large one. Shuttle's memory is
//! sequentially consistent, so only loom checks the orderings. A failure prints its schedule, which
//! `shuttle::replay` repeats, and `HORUS_TEST_SEED` replays a whole run. `HORUS_TORTURE=1` runs 10⁵
//! schedules of each model.

use horus_testing as _;

mod common;
mod hostile;
#[allow(dead_code, reason = "shared with the loom models")]
mod loom_memory;
mod spawn;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use horus_shm::internals::lane::{NoRoom, PollOutcome};
use horus_shm::internals::memory::{LaneMemory, ReaderId};
use horus_shm::internals::owner;
use horus_shm::internals::presence::{self, AttachableFile};
use horus_shm::internals::sync::Word;
use shuttle::rand::Rng;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

use checker::{Perished, explore};
use common::result;
use loom_memory::attendance::{Found, OpenFile, Process};
use loom_memory::ends::{Consumer, Producer};
use loom_memory::{CopyOptions, LoomLane, killed_after, spare_all};

/// The checker's types, of which the memory of the models is made.
mod checker {
    pub(crate) use std::sync::Arc as Shared;

    use shuttle::scheduler::RandomScheduler;
    use shuttle::{Config, Runner};
    pub(crate) use shuttle::{sync, thread};

    use crate::hostile::rounds;

    /// A cell that no thread may access while another one writes it.
    pub(crate) mod cell {
        use std::sync::atomic::{AtomicI32, Ordering};

        use shuttle::thread;

        #[derive(Debug)]
        pub(crate) struct UnsafeCell<T> {
            value: std::cell::UnsafeCell<T>,
            /// Readers in the cell, or −1 for a writer. Not a scheduling point.
            users: AtomicI32,
        }

        // SAFETY: a thread that enters while another one writes fails the model before it touches
        // the cell.
        unsafe impl<T: Send> Sync for UnsafeCell<T> {}

        impl<T> UnsafeCell<T> {
            pub(crate) fn new(value: T) -> Self {
                Self {
                    value: value.into(),
                    users: AtomicI32::new(0),
                }
            }

            pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
                let others = self.users.fetch_add(1, Ordering::Relaxed);
                assert!(others >= 0, "read while it is written");
                thread::yield_now();
                let answer = read(self.value.get());
                self.users.fetch_sub(1, Ordering::Relaxed);
                answer
            }

            pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
                let others = self.users.swap(-1, Ordering::Relaxed);
                assert_eq!(others, 0, "written while another thread is in it");
                thread::yield_now();
                let answer = write(self.value.get());
                self.users.store(0, Ordering::Relaxed);
                answer
            }
        }
    }

    /// The panic payload of a killed thread.
    #[derive(Debug)]
    pub(crate) struct Perished;

    /// Ends the running thread.
    pub(crate) fn perish() {
        std::panic::resume_unwind(Box::new(Perished));
    }

    /// Runs `execution` in random schedules.
    pub(crate) fn explore(schedules: usize, execution: impl Fn() + Send + Sync + 'static) {
        let seed = std::env::var("HORUS_TEST_SEED").map_or(0x5eed, |seed| seed.parse().unwrap());
        let mut config = Config::new();
        // This checker does not test orderings.
        config.silence_warnings = true;
        println!("HORUS_TEST_SEED={seed}, {schedules} schedules");
        Runner::new(RandomScheduler::new_from_seed(seed, schedules), config).run(execution);
    }

    /// Returns the number of schedules of one model.
    pub(crate) fn schedules() -> usize {
        rounds(150, 100_000) as usize
    }
}

/// The most files that the processes of a model make.
const FILES: usize = 10;
/// Slots of the lane: so few that every reader is lapped, or waited for.
const RING_SLOTS: usize = 2;
/// The most stores that a process executes in one life; with more, it is not killed.
const STORES_MAX: u32 = 28;
/// Owner words, by process.
const OWNERS: [u64; 3] = [1, 2, 3];
/// The owner that checks the state that the others left.
const HEIR: u64 = 9;

/// Runs `life` up to where it would execute one more store than `stores`, or to its end.
fn live(stores: Option<u32>, life: impl FnOnce()) {
    let Some(stores) = stores else { return life() };
    let life = AssertUnwindSafe(|| killed_after(stores, life));
    let ended = catch_unwind(life);
    spare_all();
    if let Err(cause) = ended
        && !cause.is::<Perished>()
    {
        resume_unwind(cause);
    }
}

// WHY Relaxed throughout: shuttle's memory is sequentially consistent, whatever the argument.

/// The kernel's knowledge of a topic: its files, and the dead owners.
#[derive(Clone)]
struct Topic {
    lanes: Arc<[LoomLane]>,
    dead: Arc<[AtomicBool; 3]>,
    /// Publishers that have left or died.
    done: Arc<AtomicUsize>,
}

impl Topic {
    fn new(copying: CopyOptions) -> Self {
        Self {
            lanes: (0..FILES)
                .map(|_| LoomLane::new(RING_SLOTS, 1, copying, 0))
                .collect(),
            dead: Arc::default(),
            done: Arc::default(),
        }
    }

    fn is_dead(&self, owner: u64) -> bool {
        let owner = owner::process_bits_of_owner(owner);
        let index = OWNERS.iter().position(|one| *one == owner);
        index.is_some_and(|index| self.dead[index].load(Ordering::Relaxed))
    }

    /// Ends a dead process as the kernel does: it stores nothing more, then its lock is released.
    fn bury(&self, owner: u64, file: Option<OpenFile>) {
        let index = OWNERS.iter().position(|one| *one == owner).unwrap();
        self.dead[index].store(true, Ordering::Relaxed);
        file.inspect(AttachableFile::release_lock);
    }

    /// Frees the place of the slowest gated reader if that is dead, as a full producer does. Does
    /// not wait for a dead reader whose place another process holds.
    fn reap(&self, producer: &mut Producer, lane: &LoomLane, me: u64) {
        let Some((reader, cursor)) = producer.writer.slowest_reader() else {
            return;
        };
        let word = lane.reader_owner(reader);
        let owner = word.get();
        if owner == 0 || self.is_dead(owner) {
            lane.free_reader(reader, owner, me);
        } else if owner::try_abandon_gate(word).is_some() {
            producer
                .writer
                .stop_waiting_for_reader(reader, cursor, ReaderId::default());
        }
    }

    /// Claims the lane of `file`, sends a few messages while there is room, and leaves.
    fn publish(&self, file: &OpenFile, me: u64) {
        let lane = &self.lanes[file.index()];
        let producer = Producer::claim_from(lane, me, |owner| self.is_dead(owner));
        let Some(mut producer) = producer else { return };
        for _ in 0..3 {
            if producer.send() == Err(NoRoom) {
                self.reap(&mut producer, lane, me);
                thread::yield_now();
            }
        }
        producer.leave();
    }

    /// Runs a publisher's life, which ends after `stores` stores if that is a number.
    fn publisher(&self, process: &Process, me: u64, stores: Option<u32>) {
        let file = process.join();
        live(stores, || {
            file.iter().for_each(|file| self.publish(file, me))
        });
        if stores.is_some() {
            self.bury(me, file);
        } else {
            file.into_iter().for_each(OpenFile::leave);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes a reader of the lane of `file`.
    fn consumer(&self, file: &OpenFile, me: u64, gated: bool) -> Option<Consumer> {
        let lane = &self.lanes[file.index()];
        if gated {
            return Consumer::adopt_from(lane, me, |owner| self.is_dead(owner));
        }
        Some(Consumer::ungated(lane, lane.block().head.get()))
    }

    /// Runs a subscriber's life. One that is not killed reads until the publishers are done; then
    /// all messages from its start on were received or counted.
    fn subscriber(&self, process: &Process, me: u64, gated: bool, stores: Option<u32>) {
        let Some(file) = process.join() else { return };
        if stores.is_some() {
            live(stores, || {
                let consumer = self.consumer(&file, me, gated);
                drop(consumer.map(|consumer| consumer.polls(4)));
            });
            return self.bury(me, Some(file));
        }
        let lane = &self.lanes[file.index()];
        if let Some(mut consumer) = self.consumer(&file, me, gated) {
            while self.done.load(Ordering::Relaxed) < 2 {
                if consumer.poll() != PollOutcome::Message {
                    thread::yield_now();
                }
            }
            self.account_for(lane, &mut consumer, me);
            if gated {
                assert_eq!(
                    consumer.reader.lost(),
                    0,
                    "a writer has passed a gated reader"
                );
                assert!(lane.free_reader(0, me, me));
            }
        }
        file.leave();
    }

    /// Takes the lane over, so that head and stamps agree, and reads to its end.
    fn account_for(&self, lane: &LoomLane, consumer: &mut Consumer, me: u64) {
        let heir = Producer::claim_from(lane, me, |owner| self.is_dead(owner)).unwrap();
        consumer.finish(heir.writer.position());
        let passed = consumer.delivered.len() as u64 + consumer.reader.lost();
        assert_eq!(passed, heir.writer.position() - consumer.start);
        heir.leave();
    }

    /// Checks, after all have left, that nothing is left that could block a later process.
    fn inherit(&self, process: &Process) {
        // The sweep.
        process
            .open()
            .inspect(|file| assert!(presence::retire_file(file).unwrap(), "still in use"));
        assert!(process.open().is_none(), "a file is left");
        for lane in self.lanes.iter() {
            let mut heir = Producer::claim_from(lane, HEIR, |owner| self.is_dead(owner)).unwrap();
            let mut late = Consumer::ungated(lane, heir.writer.position());
            for _ in 0..=RING_SLOTS {
                if heir.send() == Err(NoRoom) {
                    self.reap(&mut heir, lane, HEIR);
                    heir.send().expect("no room, because of a dead reader");
                }
            }
            late.finish(heir.writer.position());
        }
    }
}

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Nobody,
    Publisher,
    Subscriber,
}

fn topic_survives(copying: CopyOptions, gated: bool, victim: Victim) {
    let schedules = checker::schedules();
    explore(schedules, move || {
        spare_all();
        let topic = Topic::new(copying);
        let [one, two, three] = Process::all(Found::Nothing);
        let observer = one.clone();
        let stores = shuttle::rand::thread_rng().gen_range(0..STORES_MAX);
        let of = |who| (victim == who).then_some(stores);
        let killed_publisher = of(Victim::Publisher);
        let killed_subscriber = of(Victim::Subscriber);
        let at_work = [0, 1, 2].map(|index| {
            let topic = topic.clone();
            let me = OWNERS[index];
            let process = [&one, &two, &three][index].clone();
            thread::spawn(move || match index {
                0 => topic.publisher(&process, me, killed_publisher),
                1 => topic.publisher(&process, me, None),
                _ => topic.subscriber(&process, me, gated, killed_subscriber),
            })
        });
        at_work
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        topic.inherit(&observer);
    });
    let kind = if gated { "gated" } else { "keep_last" };
    let id = format!("lane_shuttle/{copying:?}/{kind}/killed_{victim:?}").to_lowercase();
    result(&id, format!("{schedules} random schedules, 0 failures"));
}

macro_rules! survives {
    ($($name:ident: $copying:ident, $gated:expr, $victim:ident;)*) => {$(
        #[test]
        fn $name() {
            topic_survives(CopyOptions::$copying, $gated, Victim::$victim);
        }
    )*};
}

survives! {
    an_open_topic_is_shared: Racing, false, Nobody;
    an_open_topic_survives_its_publisher: Racing, false, Publisher;
    an_open_topic_survives_its_subscriber: Racing, false, Subscriber;
    a_reliable_topic_is_shared: Racing, true, Nobody;
    a_reliable_topic_survives_its_publisher: Racing, true, Publisher;
    a_reliable_topic_survives_its_subscriber: Racing, true, Subscriber;
    an_exclusive_lane_is_shared: Exclusive, true, Nobody;
    an_exclusive_lane_survives_its_publisher: Exclusive, true, Publisher;
    an_exclusive_lane_survives_its_subscriber: Exclusive, true, Subscriber;
}
