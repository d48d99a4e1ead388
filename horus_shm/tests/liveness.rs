//! Liveness: finding out which processes are dead, with processes that really die, and with a
//! registry file that cannot be trusted.

use horus_testing as _;

mod common;
#[path = "liveness/registry_file.rs"]
mod registry_file;

use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use common::{Child, eventually, fork, join_fork, park, private_dir, say};
use horus_shm::{AccessRule, Owner, Registry, RegistryError, fork_epoch};
use tempfile::TempDir;

const ENTRIES: u64 = 1024;

/// A directory, which may have a registry in it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: private_dir() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self) -> PathBuf {
        self.path().join("registry")
    }

    fn join(&self) -> Result<Registry, RegistryError> {
        join(self.path())
    }

    fn open_file(&self) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.file())
            .unwrap()
    }
}

fn join(path: &Path) -> Result<Registry, RegistryError> {
    Registry::join(File::open(path).unwrap().as_fd(), path, AccessRule::User)
}

/// Locks bytes of `file` for as long as it is open, as another process would.
fn lock(file: &File, start: i64, len: i64) {
    // SAFETY: plain integers, for which zero is a value.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as _;
    range.l_start = start;
    range.l_len = len;
    // WHY: a child that another test just forked holds the closed descriptor until `exec`.
    eventually("the lock is free", || {
        // SAFETY: `range` is a `flock` that outlives the call.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &range) == 0 }
    });
}

fn write(file: &File, offset: u64, bytes: &[u8]) {
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    let path = PathBuf::from(std::env::var_os("HORUS_SHM_DIR").unwrap());
    match role.as_str() {
        "join" => {
            let registry = join(&path).unwrap();
            say(registry.own_owner_word().to_bits());
            say(u128::from_ne_bytes(registry.id()));
            park();
        }
        "leave" => {
            let registry = join(&path).unwrap();
            say(registry.own_owner_word().to_bits());
        }
        "fork" => {
            let registry = join(&path).unwrap();
            say(registry.own_owner_word().to_bits());
            let child = fork(|| {
                say("forked");
                park();
                true
            });
            say(child);
            park();
        }
        "fork and use" => fork_and_use(&path),
        "fork all the time" => fork_all_the_time(&path),
        "join too many" => join_too_many(&path),
        "join at once" => join_at_once(&path),
        "join while it is replaced" => join_while_it_is_replaced(&path),
        other => panic!("no such role: {other}"),
    }
}

/// Uses a registry's copy in a forked child, which is inert, and joins in the child itself.
fn fork_and_use(path: &Path) {
    let registry = join(path).unwrap();
    let other = join(path).unwrap();
    let epoch = fork_epoch();
    let child = fork(|| {
        assert_eq!(fork_epoch(), epoch + 1);
        assert!(registry.is_forked());
        assert!(
            !registry.is_dead(registry.own_owner_word())
                && !registry.is_dead(other.own_owner_word())
        );
        assert!(registry.process(other.own_owner_word()).is_none());
        // These get the numbers of the descriptors that the fork closed.
        let files: Vec<File> = (0..8)
            .map(|_| File::open(path.join("registry")).unwrap())
            .collect();
        assert!(
            registry.mark_topic_file_used(1).is_err() && registry.is_topic_file_used_by_others(1)
        );
        registry.release_topic_file(1);
        assert!(!registry.is_current(File::open(path).unwrap().as_fd()));
        let me = registry.own_owner_word();
        let other_me = other.own_owner_word();
        drop(registry);
        drop(other);
        assert!(files.iter().all(|file| file.metadata().is_ok()));

        let mine = join(path).unwrap();
        assert!(mine.own_owner_word() != me && mine.own_owner_word() != other_me);
        assert!(!mine.is_dead(me) && !mine.is_dead(other_me));
        assert_eq!(
            mine.process(mine.own_owner_word()).unwrap().pid,
            std::process::id()
        );
        true
    });
    say(join_fork(child));
}

/// Joins while another thread forks children that stay.
fn fork_all_the_time(path: &Path) {
    let forker = thread::spawn(|| {
        for _ in 0..200 {
            fork(|| {
                park();
                true
            });
        }
    });
    let mut owners = Vec::new();
    while !forker.is_finished() {
        let registry = join(path).unwrap();
        owners.push(registry.own_owner_word());
        if owners.len() % 8 == 0 && owners.len() < 8 * 32 {
            // Kept until the process is killed.
            std::mem::forget(registry);
        }
    }
    forker.join().unwrap();
    say(owners.len());
    owners.iter().for_each(|owner| say(owner.to_bits()));
    park();
}

