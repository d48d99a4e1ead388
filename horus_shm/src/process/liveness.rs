//! Liveness of processes: the registry of a namespace, and the file locks that show which processes
//! are alive.
//!
//! Each process (more precisely, each copy of this library in a process) holds a lock on one byte
//! of the registry file, through a file descriptor that no other process and no forked child gets.
//! The kernel releases the lock when the last thread that could use the descriptor has left user
//! mode for good. So an unlocked byte proves that its owner will never write to shared memory
//! again. The decision depends neither on a clock nor on a process id.

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
use crate::os::advice::advice_for_error;
use crate::os::cancel::NoCancelGuard;
use crate::os::lock::{LockKind, LockRange, find_conflicting_lock, try_lock, unlock};
use crate::os::{self, FileStatus};
use crate::process::fork::LockFd;
use file::{OpenRegistry, RegistryAttempt, RegistryPath};
pub(crate) use file::{REGISTRY_FILE_NAME, lock_out_all_processes};
pub use holder::Holder;
pub(crate) use holder::find_process_with_open_file;
pub use record::RegistryFault;
use record::{ENTRY_LIMIT, GENERATION_MAX, RegistryEntry};

/// Maximum number of attempts to join a registry. An attempt fails if another process changes the
/// registry file in the meantime, or if no entry is free except one at which another process is
/// joining.
const JOIN_ATTEMPTS: u32 = 1000;
const JOIN_PAUSE: Duration = Duration::from_millis(1);

const OWNER_GENERATION_BITS: u32 = GENERATION_MAX.count_ones();

/// The decoded owner word, which identifies a process: its entry in the registry, and the
/// generation of the entry, a number that grows with each use of the entry.
///
/// ```text
/// bits 63..48  entry + 1          bits 47..0  generation
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Owner(u64);

impl Owner {
    /// The owner word that identifies no process. It marks a lane or reader slot as free.
    pub const NOBODY: Self = Self(0);

    /// Decodes an owner word that was read from a file. Accepts every value; [`Registry::is_dead`]
    /// checks whether it identifies a live process.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the owner word as the number that is stored in files.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    fn new(entry: u64, generation: u64) -> Self {
        debug_assert!(entry < ENTRY_LIMIT && generation <= GENERATION_MAX);
        Self((entry + 1) << OWNER_GENERATION_BITS | generation)
    }

    fn entry(self) -> Option<u64> {
        (self.0 >> OWNER_GENERATION_BITS)
            .checked_sub(1)
            .filter(|&entry| entry < ENTRY_LIMIT)
    }

    fn generation(self) -> u64 {
        self.0 & GENERATION_MAX
    }
}

/// The description of a process, which the process wrote when it joined the registry. It is used
/// only in messages for users.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// The process id, as seen in the pid namespace of that process.
    pub pid: u32,
    /// The start time of the process, in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    /// It distinguishes processes that have had the same id one after the other.
    pub start_time: u64,
    /// The command name of the process, as in `/proc/<pid>/comm`.
    pub name: String,
}

