//! Liveness of processes: the registry of a namespace, and the locks that decide.
//!
//! Each process, or each copy of this library in one, holds a lock on one byte of the registry
//! file, by a descriptor that it never maps, passes on, or leaves to a forked child. The kernel
//! releases the lock when the last thread that could use the descriptor has left user mode for
//! good: a free byte proves that its owner will never store again. Neither a clock nor a pid
//! decides.

mod file;
mod holder;
mod record;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::os::lock::{LockKind, LockRange, find_conflicting_lock, try_lock, unlock};
use crate::os::{self, Stat};
use crate::process::fork::LockFd;
use file::{Attempt, OpenFile, RegistryPath};
pub(crate) use file::{FILE_NAME, lock_out};
pub use holder::Holder;
pub(crate) use holder::user_of;
pub use record::RegistryFault;
use record::{ENTRY_LIMIT, Entry, GENERATION_MAX};

/// Number of attempts to join, and the pause after one that met a process that removes the file.
const JOIN_ATTEMPTS: u32 = 1000;
const JOIN_PAUSE: Duration = Duration::from_millis(1);

const GENERATION_BITS: u32 = GENERATION_MAX.count_ones();

/// A process in an owner word: its entry in the registry, and the generation of that entry.
///
/// ```text
/// bits 63..48  entry + 1          bits 47..0  generation
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Owner(u64);

impl Owner {
    /// No process: the value of an unowned word.
    pub const NOBODY: Self = Self(0);

    /// Decodes any word of a file; [`Registry::is_dead`] finds out whether it names an entry.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the word to store.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    fn new(entry: u64, generation: u64) -> Self {
        debug_assert!(entry < ENTRY_LIMIT && generation <= GENERATION_MAX);
        Self((entry + 1) << GENERATION_BITS | generation)
    }

    fn entry(self) -> Option<u64> {
        (self.0 >> GENERATION_BITS).checked_sub(1).filter(|&entry| entry < ENTRY_LIMIT)
    }

    fn generation(self) -> u64 {
        self.0 & GENERATION_MAX
    }
}

/// The description of a process that it wrote when it joined. Only for messages: nothing depends on
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Its id, in its own pid namespace.
    pub pid: u32,
    /// The start time of the process, which tells a reused pid apart: field 22 of
    /// `/proc/<pid>/stat`, in clock ticks since boot.
    pub start_time: u64,
    /// Its command name.
    pub name: String,
}

impl fmt::Display for ProcessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// The reason why a process could not join a registry.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A system call failed.
    #[error("cannot {doing} the registry {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The path of the registry file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of another kind has the registry's name. Permanent until it is removed.
    #[error("{} is not a regular file: remove it", path.display())]
    NotAFile {
        /// The path of the file that is not a registry.
        path: PathBuf,
    },
    /// Another user may be able to write the file. Permanent until it is removed.
    #[error(
        "the registry {} belongs to uid {uid} with mode {mode:04o} and {links} links, wanted \
         uid {wanted_uid}, mode {wanted_mode:04o} and 1 link: remove it, or set another directory",
        path.display()
    )]
    Refused {
        /// The path of the registry file.
        path: PathBuf,
        /// The user id of the owner of the registry file.
        uid: u32,
        /// The permissions of the registry file.
        mode: u32,
        /// Number of its names.
        links: u64,
        /// The user of this process.
        wanted_uid: u32,
        /// The widest permissions that are accepted.
        wanted_mode: u32,
    },
    /// The file is unusable, but processes hold locks on it. Retry after they ended.
    #[error(
        "the registry {} cannot be used: {fault}; processes still hold it: end them, and it will \
         be replaced", path.display()
    )]
    Damaged {
        /// The path of the registry file.
        path: PathBuf,
        /// The damage.
        fault: RegistryFault,
    },
    /// Every entry is taken by a live process. Transient.
    #[error(
        "all {limit} entries of the registry {} are taken by live processes: end some",
        path.display()
    )]
    Full {
        /// The path of the registry file.
        path: PathBuf,
        /// Number of its entries.
        limit: u64,
    },
    /// This process has joined too many registries. Retry after one was left.
    #[error("cannot join {}: this process is in {limit} registries: leave one", path.display())]
    TooManyOpen {
        /// The path of the registry file.
        path: PathBuf,
        /// Maximum number of registries of a process.
        limit: usize,
    },
    /// The file kept changing, or other threads kept forking. Transient.
    #[error("the registry {} did not settle while it was being joined: retry", path.display())]
    Busy {
        /// The path of the registry file.
        path: PathBuf,
    },
    /// The directory was removed meanwhile. Transient: open it again.
    #[error("the directory {} was removed: open it again", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
}

