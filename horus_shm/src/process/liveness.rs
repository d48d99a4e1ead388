//! Who is alive: the registry of a namespace, and the locks that decide.
//!
//! Each process, or each copy of this library in one, holds a lock on one byte of the registry
//! file, by a descriptor that it never maps, passes on, or leaves to a forked child. The kernel
//! gives the lock back when the last thread that could use the descriptor has left user mode for
//! good: a free byte proves that its owner will never store again. No clock decides, nor a pid.

mod file;
mod holder;
mod record;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::os::lock::{LockKind, LockRange, lock_in_the_way, try_lock, unlock};
use crate::os::{self, Stat};
use crate::process::fork::LockFd;
use file::{Attempt, OpenFile, RegistryPath};
pub(crate) use file::{FILE_NAME, lock_out};
pub use holder::Holder;
pub(crate) use holder::user_of;
pub use record::RegistryFault;
use record::{ENTRY_LIMIT, Entry, GENERATION_MAX};

/// How often an attempt to join is repeated, and how long it waits for one who removes the file.
const JOIN_ATTEMPTS: u32 = 1000;
const JOIN_PAUSE: Duration = Duration::from_millis(1);

const GENERATION_BITS: u32 = GENERATION_MAX.count_ones();

/// A process, as owner words name it: an entry of the registry and its generation.
///
/// ```text
/// bits 63..48  entry + 1          bits 47..0  generation
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Owner(u64);

impl Owner {
    /// No process: what an unowned word holds.
    pub const NOBODY: Self = Self(0);

    /// Any word of a file; whether it names an entry is for [`Registry::is_dead`] to find out.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word to store.
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

/// What a process wrote about itself when it joined. For messages: none of it decides anything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Its id, in its own pid namespace.
    pub pid: u32,
    /// When it started: field 22 of `/proc/<pid>/stat`, in clock ticks since boot.
    pub start_time: u64,
    /// Its command name.
    pub name: String,
}

impl fmt::Display for ProcessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Why a process could not join a registry.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A system call failed.
    #[error("cannot {doing} the registry {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The registry.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Something else has the registry's name. Permanent until somebody removes it.
    #[error("{} is not a regular file: remove it", path.display())]
    NotAFile {
        /// What was found in place of a registry.
        path: PathBuf,
    },
    /// The file could be somebody else's. Permanent until somebody removes it.
    #[error(
        "the registry {} belongs to uid {uid} with mode {mode:04o} and {links} links, wanted \
         uid {wanted_uid}, mode {wanted_mode:04o} and 1 link: remove it, or set another directory",
        path.display()
    )]
    Refused {
        /// The registry.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
        /// Its names.
        links: u64,
        /// The user of this process.
        wanted_uid: u32,
        /// The most that its permissions may be.
        wanted_mode: u32,
    },
    /// The file is of no use, but processes live by it. Retry after they ended.
    #[error(
        "the registry {} cannot be used: {fault}; processes still hold it: end them, and it will \
         be replaced", path.display()
    )]
    Damaged {
        /// The registry.
        path: PathBuf,
        /// What is wrong with it.
        fault: RegistryFault,
    },
    /// Every entry is taken by a live process. Transient.
    #[error("all {limit} entries of the registry {} are taken by live processes", path.display())]
    Full {
        /// The registry.
        path: PathBuf,
        /// Its entries.
        limit: u64,
    },
    /// This process has joined too many registries. Retry after one was left.
    #[error("cannot join {}: this process is in {limit} registries, leave one", path.display())]
    TooManyOpen {
        /// The registry.
        path: PathBuf,
        /// The most that a process may be in.
        limit: usize,
    },
    /// The file kept changing, or other threads kept forking. Transient.
    #[error("the registry {} did not settle while it was being joined: retry", path.display())]
    Busy {
        /// The registry.
        path: PathBuf,
    },
    /// The directory was removed on the way. Transient: open it anew.
    #[error("the directory {} was removed: open it anew", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
}

/// This process's entry in the registry of a namespace. Dropping it is leaving.
///
/// In a forked child a copied `Registry` is inert: it takes everybody for alive, its locks answer
/// errors, and dropping it does nothing to the parent.
#[derive(Debug)]
pub struct Registry {
    lock: LockFd,
    stat: Stat,
    id: [u8; 16],
    me: Owner,
}

impl Registry {
    /// Joins the registry in `dir`, making one if there is none. `path` is the directory's, for
    /// messages; the file gets `file_mode` and is refused if it permits more.
    ///
    /// Costs some twenty system calls. Does not block, but for a second at most while another
    /// process replaces the registry.
    ///
    /// # Errors
    ///
    /// [`RegistryError`]. Nothing is left behind.
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
        // WHY: who removes the file holds all entries. Against it, an entry that is not free is a
        // process's, and whoever is joining counts as one who lives here.
        let removal = record::removal_lock().map_err(place.io("join"))?;
        if !try_lock(fd, removal, LockKind::Shared).map_err(place.io("join"))? {
            return Ok(Attempt::Wait);
        }
        let me = claim_entry(fd, &open).map_err(place.io("join"))?;
        // WHY: after the lock: whoever finds the file unattended from now on finds us.
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

