//! Crash loops: one endpoint dies and is replaced, thousands of times. The process of the other
//! endpoint keeps as many entries, files, descriptors and mappings as before.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod crew;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{Access, Segment, sweep};

use common::show;
use crew::logbook::stamp;
use crew::mate::{Sink, Source};
use crew::{Crew, Job, Member, alone, soon};
use hostile::rounds;
use tracer::ends::{CAPACITY, Kind};

type Message = [u64; 8];

/// The survivor's chair, which is also its id.
const SURVIVOR: u32 = 1;
/// The most that the survivor may grow by: the test's own account of some thousand senders.
const GROWTH_MAX: u64 = 1 << 20;
/// The number of rounds before the counts must stay constant.
const WARM_UP: u64 = 5;

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    if let Some(role) = common::role() {
        crew::mate::play(&role);
    }
}

/// Counts that a leak would increase.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holdings {
    /// Lanes that were ever claimed.
    extents: u64,
    /// Owner words that are not 0.
    lane_owners: usize,
    gated: u32,
    reader_owners: usize,
    files: Vec<String>,
    descriptors: usize,
    mappings: usize,
    /// The entry of the registry that the last child got.
    entry: u64,
}

impl Holdings {
    fn of(crew: &Crew<Message>, owner: u64) -> Self {
        let segment = crew.ring.segment().unwrap();
        let owned = |word: &AtomicU64| word.load(Relaxed) != 0;
        let lane = |&lane: &u32| owned(&segment.lane_block(lane, Access::Read).unwrap().owner);
        let generation = |lane| &segment.lane_block(lane, Access::Read).unwrap().generation;
        let extents = |lane| generation(lane).load(Relaxed);
        let gated = &segment.wait_block(Access::Read).unwrap().gated;
        let reader = |&at: &u32| owned(&segment.reader_block(at, Access::Read).unwrap().owner);
        Self {
            extents: (0..segment.shape().lane_limit()).map(extents).sum(),
            lane_owners: (0..segment.shape().lane_limit()).filter(lane).count(),
            gated: gated.load(Relaxed).count_ones(),
            reader_owners: (0..segment.shape().reader_limit()).filter(reader).count(),
            files: files(crew.namespace.path()),
            descriptors: spawn::open_descriptors(crew.dir.path()),
            mappings: mappings(crew.dir.path()),
            entry: owner >> 48,
        }
    }
}

/// Returns all files of a namespace.
fn files(path: &Path) -> Vec<String> {
    let entries = |path: &Path| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let all = entries(path).chain(entries(&path.join("topics")));
    let mut names: Vec<_> = all.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Counts the mappings that this process has of files in `dir`, named or not.
fn mappings(dir: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|line| line.contains(dir.to_str().unwrap()))
        .count()
}

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The counts of all rounds so far: the first rounds may differ, the others must not.
struct Watch {
    round: u64,
    before: Option<(Holdings, u64)>,
}

impl Watch {
    fn new() -> Self {
        Self {
            round: 0,
            before: None,
        }
    }

    fn look(&mut self, crew: &Crew<Message>, owner: u64) {
        self.round += 1;
        if self.round < WARM_UP {
            return;
        }
        let now = Holdings::of(crew, owner);
        let before = self
            .before
            .get_or_insert_with(|| (now.clone(), resident_bytes()));
        assert_eq!(before.0, now, "round {}", self.round);
    }

    /// Prints the counts, and returns by how much this process grew.
    fn show(&self, what: &str) {
        let (holdings, resident) = self.before.as_ref().unwrap();
        let growth = resident_bytes().saturating_sub(*resident);
        let Holdings {
            extents,
            lane_owners,
            gated,
            reader_owners,
            ..
        } = holdings;
        show(format_args!(
            "crash_loop {what}: {} deaths; constant: {extents} lane files, owners of {lane_owners} \
             lanes, {reader_owners} reader places, {gated} gated, {} files, {} descriptors, \
             {} mappings, registry entry {}; the survivor grew by {} KiB",
            self.round,
            holdings.files.len(),
            holdings.descriptors,
            holdings.mappings,
            holdings.entry,
            growth >> 10,
        ));
        assert!(growth < GROWTH_MAX, "{growth} bytes more are resident");
    }
}

/// Makes a crew of one child at a time and this process.
fn crew(kind: Kind, deaths: u64) -> Crew<Message> {
    let crew = Crew::new(kind, deaths as usize + 2);
    // WHY: this makes the pages of the logbook resident.
    assert_eq!(crew.book.senders().count(), 0);
    crew
}

/// Starts the next child, and waits until it has opened its endpoint.
fn next(crew: &mut Crew<Message>, job: Job, mut meanwhile: impl FnMut()) -> (Member, u64) {
    let mut child = crew.hire(job, 0, false);
    child.child.free_pin();
    let owner = soon(|| {
        meanwhile();
        crew.expect_no_fault();
        Some(crew.entry(child.id).owner.get()).filter(|&owner| owner != 0)
    });
    (child, owner)
}