/// This process's entry in the registry of a namespace. Dropping it leaves the registry.
///
/// In a forked child a copied `Registry` is inert: it takes every process for alive, its locks
/// return errors, and dropping it does not affect the parent.
#[derive(Debug)]
pub struct Registry {
    lock: LockFd,
    stat: Stat,
    id: [u8; 16],
    me: Owner,
}

impl Registry {
    /// Joins the registry in `dir`, and makes one if there is none. `path` is the directory's, for
    /// messages; the file gets `file_mode` and is refused if it permits more.
    ///
    /// Costs some twenty system calls. Does not block, except for at most a second while another
    /// process replaces the registry.
    ///
    /// # Errors
    ///
    /// [`RegistryError`]. The call leaves nothing behind.
    pub fn join(dir: BorrowedFd<'_>, path: &Path, file_mode: u32) -> Result<Self, RegistryError> {
        let place = RegistryPath { dir, path, file_mode };
        for _ in 0..JOIN_ATTEMPTS {
            match Self::try_join(place)? {
                Attempt::Done(registry) => return Ok(registry),
                Attempt::Again => {}
                Attempt::Wait => std::thread::sleep(JOIN_PAUSE),
            }
        }
        Err(RegistryError::Busy { path: place.file_path() })
    }

    fn try_join(place: RegistryPath<'_>) -> Result<Attempt<Self>, RegistryError> {
        let open = match file::open(place)? {
            Attempt::Done(open) => open,
            Attempt::Again => return Ok(Attempt::Again),
            Attempt::Wait => return Ok(Attempt::Wait),
        };
        let fd = open.lock.get().map_err(place.io("use"))?;
        // WHY: a process that removes the file holds all entries. So an entry that is not free
        // belongs to a process, and a process that is joining counts as alive.
        let removal = record::removal_lock().map_err(place.io("join"))?;
        if !try_lock(fd, removal, LockKind::Shared).map_err(place.io("join"))? {
            return Ok(Attempt::Wait);
        }
        let me = claim_entry(fd, &open).map_err(place.io("join"))?;
        // WHY after the lock: a process that finds the file unattended from now on finds this one.
        if !place.leads_to(&open.stat)? {
            return Ok(Attempt::Again);
        }
        unlock(fd, removal).map_err(place.io("join"))?;
        let OpenFile { lock, stat, header } = open;
        match me {
            Some(me) => Ok(Attempt::Done(Self { lock, stat, id: header.registry_id, me })),
            None => Err(RegistryError::Full { path: place.file_path(), limit: ENTRY_LIMIT }),
        }
    }

    /// Returns the registry's random id, of which files that name owners by it carry a copy.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns the owner word of this process.
    pub fn me(&self) -> Owner {
        self.me
    }

    /// Returns true if this is a copy in a forked child.
    pub fn is_forked(&self) -> bool {
        self.lock.is_forked()
    }

    /// Returns the process that excludes all others from a topic file, or holds a lease on it. For
    /// messages: reads files under `/proc`, for each process in the registry.
    pub(crate) fn holder(&self, ino: u64) -> Option<Holder> {
        let fd = self.lock.get().ok()?;
        let processes = (0..ENTRY_LIMIT).filter_map(|entry| {
            let owner = Owner::new(entry, Entry::read_generation(fd, entry).ok()?);
            (owner.generation() != 0 && owner != self.me && !self.is_dead(owner))
                .then(|| self.process(owner))
                .flatten()
        });
        let byte = record::presence_byte(ino);
        holder::find(processes, holder::Wanted { registry: self.stat.ino, byte, topic: ino })
    }

