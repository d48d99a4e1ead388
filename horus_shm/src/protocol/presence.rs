//! Presence: who joins a topic file, and who may remove it, without ever splitting a topic in two.

use std::io;

/// What locks and file system offer to [`attach`] and [`retire`]; a model in the loom tests.
pub trait Attendance {
    /// Takes the shared presence lock without blocking; false while somebody retires the file.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn share(&self) -> io::Result<bool>;

    /// Takes the exclusive presence lock without blocking; false while another process attends.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn exclude(&self) -> io::Result<bool>;

    /// Gives the presence lock back.
    fn release(&self);

    /// True once the file was declared retired.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn is_retired(&self) -> io::Result<bool>;

    /// Declares the file retired.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn set_retired(&self) -> io::Result<()>;

    /// True while the name still leads to this very file.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn is_linked(&self) -> io::Result<bool>;

    /// Removes the name.
    ///
    /// # Errors
    ///
    /// Whatever the system call says.
    fn unlink(&self) -> io::Result<()>;
}

/// How an attempt to join a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attach {
    /// The shared lock is held, and the name leads to this file for as long as it is.
    Attached,
    /// Somebody is retiring the file: look at the name again.
    Retiring,
    /// The file was retired or replaced: look at the name again.
    Gone,
}

/// Joins the file: lock first, look second, so that a file which passes the look stays.
///
/// # Errors
///
/// Whatever a system call says; no lock is held then.
pub fn attach(file: &impl Attendance) -> io::Result<Attach> {
    if !file.share()? {
        return Ok(Attach::Retiring);
    }
    let alive = file.is_retired().and_then(|retired| Ok(!retired && file.is_linked()?));
    if let Ok(true) = alive {
        return Ok(Attach::Attached);
    }
    file.release();
    alive.map(|_| Attach::Gone)
}

/// Removes the file if nobody else attends it; gives the presence lock back in any case.
///
/// True if the file is gone, by this call or before it.
///
/// # Errors
///
/// Whatever a system call says; the file stays then.
pub fn retire(file: &impl Attendance) -> io::Result<bool> {
    // WHY: given back first, or two that leave together would each be in the other's way, and the
    // file would stay. Whoever attaches in between keeps it.
    file.release();
    let outcome = match file.exclude() {
        Ok(true) => remove(file),
        other => other,
    };
    file.release();
    outcome
}

fn remove(file: &impl Attendance) -> io::Result<bool> {
    // WHY: the mark comes before the unlink: whoever has the file open and was about to attach
    // finds it even if this process dies in between; the next sweep then removes the name.
    file.set_retired()?;
    if file.is_linked()? {
        file.unlink()?;
    }
    Ok(true)
}