impl fmt::Display for ProcessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// The reason why a process could not join a registry of live processes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A system call failed.
    #[error("cannot {doing} the registry {}: {source}{}", path.display(), advice_for_error(source))]
    Io {
        /// A description of the operation that failed.
        doing: &'static str,
        /// The path of the registry file.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The name of the registry file belongs to something that is not a regular file. Permanent
    /// until it is removed.
    #[error("{} is not a regular file: remove it", path.display())]
    NotAFile {
        /// The path of the object that has the name.
        path: PathBuf,
    },
    /// Another user may be able to write the registry file. Permanent until the file is removed.
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
        /// The permission bits that the registry file has.
        mode: u32,
        /// Number of hard links to the registry file.
        links: u64,
        /// The user id of this process, which has to own the file.
        wanted_uid: u32,
        /// The most permissive permission bits that are accepted.
        wanted_mode: u32,
    },
    /// The registry file cannot be shared with the members of the selected group. Permanent until
    /// the file is removed.
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
        /// The permission bits that the registry file has.
        mode: u32,
        /// Number of hard links to the registry file.
        links: u64,
        /// The id of the group that the user selected, to which the file would have to belong.
        wanted_gid: u32,
    },
    /// The registry file is unusable, and cannot be replaced because processes hold locks on it.
    /// Try again after those processes have ended.
    #[error(
        "the registry {} cannot be used: {fault}; processes still hold it: end them, and it will \
         be replaced", path.display()
    )]
    Damaged {
        /// The path of the registry file.
        path: PathBuf,
        /// The reason why the registry file cannot be used.
        fault: RegistryFault,
    },
    /// The registry has no free entry, because each one is used by a live process. Transient.
    #[error(
        "all {limit} entries of the registry {} are taken by live processes: end some",
        path.display()
    )]
    Full {
        /// The path of the registry file.
        path: PathBuf,
        /// Number of entries of the registry, which is the maximum number of processes.
        limit: u64,
    },
    /// This process has joined the maximum number of registries. Try again after it has left one.
    #[error("cannot join {}: this process is in {limit} registries: leave one", path.display())]
    TooManyOpen {
        /// The path of the registry file.
        path: PathBuf,
        /// Maximum number of registries that a process can join at the same time.
        limit: usize,
    },
    /// All attempts failed, because another process changed the registry file or was joining at the
    /// last free entry, or a thread was forking. Transient.
    #[error("the registry {} did not settle while it was being joined: retry", path.display())]
    Busy {
        /// The path of the registry file.
        path: PathBuf,
    },
    /// The directory of the registry was removed during the call. Transient: the caller can open
    /// the directory again.
    #[error("the directory {} was removed: open it again", path.display())]
    Gone {
        /// The path of the directory.
        path: PathBuf,
    },
}

/// The membership of this process in the registry of a namespace: it has an entry there. Dropping
/// this value leaves the registry.
///
/// A copy of a `Registry` in a forked child has no effect: it reports every process as alive, its
/// locking functions return errors, and dropping it does not affect the parent.
#[derive(Debug)]
pub struct Registry {
    lock: LockFd,
    stat: FileStatus,
    id: [u8; 16],
    boot_id: [u8; 16],
    me: Owner,
}

impl Registry {
    /// Joins the registry in the directory `dir`, and creates the registry if there is none. `path`
    /// is the path of that directory, for error messages. `access` says which users share the
    /// registry; an existing file to which other users have access is refused.
    ///
    /// Costs some twenty system calls. Does not block, except for some seconds at most while
    /// another process replaces the registry, or is joining at its last free entry.
    ///
    /// # Errors
    ///
    /// [`RegistryError`]. This process is then not in the registry.
    pub fn join(
        dir: BorrowedFd<'_>,
        path: &Path,
        access: AccessRule,
    ) -> Result<Self, RegistryError> {
        let creates = true;
        Self::join_file(RegistryPath {
            dir,
            path,
            access,
            creates,
        })
    }

    /// Adds this process to the registry of the namespace directory `dir`, as [`Self::join`] does,
    /// but does not create a registry.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Gone`] if there is no registry, and the errors of [`Self::join`].
    pub(crate) fn join_existing(
        dir: BorrowedFd<'_>,
        path: &Path,
        access: AccessRule,
    ) -> Result<Self, RegistryError> {
        let creates = false;
        Self::join_file(RegistryPath {
            dir,
            path,
            access,
            creates,
        })
    }

    fn join_file(registry_path: RegistryPath<'_>) -> Result<Self, RegistryError> {
        for _ in 0..JOIN_ATTEMPTS {
            match Self::try_join(registry_path)? {
                RegistryAttempt::Done(registry) => return Ok(registry),
                RegistryAttempt::Again => {}
                RegistryAttempt::Wait => std::thread::sleep(JOIN_PAUSE),
            }
        }
        Err(RegistryError::Busy {
            path: registry_path.file_path(),
        })
    }