/// Joins until a join is refused, leaves one, and joins once more.
fn join_too_many(path: &Path) {
    let mut joined = Vec::new();
    let error = loop {
        match join(path) {
            Ok(registry) => joined.push(registry),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, RegistryError::TooManyOpen { limit: 64, .. }),
        "{error}"
    );
    assert_eq!(joined.len(), 64);
    joined.pop();
    joined.push(join(path).unwrap());
    say("ok");
}

/// Expects threads that find the same invalid registry to replace it only once.
fn join_at_once(path: &Path) {
    let file_path = path.join("registry");
    for round in 0..200 {
        fs::write(&file_path, "useless").unwrap();
        fs::set_permissions(&file_path, PermissionsExt::from_mode(0o600)).unwrap();
        let start = Barrier::new(8);
        let ids: Vec<_> = thread::scope(|scope| {
            let join = || {
                start.wait();
                join(path).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(join)).collect();
            let joined: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            joined.iter().map(Registry::id).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "round {round}: {ids:?}");
        fs::remove_file(&file_path).unwrap();
    }
    say("ok");
}

/// Joins while another process replaces the registry: the join waits, and then finds the new one.
fn join_while_it_is_replaced(path: &Path) {
    let file_path = path.join("registry");
    let dir = File::open(path).unwrap();
    for round in 0..200 {
        drop(join(path).unwrap());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&file_path)
            .unwrap();
        let is_damaged = round % 2 == 1;
        if is_damaged {
            write(&file, 0, &[0; 8]);
        }
        // As a process that removes the namespace, or replaces an invalid registry.
        lock(&file, 0, if is_damaged { 0 } else { 64 + ENTRIES as i64 });
        thread::scope(|scope| {
            let joiner = scope.spawn(|| join(path));
            // Varies the progress of the joiner.
            thread::sleep(Duration::from_micros(17 * round));
            fs::remove_file(&file_path).unwrap();
            drop(file);
            let registry = joiner.join().unwrap().unwrap();
            assert!(registry.is_current(dir.as_fd()), "round {round}");
        });
        fs::remove_file(&file_path).unwrap();
    }
    say("ok");
}

#[test]
fn a_useless_registry_is_replaced_once() {
    let place = Place::new();
    assert_eq!(Child::spawn("join at once", place.path()).listen(), "ok");
}

#[test]
fn a_registry_under_replacement_is_waited_for() {
    let place = Place::new();
    assert_eq!(
        Child::spawn("join while it is replaced", place.path()).listen(),
        "ok"
    );
}

#[test]
fn a_killed_owner_becomes_dead() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let mut child = Child::spawn("join", place.path());
    let owner = Owner::from_bits(child.listen_u64());
    assert!(!registry.is_dead(owner));
    assert_eq!(
        child.listen(),
        u128::from_ne_bytes(registry.id()).to_string()
    );

    let process = registry.process(owner).unwrap();
    assert_eq!(process.pid, child.pid());
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap();
    assert!(stat.contains(&format!("({})", process.name)), "{stat}");
    let field_22 = stat[stat.rfind(')').unwrap()..]
        .split_whitespace()
        .nth(20)
        .unwrap();
    assert_eq!(process.start_time.to_string(), field_22);

    child.kill();
    eventually("the killed owner is dead", || registry.is_dead(owner));
    assert_eq!(
        registry.process(owner),
        Some(process),
        "still known, for messages"
    );
}

#[test]
fn an_owner_that_leaves_is_dead() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let mut child = Child::spawn("leave", place.path());
    let owner = Owner::from_bits(child.listen_u64());
    child.finish();
    assert!(registry.is_dead(owner));
}

#[test]
fn a_zombie_is_dead_and_a_stopped_process_alive() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let mut child = Child::spawn("join", place.path());
    let owner = Owner::from_bits(child.listen_u64());

    child.signal(libc::SIGSTOP);
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap();
        stat[stat.rfind(')').unwrap()..]
            .split_whitespace()
            .nth(1)
            .unwrap()
            .to_string()
    };
    eventually("the child stops", || state() == "T");
    assert!(!registry.is_dead(owner));

    child.signal(libc::SIGKILL);
    eventually("the child is a zombie", || state() == "Z");
    eventually("the zombie is dead", || registry.is_dead(owner));
    child.signal(0);
}

