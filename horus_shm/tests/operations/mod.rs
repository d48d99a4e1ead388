//! Every use that the library makes of the kernel, as operations that can be done, repeated and
//! cleared: the system-call sweeps run through them.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::error::Error;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::LAYOUT_VERSION;
use horus_shm::{
    Access, Consumer, Namespace, NamespaceConfig, NamespaceName, NamespaceRemoveError, OpenError,
    Owner, Producer, ReadMode, RecvError, Reliability, Request, Segment, TopicName, TypeInfo,
    remove_topic, sweep,
};

use crate::common::eventually;
use crate::hostile::{FILE_NAME, Image, consumer, producer, topic};
use crate::spawn::{open_descriptors, topic_files, topic_files_in};

/// A topic that the tracer attends, with a reliable reader that never reads.
pub const HELD: &str = "held";
/// A file that is not a topic, for the sweep to find.
const FOREIGN: &str = "foreign!";
/// A topic file of another layout.
const STALE: &str = "stale";
pub const CAPACITY: u64 = 16;

/// The operation during which system calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Opens a namespace of which nothing exists.
    MakeNamespace,
    /// The same under a umask that removes the user's own rights.
    MakeNamespaceMasked,
    /// Opens a namespace in which other processes live.
    JoinNamespace,
    /// Opens a namespace that this process has open.
    ReopenNamespace,
    Create,
    /// Opens a persistent topic that no process attends.
    Open,
    /// Opens or creates a topic where there is a file of another layout.
    Replace,
    Produce,
    Consume,
    ConsumeGated,
    /// Receives the first message of a publisher that came later.
    Discover,
    /// Sends where a live reader is the lane's whole capacity behind.
    SendFull,
    /// Sends where a dead reader is the lane's whole capacity behind.
    SendPastDead,
    /// Drops both endpoints, the topic and the namespace, as the last process.
    Leave,
    /// Drops a topic that other processes attend.
    LeaveOthers,
    Sweep,
    Remove,
}

use Operation::*;

impl Operation {
    pub const ALL: [Self; 17] = [
        MakeNamespace,
        MakeNamespaceMasked,
        JoinNamespace,
        ReopenNamespace,
        Create,
        Open,
        Replace,
        Produce,
        Consume,
        ConsumeGated,
        Discover,
        SendFull,
        SendPastDead,
        Leave,
        LeaveOthers,
        Sweep,
        Remove,
    ];

    pub fn parse(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|operation| format!("{operation:?}") == name)
            .unwrap()
    }

    /// Returns true if each round has a directory of its own.
    pub fn has_own_place(self) -> bool {
        matches!(self, MakeNamespace | MakeNamespaceMasked | Remove)
    }

    /// Returns the directory of the namespaces in a round.
    pub fn base(self, dir: &Path, round: u64) -> PathBuf {
        if self.has_own_place() {
            dir.join(format!("round{round}"))
        } else {
            dir.into()
        }
    }
}

/// The result of an operation: a few words, or an error of the library.
pub type Answer = Result<String, Box<dyn Error>>;

/// Returns the request of a topic with no spare place, so that a place that is not released is
/// missing.
pub fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.lane_limit, request.reader_limit) = (Some(1), Some(1));
    request.capacity = Some(CAPACITY);
    request
}

pub fn reliable() -> Request {
    let mut request = request();
    request.reliability = Some(Reliability::Reliable);
    request
}

pub fn config(base: &Path) -> NamespaceConfig {
    NamespaceConfig::new(base, NamespaceName::default())
}

/// Removes rights from all files that this process makes from now on.
pub fn set_umask(mask: u32) {
    // SAFETY: the call takes no pointer.
    unsafe { libc::umask(mask) };
}

fn done<T>(_: T) -> String {
    "done".into()
}

/// The state of one round of an operation.
pub struct World {
    operation: Operation,
    base: PathBuf,
    namespace: Option<Arc<Namespace>>,
    segment: Option<Arc<Segment>>,
    producer: Option<Producer<u64>>,
    consumer: Option<Consumer<u64>>,
    /// The locks on the registry when only the namespace was open.
    locks: Vec<String>,
    /// The locks on the registry after the preparation.
    prepared_locks: Vec<String>,
}