    fn try_join(registry_path: RegistryPath<'_>) -> Result<RegistryAttempt<Self>, RegistryError> {
        let open = match file::open_or_create(registry_path)? {
            RegistryAttempt::Done(open) => open,
            RegistryAttempt::Again => return Ok(RegistryAttempt::Again),
            RegistryAttempt::Wait => return Ok(RegistryAttempt::Wait),
        };
        let fd = open.lock.get().map_err(registry_path.io_error("use"))?;
        // WHY: a process that removes the file locks all entries. With this lock held, an entry
        // that is not free belongs to a process; and a process that is joining counts as alive.
        let removal = record::removal_lock().map_err(registry_path.io_error("join"))?;
        if !try_lock(fd, removal, LockKind::Shared).map_err(registry_path.io_error("join"))? {
            return Ok(RegistryAttempt::Wait);
        }
        let claim = claim_free_entry(fd, &open).map_err(registry_path.io_error("join"))?;
        // WHY after the lock: a process that finds the file unused from now on finds this one.
        if !registry_path.is_name_of_file(&open.stat)? {
            return Ok(RegistryAttempt::Again);
        }
        unlock(fd, removal).map_err(registry_path.io_error("join"))?;
        let OpenRegistry { lock, stat, header } = open;
        match claim {
            EntryClaim::Done(me) => Ok(RegistryAttempt::Done(Self {
                lock,
                stat,
                id: header.registry_id,
                boot_id: header.boot_id,
                me,
            })),
            EntryClaim::Contested => Ok(RegistryAttempt::Wait),
            EntryClaim::Full => Err(RegistryError::Full {
                path: registry_path.file_path(),
                limit: ENTRY_LIMIT,
            }),
        }
    }

    /// Returns the random id of the registry. Files that store owner words of this registry store
    /// this id, too.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns the boot id of files that were created in the directory of the registry since the
    /// machine was booted. It is zero if that directory is in memory.
    pub fn boot_id(&self) -> [u8; 16] {
        self.boot_id
    }

    /// Returns the owner word of this process: the number that identifies it in the registry and in
    /// shared memory.
    pub fn own_owner_word(&self) -> Owner {
        self.me
    }

    /// Returns true if this value was inherited through `fork`. The child has not joined the
    /// registry.
    pub fn is_forked(&self) -> bool {
        self.lock.is_forked()
    }

    /// Returns the process that has excluded all others from the topic file of inode `ino`, or
    /// holds a lease on that file. Used only for error messages, because it is slow: it reads files
    /// under `/proc` for each process in the registry.
    pub(crate) fn find_topic_file_holder(&self, ino: u64) -> Option<Holder> {
        let fd = self.lock.get().ok()?;
        let processes = (0..ENTRY_LIMIT).filter_map(|entry| {
            let owner = Owner::new(entry, RegistryEntry::read_generation(fd, entry).ok()?);
            (owner.generation() != 0 && owner != self.me && !self.is_dead(owner))
                .then(|| self.process(owner))
                .flatten()
        });
        let byte = record::presence_lock_offset(ino);
        holder::find_holder(
            processes,
            holder::WantedLock {
                registry: self.stat.ino,
                byte,
                topic: ino,
            },
        )
    }

