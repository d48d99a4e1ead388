//! Removes files that have a topic's name but are not usable topics: damaged files, and files of
//! other kinds.

use std::io;
use std::os::fd::AsFd;

use crate::file::error::OpenError;
use crate::file::open::{TopicPath, lock_unless_in_use};
use crate::file::segment::FileId;
use crate::os::{self, FileStatus, OpenMode, lock};
use crate::process::liveness;

/// Removes the file at `place`, unless it is in use. Returns true if the file no longer exists.
///
/// # Errors
///
/// [`OpenError::NotRemoved`], which describes the obstacle; [`OpenError::Io`] if a system call
/// fails.
pub(super) fn remove_foreign_file(place: &TopicPath<'_>) -> Result<bool, OpenError> {
    let dir = place
        .namespace
        .topics_dir()
        .map_err(place.io_error("opening"))?;
    let stat = match os::fstatat(dir, place.name.file_name()) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(place.io_error("looking at")(error)),
    };
    let Some(_table) = lock_unless_in_use(FileId::from_stat(&stat)) else {
        return Ok(false);
    };
    // WHY: if two processes removed it at once, the slower one could remove a new file with the
    // same name.
    let registry = place.namespace.registry();
    if !registry
        .exclude_others_from_topic_file(stat.ino)
        .map_err(place.io_error("locking"))?
    {
        return Ok(false);
    }
    let removed = remove_under_exclusive_lock(place, &stat);
    registry.release_topic_file(stat.ino);
    removed
}

/// Removes the file whose status is `stat`, unless its name belongs to another file by now. Never
/// returns false: if the file cannot be removed, returns an error. The caller must have excluded
/// all other processes that use the locks of this library.
fn remove_under_exclusive_lock(
    place: &TopicPath<'_>,
    stat: &FileStatus,
) -> Result<bool, OpenError> {
    let dir = place
        .namespace
        .topics_dir()
        .map_err(place.io_error("opening"))?;
    let name = place.name.file_name();
    if !os::is_name_of_file(dir, name, stat).map_err(place.io_error("looking at"))? {
        return Ok(true);
    }
    if stat.is_dir() {
        return match os::remove_dir(dir, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(place.not_removed_error("a directory that is not empty", "empty it"))
            }
            Err(error) => Err(place.io_error("removing")(error)),
        };
    }
    if stat.is_file() && is_open_elsewhere(place, stat)? {
        let user = liveness::find_process_with_open_file(stat);
        let user = user.map_or_else(|| "the processes".to_owned(), |user| user.to_string());
        let cure = format!("end {user} that have it open");
        return Err(place.not_removed_error("not a topic of this library, and in use", &cure));
    }
    os::unlink(dir, name).map_err(place.io_error("removing"))?;
    Ok(true)
}

/// Returns true if another process has the file open. WHY the presence lock is not enough: only
/// processes that accept the file as a topic take that lock.
///
/// # Errors
///
/// [`OpenError::NotRemoved`] if the file belongs to another user of the group. Only that user (or
/// root) can find out whether the file is open.
fn is_open_elsewhere(place: &TopicPath<'_>, stat: &FileStatus) -> Result<bool, OpenError> {
    let dir = place
        .namespace
        .topics_dir()
        .map_err(place.io_error("opening"))?;
    let is_of_other = place.namespace.config().gid().is_some() && stat.uid != os::effective_uid();
    let no_access = || {
        let cure = format!("remove it as user {} or as root", stat.uid);
        place.not_removed_error("a file of another user", &cure)
    };
    match os::open_file(dir, place.name.file_name(), OpenMode::ReadWrite) {
        Ok(fd) => match lock::try_write_lease(fd.as_fd()) {
            Ok(alone) => Ok(!alone),
            Err(error) if is_of_other && error.kind() == io::ErrorKind::PermissionDenied => {
                Err(no_access())
            }
            Err(error) => Err(place.io_error("taking a lease on")(error)),
        },
        // WHY: another process holds a lease on it.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            if is_of_other {
                return Err(no_access());
            }
            // WHY false: without the permission to open the file there is no way to find out, and
            // its owner may remove it.
            Ok(false)
        }
        Err(error) => Err(place.io_error("opening")(error)),
    }
}
