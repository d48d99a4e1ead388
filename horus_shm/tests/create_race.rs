//! Creation races with deaths: many processes open the same fresh topic at once, some are killed
//! meanwhile, others sweep. The survivors end on one file, and no file stays.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod crew;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use horus_shm::{
    Consumer, Namespace, NamespaceRemoveError, OnStalled, Producer, RawConsumer, RawProducer,
    ReadMode, Request, Segment, TopicName, TypeInfo, sweep,
};
use tempfile::TempDir;

use common::{Child, say, show};
use crew::logbook::Logbook;
use crew::{PATIENCE, accuse, alone, expect_no_accusation, soon};
use hostile::rounds;

/// The name of the fresh topic with which every round begins.
const NAME: &str = "race";
/// The longest delay, for each racer, from the start of a round to its kill: about as long as a
/// round takes.
const DELAY_MAX_US: u64 = 300;
/// The number of times that half of the racers open the topic and leave, before they open it to
/// stay.
const VISITS: u32 = 3;
const NAP: Duration = Duration::from_micros(50);

/// The steps of a round. A racer publishes its step in the logbook, by `step`.
const OPEN: u64 = 1;
const SEND: u64 = 2;
const LEAVE: u64 = 3;
const STEPS: u64 = 4;

const fn step(round: u64, step: u64) -> u64 {
    round * STEPS + step
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let dir = PathBuf::from(std::env::var("HORUS_SHM_DIR").unwrap());
    let book = Arc::new(Logbook::open(&dir));
    let witness = Arc::clone(&book);
    panic::set_hook(Box::new(move |info| {
        accuse(&info.to_string());
        witness.orders().faults.count();
    }));
    match role.split_once(' ') {
        Some(("race", id)) => race(&book, id.parse().unwrap()),
        _ => unlink(&book),
    }
}

fn await_step(book: &Logbook, step: u64) {
    soon(|| {
        let reached = book.orders().phase.get() >= step;
        (!reached).then(|| thread::sleep(NAP));
        reached.then_some(())
    });
}

fn request(racers: u64) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.lane_limit, request.reader_limit) = (Some(racers as u32), Some(racers as u32));
    request.capacity = Some(16);
    request
}

/// Opens the topic that all other racers open, round after round, and exchanges a message with each
/// survivor.
fn race(book: &Logbook, id: u32) -> ! {
    let namespace = spawn::inherited_namespace();
    let entry = book.entry(id);
    let first = book.orders().phase.get() / STEPS + 1;
    let racers = entry.word.get();
    let name = TopicName::new(NAME).unwrap();
    say("ready");
    for round in first.. {
        await_step(book, step(round, OPEN));
        let open = || Segment::open_or_create(&namespace, &name, &request(racers)).unwrap();
        // WHY: some racers come and go first, so that files are also retired while others open
        // them.
        (0..VISITS)
            .filter(|_| (u64::from(id) + round).is_multiple_of(2))
            .for_each(|_| drop(open()));
        let segment = open();
        let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
        let mut consumer = Consumer::<u64>::new(raw);
        let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
        let mut producer = Producer::<u64>::new(raw);
        let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
        entry.received.set(file.metadata().unwrap().ino());
        entry.rested.set(step(round, OPEN));

        await_step(book, step(round, SEND));
        producer.send(round << 32 | u64::from(id)).unwrap();
        let wanted = book.orders().word.get();
        let mut seen = 0;
        soon(|| {
            if let Some(message) = consumer.recv() {
                assert_eq!(message >> 32, round, "a message of another round");
                seen |= 1 << (message as u32);
            }
            (seen & wanted == wanted).then_some(())
        });
        entry.rested.set(step(round, SEND));

        await_step(book, step(round, LEAVE));
        drop((producer, consumer, segment));
        entry.rested.set(step(round, LEAVE));
    }
    unreachable!()
}

/// Sweeps all files that no process attends, and tries to remove the namespace.
fn unlink(book: &Logbook) -> ! {
    say("ready");
    loop {
        let namespace = spawn::inherited_namespace();
        let report = sweep(&namespace).unwrap();
        assert_eq!(report.foreign, [""; 0]);
        match namespace.remove() {
            Err(NamespaceRemoveError::InUse { .. }) => {}
            other => panic!("the namespace in use: {other:?}"),
        }
        book.entry(0).word.count();
        thread::yield_now();
    }
}

/// The racers, the unlinker, and the counts.
struct Track {
    namespace: Arc<Namespace>,
    book: Logbook,
    racers: Vec<Child>,
    unlinker: Child,
    dice: Rng,
    killed: u64,
    /// The deaths of racers before they finished the round, by the step that they had reached.
    killed_in: [u64; STEPS as usize],
    dir: TempDir,
}

