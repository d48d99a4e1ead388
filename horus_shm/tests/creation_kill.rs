//! Kill sweep over system calls: a process enters a namespace, opens a topic, uses it and leaves.
//! It is killed at the entry to, or the exit from, each system call; a later process finds it
//! clean. The usual run visits some of these points, others each time.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
#[path = "creation_kill/full_registry.rs"]
mod full_registry;
#[path = "creation_kill/group.rs"]
mod group;
mod hostile;
#[path = "creation_kill/meeting.rs"]
mod meeting;
#[path = "creation_kill/presence.rs"]
mod presence;
#[path = "creation_kill/removal.rs"]
mod removal;
mod spawn;
mod stream;
mod tracer;

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use horus_shm::internals::header::{self, Provenance};
use horus_shm::{
    AccessRule, Consumer, Namespace, OnStalled, OpenError, Owner, Producer, RawConsumer,
    RawProducer, ReadMode, Registry, Request, Segment, TopicName, TypeInfo, sweep,
};
use horus_testing::PointSample;
use tempfile::TempDir;

use common::Child;
use tracer::{EXIT_CODE, Stop, Victim, be_traced, mark};

const TOPIC: &str = "topic";
/// The most system-call stops of one life: a sweep that exceeds it does not end, which is a fault.
const STOPS_MAX: usize = 2000;
/// The usual run visits one of this many stops.
const STRIDE: usize = 3;
/// The number of messages that are sent to show that a topic works.
const MESSAGES: u64 = 50;
/// The files that the victim finds, and the processes that are there when it has died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// There is no namespace and no other process, so the victim makes the namespace.
    Nothing,
    /// This process lives in the namespace, which lacks the topic.
    Namespace,
    /// This process attends the topic.
    Topic,
    /// This process lives in the namespace, which has a topic of a process that was killed.
    Leftover,
    /// As `Nothing`, under a umask that removes the rights of the user itself.
    Masked,
    /// As `Nothing`, and the victim exits without dropping anything.
    Exit,
    /// As `Nothing`, and the victim removes the namespace at the end.
    Remove,
}

impl Scene {
    /// Returns the role that the victim plays in this scene.
    fn role(self) -> &'static str {
        match self {
            Self::Masked => "masked life",
            Self::Exit => "life and exit",
            Self::Remove => "life and removal",
            _ => "life",
        }
    }

    fn begins_with_nothing(self) -> bool {
        matches!(
            self,
            Self::Nothing | Self::Masked | Self::Exit | Self::Remove
        )
    }
}

/// The moment at which the files are examined: right after a death, or when the next process has
/// used the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Death,
    Later,
}

type Check = Result<(), String>;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    // No place is spare, so that a place that a dead process keeps is missing.
    (request.lane_limit, request.reader_limit) = (Some(1), Some(1));
    request.capacity = Some(16);
    request
}

fn open_or_create(namespace: &Arc<Namespace>) -> Result<Arc<Segment>, OpenError> {
    Segment::open_or_create(namespace, &TopicName::new(TOPIC)?, &request())
}

fn producer(segment: &Arc<Segment>) -> Result<Producer<u64>, OpenError> {
    Ok(Producer::new(RawProducer::new(
        Arc::clone(segment),
        OnStalled::Full,
    )?))
}

fn consumer(segment: &Arc<Segment>) -> Result<Consumer<u64>, OpenError> {
    Ok(Consumer::new(RawConsumer::new(
        Arc::clone(segment),
        ReadMode::KeepLast,
    )?))
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    match common::role().as_deref() {
        Some("life") => life(),
        Some("masked life") => {
            // SAFETY: the call takes no pointer.
            unsafe { libc::umask(0o377) };
            life();
        }
        Some("life and exit") => life_and_exit(),
        Some("life and removal") => life_and_removal(),
        Some("visit") => visit(),
        Some("create beside a sweep") => presence::create_beside_a_sweep(),
        Some("join a full registry") => full_registry::join(),
        Some("remove from outside") => removal::remove(),
        Some("meet under a masking umask") => {
            // SAFETY: the call takes no pointer.
            unsafe { libc::umask(0o377) };
            meeting::meet();
        }
        Some("meet as a member") => {
            group::become_member(group::MEMBER);
            // SAFETY: the call takes no pointer.
            unsafe { libc::umask(0o022) };
            meeting::meet();
        }
        Some("join") => join(),
        Some("leftover") => {
            spawn::die_with_parent();
            let _topic = open_or_create(&spawn::inherited_namespace()).unwrap();
            common::say("here");
            common::park();
        }
        Some("member's life") => {
            group::become_member(group::MEMBER);
            life();
        }
        Some("next member's life") => {
            spawn::die_with_parent();
            group::become_member(group::NEXT_MEMBER);
            common::say(group::live_after_another().err().unwrap_or("usable".into()));
            common::park();
        }
        _ => {}
    }
}