    /// The registry's random id: the files that name owners by it carry a copy.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// This process.
    pub fn me(&self) -> Owner {
        self.me
    }

    /// Whether this is a copy in a forked child.
    pub fn is_forked(&self) -> bool {
        self.lock.is_forked()
    }

    /// Finds out which process excludes all others from a topic file, or holds a lease on it. For
    /// messages: reads files under `/proc`, for each process that lives here.
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
    /// process's locks: in the eyes of the others it is dead.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock.is_lost()
    }

    /// Fails if the program closed the descriptor that holds this process's locks. A system call.
    pub(crate) fn expect_held(&self) -> io::Result<()> {
        // A forked child finds out where it matters.
        if self.is_forked() { Ok(()) } else { self.lock.get().map(drop) }
    }

    /// Returns true if `owner` will never store again. Three system calls.
    ///
    /// Anything that is no live owner of this registry is dead, [`Owner::NOBODY`] too. Where the
    /// system does not say (the file was truncated, or this is a forked child), the answer is no.
    pub fn is_dead(&self, owner: Owner) -> bool {
        if owner == self.me {
            return false;
        }
        let Some(entry) = owner.entry() else { return true };
        self.probe(entry, owner.generation()).unwrap_or(false)
    }

    fn probe(&self, entry: u64, generation: u64) -> io::Result<bool> {
        let fd = self.lock.get()?;
        // Another generation of one's own entry is dead, and so it comes out: one's own lock is
        // never in one's way.
        if lock_in_the_way(fd, record::entry_lock(entry)?)?.is_none() {
            return Ok(true);
        }
        // WHY: 0 says that the holder is about to write, or that somebody emptied the file.
        let found = Entry::read_generation(fd, entry)?;
        Ok(found != 0 && found != generation)
    }

    /// What `owner` said of itself, alive or dead, as long as its entry was not taken anew.
    pub fn process(&self, owner: Owner) -> Option<ProcessInfo> {
        let entry = Entry::read(self.lock.get().ok()?, owner.entry()?).ok()?;
        let is_its = entry.generation != 0 && entry.generation == owner.generation();
        is_its.then(|| entry.info())
    }

    /// Declares this process present at the topic file of inode `ino`, in place of an exclusion it
    /// may hold. False while another process excludes everybody.
    ///
    /// Presence belongs to this `Registry` as a whole: it does not count.
    ///
    /// # Errors
    ///
    /// What the system says; `InvalidInput` if there is no lock for so large an inode.
    pub fn presence_share(&self, ino: u64) -> io::Result<bool> {
        try_lock(self.lock.get()?, record::presence_lock(ino)?, LockKind::Shared)
    }

    /// Excludes all others from the topic file of inode `ino`, in place of a presence this process
    /// may have declared, which stays if the answer is no: another process is present.
    ///
    /// # Errors
    ///
    /// As [`Registry::presence_share`].
    pub fn presence_exclude(&self, ino: u64) -> io::Result<bool> {
        try_lock(self.lock.get()?, record::presence_lock(ino)?, LockKind::Exclusive)
    }

    /// Ends presence or exclusion at the topic file of inode `ino`.
    pub fn presence_release(&self, ino: u64) {
        // It can fail in a forked child, which holds no lock.
        let _ = self.lock.get().and_then(|fd| unlock(fd, record::presence_lock(ino)?));
    }

    /// Whether any *other* process is present at the topic file of inode `ino`, or excludes us.
    /// Where the system does not say, the answer is yes.
    pub fn presence_attended(&self, ino: u64) -> bool {
        let range = record::presence_lock(ino);
        let found = self.lock.get().and_then(|fd| lock_in_the_way(fd, range?));
        !matches!(found, Ok(None))
    }

    /// Whether the registry in `dir` still is this one. If a user removed it, its locks say nothing
    /// of those who joined since: join anew. In a forked child the answer is no.
    /// Where the system does not say, it is no as well.
    pub fn is_current(&self, dir: BorrowedFd<'_>) -> bool {
        self.is_linked(dir).unwrap_or(false)
    }

    /// [`Registry::is_current`], if the system says.
    pub(crate) fn is_linked(&self, dir: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(!self.is_forked() && os::leads_to(dir, file::FILE_NAME, &self.stat)?)
    }

    /// Keeps everybody from joining, if no other process has: else the one that was found first.
    pub(crate) fn exclude_all(&self) -> io::Result<Result<(), Option<ProcessInfo>>> {
        let fd = self.lock.get()?;
        // WHY: entries only. Whoever is present at a topic has one; and a lock over the presences
        // would swallow our own, which `admit_all` could not give back.
        let lives = record::lives_lock()?;
        if try_lock(fd, lives, LockKind::Exclusive)? {
            return Ok(Ok(()));
        }
        let other = lock_in_the_way(fd, lives)?.and_then(record::entry_of_lock);
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
        // Only a scribbler gets there; the entry is lost, the others are not.
        unlock(fd, range)?;
    }
    Ok(None)
}