impl Track {
    fn new(racers: u32) -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let book = Logbook::create(dir.path(), racers as usize + 1);
        (1..=racers).for_each(|id| book.entry(id).word.set(racers.into()));
        let mut unlinker = Child::spawn("unlink", dir.path());
        assert_eq!(unlinker.listen(), "ready");
        let racers = (1..=racers).map(|id| Child::spawn(&format!("race {id}"), dir.path()));
        let mut racers: Vec<_> = racers.collect();
        racers
            .iter_mut()
            .for_each(|racer| assert_eq!(racer.listen(), "ready"));
        let dice = Rng::with_seed(0x5eed_0007);
        let killed = 0;
        let killed_in = [0; STEPS as usize];
        Self {
            namespace,
            book,
            racers,
            unlinker,
            dice,
            killed,
            killed_in,
            dir,
        }
    }

    fn expect_no_fault(&self) {
        if self.book.orders().faults.get() != 0 {
            expect_no_accusation(self.dir.path());
        }
    }

    /// Starts a step, and waits until all survivors have taken it. Kills each doomed racer when it
    /// is due.
    fn step(&mut self, now: u64, doomed: &mut Vec<(usize, Instant)>, survivors: u64) {
        self.book.orders().phase.set(now);
        let start = Instant::now();
        loop {
            self.expect_no_fault();
            self.kill_due(doomed, now);
            let is_received = |id: &u32| self.book.entry(*id).rested.get() >= now;
            let mut ids = (1..=self.racers.len() as u32).filter(|id| survivors >> id & 1 == 1);
            if ids.all(|id| is_received(&id)) {
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "step {now}: not after {PATIENCE:?}"
            );
            thread::sleep(NAP);
        }
    }

    fn kill_due(&mut self, doomed: &mut Vec<(usize, Instant)>, now: u64) {
        let racers = &mut self.racers;
        let killed = &mut self.killed;
        let killed_in = &mut self.killed_in;
        doomed.retain(|&(at, due)| {
            if Instant::now() < due {
                return true;
            }
            racers[at].kill();
            *killed += 1;
            killed_in[(now % STEPS) as usize] += 1;
            false
        });
    }

    /// Runs one race, and returns the inode that all survivors ended on.
    fn run(&mut self, round: u64) -> u64 {
        let racers = self.racers.len();
        let delay_max_us = racers as u64 * DELAY_MAX_US;
        let mut doomed = Vec::new();
        while doomed.len() < racers / 4 {
            let at = self.dice.u64(..racers as u64) as usize;
            let due = Instant::now() + Duration::from_micros(self.dice.u64(..delay_max_us));
            if doomed.iter().all(|&(other, _)| other != at) {
                doomed.push((at, due));
            }
        }
        let dead: Vec<usize> = doomed.iter().map(|&(at, _)| at).collect();
        let survivors = (0..racers).filter(|at| !dead.contains(at));
        let survivors = survivors.fold(0_u64, |mask, at| mask | 1 << (at + 1));
        self.book.orders().word.set(survivors);
        self.step(step(round, OPEN), &mut doomed, survivors);
        let ids = (1..=racers as u32).filter(|id| survivors >> id & 1 == 1);
        let inodes: Vec<_> = ids.map(|id| self.book.entry(id).received.get()).collect();
        assert!(
            inodes.iter().all(|inode| *inode == inodes[0]),
            "round {round}: {inodes:?}"
        );
        self.step(step(round, SEND), &mut doomed, survivors);
        self.step(step(round, LEAVE), &mut doomed, survivors);
        while !doomed.is_empty() {
            self.kill_due(&mut doomed, step(round, LEAVE));
            thread::sleep(NAP);
        }
        for at in dead {
            self.racers[at] = Child::spawn(&format!("race {}", at + 1), self.dir.path());
            assert_eq!(self.racers[at].listen(), "ready");
        }
        inodes[0]
    }

    /// Ends all children. Only files that a sweep removes may be left.
    fn finish(self) -> u64 {
        let Self {
            namespace,
            book,
            racers,
            unlinker,
            dir,
            ..
        } = self;
        drop(racers);
        let sweeps = book.entry(0).word.get();
        drop(unlinker);
        sweep(&namespace).unwrap();
        assert_eq!(spawn::topic_files(&namespace), [""; 0]);
        namespace.remove().unwrap();
        assert!(!namespace.path().exists());
        expect_no_accusation(dir.path());
        sweeps
    }
}

#[test]
fn survivors_of_a_creation_race_end_on_one_file_despite_kills_and_sweeps() {
    let _alone = alone();
    let racers = rounds(4, 16);
    let races = rounds(40, 500);
    let mut track = Track::new(racers as u32);
    let mut last = 0;
    let mut fresh = 0;
    for round in 1..=races {
        let inode = track.run(round);
        fresh += u64::from(inode != last);
        last = inode;
        // The last to leave may have met the unlinker, which then removes the file.
        let gone = || spawn::topic_files(&track.namespace).is_empty();
        soon(|| gone().then_some(()));
    }
    let killed = track.killed;
    let killed_in = track.killed_in;
    let sweeps = track.finish();
    show(format_args!(
        "create_race: {racers} racers, {races} races on {fresh} fresh files, one inode in each; \
         {killed} killed while others opened, sent, left: {:?}; {sweeps} sweeps and removals \
         beside them; nothing left behind",
        &killed_in[1..],
    ));
    assert_eq!(fresh, races);
    assert_eq!(killed, races * (racers / 4));
}