/// Enters, sends and receives a message, and leaves.
fn life() {
    be_traced();
    mark();
    {
        let namespace = spawn::inherited_namespace();
        let segment = open_or_create(&namespace).unwrap();
        let mut producer = producer(&segment).unwrap();
        // The only reader's place is taken where another process is.
        let consumer = consumer(&segment);
        producer.send(0).unwrap();
        drop((producer, consumer, segment));
    }
    mark();
    common::park();
}

/// Enters, opens the topic, and leaves it.
fn visit() {
    be_traced();
    mark();
    drop(open_or_create(&spawn::inherited_namespace()).unwrap());
    mark();
    common::park();
}

/// Enters, and says its process id and its owner word.
fn join() {
    be_traced();
    mark();
    let namespace = spawn::inherited_namespace();
    common::say(std::process::id());
    common::say(namespace.registry().own_owner_word().to_bits());
    mark();
    common::park();
}

/// Enters, and leaves only by the end of the process.
fn life_and_exit() {
    be_traced();
    mark();
    let segment = open_or_create(&spawn::inherited_namespace()).unwrap();
    let mut producer = producer(&segment).unwrap();
    let consumer = consumer(&segment).unwrap();
    producer.send(0).unwrap();
    std::mem::forget((producer, consumer, segment));
    std::process::exit(EXIT_CODE);
}

/// Enters, and leaves by removing the namespace.
fn life_and_removal() {
    be_traced();
    mark();
    let namespace = spawn::inherited_namespace();
    let segment = open_or_create(&namespace).unwrap();
    namespace.remove().unwrap();
    drop((segment, namespace));
    mark();
    common::park();
}

/// One point of the sweep: a place, the victim's death in it, and the result.
struct Point {
    dir: TempDir,
    scene: Scene,
    namespace: Option<Arc<Namespace>>,
    topic: Option<(Arc<Segment>, Consumer<u64>)>,
}

impl Point {
    fn new(scene: Scene) -> Self {
        let dir = spawn::shm_dir();
        let namespace = (!scene.begins_with_nothing()).then(|| spawn::namespace(dir.path()));
        let topic = namespace
            .as_ref()
            .filter(|_| scene == Scene::Topic)
            .map(|namespace| {
                let segment = open_or_create(namespace).unwrap();
                let consumer = consumer(&segment).unwrap();
                (segment, consumer)
            });
        if scene == Scene::Leftover {
            let mut child = Child::spawn("leftover", dir.path());
            assert_eq!(child.listen(), "here");
            child.kill();
        }
        Self {
            dir,
            scene,
            namespace,
            topic,
        }
    }

    /// Runs a victim to its `stop`-th stop and kills it there. Returns `None` if its life has fewer
    /// stops.
    fn kill_at(&self, stop: usize) -> Option<Check> {
        let mut victim = Victim::spawn(self.scene.role(), self.dir.path());
        for _ in 0..=stop {
            if matches!(victim.run_to_system_call(), Stop::Mark | Stop::End) {
                return None;
            }
        }
        victim.kill();
        Some(self.check_files(Moment::Death))
    }

    /// Stops a victim at its `stop`-th stop, drops this process's topic, and lets the victim finish
    /// its life.
    fn leave_at(&mut self, stop: usize) -> Option<Check> {
        let mut victim = Victim::spawn("life", self.dir.path());
        for _ in 0..=stop {
            if victim.run_to_system_call() == Stop::Mark {
                return None;
            }
        }
        drop(self.topic.take());
        victim.run_to_mark();
        let gone = self.topic_bytes().is_none();
        Some(if gone {
            Ok(())
        } else {
            Err("the topic file is left after both processes left it".into())
        })
    }

    /// Stops a visitor at its `stop`-th system call, publishes a latched message, leaves, and lets
    /// the visitor go on. The message must be there afterwards.
    fn latch_at(&self, stop: usize) -> Option<Check> {
        let mut visitor = Victim::spawn("visit", self.dir.path());
        // Only the entries to system calls: it is the same to others at the exit from the call
        // before.
        for _ in 0..=2 * stop {
            if visitor.run_to_system_call() == Stop::Mark {
                return None;
            }
        }
        let mut latched = request();
        (latched.persists, latched.history) = (Some(true), Some(1));
        let name = TopicName::new(TOPIC).unwrap();
        let open = || Segment::open_or_create(self.namespace.as_ref().unwrap(), &name, &latched);
        let sent =
            open().and_then(|segment| producer(&segment)?.send(7).map_err(|_| unreachable!()));
        visitor.run_to_mark();
        Some(match sent {
            Ok(()) => {
                let mut consumer = open().and_then(|segment| consumer(&segment)).unwrap();
                let received = consumer.recv();
                (received == Some(7))
                    .then_some(())
                    .ok_or(format!("the latched message is {received:?}"))
            }
            // It holds the lock, so that nobody can open the topic until it has gone on.
            Err(OpenError::Retiring { .. }) => Ok(()),
            Err(error) => Err(said(error)),
        })
    }