/// Returns the locks of all processes on the registry of `namespace`.
fn locks(namespace: &Namespace) -> Vec<String> {
    let registry = fs::File::open(namespace.path().join("registry")).unwrap();
    let mut locks = Vec::new();
    let mut ranges = vec![(0, i64::MAX)];
    while let Some((start, limit)) = ranges.pop() {
        if start == limit {
            continue;
        }
        // SAFETY: a struct of plain integers, for which zero is a value.
        let mut found: libc::flock = unsafe { std::mem::zeroed() };
        (found.l_start, found.l_len) = (start, limit - start);
        found.l_type = libc::F_WRLCK as i16;
        // SAFETY: `found` is valid for the call and its writes.
        let done = unsafe { libc::fcntl(registry.as_raw_fd(), libc::F_OFD_GETLK, &mut found) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        if found.l_type == libc::F_UNLCK as i16 {
            continue;
        }
        // The kernel reports any lock in the range, not the first.
        let end = found.l_start + found.l_len;
        ranges.extend([(end, limit), (start, found.l_start)]);
        let kind = if found.l_type == libc::F_RDLCK as i16 {
            "shared"
        } else {
            "exclusive"
        };
        locks.push(format!("{} to {end}: {kind}", found.l_start));
    }
    locks.sort();
    locks
}

impl World {
    /// Makes the state that the operation needs.
    pub fn prepare(operation: Operation, base: PathBuf) -> Self {
        let mut world = Self {
            operation,
            base,
            namespace: None,
            segment: None,
            producer: None,
            consumer: None,
            locks: Vec::new(),
            prepared_locks: Vec::new(),
        };
        if !matches!(
            operation,
            MakeNamespace | MakeNamespaceMasked | JoinNamespace
        ) {
            let namespace = Namespace::open(&config(&world.base)).unwrap();
            world.locks = locks(&namespace);
            world.namespace = Some(namespace);
        }
        match operation {
            MakeNamespace | JoinNamespace | ReopenNamespace | Create => {}
            MakeNamespaceMasked => set_umask(0o377),
            Open | Remove => {
                world.create_to_stay();
            }
            Replace => world.plant(FILE_NAME, |image| {
                image.set("layout_version", u128::from(LAYOUT_VERSION) + 1)
            }),
            Produce | Consume => world.create(&request()),
            ConsumeGated => world.create(&reliable()),
            Discover => {
                world.create(&request());
                world.consumer = Some(consumer(world.segment(), ReadMode::KeepLast).unwrap());
                world.producer = Some(producer(world.segment()).unwrap());
                world.producer.as_mut().unwrap().send(7).unwrap();
            }
            SendFull => {
                world.segment = Some(open_held(world.namespace()).unwrap());
                world.producer = Some(producer(world.segment()).unwrap());
                world.fill();
            }
            SendPastDead => world.be_behind_the_dead(),
            Leave => {
                world.create(&reliable());
                world.consumer = Some(consumer(world.segment(), ReadMode::Gated).unwrap());
                world.producer = Some(producer(world.segment()).unwrap());
            }
            LeaveOthers => world.segment = Some(open_held(world.namespace()).unwrap()),
            Sweep => world.litter(),
        }
        world.prepared_locks = world.namespace.as_deref().map(locks).unwrap_or_default();
        world
    }

    fn namespace(&self) -> &Arc<Namespace> {
        self.namespace.as_ref().unwrap()
    }

    fn segment(&self) -> &Arc<Segment> {
        self.segment.as_ref().unwrap()
    }

    fn create(&mut self, request: &Request) {
        self.segment = Some(Segment::create(self.namespace(), &topic(), request).unwrap());
    }

    /// Creates a topic that its last message keeps.
    fn create_to_stay(&self) {
        let mut request = request();
        (request.persists, request.history) = (Some(true), Some(1));
        let segment = Segment::create(self.namespace(), &topic(), &request).unwrap();
        producer(&segment).unwrap().send(7).unwrap();
    }

    fn fill(&mut self) {
        let producer = self.producer.as_mut().unwrap();
        while producer.position() < CAPACITY {
            producer.send(0).unwrap();
        }
    }

    fn be_behind_the_dead(&mut self) {
        self.create(&reliable());
        self.consumer = Some(consumer(self.segment(), ReadMode::Gated).unwrap());
        self.producer = Some(producer(self.segment()).unwrap());
        self.fill();
        // An owner that the registry never had.
        let dead = Owner::from_bits(1000 << 48 | 7);
        assert!(self.namespace().registry().is_dead(dead));
        let block = self.segment().reader_block(0, Access::Write).unwrap();
        block.owner.store(dead.to_bits(), Ordering::Relaxed);
    }

    /// Adds a topic of a dead process, one of another layout, and another file.
    fn litter(&self) {
        self.plant(FILE_NAME, |_| {});
        self.plant(STALE, |image| {
            image.set("layout_version", u128::from(LAYOUT_VERSION) + 1)
        });
        self.plant(FOREIGN, |image| image.bytes.fill(0));
    }

    fn plant(&self, name: &str, change: impl FnOnce(&mut Image)) {
        let mut image = Image::valid(self.namespace(), &request());
        change(&mut image);
        let path = self.namespace().topics_path().join(name);
        let mut options = fs::File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path).unwrap();
        file.set_len(image.file_bytes).unwrap();
        file.write_all_at(&image.bytes, 0).unwrap();
    }

    /// Does the operation.
    pub fn act(&mut self) -> Answer {
        match self.operation {
            MakeNamespace | MakeNamespaceMasked | JoinNamespace => {
                self.namespace = Some(Namespace::open(&config(&self.base))?);
                Ok("done".into())
            }
            ReopenNamespace => {
                let again = Namespace::open(&config(&self.base))?;
                let is_same = Arc::ptr_eq(&again, self.namespace());
                Ok(if is_same { "the same" } else { "another" }.into())
            }
            Create => self.keep(|it| Segment::create(it.namespace(), &topic(), &request())),
            Open => self.keep(|it| Segment::open(it.namespace(), &topic(), &request())),
            Replace => {
                self.keep(|it| Segment::open_or_create(it.namespace(), &topic(), &request()))
            }
            Produce => {
                self.producer = Some(producer(self.segment())?);
                Ok("done".into())
            }
            Consume | ConsumeGated => {
                let gated = self.operation == ConsumeGated;
                let reading = if gated {
                    ReadMode::Gated
                } else {
                    ReadMode::KeepLast
                };
                self.consumer = Some(consumer(self.segment(), reading)?);
                Ok("done".into())
            }
            Discover => Ok(format!("{:?}", self.consumer.as_mut().unwrap().recv())),
            SendFull | SendPastDead => Ok(format!("{:?}", self.producer.as_mut().unwrap().send(1))),
            Leave | LeaveOthers => {
                drop((self.consumer.take(), self.producer.take()));
                drop(self.segment.take());
                Ok(done(self.namespace.take()))
            }
            Sweep => {
                let found = sweep(self.namespace())?;
                let removed = found.removed.len();
                let in_use = found.in_use.len();
                Ok(format!(
                    "{removed} removed, {in_use} in use, {:?}",
                    found.foreign
                ))
            }
            Remove => Ok(done(self.namespace().remove()?)),
        }
    }

    fn keep(&mut self, open: impl FnOnce(&Self) -> Result<Arc<Segment>, OpenError>) -> Answer {
        self.segment = Some(open(self)?);
        Ok("done".into())
    }

    /// Does the operation again if it was refused; its result must now be `wanted`.
    pub fn act_again(&mut self, answer: &Answer, wanted: &str) -> Result<(), String> {
        if let (Err(_), Some(namespace)) = (answer, &self.namespace)
            && self.base.join("default/registry").exists()
        {
            expect_locks(&self.prepared_locks, namespace)?;
        }
        match self.operation {
            // A sweep that could not remove all is followed by another one.
            Sweep => {
                let report = sweep(self.namespace()).map_err(|error| error.to_string())?;
                let left: Vec<_> = report.foreign.iter().map(String::as_str).collect();
                return if left == [FOREIGN] && topic_files(self.namespace()).len() == 2 {
                    Ok(())
                } else {
                    Err(format!("swept again: {report:?}"))
                };
            }
            _ if answer.as_ref().is_ok_and(|words| words == wanted) => return Ok(()),
            // The call checks only now and then whether the reader is alive.
            SendPastDead => {
                self.act_until(wanted);
                return Ok(());
            }
            // The call retries the lane only now and then; until then it must report an error.
            Discover => {
                let reported = self.consumer.as_ref().unwrap().check();
                self.act_until(wanted);
                return match reported {
                    Err(RecvError::LaneNotMapped { .. }) => Ok(()),
                    other => Err(format!(
                        "a lane that is not mapped is reported as {other:?}"
                    )),
                };
            }
            // A namespace that was removed in part is opened anew to remove the rest.
            Remove => {
                let error = answer.as_ref().err().and_then(|error| error.downcast_ref());
                if let Some(NamespaceRemoveError::Replaced { .. }) = error {
                    return Err("reported as replaced, but no process replaced it".into());
                }
                let again = self.namespace().remove();
                if let Err(NamespaceRemoveError::Replaced { .. }) = again {
                    self.namespace = Some(Namespace::open(&config(&self.base)).unwrap());
                    return self.namespace().remove().map_err(|error| error.to_string());
                }
                return again.map_err(|error| error.to_string());
            }
            _ => {}
        }
        match self.act() {
            Ok(words) if words == wanted => Ok(()),
            Ok(words) => Err(format!("again: {words} instead of {wanted}")),
            Err(error) => Err(format!("again: {error}")),
        }
    }

    /// Does the operation until its result is `wanted`.
    fn act_until(&mut self, wanted: &str) {
        eventually("the operation succeeds", || self.act().unwrap() == wanted);
    }

    /// Leaves; nothing of this process may remain, at the latest after the next sweep. Returns true
    /// if a sweep was needed.
    pub fn clear(self, dir: &Path) -> Result<bool, String> {
        let Self {
            operation,
            base,
            namespace,
            segment,
            producer,
            consumer,
            locks,
            ..
        } = self;
        drop((producer, consumer, segment));
        if let (Some(namespace), false) = (&namespace, locks.is_empty() || operation == Remove) {
            expect_locks(&locks, namespace)?;
        }
        let topics = base.join("default/topics");
        if let (Open, Some(namespace)) = (operation, &namespace) {
            remove_topic(namespace, &topic()).map_err(|error| error.to_string())?;
        }
        if operation == Sweep {
            let _ = fs::remove_file(topics.join(FILE_NAME));
            let _ = fs::remove_file(topics.join(FOREIGN));
        }
        let is_left = || {
            let names = topics.exists().then(|| topic_files_in(&topics));
            names.into_iter().flatten().any(|name| name != HELD)
        };
        let swept = is_left();
        if operation == Remove {
            drop(namespace);
            if base.join("default").exists() {
                return Err("the namespace is still there".into());
            }
        } else {
            let namespace = namespace.unwrap_or_else(|| Namespace::open(&config(&base)).unwrap());
            if is_left() {
                let report = sweep(&namespace).map_err(|error| error.to_string())?;
                if is_left() {
                    return Err(format!("files are left, and the sweep reports {report:?}"));
                }
            }
        }
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mapped = maps
            .lines()
            .filter(|line| line.contains(dir.to_str().unwrap()))
            .count();
        match (open_descriptors(dir), mapped) {
            (0, 0) => Ok(swept),
            (open, mapped) => Err(format!("{open} descriptors and {mapped} mappings are left")),
        }
    }
}

