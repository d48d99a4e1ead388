//! AttachableFile: a model of the kernel's locks and of one directory with a single name in it.
//!
//! A system call is one critical section. The retired mark is a relaxed word beside it, since a
//! `pread` and a `pwrite` are not guaranteed to order anything else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use horus_shm::internals::presence::{self, AttachOutcome, AttachableFile};

use crate::checker::sync::Mutex;
use crate::checker::sync::atomic::AtomicBool;
use crate::checker::thread;

use super::mutation::is_step_left_out;

/// The number of times that a joining process looks up the name.
const TRIES: u32 = 3;
const PROCESSES: usize = 3;
const FILES: usize = 1 + PROCESSES * TRIES as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    None,
    Shared,
    Exclusive,
}

#[derive(Debug)]
struct Tables {
    /// The file that the name leads to.
    linked: Option<usize>,
    files: usize,
    /// By file, then by process.
    locks: [[Lock; PROCESSES]; FILES],
}

#[derive(Debug)]
struct Kernel {
    tables: Mutex<Tables>,
    retired: [AtomicBool; FILES],
    /// It contains a latched message.
    latched: [AtomicBool; FILES],
}

/// The view that one process has of the directory.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    kernel: Arc<Kernel>,
    process: usize,
}

/// A file that a process has open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    kernel: Arc<Kernel>,
    process: usize,
    file: usize,
    /// It is killed between the mark and the unlink.
    dies_retiring: bool,
}

/// The state in which a directory is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// No file.
    Nothing,
    /// A file that no process attends.
    Unused,
    /// A file whose retirer was killed between the mark and the unlink.
    HalfRetired,
}

impl Process {
    /// Makes the processes of a directory.
    pub(crate) fn all(found: Found) -> [Self; PROCESSES] {
        let (linked, files) = if found == Found::Nothing {
            (None, 0)
        } else {
            (Some(0), 1)
        };
        let locks = [[Lock::None; PROCESSES]; FILES];
        let retired = |file| AtomicBool::new(file == 0 && found == Found::HalfRetired);
        let kernel = Arc::new(Kernel {
            tables: Mutex::new(Tables {
                linked,
                files,
                locks,
            }),
            retired: std::array::from_fn(retired),
            latched: std::array::from_fn(|_| AtomicBool::new(false)),
        });
        std::array::from_fn(|process| Self {
            kernel: Arc::clone(&kernel),
            process,
        })
    }

    /// Opens the file that the name leads to, if there is one.
    pub(crate) fn open(&self) -> Option<OpenFile> {
        let linked = self.kernel.tables.lock().unwrap().linked;
        linked.map(|file| self.opened(file))
    }

    /// Attends the file of the name, and creates it if necessary; returns `None` after too many
    /// tries.
    pub(crate) fn join(&self) -> Option<OpenFile> {
        for _ in 0..TRIES {
            let Some(file) = self.open() else {
                let made = self.make();
                if made.is_some() {
                    return made;
                }
                continue;
            };
            match presence::attach_to_file(&file).unwrap() {
                AttachOutcome::Attached => return Some(file),
                // WHY: its retirer may have died, and then this process has to remove it.
                AttachOutcome::Gone if file.is_retired().unwrap() => {
                    presence::retire_file(&file).unwrap();
                }
                AttachOutcome::Gone => {}
                AttachOutcome::Retiring => thread::yield_now(),
            }
        }
        None
    }

    /// Creates a file, locks it, and gives it the name, unless the name is taken by then.
    fn make(&self) -> Option<OpenFile> {
        let file = {
            let mut tables = self.kernel.tables.lock().unwrap();
            let file = tables.files;
            tables.files += 1;
            tables.locks[file][self.process] = Lock::Shared;
            file
        };
        let mut tables = self.kernel.tables.lock().unwrap();
        if tables.linked.is_some() {
            tables.locks[file][self.process] = Lock::None;
            return None;
        }
        tables.linked = Some(file);
        Some(self.opened(file))
    }

    /// Removes the name by hand.
    pub(crate) fn remove_by_hand(&self) {
        self.kernel.tables.lock().unwrap().linked = None;
    }