    /// Stops a process at its `stop`-th system call while it joins the registry, joins in this one,
    /// and lets the other go on. Both must be alive, and described by their entries.
    fn join_at(&self, stop: usize) -> Option<Check> {
        let observer = self.namespace.as_ref().unwrap().registry();
        let mut victim = Victim::spawn("join", self.dir.path());
        for _ in 0..=stop {
            if victim.run_to_system_call() == Stop::Mark {
                return None;
            }
        }
        let path = self.namespace_path();
        let dir = fs::File::open(&path).unwrap();
        let registry = Registry::join(dir.as_fd(), &path, AccessRule::User).unwrap();
        victim.run_to_mark();
        let pid: u32 = victim.listen().parse().unwrap();
        let owner = Owner::from_bits(victim.listen().parse().unwrap());
        for (pid, owner) in [
            (std::process::id(), registry.own_owner_word()),
            (pid, owner),
        ] {
            let found = observer.process(owner).map(|process| process.pid);
            if observer.is_dead(owner) || found != Some(pid) {
                let error = format!("{owner:?} of process {pid} is dead or of process {found:?}");
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }

    fn namespace_path(&self) -> PathBuf {
        self.dir.path().join("default")
    }

    /// Checks that the only files are the registry and the topics, that the only topic is the
    /// expected one, and that all lane files are of that topic. A death may leave a directory that
    /// has not got its name yet.
    fn check_files(&self, moment: Moment) -> Check {
        let names = |path: &Path, unfinished: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(path).into_iter().flatten();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| moment == Moment::Later || !name.starts_with(unfinished))
                .collect()
        };
        let known = |names: BTreeSet<String>, known: &[&str]| -> Check {
            match names
                .into_iter()
                .find(|name| !known.contains(&name.as_str()))
            {
                Some(name) => Err(format!("a file '{name}' is left")),
                None => Ok(()),
            }
        };
        known(names(self.dir.path(), ".default."), &["default"])?;
        let namespace = names(&self.namespace_path(), ".topics.");
        known(namespace, &["registry", "topics"])?;
        let topics = self.namespace_path().join("topics");
        let topics = topics.exists().then(|| spawn::topic_files_in(&topics));
        known(topics.into_iter().flatten().collect(), &[TOPIC])
    }

    /// Returns the bytes of the topic file as it was left, if it has a name.
    fn topic_bytes(&self) -> Option<Vec<u8>> {
        fs::read(self.namespace_path().join("topics").join(TOPIC)).ok()
    }

    /// Checks that the topic is absent or complete, can then be used, and is then removed.
    fn check(mut self) -> Check {
        let left = self.topic_bytes();
        let namespace = match &self.namespace {
            Some(namespace) => Arc::clone(namespace),
            None => spawn::try_namespace(self.dir.path()).map_err(said)?,
        };
        if self.scene.begins_with_nothing()
            && namespace.registry().own_owner_word().to_bits() >> 48 != 1
        {
            return Err("the dead process keeps its entry of the registry".into());
        }
        let name = TopicName::new(TOPIC).unwrap();
        if let Some(bytes) = left {
            let size = bytes.len() as u64;
            let boot_id = namespace.registry().boot_id();
            let provenance = Provenance {
                boot_id,
                registry_id: namespace.registry().id(),
            };
            let contract = header::decode_topic_header(&bytes, size, name.as_str(), provenance);
            contract.map_err(|error| format!("incomplete: {error:?}"))?;
        }
        match Segment::inspect(&namespace, &name) {
            Ok(_) | Err(OpenError::NotFound { .. }) => {}
            Err(error) => return Err(format!("inspect: {error}")),
        }
        if let Some((segment, consumer)) = &mut self.topic {
            pass(&segment.clone(), consumer)?;
        }
        let topic = self.topic.take();
        drop(topic);
        self.check_reopened(&namespace)
    }

