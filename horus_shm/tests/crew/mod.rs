//! A crew: children that stream through one ring until they are killed, and the process that
//! commands them.

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

/// The topic of a crew's one ring.
pub const TOPIC: &str = "topic";

/// The longest wait for an event that has to happen.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two polls of the commanding process.
const NAP: Duration = Duration::from_micros(50);

/// The kinds of rings that a crew can use.
pub const KINDS: [Kind; 5] = [
    Kind::Spsc,
    Kind::Mpsc,
    Kind::Fanout,
    Kind::Pod,
    Kind::Reliable,
];

/// Serializes tests that load all CPUs, or count resources of their process.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the longest time for which a thread of a process was ever ready while no CPU was free,
/// and zero where the kernel does not report it.
pub fn starved(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let starved = |task: std::fs::DirEntry| {
        let figures = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        figures.split_whitespace().nth(1)?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(starved).max().unwrap_or(0))
}

/// Polls `look` until it returns a value.
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

/// Reports a fault to the parent at once, even if this process dies afterwards.
pub fn accuse(fault: &str) {
    let dir = std::env::var("HORUS_SHM_DIR").unwrap();
    std::fs::write(format!("{dir}/fault-{}", std::process::id()), fault).unwrap();
}

pub fn expect_no_accusation(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("fault")
        {
            panic!(
                "a child reports: {}",
                std::fs::read_to_string(path).unwrap()
            );
        }
    }
}

/// The phase that all children are in: rounds of streaming, halting and settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase(pub u64);

impl Phase {
    pub const fn is_stream(self) -> bool {
        self.0 % 3 == 1
    }

    pub const fn is_settle(self) -> bool {
        self.0 != 0 && self.0.is_multiple_of(3)
    }

    /// Returns true if a child that came to rest in the phase `rested` did so for this settling,
    /// and so is alive.
    pub const fn is_after(self, rested: u64) -> bool {
        self.is_settle() && rested + 1 == self.0
    }
}

/// The job of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    Produce,
    Consume,
    /// Opens endpoints and leaves, again and again.
    Visit,
}

/// One child. Its id is also the sender of its messages, and is odd or even as its chair.
pub struct Member {
    pub child: Child,
    pub job: Job,
    pub id: u32,
}

/// Children that stream through one ring, which this process attends without an endpoint.
pub struct Crew<M> {
    pub kind: Kind,
    pub ring: Ring<M>,
    pub namespace: Arc<Namespace>,
    pub book: Arc<Logbook>,
    pub members: Vec<Member>,
    hired: u32,
    /// The memory that the next child touches.
    pub touched_mib: usize,
    pub dir: TempDir,
}

impl<M: Tagged> Crew<M> {
    /// Makes a crew without children, and room for `members` in the logbook.
    pub fn new(kind: Kind, members: usize) -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let ring = Ring::create(kind, &namespace, TOPIC);
        let book = Arc::new(Logbook::create(dir.path(), 2 * members + 2));
        let members = Vec::new();
        Self {
            kind,
            ring,
            namespace,
            book,
            members,
            hired: 0,
            touched_mib: 0,
            dir,
        }
    }

    /// Returns an unused id, on chair 0 or 1.
    pub fn next_id(&mut self, chair: u32) -> u32 {
        self.hired += 1;
        2 * self.hired + chair - 2
    }

    /// Starts a child that waits until it is released. A child that is there before the first
    /// message must get all of them: `complete`.
    pub fn hire(&mut self, job: Job, chair: u32, complete: bool) -> Member {
        let id = self.next_id(chair);
        let kind = self.kind;
        let words = size_of::<M>() / 8;
        let touched = self.touched_mib;
        let role = format!("{job:?} {kind:?} {words} {id} {complete} {touched}");
        let mut child = Child::spawn(&role, self.dir.path());
        assert_eq!(child.listen(), "parked");
        Member { child, job, id }
    }

    /// Starts a child that does its job from its start on.
    pub fn add(&mut self, job: Job, chair: u32) {
        let mut member = self.hire(job, chair, true);
        member.child.free_pin();
        let id = member.id;
        self.members.push(member);
        self.wait("a first end", |crew| crew.book.entry(id).owner.get() != 0);
    }

    pub fn entry(&self, id: u32) -> &Entry {
        self.book.entry(id)
    }

    pub fn ids(&self, job: Job) -> impl Iterator<Item = u32> {
        self.members
            .iter()
            .filter(move |member| member.job == job)
            .map(|member| member.id)
    }

    /// Polls until `done`; panics if a child failed, or after a long while.
    #[track_caller]
    pub fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.expect_no_fault();
            // WHY twice: a child that waits in vain first reports the event that it waits for.
            if start.elapsed() > 2 * PATIENCE {
                panic!("{what}: not after {:?}; {}", start.elapsed(), self.plight());
            }
            thread::sleep(NAP);
        }
    }

    /// Returns the kernel's state of each member, for a failure message without progress.
    fn plight(&self) -> String {
        let of = |member: &Member| {
            let file = |name| format!("/proc/{}/{name}", member.child.pid());
            let say = |name| std::fs::read_to_string(file(name)).unwrap_or_default();
            let wchan = say("wchan");
            let syscall = say("syscall");
            let schedstat = say("schedstat");
            let status = say("status");
            let state = status
                .lines()
                .find(|line| line.starts_with("State"))
                .unwrap_or_default();
            format!(
                "{:?} {}: {state}, {wchan}, {syscall}, {schedstat}\n",
                member.job, member.id
            )
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

    /// Lets all members stream.
    pub fn stream(&self) {
        self.enter_next_phase();
    }

    /// Halts the senders, lets the receivers receive the rest, and lets each check its account.
    pub fn settle(&self) {
        for job in [Job::Produce, Job::Consume] {
            let phase = self.enter_next_phase();
            let rests = |id| self.entry(id).rested.get() == phase;
            self.wait(&format!("{job:?} at rest"), |crew| crew.ids(job).all(rests));
        }
        self.expect_no_fault();
    }
}