#[test]
fn a_forked_child_does_not_keep_its_parent_alive() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let mut parent = Child::spawn("fork", place.path());
    let owner = Owner::from_bits(parent.listen_u64());
    let mut said = [parent.listen(), parent.listen()];
    said.sort();
    let [pid, forked] = said;
    assert_eq!(forked, "forked");
    assert!(!registry.is_dead(owner));

    parent.kill();
    eventually("the parent is dead", || registry.is_dead(owner));
    assert!(
        Path::new(&format!("/proc/{pid}")).exists(),
        "the forked child lives"
    );
}

#[test]
fn a_registry_in_a_forked_child_is_inert() {
    let place = Place::new();
    let mut child = Child::spawn("fork and use", place.path());
    assert_eq!(child.listen(), "true");
}

#[test]
fn a_process_that_forks_while_it_joins_can_still_die() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let mut child = Child::spawn("fork all the time", place.path());
    let count = child.listen_u64();
    let owners: Vec<_> = (0..count)
        .map(|_| Owner::from_bits(child.listen_u64()))
        .collect();
    child.kill();
    for (index, &owner) in owners.iter().enumerate() {
        eventually(&format!("join {index} of {count} is dead"), || {
            registry.is_dead(owner)
        });
    }
}

#[test]
fn an_entry_taken_again_has_a_later_generation() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let first = place.join().unwrap().own_owner_word();
    assert!(registry.is_dead(first));
    let second = place.join().unwrap();
    assert_eq!(
        second.own_owner_word().to_bits(),
        first.to_bits() + 1,
        "same entry, next generation"
    );
    assert!(registry.is_dead(first), "though its byte is locked again");
    assert!(!registry.is_dead(second.own_owner_word()));
    assert!(registry.process(first).is_none());

    for stale in [
        registry.own_owner_word().to_bits() - 1,
        registry.own_owner_word().to_bits() + 1,
    ] {
        assert!(
            registry.is_dead(Owner::from_bits(stale)),
            "my entry, another generation"
        );
        assert!(second.is_dead(Owner::from_bits(stale)));
    }
}

/// A process that joins does not let the former owner of its entry look alive, not even for a
/// moment.
#[test]
fn a_dead_owner_stays_dead_while_its_entry_is_claimed() {
    let place = Place::new();
    let registry = place.join().unwrap();
    for _ in 0..100 {
        let dead = place.join().unwrap().own_owner_word();
        thread::scope(|scope| {
            let successor = scope.spawn(|| place.join().unwrap());
            while !successor.is_finished() {
                assert!(registry.is_dead(dead));
            }
            let successor = successor.join().unwrap();
            assert!(!registry.is_dead(successor.own_owner_word()));
        });
    }
}

#[test]
fn two_copies_in_one_process_see_each_other() {
    let place = Place::new();
    let a = place.join().unwrap();
    let b = place.join().unwrap();
    assert_ne!(a.own_owner_word(), b.own_owner_word());
    assert_eq!(a.id(), b.id());
    assert!(
        !a.is_dead(a.own_owner_word())
            && !a.is_dead(b.own_owner_word())
            && !b.is_dead(a.own_owner_word())
    );
    let gone = a.own_owner_word();
    // A POSIX lock would not survive this.
    drop(place.open_file());
    assert!(!b.is_dead(gone));
    drop(a);
    assert!(b.is_dead(gone));
}

#[test]
fn no_owner_word_makes_it_panic() {
    let place = Place::new();
    let registry = place.join().unwrap();
    let other = place.join().unwrap();
    assert!(registry.is_dead(Owner::NOBODY));
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..20_000 {
        let word = rng.u64(..);
        let hostile = match round % 4 {
            0 => word,
            1 => ((word % (ENTRIES + 2)) << 48) | (word >> 16),
            2 => (ENTRIES + round % 3) << 48,
            _ => u64::MAX << (word % 64),
        };
        let owner = Owner::from_bits(hostile);
        let is_live = owner == registry.own_owner_word() || owner == other.own_owner_word();
        assert_eq!(registry.is_dead(owner), !is_live, "{hostile:#x}");
        assert_eq!(registry.process(owner).is_some(), is_live, "{hostile:#x}");
    }
}