    /// Returns true if an earlier call has found that the program closed the descriptor that holds
    /// this process's locks. All other processes then consider this process dead.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock.is_lost()
    }

    /// Checks that the descriptor that holds this process's locks is open. Returns an error if the
    /// program has closed it, but not in a forked child. Makes one system call.
    pub(crate) fn check_lock_open(&self) -> io::Result<()> {
        // WHY no error in a forked child: its calls that need a lock return one.
        if self.is_forked() {
            Ok(())
        } else {
            self.lock.get().map(drop)
        }
    }

    /// Returns true if the process `owner` is dead, and will never write to shared memory again.
    /// Makes three system calls.
    ///
    /// Also returns true for [`Owner::NOBODY`], for a word that names no entry of this registry,
    /// and for one with an earlier generation of an entry. Returns false if the system gives no
    /// answer, because the registry file was truncated, or because this is a forked child.
    pub fn is_dead(&self, owner: Owner) -> bool {
        if owner == self.me {
            return false;
        }
        let Some(entry) = owner.entry() else {
            return true;
        };
        self.is_entry_owner_dead(entry, owner.generation())
            .unwrap_or(false)
    }

    fn is_entry_owner_dead(&self, entry: u64, generation: u64) -> io::Result<bool> {
        // WHY: endpoints probe owners in receive calls, and to read a file is a cancellation point.
        let _uncancelled = NoCancelGuard::new();
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

    /// Returns the description of the process `owner`, which may be alive or dead. Returns `None`
    /// if another process has claimed its entry since.
    pub fn process(&self, owner: Owner) -> Option<ProcessInfo> {
        // WHY: as in `is_entry_owner_dead`.
        let _uncancelled = NoCancelGuard::new();
        let entry = RegistryEntry::read(self.lock.get().ok()?, owner.entry()?).ok()?;
        let is_same = entry.generation != 0 && entry.generation == owner.generation();
        is_same.then(|| entry.process_info())
    }

    /// Returns the live processes of this registry, this one included, in the order of their
    /// entries. Reads the registry file once, and makes one system call for each entry that was
    /// ever used.
    ///
    /// # Errors
    ///
    /// The system error. In a forked child, the call always returns an error.
    pub fn processes(&self) -> io::Result<Vec<(Owner, ProcessInfo)>> {
        let entries = RegistryEntry::read_all(self.lock.get()?)?;
        let described = entries.iter().zip(0..).filter_map(|(entry, index)| {
            let is_used = (1..=GENERATION_MAX).contains(&entry.generation);
            let owner = is_used.then(|| Owner::new(index, entry.generation))?;
            (!self.is_dead(owner)).then(|| (owner, entry.process_info()))
        });
        Ok(described.collect())
    }

    /// Marks this process as a user of the topic file with the inode `ino`. If this process has
    /// excluded all others from the file, that exclusion ends. Returns false, without an effect,
    /// while another process excludes all others.
    ///
    /// Calls are not counted: one call of [`Registry::release_topic_file`] removes the mark,
    /// however often this function was called.
    ///
    /// # Errors
    ///
    /// The system error; `InvalidInput` if `ino` is too large for the offset of a lock.
    pub fn mark_topic_file_used(&self, ino: u64) -> io::Result<bool> {
        try_lock(
            self.lock.get()?,
            record::presence_lock(ino)?,
            LockKind::Shared,
        )
    }

    /// Excludes all other processes from the topic file with the inode `ino`. Returns false,
    /// without an effect, if another process uses the file. If this process was marked as a user,
    /// the exclusion replaces that mark.
    ///
    /// # Errors
    ///
    /// The errors of [`Registry::mark_topic_file_used`].
    pub fn exclude_others_from_topic_file(&self, ino: u64) -> io::Result<bool> {
        try_lock(
            self.lock.get()?,
            record::presence_lock(ino)?,
            LockKind::Exclusive,
        )
    }

    /// Removes the mark that this process uses the topic file with the inode `ino`, or ends its
    /// exclusion of other processes from that file.
    pub fn release_topic_file(&self, ino: u64) {
        // WHY ignored: it can only fail in a forked child, which holds no lock.
        let _ = self
            .lock
            .get()
            .and_then(|fd| unlock(fd, record::presence_lock(ino)?));
    }

    /// Returns true if any *other* process uses the topic file with the inode `ino`, or excludes
    /// all others from it. Also returns true if a system call fails.
    pub fn is_topic_file_used_by_others(&self, ino: u64) -> bool {
        let range = record::presence_lock(ino);
        let found = self
            .lock
            .get()
            .and_then(|fd| find_conflicting_lock(fd, range?));
        !matches!(found, Ok(None))
    }

    /// Returns true if the registry file in `dir` is still the file that this process has joined.
    /// If somebody has removed that file, processes that joined later use another one, and the
    /// caller has to join again. Also returns false in a forked child, and if the system gives no
    /// answer.
    pub fn is_current(&self, dir: BorrowedFd<'_>) -> bool {
        self.is_linked(dir).unwrap_or(false)
    }

    /// Returns true if the name of the registry file in `dir` still leads to this registry. Returns
    /// an error if a system call fails.
    pub(crate) fn is_linked(&self, dir: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(!self.is_forked() && os::is_name_of_file(dir, file::REGISTRY_FILE_NAME, &self.stat)?)
    }

    /// Keeps all other processes out of the registry, if none of them has joined it. Otherwise
    /// returns, as the inner error, the description of one process that has joined it; `None` if
    /// that process has no description.
    pub(crate) fn try_lock_out_others(&self) -> io::Result<Result<(), Option<ProcessInfo>>> {
        let fd = self.lock.get()?;
        // WHY only the entries: a process that is present at a topic also has an entry; and a lock
        // over the presence bytes would replace this process's own, which `unlock_for_others` could
        // not restore.
        let lives = record::all_entries_lock()?;
        if try_lock(fd, lives, LockKind::Exclusive)? {
            return Ok(Ok(()));
        }
        let other = find_conflicting_lock(fd, lives)?;
        let other = other.and_then(|lock| record::entry_at_lock_offset(lock.start));
        let info = other.and_then(|entry| {
            let generation = RegistryEntry::read_generation(fd, entry).ok()?;
            self.process(Owner::new(entry, generation & GENERATION_MAX))
        });
        Ok(Err(info))
    }

    /// Releases the lock by which [`Registry::try_lock_out_others`] kept other processes out.
    pub(crate) fn unlock_for_others(&self) -> io::Result<()> {
        let entry = self.me.entry().unwrap_or(0);
        let fd = self.lock.get()?;
        record::lock_ranges_except_entry(entry)?
            .into_iter()
            .try_for_each(|range| unlock(fd, range))
    }

    /// Removes the registry file from the directory `dir`. Processes that have the file open can
    /// still use it.
    pub(crate) fn unlink(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        os::unlink(dir, file::REGISTRY_FILE_NAME)
    }
}