fn expect_locks(wanted: &[String], namespace: &Namespace) -> Result<(), String> {
    let found = locks(namespace);
    if found == wanted {
        Ok(())
    } else {
        Err(format!("locks {found:?} instead of {wanted:?}"))
    }
}

/// Opens the topic that the tracer attends, or creates it.
pub fn open_held(namespace: &Arc<Namespace>) -> Result<Arc<Segment>, OpenError> {
    Segment::open_or_create(namespace, &TopicName::new(HELD)?, &reliable())
}

/// Checks that a process that starts later finds everything in order. `entries` is the number of
/// processes in the namespace, that one included.
pub fn check_fresh(base: &Path, entries: u64) -> Result<(), String> {
    let said = |error: OpenError| error.to_string();
    let namespace = Namespace::open(&config(base)).map_err(|error| error.to_string())?;
    let entry = namespace.registry().own_owner_word().to_bits() >> 48;
    if entry > entries {
        return Err(format!(
            "a newcomer gets entry {entry} of the registry, not {entries}"
        ));
    }
    let segment = Segment::create(&namespace, &topic(), &reliable()).map_err(said)?;
    let mut consumer = consumer(&segment, ReadMode::Gated).map_err(said)?;
    let mut producer = producer(&segment).map_err(said)?;
    for message in 0..2 * CAPACITY {
        producer.send(message).map_err(|error| error.to_string())?;
        if consumer.recv() != Some(message) {
            return Err(format!("message {message} does not arrive"));
        }
    }
    drop((producer, consumer, segment));
    let report = sweep(&namespace).map_err(said)?;
    let left: Vec<_> = topic_files(&namespace)
        .into_iter()
        .filter(|name| name != HELD)
        .collect();
    if !left.is_empty() || !report.removed.is_empty() {
        return Err(format!("a newcomer leaves {left:?}: {report:?}"));
    }
    Ok(())
}
