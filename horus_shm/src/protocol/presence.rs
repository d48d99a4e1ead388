//! Presence: how processes join and remove a topic file, such that two processes never use
//! different files for the same topic.

use std::io;

/// A file with its presence lock, by which processes mark that they use the file.
/// [`attach_to_file`], [`retire_file`] and [`retire_file_unless_kept`] are generic over this trait;
/// the loom tests implement it with a model of a file.
pub trait AttachableFile {
    /// Takes the presence lock in shared mode, without blocking. Returns false while another
    /// process holds it in exclusive mode to remove the file.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn try_lock_shared(&self) -> io::Result<bool>;

    /// Takes the presence lock in exclusive mode, without blocking. Returns false while another
    /// process holds it in shared mode.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn try_lock_exclusive(&self) -> io::Result<bool>;

    /// Releases the lock that marks this process as a user of the file.
    fn release_lock(&self);

    /// Returns true if the file is marked as retired, that is, about to be removed.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn is_retired(&self) -> io::Result<bool>;

    /// Marks the file as retired, that is, about to be removed.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn set_retired(&self) -> io::Result<()>;

    /// Returns true if the file has to stay although no process uses it, for example because it has
    /// latched history.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn must_be_kept(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Removes the files that belong to this one, such as lane files. Must be called only while no
    /// other process is present at the file. A file that cannot be removed stays until the next
    /// clean-up of the namespace.
    fn remove_belonging_files(&self) {}

    /// Returns true if the name under which the file was opened still leads to this file.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn is_linked(&self) -> io::Result<bool>;

    /// Removes the name of the file.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn unlink(&self) -> io::Result<()>;
}

/// The result of [`attach_to_file`], by which a process tries to become a user of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachOutcome {
    /// The process is marked as a user of the file. As long as it is, the name leads to this file.
    Attached,
    /// Another process is removing the file. The caller has to open the name again.
    Retiring,
    /// The file was removed or replaced. The caller has to open the name again.
    Gone,
}

/// Marks this process as present at the file. Takes the lock first and checks the file afterwards,
/// so that no process can remove a file that has passed the check.
///
/// # Errors
///
/// The error of a system call; no lock is held then.
pub fn attach_to_file(file: &impl AttachableFile) -> io::Result<AttachOutcome> {
    if !file.try_lock_shared()? {
        return Ok(AttachOutcome::Retiring);
    }
    let alive = file
        .is_retired()
        .and_then(|retired| Ok(!retired && file.is_linked()?));
    if let Ok(true) = alive {
        return Ok(AttachOutcome::Attached);
    }
    file.release_lock();
    alive.map(|_| AttachOutcome::Gone)
}

/// Removes the file if no other process uses it, even if [`AttachableFile::must_be_kept`] is true.
/// Releases the presence lock in any case.
///
/// Returns true if the file is gone, whether this call or an earlier one removed it.
///
/// # Errors
///
/// The error of a system call. The file is not removed then.
pub fn retire_file(file: &impl AttachableFile) -> io::Result<bool> {
    retire_file_if(file, || Ok(true))
}

/// Does the same as [`retire_file`], unless the file is kept ([`AttachableFile::must_be_kept`]).
///
/// WHY it is not enough if the caller checks before the call: another process may join the file
/// after that, make it one that is kept, and leave it.
///
/// # Errors
///
/// As [`retire_file`].
pub fn retire_file_unless_kept(file: &impl AttachableFile) -> io::Result<bool> {
    retire_file_if(file, || Ok(!file.must_be_kept()?))
}

/// Removes the file if no other process uses it, and if `may_remove` then returns true. No process
/// can join the file until it is removed. Returns true if the file is gone.
///
/// # Errors
///
/// As [`retire_file`], and those of `may_remove`.
pub fn retire_file_if(
    file: &impl AttachableFile,
    may_remove: impl FnOnce() -> io::Result<bool>,
) -> io::Result<bool> {
    // WHY: the lock is given back first; otherwise two processes that leave together would block
    // each other, and the file would stay. A process that attaches in between keeps the file.
    file.release_lock();
    if !file.try_lock_exclusive()? {
        return Ok(false);
    }
    let removed = may_remove().and_then(|may| Ok(may && remove_unused_file(file)?));
    file.release_lock();
    removed
}

/// Removes the file, which no other process uses.
fn remove_unused_file(file: &impl AttachableFile) -> io::Result<bool> {
    // WHY: the mark comes before the unlink. A process that has the file open and is about to
    // attach finds the mark even if this process dies in between; the next sweep then removes the
    // name.
    file.set_retired()?;
    file.remove_belonging_files();
    if file.is_linked()? {
        file.unlink()?;
    }
    Ok(true)
}
