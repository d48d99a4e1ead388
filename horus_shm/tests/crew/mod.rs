//! A crew: children that stream through one ring until they are killed, and who commands them.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod logbook;
pub mod mate;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use horus_shm::Namespace;
use tempfile::TempDir;

use crate::common::Child;
use crate::spawn;
use crate::stream::Tagged;
use crate::tracer::ends::{Kind, Ring};
use logbook::{Entry, Logbook};

/// The one ring of a crew.
pub const TOPIC: &str = "topic";

/// Longest wait for something that has to happen.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks of one who commands.
const NAP: Duration = Duration::from_micros(50);

/// The rings that a crew can be on.
pub const KINDS: [Kind; 5] = [Kind::Spsc, Kind::Mpsc, Kind::Fanout, Kind::Pod, Kind::Reliable];

/// Tests that load both cores, or count what their process has, come one at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For how long a thread of a process, the worst one, was ready while the machine had no time for
/// it, ever. Nothing where the kernel does not say.
pub fn starved(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let starved = |task: std::fs::DirEntry| {
        let figures = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        figures.split_whitespace().nth(1)?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(starved).max().unwrap_or(0))
}

/// Waits for something by looking for it again and again.
#[track_caller]
pub fn soon<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "nothing came");
        thread::yield_now();
    }
}

/// Makes a fault known to the parent, whatever happens to this process.
pub fn accuse(fault: &str) {
    let dir = std::env::var("HORUS_SHM_DIR").unwrap();
    std::fs::write(format!("{dir}/fault-{}", std::process::id()), fault).unwrap();
}

pub fn expect_no_accusation(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("fault") {
            panic!("a child says: {}", std::fs::read_to_string(path).unwrap());
        }
    }
}

/// What everybody does at the moment: rounds of streaming, halting and settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase(pub u64);

impl Phase {
    pub const fn is_stream(self) -> bool {
        self.0 % 3 == 1
    }

    pub const fn is_settle(self) -> bool {
        self.0 != 0 && self.0.is_multiple_of(3)
    }

    /// Whether who came to rest in the phase `rested` did so for this settling, and so is alive.
    pub const fn is_after(self, rested: u64) -> bool {
        self.is_settle() && rested + 1 == self.0
    }
}

/// What a child is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    Produce,
    Consume,
    /// Comes and goes.
    Visit,
}

/// One child. Its id is also the sender of its messages, and odd or even as its chair.
pub struct Member {
    pub child: Child,
    pub job: Job,
    pub id: u32,
}

/// Children that stream through one ring, which this process attends without an end.
pub struct Crew<M> {
    pub kind: Kind,
    pub ring: Ring<M>,
    pub namespace: Arc<Namespace>,
    pub book: Arc<Logbook>,
    pub members: Vec<Member>,
    hired: u32,
    /// Memory that the next child touches.
    pub touched_mib: usize,
    pub dir: TempDir,
}

impl<M: Tagged> Crew<M> {
    /// Nobody yet, and room for `members` in the logbook.
    pub fn new(kind: Kind, members: usize) -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let ring = Ring::create(kind, &namespace, TOPIC);
        let book = Arc::new(Logbook::create(dir.path(), 2 * members + 2));
        let members = Vec::new();
        Self { kind, ring, namespace, book, members, hired: 0, touched_mib: 0, dir }
    }

    /// An id that nobody had, on chair 0 or 1.
    pub fn next_id(&mut self, chair: u32) -> u32 {
        self.hired += 1;
        2 * self.hired + chair - 2
    }

    /// Starts a child that waits until it is let go. Whoever is there before the first message is
    /// owed all of them: `complete`.
    pub fn hire(&mut self, job: Job, chair: u32, complete: bool) -> Member {
        let id = self.next_id(chair);
        let (kind, words, touched) = (self.kind, size_of::<M>() / 8, self.touched_mib);
        let role = format!("{job:?} {kind:?} {words} {id} {complete} {touched}");
        let mut child = Child::spawn(&role, self.dir.path());
        assert_eq!(child.listen(), "parked");
        Member { child, job, id }
    }

    /// Starts a child that does its job from the beginning on.
    pub fn add(&mut self, job: Job, chair: u32) {
        let mut member = self.hire(job, chair, true);
        member.child.let_go();
        let id = member.id;
        self.members.push(member);
        self.wait("a first end", |crew| crew.book.entry(id).owner.get() != 0);
    }

    pub fn entry(&self, id: u32) -> &Entry {
        self.book.entry(id)
    }

    pub fn ids(&self, job: Job) -> impl Iterator<Item = u32> {
        self.members.iter().filter(move |member| member.job == job).map(|member| member.id)
    }

    /// Looks until `done`; fails if a child did, or after a long while.
    #[track_caller]
    pub fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.expect_no_fault();
            // WHY twice: a child that waits in vain says first what for.
            if start.elapsed() > 2 * PATIENCE {
                panic!("{what}: not after {:?}; {}", start.elapsed(), self.plight());
            }
            thread::sleep(NAP);
        }
    }

    /// What the kernel says of each member: for when nothing happens.
    fn plight(&self) -> String {
        let of = |member: &Member| {
            let file = |name| format!("/proc/{}/{name}", member.child.pid());
            let say = |name| std::fs::read_to_string(file(name)).unwrap_or_default();
            let (wchan, syscall, schedstat) = (say("wchan"), say("syscall"), say("schedstat"));
            let status = say("status");
            let state = status.lines().find(|line| line.starts_with("State")).unwrap_or_default();
            format!("{:?} {}: {state}, {wchan}, {syscall}, {schedstat}\n", member.job, member.id)
        };
        self.members.iter().map(of).collect()
    }

    pub fn expect_no_fault(&self) {
        if self.book.orders().faults.get() != 0 {
            expect_no_accusation(self.dir.path());
        }
    }

    fn enter_next_phase(&self) -> u64 {
        let orders = self.book.orders();
        orders.phase.set(orders.phase.get() + 1);
        orders.phase.get()
    }

    /// Lets all of them stream.
    pub fn stream(&self) {
        self.enter_next_phase();
    }

    /// Halts the senders, lets the receivers take what is left, and each check its account.
    pub fn settle(&self) {
        for job in [Job::Produce, Job::Consume] {
            let phase = self.enter_next_phase();
            let rests = |id| self.entry(id).rested.get() == phase;
            self.wait(&format!("{job:?} at rest"), |crew| crew.ids(job).all(rests));
        }
        self.expect_no_fault();
    }
}