    fn check_reopened(&self, namespace: &Arc<Namespace>) -> Check {
        let segment = open_or_create(namespace).map_err(said)?;
        let mut consumer = consumer(&segment).map_err(said)?;
        pass(&segment, &mut consumer)?;
        drop((consumer, segment));
        if self.topic_bytes().is_some() {
            return Err("the topic file is left after its last user left it".into());
        }
        let report = sweep(namespace).map_err(said)?;
        if !report.removed.is_empty() || !report.foreign.is_empty() {
            return Err(format!("something was left to sweep: {report:?}"));
        }
        self.check_files(Moment::Later)
    }
}

/// Checks that a new producer finds a lane, and that its messages are received.
fn pass(segment: &Arc<Segment>, consumer: &mut Consumer<u64>) -> Check {
    // Receives the messages that the victim sent before it died.
    (0..16).for_each(|_| _ = consumer.recv());
    let mut producer = producer(segment).map_err(said)?;
    for message in 1..=MESSAGES {
        producer.send(message).map_err(said)?;
        let got = consumer.recv();
        if got != Some(message) {
            return Err(format!("{got:?} instead of message {message}"));
        }
    }
    Ok(())
}

/// Kills a life at its stops, and checks the files and places that it left.
fn sweep_life(scene: Scene, check: impl Fn(Point) -> Check) {
    sweep_stops(scene, |point, stop| {
        let files = point.kill_at(stop)?;
        Some(files.and_then(|()| check(point)))
    });
}

/// Visits the stops of a life; `visit` returns `None` if there is no such stop.
fn sweep_stops(scene: Scene, visit: impl Fn(Point, usize) -> Option<Check>) {
    let mut faults = Vec::new();
    let mut stops = 0;
    for stop in PointSample::every(STRIDE).points() {
        let Some(outcome) = visit(Point::new(scene), stop) else {
            break;
        };
        stops = stop + 1;
        assert!(stops < STOPS_MAX, "{stops} stops");
        faults.extend(
            outcome
                .err()
                .map(|error| format!("|   at stop {stop}: {error}")),
        );
    }
    println!(
        "| {scene:?} | {stops} stops at system calls | {} faults |",
        faults.len()
    );
    faults.iter().for_each(|fault| println!("{fault}"));
    assert!(stops > 20, "{stops} stops");
    assert!(faults.is_empty(), "{} faults", faults.len());
}

#[test]
fn a_namespace_whose_maker_was_killed_at_any_system_call_is_usable() {
    sweep_life(Scene::Nothing, Point::check);
}

#[test]
fn a_namespace_whose_maker_was_killed_under_a_masking_umask_is_usable() {
    sweep_life(Scene::Masked, Point::check);
}

#[test]
fn all_is_free_after_a_death_at_any_system_call_of_an_exit_that_drops_nothing() {
    sweep_life(Scene::Exit, Point::check);
}

#[test]
fn a_namespace_whose_remover_was_killed_at_any_system_call_is_usable() {
    sweep_life(Scene::Remove, Point::check);
}

#[test]
fn a_topic_whose_maker_was_killed_at_any_system_call_is_absent_or_complete_and_usable() {
    sweep_life(Scene::Namespace, Point::check);
}

#[test]
fn an_attended_topic_survives_the_death_of_a_visitor_at_any_system_call() {
    sweep_life(Scene::Topic, Point::check);
}

#[test]
fn a_leftover_topic_is_usable_after_a_death_at_any_system_call_of_the_next_process() {
    sweep_life(Scene::Leftover, Point::check);
}

/// No process is killed here: one of the last two is slow.
#[test]
fn the_last_to_leave_removes_the_topic_wherever_another_was_stopped() {
    sweep_stops(Scene::Topic, |mut point, stop| point.leave_at(stop));
}

/// Nor is one killed here: one is stopped while it sweeps the namespace, opens the topic, or leaves
/// it.
#[test]
fn a_latched_message_stays_wherever_a_process_was_stopped_that_found_none_before() {
    sweep_stops(Scene::Leftover, |point, stop| point.latch_at(stop));
}

/// Here, too: one is stopped while it joins the registry.
#[test]
fn processes_that_join_at_the_same_time_are_alive_wherever_one_of_them_was_stopped() {
    sweep_stops(Scene::Namespace, |point, stop| point.join_at(stop));
}

/// One sweep removes all files that a death leaves, in a process that was there before.
#[test]
fn a_sweep_removes_all_files_that_a_death_at_any_system_call_leaves() {
    sweep_life(Scene::Leftover, |point| {
        let namespace = point.namespace.as_ref().unwrap();
        let report = sweep(namespace).map_err(said)?;
        if !report.in_use.is_empty() || !report.foreign.is_empty() {
            return Err(format!("not removed: {report:?}"));
        }
        match point.topic_bytes() {
            Some(_) => Err(format!("still there after {report:?}")),
            None => point.check(),
        }
    });
}