    /// Returns true once the program was found to have closed the descriptor that holds this
    /// process's locks: all other processes take it for dead.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock.is_lost()
    }

    /// Fails if the program closed the descriptor that holds this process's locks. A system call.
    pub(crate) fn expect_held(&self) -> io::Result<()> {
        // WHY: a forked child finds out where it matters.
        if self.is_forked() { Ok(()) } else { self.lock.get().map(drop) }
    }

    /// Returns true if `owner` will never store again. Three system calls.
    ///
    /// A word that names no live owner of this registry is dead, [`Owner::NOBODY`] too. Where the
    /// system gives no answer (the file was truncated, or this is a forked child), returns false.
    pub fn is_dead(&self, owner: Owner) -> bool {
        if owner == self.me {
            return false;
        }
        let Some(entry) = owner.entry() else { return true };
        self.probe(entry, owner.generation()).unwrap_or(false)
    }

    fn probe(&self, entry: u64, generation: u64) -> io::Result<bool> {
        let fd = self.lock.get()?;
        // WHY: another generation of this process's own entry is dead, and is reported so, because
        // a process's own lock never conflicts with its probe.
        if find_conflicting_lock(fd, record::entry_lock(entry)?)?.is_none() {
            return Ok(true);
        }
        // WHY: 0 means that the holder is about to write, or that the file was emptied.
        let found = Entry::read_generation(fd, entry)?;
        Ok(found != 0 && found != generation)
    }

    /// Returns the description of `owner`, alive or dead, unless its entry was claimed again.
    pub fn process(&self, owner: Owner) -> Option<ProcessInfo> {
        let entry = Entry::read(self.lock.get().ok()?, owner.entry()?).ok()?;
        let is_its = entry.generation != 0 && entry.generation == owner.generation();
        is_its.then(|| entry.info())
    }

    /// Marks this process as present at the topic file of inode `ino`; replaces an exclusion by
    /// this process. Returns false while another process excludes all others.
    ///
    /// Presence belongs to this `Registry` as a whole: calls are not counted.
    ///
    /// # Errors
    ///
    /// The error of the system; `InvalidInput` if there is no lock for so large an inode.
    pub fn presence_share(&self, ino: u64) -> io::Result<bool> {
        try_lock(self.lock.get()?, record::presence_lock(ino)?, LockKind::Shared)
    }

    /// Excludes all others from the topic file of inode `ino`; replaces a presence of this process.
    /// Returns false if another process is present; the presence of this process then stays.
    ///
    /// # Errors
    ///
    /// As [`Registry::presence_share`].
    pub fn presence_exclude(&self, ino: u64) -> io::Result<bool> {
        try_lock(self.lock.get()?, record::presence_lock(ino)?, LockKind::Exclusive)
    }

    /// Ends presence or exclusion at the topic file of inode `ino`.
    pub fn presence_release(&self, ino: u64) {
        // WHY ignored: it can only fail in a forked child, which holds no lock.
        let _ = self.lock.get().and_then(|fd| unlock(fd, record::presence_lock(ino)?));
    }

    /// Returns true if any *other* process is present at the topic file of inode `ino`, or excludes
    /// this one. Where the system gives no answer, returns true.
    pub fn presence_attended(&self, ino: u64) -> bool {
        let range = record::presence_lock(ino);
        let found = self.lock.get().and_then(|fd| find_conflicting_lock(fd, range?));
        !matches!(found, Ok(None))
    }

    /// Returns true if the registry in `dir` is still this one. If a user removed it, its locks do
    /// not cover processes that joined since: join again. In a forked child, and where the system
    /// gives no answer, returns false.
    pub fn is_current(&self, dir: BorrowedFd<'_>) -> bool {
        self.is_linked(dir).unwrap_or(false)
    }

    /// Does the same as [`Registry::is_current`], but returns the error of the system.
    pub(crate) fn is_linked(&self, dir: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(!self.is_forked() && os::is_name_of(dir, file::FILE_NAME, &self.stat)?)
    }

    /// Keeps all processes from joining, if no other process has joined; otherwise returns the
    /// first one that was found.
    pub(crate) fn exclude_all(&self) -> io::Result<Result<(), Option<ProcessInfo>>> {
        let fd = self.lock.get()?;
        // WHY: entries only. A process that is present at a topic has one; and a lock over the
        // presences would replace this process's own, which `admit_all` could not restore.
        let lives = record::lives_lock()?;
        if try_lock(fd, lives, LockKind::Exclusive)? {
            return Ok(Ok(()));
        }
        let other = find_conflicting_lock(fd, lives)?.and_then(record::entry_of_lock);
        let info = other.and_then(|entry| {
            let generation = Entry::read_generation(fd, entry).ok()?;
            self.process(Owner::new(entry, generation & GENERATION_MAX))
        });
        Ok(Err(info))
    }

    /// Undoes [`Registry::exclude_all`].
    pub(crate) fn admit_all(&self) -> io::Result<()> {
        let entry = self.me.entry().unwrap_or(0);
        let fd = self.lock.get()?;
        record::lives_lock_without(entry)?.into_iter().try_for_each(|range| unlock(fd, range))
    }

    /// Removes the registry's name from `dir`.
    pub(crate) fn unlink(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        os::unlink(dir, file::FILE_NAME)
    }
}

/// Locks the first free entry and begins a generation of it.
fn claim_entry(fd: BorrowedFd<'_>, open: &OpenFile) -> io::Result<Option<Owner>> {
    for entry in 0..ENTRY_LIMIT {
        let range: LockRange = record::entry_lock(entry)?;
        if !try_lock(fd, range, LockKind::Exclusive)? {
            continue;
        }
        let stored = Entry::read_generation(fd, entry)?;
        let last = if stored == 0 { open.header.generation_base } else { stored };
        if last < GENERATION_MAX {
            Entry::mine(last + 1).write(fd, entry)?;
            return Ok(Some(Owner::new(entry, last + 1)));
        }
        // WHY: only damage leads here; this entry is lost, the others are not.
        unlock(fd, range)?;
    }
    Ok(None)
}
