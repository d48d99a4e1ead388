//! Presence: joining and removing a topic file, without ever splitting a topic in two.

use std::io;

/// A file with its presence lock, at which processes mark that they use it. [`attach`] and
/// [`retire`] work on this trait; the loom tests replace it by a model.
pub trait PresenceFile {
    /// Takes the shared presence lock without blocking; false while a process retires the file.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn lock_shared(&self) -> io::Result<bool>;

    /// Takes the exclusive presence lock without blocking; false while another process holds it
    /// shared.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn lock_exclusive(&self) -> io::Result<bool>;

    /// Gives the presence lock back.
    fn release(&self);

    /// Returns true once the file was marked as retired.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn is_retired(&self) -> io::Result<bool>;

    /// Marks the file as retired.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn set_retired(&self) -> io::Result<()>;

    /// Removes the files that belong to this one, if there are any. To be called while no other
    /// process attends the file. A file that cannot be removed stays, for the next sweep.
    fn remove_parts(&self) {}

    /// Returns true while the name still leads to this very file.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn is_linked(&self) -> io::Result<bool>;

    /// Removes the name.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    fn unlink(&self) -> io::Result<()>;
}

/// The result of an attempt to join a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachOutcome {
    /// The shared lock is held; while it is, the name leads to this file.
    Attached,
    /// A process is retiring the file: look up the name again.
    Retiring,
    /// The file was retired or replaced: look up the name again.
    Gone,
}

/// Marks this process as present at the file. It takes the lock first and checks the file second,
/// so that no process removes a file that has passed the check.
///
/// # Errors
///
/// The error of a system call; no lock is held then.
pub fn attach(file: &impl PresenceFile) -> io::Result<AttachOutcome> {
    if !file.lock_shared()? {
        return Ok(AttachOutcome::Retiring);
    }
    let alive = file
        .is_retired()
        .and_then(|retired| Ok(!retired && file.is_linked()?));
    if let Ok(true) = alive {
        return Ok(AttachOutcome::Attached);
    }
    file.release();
    alive.map(|_| AttachOutcome::Gone)
}

/// Removes the file if no other process attends it; gives the presence lock back in any case.
///
/// Returns true if the file is gone, by this call or before it.
///
/// # Errors
///
/// The error of a system call; the file stays then.
pub fn retire(file: &impl PresenceFile) -> io::Result<bool> {
    // WHY: the lock is given back first; otherwise two processes that leave together would block
    // each other, and the file would stay. A process that attaches in between keeps the file.
    file.release();
    if !file.lock_exclusive()? {
        return Ok(false);
    }
    let removed = remove_if_unattended(file);
    file.release();
    removed
}

fn remove_if_unattended(file: &impl PresenceFile) -> io::Result<bool> {
    // WHY: the mark comes before the unlink. A process that has the file open and is about to
    // attach finds the mark even if this process dies in between; the next sweep then removes the
    // name.
    file.set_retired()?;
    file.remove_parts();
    if file.is_linked()? {
        file.unlink()?;
    }
    Ok(true)
}
