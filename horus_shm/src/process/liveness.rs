//! Liveness of processes: the registry of a namespace, and the file locks that show which processes
//! live.
//!
//! Each process (more precisely, each copy of this library in a process) holds a lock on one byte
//! of the registry file, through a descriptor that it never maps, passes on, or leaves to a forked
//! child. The kernel releases the lock when the last thread that could use the descriptor has left
//! user mode for good. So an unlocked byte proves that its owner will never store again. Neither a
//! clock nor a pid decides.

mod file;
mod holder;
mod record;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::os::access::AccessRule;
use crate::os::lock::{LockKind, LockRange, find_conflicting_lock, try_lock, unlock};
use crate::os::{self, Stat};
use crate::process::fork::LockFd;
pub(crate) use file::{FILE_NAME, lock_out_all};
use file::{OpenRegistry, RegistryAttempt, RegistryPath};
pub use holder::Holder;
pub(crate) use holder::find_user;
pub use record::RegistryFault;
use record::{ENTRY_LIMIT, GENERATION_MAX, RegistryEntry};

/// Maximum number of attempts to join a registry while other processes change its file.
const JOIN_ATTEMPTS: u32 = 1000;
const JOIN_PAUSE: Duration = Duration::from_millis(1);

const GENERATION_BITS: u32 = GENERATION_MAX.count_ones();

/// The value of an owner word, which names a process: its entry in the registry, and the generation
/// of that entry.
///
/// ```text
/// bits 63..48  entry + 1          bits 47..0  generation
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Owner(u64);

impl Owner {
    /// The value of a word without an owner.
    pub const NOBODY: Self = Self(0);

    /// Decodes a word of a file, which may have any value; [`Registry::is_dead`] checks whether it
    /// names an entry.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the word by which a file names this owner.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    fn new(entry: u64, generation: u64) -> Self {
        debug_assert!(entry < ENTRY_LIMIT && generation <= GENERATION_MAX);
        Self((entry + 1) << GENERATION_BITS | generation)
    }

    fn entry(self) -> Option<u64> {
        (self.0 >> GENERATION_BITS)
            .checked_sub(1)
            .filter(|&entry| entry < ENTRY_LIMIT)
    }

    fn generation(self) -> u64 {
        self.0 & GENERATION_MAX
    }
}

/// A process's description of itself, written when it joined the registry. It is only for messages:
/// nothing else depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// The process id, in the pid namespace of the process.
    pub pid: u32,
    /// The start time of the process, which tells a reused pid apart: field 22 of
    /// `/proc/<pid>/stat`, in clock ticks since boot.
    pub start_time: u64,
    /// The command name of the process.
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
        /// Number of names of the file.
        links: u64,
        /// The user of this process.
        wanted_uid: u32,
        /// The widest permissions that are accepted.
        wanted_mode: u32,
    },
    /// The file is not one that the members of the selected group share. Permanent until it is
    /// removed.
    #[error(
        "the registry {} belongs to uid {uid} and gid {gid} with mode {mode:04o} and {links} \
         links, wanted gid {wanted_gid}, mode 0660 and 1 link: remove it, or set another directory",
        path.display()
    )]
    NotOfGroup {
        /// The path of the registry file.
        path: PathBuf,
        /// The user id of the owner of the registry file.
        uid: u32,
        /// The group id of the registry file.
        gid: u32,
        /// The permissions of the registry file.
        mode: u32,
        /// Number of names of the file.
        links: u64,
        /// The group that shares the namespace.
        wanted_gid: u32,
    },
    /// The file is unusable, but processes hold locks on it. Retry after those processes ended.
    #[error(
        "the registry {} cannot be used: {fault}; processes still hold it: end them, and it will \
         be replaced", path.display()
    )]
    Damaged {
        /// The path of the registry file.
        path: PathBuf,
        /// The reason why the file is unusable.
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
        /// Number of entries of the registry.
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
    /// In every attempt the file changed, or another thread forked. Transient.
    #[error("the registry {} did not settle while it was being joined: retry", path.display())]
    Busy {
        /// The path of the registry file.
        path: PathBuf,
    },
    /// The directory was removed during the call. Transient: open it again.
    #[error("the directory {} was removed: open it again", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
}

