//! Two processes that join a registry with one free entry: one of them gets it, wherever the other
//! one is at that moment.

use std::fs::File;
use std::os::fd::AsRawFd;

use horus_shm::{Namespace, NamespaceError, RegistryError};

use super::{Point, STOPS_MAX, Scene};
use crate::common::{park, say};
use crate::tracer::{Victim, be_traced, mark};

const ENTRIES: i64 = 1024;
/// The byte of the registry file whose lock belongs to the first entry.
const FIRST_ENTRY_BYTE: i64 = 64;
/// The entry that is free: this process has the first one.
const FREE_ENTRY: i64 = 1;

/// Enters, and reports the result.
pub(super) fn join() {
    be_traced();
    mark();
    let namespace = Namespace::current();
    mark();
    say(match &namespace {
        Ok(_) => "joined".to_owned(),
        Err(NamespaceError::Registry(RegistryError::Full { .. })) => "full".to_owned(),
        Err(error) => error.to_string().replace('\n', " "),
    });
    mark();
    park();
}

fn lock_description(kind: i32, entry: i64, count: i64) -> libc::flock {
    // SAFETY: the structure has only integers, for which zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as _;
    (lock.l_start, lock.l_len) = (FIRST_ENTRY_BYTE + entry, count);
    lock
}

/// Locks all entries of the registry after the free one, as other processes would.
fn occupy(registry: &File) {
    let count = ENTRIES - FREE_ENTRY - 1;
    let lock = lock_description(libc::F_WRLCK, FREE_ENTRY + 1, count);
    // SAFETY: `lock` outlives the call.
    let done = unsafe { libc::fcntl(registry.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
    assert_eq!(done, 0);
}

/// Returns the kind of a lock on the free entry: `F_UNLCK`, `F_RDLCK` or `F_WRLCK`.
fn lock_of_free_entry(registry: &File) -> i32 {
    let mut lock = lock_description(libc::F_WRLCK, FREE_ENTRY, 1);
    // SAFETY: `lock` is valid for the writes of the call.
    let done = unsafe { libc::fcntl(registry.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    assert_eq!(done, 0);
    lock.l_type.into()
}

/// A process that joins.
struct Joiner {
    victim: Victim,
    /// It has the result, or is about to sleep before its next attempt.
    pauses: bool,
    marks: u32,
}

impl Joiner {
    fn new(point: &Point) -> Self {
        Self {
            victim: Victim::spawn("join a full registry", point.dir.path()),
            pauses: false,
            marks: 0,
        }
    }

    /// Makes a system call, unless it pauses.
    fn step(&mut self) {
        if self.pauses {
            return;
        }
        let call = self.victim.next_call();
        self.marks += u32::from(call.is_none());
        let sleeps = |number| number == libc::SYS_clock_nanosleep;
        self.pauses = call.is_none_or(|call| sleeps(call.number));
        if !self.pauses {
            self.victim.end_call();
        }
    }

    fn result(&mut self) -> String {
        (self.marks..2).for_each(|_| self.victim.run_to_mark());
        self.victim.listen()
    }
}

/// Lets a process make `ahead` more system calls than another one after it has begun to take the
/// entry, and then both in turn. Returns `None` if the first one has taken the entry by then.
fn join_at_once(ahead: usize) -> Option<[String; 2]> {
    let point = Point::new(Scene::Namespace);
    let registry = point.namespace_path().join("registry");
    let registry = File::options().read(true).write(true).open(registry);
    let registry = registry.unwrap();
    occupy(&registry);
    let [mut first, mut second] = [Joiner::new(&point), Joiner::new(&point)];
    let mut calls = 0;
    while lock_of_free_entry(&registry) == libc::F_UNLCK {
        first.step();
        calls += 1;
        assert!(calls < STOPS_MAX && !first.pauses);
    }
    (0..ahead).for_each(|_| first.step());
    if lock_of_free_entry(&registry) == libc::F_WRLCK {
        return None;
    }
    (0..calls).for_each(|_| second.step());
    while !(first.pauses && second.pauses) {
        first.step();
        second.step();
    }
    Some([first.result(), second.result()])
}

#[test]
fn one_of_two_processes_gets_the_last_entry_of_the_registry() {
    let (mut points, mut faults) = (0, Vec::new());
    while let Some(mut results) = join_at_once(points) {
        results.sort();
        if results != ["full", "joined"] {
            faults.push(format!("|   {points} calls ahead: {results:?}"));
        }
        points += 1;
        assert!(points < STOPS_MAX);
    }
    println!(
        "| the last entry | {points} points | {} faults |",
        faults.len()
    );
    faults.iter().for_each(|fault| println!("{fault}"));
    assert!(points > 3, "{points} points");
    assert!(faults.is_empty(), "{} faults", faults.len());
}