/// Returns the epoch of the lane that the victims use one after the other.
fn epoch(segment: &Segment) -> u64 {
    segment
        .lane_block(0, Access::Read)
        .unwrap()
        .epoch
        .load(Relaxed)
}

fn kill_producers(kind: Kind) {
    let _alone = alone();
    let deaths = rounds(100, 2000);
    let mut crew = crew(kind, deaths);
    let mut sink = Sink::new(&crew.book, SURVIVOR, kind, crew.ring.receiver().unwrap()).complete();
    let mut watch = Watch::new();
    let mut owners = (0, 0);
    crew.stream();
    for death in 1..=deaths {
        let (mut child, owner) = next(&mut crew, Job::Produce, || ());
        owners = (owners.1, owner);
        assert!(
            owners.0 < owners.1,
            "the generation of an entry goes up: {owners:x?}"
        );
        soon(|| {
            sink.step();
            crew.expect_no_fault();
            (crew.entry(SURVIVOR).seen[0].get() >= stamp(child.id, 2 * CAPACITY)).then_some(())
        });
        assert_eq!(epoch(crew.ring.segment().unwrap()), death);
        child.child.kill();
        watch.look(&crew, owner);
    }
    // Repairs the head if the last victim died before it stored it.
    drop(crew.ring.sender().unwrap());
    let stats = sink.settle().unwrap();
    assert!(deaths * 2 * CAPACITY <= stats.received + stats.lost);
    watch.show(&format!("{kind:?} producer"));
    show(format_args!(
        "crash_loop {kind:?} producer: to the survivor {stats:?}"
    ));
    assert_empty_handed(crew, sink);
}

fn kill_consumers(kind: Kind) {
    let _alone = alone();
    let deaths = rounds(100, 2000);
    let mut crew = crew(kind, deaths);
    let mut source = Source::new(&crew.book, SURVIVOR, crew.ring.sender().unwrap());
    let mut watch = Watch::new();
    let mut owners = (0, 0);
    let mut received = 0;
    crew.stream();
    for _ in 1..=deaths {
        let (mut child, owner) = next(&mut crew, Job::Consume, || _ = source.step());
        owners = (owners.1, owner);
        assert!(
            owners.0 < owners.1,
            "the generation of an entry goes up: {owners:x?}"
        );
        let from = crew.entry(SURVIVOR).confirmed.get();
        soon(|| {
            source.step();
            crew.expect_no_fault();
            let seen = crew.entry(child.id).seen[1].get();
            (seen >= stamp(SURVIVOR, from + 2 * CAPACITY)).then_some(())
        });
        child.child.kill();
        let sent = crew.entry(SURVIVOR).confirmed.get();
        let got = crew.entry(child.id).seen[1].get() - stamp(SURVIVOR, 0) + 1;
        received += crew.entry(child.id).received.get();
        assert!(got <= sent + 1);
        assert!(
            !kind.is_gated() || sent <= got + 1 + CAPACITY,
            "{sent} overran {got}"
        );
        watch.look(&crew, owner);
        // No dead reader holds the sender back.
        (0..=CAPACITY).for_each(|_| soon(|| source.step().then_some(())));
    }
    assert_eq!(
        epoch(crew.ring.segment().unwrap()),
        1,
        "the survivor's session goes on"
    );
    watch.show(&format!("{kind:?} consumer"));
    let sent = crew.entry(SURVIVOR).confirmed.get();
    show(format_args!(
        "crash_loop {kind:?} consumer: sent {sent}, the dead had {received}"
    ));
    assert_empty_handed(crew, source);
}

/// Expects that nothing is left after the survivor leaves, and that a sweep finds nothing to
/// remove.
fn assert_empty_handed(crew: Crew<Message>, end: impl Sized) {
    drop(end);
    let Crew {
        ring,
        namespace,
        dir,
        ..
    } = crew;
    drop(ring);
    let report = sweep(&namespace).unwrap();
    assert!(
        report.removed.is_empty() && report.foreign.is_empty(),
        "{report:?}"
    );
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
    drop(dir);
}

#[test]
fn a_best_effort_consumer_outlives_a_producer_that_crashes_again_and_again() {
    kill_producers(Kind::Fanout);
}

#[test]
fn a_reliable_consumer_outlives_a_producer_that_crashes_again_and_again() {
    kill_producers(Kind::Reliable);
}

#[test]
fn a_best_effort_producer_outlives_a_consumer_that_crashes_again_and_again() {
    kill_consumers(Kind::Fanout);
}

#[test]
fn a_reliable_producer_outlives_a_consumer_that_crashes_again_and_again() {
    kill_consumers(Kind::Reliable);
}