/// This process's entry in the registry of a namespace. Dropping it leaves the registry.
///
/// A copy of a `Registry` in a forked child is inert: it reports every process as alive, calls that
/// lock return errors, and dropping it does not affect the parent.
#[derive(Debug)]
pub struct Registry {
    lock: LockFd,
    stat: Stat,
    id: [u8; 16],
    me: Owner,
}

impl Registry {
    /// Joins the registry in `dir`, and creates one if there is none. `path` is the path of that
    /// directory, for messages. The users of `access` share the file; an existing file to which
    /// others have access is refused.
    ///
    /// Costs some twenty system calls. Does not block, except for at most a second while another
    /// process replaces the registry.
    ///
    /// # Errors
    ///
    /// [`RegistryError`]. The call leaves nothing behind.
    pub fn join(
        dir: BorrowedFd<'_>,
        path: &Path,
        access: AccessRule,
    ) -> Result<Self, RegistryError> {
        let place = RegistryPath { dir, path, access };
        for _ in 0..JOIN_ATTEMPTS {
            match Self::try_join(place)? {
                RegistryAttempt::Done(registry) => return Ok(registry),
                RegistryAttempt::Again => {}
                RegistryAttempt::Wait => std::thread::sleep(JOIN_PAUSE),
            }
        }
        Err(RegistryError::Busy {
            path: place.file_path(),
        })
    }

    fn try_join(place: RegistryPath<'_>) -> Result<RegistryAttempt<Self>, RegistryError> {
        let open = match file::open_or_create(place)? {
            RegistryAttempt::Done(open) => open,
            RegistryAttempt::Again => return Ok(RegistryAttempt::Again),
            RegistryAttempt::Wait => return Ok(RegistryAttempt::Wait),
        };
        let fd = open.lock.get().map_err(place.io("use"))?;
        // WHY: a process that removes the file locks all entries. With this lock held, an entry
        // that is not free belongs to a process; and a process that is joining counts as alive.
        let removal = record::removal_lock().map_err(place.io("join"))?;
        if !try_lock(fd, removal, LockKind::Shared).map_err(place.io("join"))? {
            return Ok(RegistryAttempt::Wait);
        }
        let me = claim_free_entry(fd, &open).map_err(place.io("join"))?;
        // WHY after the lock: a process that finds the file unattended from now on finds this one.
        if !place.is_name_of(&open.stat)? {
            return Ok(RegistryAttempt::Again);
        }
        unlock(fd, removal).map_err(place.io("join"))?;
        let OpenRegistry { lock, stat, header } = open;
        match me {
            Some(me) => Ok(RegistryAttempt::Done(Self {
                lock,
                stat,
                id: header.registry_id,
                me,
            })),
            None => Err(RegistryError::Full {
                path: place.file_path(),
                limit: ENTRY_LIMIT,
            }),
        }
    }

    /// Returns the random id of the registry. A file that stores owner words of this registry also
    /// stores this id.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns the owner word of this process.
    pub fn me(&self) -> Owner {
        self.me
    }

    /// Returns true if this is a copy of a `Registry` in a forked child.
    pub fn is_forked(&self) -> bool {
        self.lock.is_forked()
    }

    /// Returns the process that has excluded all others from the topic file of inode `ino`, or
    /// holds a lease on it. Only for messages: reads files under `/proc` for each process in the
    /// registry.
    pub(crate) fn holder(&self, ino: u64) -> Option<Holder> {
        let fd = self.lock.get().ok()?;
        let processes = (0..ENTRY_LIMIT).filter_map(|entry| {
            let owner = Owner::new(entry, RegistryEntry::read_generation(fd, entry).ok()?);
            (owner.generation() != 0 && owner != self.me && !self.is_dead(owner))
                .then(|| self.process(owner))
                .flatten()
        });
        let byte = record::presence_byte(ino);
        holder::find_holder(
            processes,
            holder::WantedLock {
                registry: self.stat.ino,
                byte,
                topic: ino,
            },
        )
    }