/// The result of an attempt to claim an entry of a registry.
enum EntryClaim {
    Done(Owner),
    /// This process got no entry, but it competed with other joining processes for at least one.
    /// Another attempt may succeed: if none of them got that entry, it is free when they have
    /// released their locks.
    Contested,
    /// No entry is free.
    Full,
}

/// Locks the first free entry, and stores the description of this process in it, with a new
/// generation. Returns the owner word.
///
/// WHY the lock is shared first, and exclusive only after the entry was written: a process that
/// finds an exclusive lock then also finds the generation of the lock's holder, and never that of a
/// dead owner. If several processes have the shared lock of an entry, at most one of them gets the
/// exclusive lock; the others try the next entry. But all of them write the entry, and the one that
/// gets the exclusive lock is not always the last that wrote. It tries the next entry, too, if the
/// entry does not describe it. Once the lock is exclusive, nobody writes the entry.
fn claim_free_entry(fd: BorrowedFd<'_>, open: &OpenRegistry) -> io::Result<EntryClaim> {
    let mut claim = EntryClaim::Full;
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
            let written = RegistryEntry::for_this_process(last + 1);
            written.write(fd, entry)?;
            if try_lock(fd, range, LockKind::Exclusive)?
                && RegistryEntry::read(fd, entry)? == written
            {
                return Ok(EntryClaim::Done(Owner::new(entry, last + 1)));
            }
            claim = EntryClaim::Contested;
        }
        unlock(fd, range)?;
    }
    Ok(claim)
}