#[test]
fn one_more_than_all_entries_is_an_error() {
    let place = Place::new();
    drop(place.join().unwrap());
    let file = place.open_file();
    lock(&file, 64, ENTRIES as i64);
    let error = place.join().unwrap_err();
    assert!(
        matches!(error, RegistryError::Full { limit: ENTRIES, .. }),
        "{error}"
    );
    drop(file);
    let file = place.open_file();
    lock(&file, 64, ENTRIES as i64 - 1);
    let last = place.join().unwrap();
    assert_eq!(last.own_owner_word().to_bits() >> 48, ENTRIES);
    assert!(!last.is_dead(last.own_owner_word()));
}

#[test]
fn one_process_can_join_so_often_and_no_more() {
    let place = Place::new();
    let mut child = Child::spawn("join too many", place.path());
    assert_eq!(child.listen(), "ok");
}

#[test]
fn processes_that_start_at_once_share_one_registry() {
    for _ in 0..5 {
        let place = Place::new();
        let mut children: Vec<_> = (0..8).map(|_| Child::spawn("join", place.path())).collect();
        let mut said: Vec<_> = children
            .iter_mut()
            .map(|c| (c.listen_u64(), c.listen()))
            .collect();
        assert!(said.iter().all(|(_, id)| *id == said[0].1));
        said.sort();
        said.dedup_by_key(|(owner, _)| *owner);
        assert_eq!(said.len(), children.len(), "distinct owners");
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
    }
}

#[test]
fn presence_is_shared_or_exclusive() {
    let place = Place::new();
    let a = place.join().unwrap();
    let b = place.join().unwrap();
    let ino = 4711;
    let other_ino = 1 << 40;
    assert!(!a.is_topic_file_used_by_others(ino));
    assert!(a.mark_topic_file_used(ino).unwrap() && b.mark_topic_file_used(ino).unwrap());
    assert!(a.is_topic_file_used_by_others(ino) && !a.is_topic_file_used_by_others(other_ino));
    assert!(
        !a.exclude_others_from_topic_file(ino).unwrap(),
        "b is there"
    );
    assert!(b.is_topic_file_used_by_others(ino), "a stays");
    b.release_topic_file(ino);
    assert!(
        !a.is_topic_file_used_by_others(ino),
        "a process's own lock does not count"
    );
    assert!(a.exclude_others_from_topic_file(ino).unwrap());
    assert!(!b.mark_topic_file_used(ino).unwrap() && b.mark_topic_file_used(other_ino).unwrap());
    assert!(b.is_topic_file_used_by_others(ino));
    assert!(
        a.mark_topic_file_used(ino).unwrap() && b.mark_topic_file_used(ino).unwrap(),
        "back to shared"
    );
    drop(a);
    assert!(
        b.exclude_others_from_topic_file(ino).unwrap(),
        "leaving ends presence"
    );
    assert!(b.mark_topic_file_used(u64::MAX).is_err());
    assert!(b.mark_topic_file_used(i64::MAX as u64).is_err());
}

#[test]
fn a_removed_registry_is_noticed() {
    let place = Place::new();
    let dir = File::open(place.path()).unwrap();
    let old = place.join().unwrap();
    assert!(old.is_current(dir.as_fd()));
    fs::remove_file(place.file()).unwrap();
    assert!(!old.is_current(dir.as_fd()));
    let new = place.join().unwrap();
    assert!(!old.is_current(dir.as_fd()) && new.is_current(dir.as_fd()));
    assert_ne!(old.id(), new.id());
    assert_ne!(
        old.own_owner_word(),
        new.own_owner_word(),
        "generations begin anywhere"
    );
    assert!(!old.is_dead(old.own_owner_word()), "the old one goes on");
}

#[test]
fn joining_in_a_removed_directory_is_an_error() {
    let place = Place::new();
    let dir = File::open(place.path()).unwrap();
    fs::remove_dir(place.path()).unwrap();
    let error = Registry::join(dir.as_fd(), place.path(), AccessRule::User).unwrap_err();
    assert!(matches!(error, RegistryError::Gone { .. }), "{error}");
}