    /// Returns true once a call found that the program had closed the descriptor that holds this
    /// process's locks: all other processes then take this one for dead.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock.is_lost()
    }

    /// Returns an error if the program closed the descriptor that holds this process's locks. Makes
    /// a system call.
    pub(crate) fn expect_held(&self) -> io::Result<()> {
        // WHY no error in a forked child: its calls that need a lock return one.
        if self.is_forked() {
            Ok(())
        } else {
            self.lock.get().map(drop)
        }
    }

    /// Returns true if `owner` will never store again. Makes three system calls.
    ///
    /// A word that names no live owner of this registry is dead, and so is [`Owner::NOBODY`].
    /// Returns false if the system gives no answer: the file was truncated, or this is a forked
    /// child.
    pub fn is_dead(&self, owner: Owner) -> bool {
        if owner == self.me {
            return false;
        }
        let Some(entry) = owner.entry() else {
            return true;
        };
        self.probe_owner(entry, owner.generation()).unwrap_or(false)
    }

    fn probe_owner(&self, entry: u64, generation: u64) -> io::Result<bool> {
        let fd = self.lock.get()?;
        // WHY correct for an earlier generation of this process's own entry: it is reported as
        // dead, because a process's own lock never conflicts with its probe.
        let lock = find_conflicting_lock(fd, record::entry_lock(entry)?)?;
        // WHY a shared lock is of no owner: see `claim_free_entry`.
        if lock.is_none_or(|lock| lock.kind == LockKind::Shared) {
            return Ok(true);
        }
        // WHY 0 is not dead: the file was emptied.
        let found = RegistryEntry::read_generation(fd, entry)?;
        Ok(found != 0 && found != generation)
    }

    /// Returns the description of `owner`, alive or dead; `None` if another process has claimed the
    /// entry since.
    pub fn process(&self, owner: Owner) -> Option<ProcessInfo> {
        let entry = RegistryEntry::read(self.lock.get().ok()?, owner.entry()?).ok()?;
        let is_same = entry.generation != 0 && entry.generation == owner.generation();
        is_same.then(|| entry.process_info())
    }

    /// Returns the live processes of this registry, this one included, in the order of their
    /// entries. Reads the file once, and makes one system call for each entry that was ever used.
    ///
    /// # Errors
    ///
    /// The error of the system, or of a copy of a `Registry` in a forked child.
    pub fn processes(&self) -> io::Result<Vec<(Owner, ProcessInfo)>> {
        let entries = RegistryEntry::read_all(self.lock.get()?)?;
        let described = entries.iter().zip(0..).filter_map(|(entry, index)| {
            let is_used = (1..=GENERATION_MAX).contains(&entry.generation);
            let owner = is_used.then(|| Owner::new(index, entry.generation))?;
            (!self.is_dead(owner)).then(|| (owner, entry.process_info()))
        });
        Ok(described.collect())
    }

    /// Marks this process as present at the topic file of inode `ino`. If this process excluded all
    /// others from the file, that ends. Returns false while another process excludes all others.
    ///
    /// Calls are not counted: one [`Registry::presence_release`] ends the presence of this
    /// `Registry`.
    ///
    /// # Errors
    ///
    /// The error of the system; `InvalidInput` if `ino` is too large for the offset of a lock.
    pub fn presence_share(&self, ino: u64) -> io::Result<bool> {
        try_lock(
            self.lock.get()?,
            record::presence_lock(ino)?,
            LockKind::Shared,
        )
    }

    /// Excludes all other processes from the topic file of inode `ino`; this process's presence
    /// there becomes the exclusion. Returns false if another process is present; the presence of
    /// this process then stays.
    ///
    /// # Errors
    ///
    /// The errors of [`Registry::presence_share`].
    pub fn presence_exclude(&self, ino: u64) -> io::Result<bool> {
        try_lock(
            self.lock.get()?,
            record::presence_lock(ino)?,
            LockKind::Exclusive,
        )
    }

    /// Ends the presence of this process at the topic file of inode `ino`, or its exclusion of
    /// others.
    pub fn presence_release(&self, ino: u64) {
        // WHY ignored: it can only fail in a forked child, which holds no lock.
        let _ = self
            .lock
            .get()
            .and_then(|fd| unlock(fd, record::presence_lock(ino)?));
    }

    /// Returns true if any *other* process is present at the topic file of inode `ino`, or has
    /// excluded all others from it; also if the system gives no answer.
    pub fn presence_attended(&self, ino: u64) -> bool {
        let range = record::presence_lock(ino);
        let found = self
            .lock
            .get()
            .and_then(|fd| find_conflicting_lock(fd, range?));
        !matches!(found, Ok(None))
    }

    /// Returns true if the registry file in `dir` is still the one that this process joined. If a
    /// user removed that file, its locks do not cover processes that joined since: join again.
    /// Returns false in a forked child, and if the system gives no answer.
    pub fn is_current(&self, dir: BorrowedFd<'_>) -> bool {
        self.is_linked(dir).unwrap_or(false)
    }

    /// Like [`Registry::is_current`], but returns the error of the system.
    pub(crate) fn is_linked(&self, dir: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(!self.is_forked() && os::is_name_of(dir, file::FILE_NAME, &self.stat)?)
    }

    /// Locks all other processes out of the registry, if none of them is in it; otherwise returns
    /// the description of one of them, if it has one.
    pub(crate) fn exclude_all(&self) -> io::Result<Result<(), Option<ProcessInfo>>> {
        let fd = self.lock.get()?;
        // WHY only the entries: a process that is present at a topic also has an entry; and a lock
        // over the presence bytes would replace this process's own, which `admit_all` could not
        // restore.
        let lives = record::all_entries_lock()?;
        if try_lock(fd, lives, LockKind::Exclusive)? {
            return Ok(Ok(()));
        }
        let other = find_conflicting_lock(fd, lives)?;
        let other = other.and_then(|lock| record::entry_of_lock(lock.start));
        let info = other.and_then(|entry| {
            let generation = RegistryEntry::read_generation(fd, entry).ok()?;
            self.process(Owner::new(entry, generation & GENERATION_MAX))
        });
        Ok(Err(info))
    }

    /// Ends the lock of [`Registry::exclude_all`].
    pub(crate) fn admit_all(&self) -> io::Result<()> {
        let entry = self.me.entry().unwrap_or(0);
        let fd = self.lock.get()?;
        record::all_entries_lock_without(entry)?
            .into_iter()
            .try_for_each(|range| unlock(fd, range))
    }

    /// Removes the registry's file from the directory `dir`. Processes that have it open keep it.
    pub(crate) fn unlink(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        os::unlink(dir, file::FILE_NAME)
    }
}

/// Locks the first free entry, and writes this process into it with a new generation; returns
/// `None` if no entry is free.
///
/// WHY first with a shared lock: a process that finds an exclusive one also finds the generation of
/// its holder, never that of a dead owner. Of several processes that share the lock of an entry, at
/// most one gets it for itself; the others try the next entry.
fn claim_free_entry(fd: BorrowedFd<'_>, open: &OpenRegistry) -> io::Result<Option<Owner>> {
    for entry in 0..ENTRY_LIMIT {
        let range: LockRange = record::entry_lock(entry)?;
        if !try_lock(fd, range, LockKind::Shared)? {
            continue;
        }
        let stored = RegistryEntry::read_generation(fd, entry)?;
        let last = if stored == 0 {
            open.header.generation_base
        } else {
            stored
        };
        if last < GENERATION_MAX {
            RegistryEntry::for_this_process(last + 1).write(fd, entry)?;
            if try_lock(fd, range, LockKind::Exclusive)? {
                return Ok(Some(Owner::new(entry, last + 1)));
            }
        }
        unlock(fd, range)?;
    }
    Ok(None)
}