    fn opened(&self, file: usize) -> OpenFile {
        let kernel = Arc::clone(&self.kernel);
        let process = self.process;
        OpenFile {
            kernel,
            process,
            file,
            dies_retiring: false,
        }
    }
}

impl OpenFile {
    /// Returns the index of the file.
    pub(crate) fn index(&self) -> usize {
        self.file
    }

    /// Returns true while the name leads here, as an onlooker sees it.
    pub(crate) fn has_the_name(&self) -> bool {
        self.kernel.tables.lock().unwrap().linked == Some(self.file)
    }

    /// Leaves, and removes the file if this was the last process in it.
    pub(crate) fn leave(self) {
        presence::retire_file(&self).unwrap();
    }

    /// As [`Self::leave`], but is killed before the unlink; the kernel then frees the lock.
    pub(crate) fn leave_killed(mut self) {
        self.dies_retiring = true;
        presence::retire_file(&self).unwrap();
    }

    /// Publishes a latched message.
    #[allow(dead_code, reason = "the shuttle models latch nothing")]
    pub(crate) fn latch(&self) {
        self.kernel.latched[self.file].store(true, Ordering::Relaxed);
    }

    /// Leaves, as the drop of a topic that may have latched history.
    #[allow(dead_code, reason = "the shuttle models latch nothing")]
    pub(crate) fn leave_unless_kept(self) {
        if self.must_be_kept().unwrap() {
            self.release_lock();
        } else {
            presence::retire_file_unless_kept(&self).unwrap();
        }
    }

    fn others(&self, tables: &Tables, lock: impl Fn(Lock) -> bool) -> bool {
        let locks = tables.locks[self.file].iter().enumerate();
        locks
            .into_iter()
            .any(|(process, &held)| process != self.process && lock(held))
    }
}

impl AttachableFile for OpenFile {
    fn try_lock_shared(&self) -> io::Result<bool> {
        let mut tables = self.kernel.tables.lock().unwrap();
        let excluded = self.others(&tables, |held| held == Lock::Exclusive);
        if excluded && !is_step_left_out("presence/share") {
            return Ok(false);
        }
        tables.locks[self.file][self.process] = Lock::Shared;
        Ok(true)
    }

    fn try_lock_exclusive(&self) -> io::Result<bool> {
        let mut tables = self.kernel.tables.lock().unwrap();
        let is_in_use = self.others(&tables, |held| held != Lock::None);
        if is_in_use && !is_step_left_out("presence/exclude") {
            return Ok(false);
        }
        tables.locks[self.file][self.process] = Lock::Exclusive;
        Ok(true)
    }

    fn release_lock(&self) {
        let mut tables = self.kernel.tables.lock().unwrap();
        let held = &mut tables.locks[self.file][self.process];
        if *held != Lock::Shared || !is_step_left_out("presence/release") {
            *held = Lock::None;
        }
    }

    fn is_retired(&self) -> io::Result<bool> {
        let unseen = is_step_left_out("presence/look") || is_step_left_out("presence/retired");
        Ok(self.kernel.retired[self.file].load(Ordering::Relaxed) && !unseen)
    }

    fn set_retired(&self) -> io::Result<()> {
        self.kernel.retired[self.file].store(true, Ordering::Relaxed);
        Ok(())
    }

    fn must_be_kept(&self) -> io::Result<bool> {
        let holds_lock = {
            let tables = self.kernel.tables.lock().unwrap();
            tables.locks[self.file][self.process] == Lock::Exclusive
        };
        let unseen = holds_lock && is_step_left_out("presence/kept");
        Ok(self.kernel.latched[self.file].load(Ordering::Relaxed) && !unseen)
    }

    fn is_linked(&self) -> io::Result<bool> {
        let unseen = is_step_left_out("presence/look") || is_step_left_out("presence/linked");
        Ok(self.has_the_name() || unseen)
    }

    fn unlink(&self) -> io::Result<()> {
        if !self.dies_retiring {
            self.kernel.tables.lock().unwrap().linked = None;
        }
        Ok(())
    }
}
