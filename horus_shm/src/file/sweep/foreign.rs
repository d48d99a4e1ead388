//! Removes what has the name of a topic and is none: damaged, or another kind of file.

use std::io;
use std::os::fd::AsFd;

use crate::file::error::OpenError;
use crate::file::open::{TopicPath, table_unless_attended};
use crate::file::segment::FileId;
use crate::os::{self, OpenMode, Stat, lock};
use crate::process::liveness;

/// Removes what has the name of `place`, unless somebody uses it; true if it is gone.
///
/// # Errors
///
/// [`OpenError::NotRemoved`] says what is in the way; [`OpenError::Io`].
pub(super) fn remove(place: &TopicPath<'_>) -> Result<bool, OpenError> {
    let dir = place.namespace.topics_dir().map_err(place.io("opening"))?;
    let stat = match os::fstatat(dir, place.name.file_name()) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(place.io("looking at")(error)),
    };
    let Some(_table) = table_unless_attended(FileId::of(&stat)) else { return Ok(false) };
    // WHY: of two that remove it, the slower one would remove what has the name by then.
    let registry = place.namespace.registry();
    if !registry.presence_exclude(stat.ino).map_err(place.io("locking"))? {
        return Ok(false);
    }
    let removed = remove_excluded(place, &stat);
    registry.presence_release(stat.ino);
    removed
}

/// [`remove`] while all others are excluded who keep to the rules.
fn remove_excluded(place: &TopicPath<'_>, stat: &Stat) -> Result<bool, OpenError> {
    let dir = place.namespace.topics_dir().map_err(place.io("opening"))?;
    let name = place.name.file_name();
    if !os::leads_to(dir, name, stat).map_err(place.io("looking at"))? {
        return Ok(true);
    }
    if stat.is_dir() {
        return match os::remove_dir(dir, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(place.not_removed("a directory that is not empty", "empty it"))
            }
            Err(error) => Err(place.io("removing")(error)),
        };
    }
    if stat.is_file() && has_users(place)? {
        let user = liveness::user_of(stat);
        let user = user.map_or_else(|| "the processes".to_owned(), |user| user.to_string());
        let cure = format!("end {user} that have it open");
        return Err(place.not_removed("no topic of this library, and open", &cure));
    }
    os::unlink(dir, name).map_err(place.io("removing"))?;
    Ok(true)
}

/// Whether another process has the file open. The presence lock speaks only for those who could
/// make sense of it.
fn has_users(place: &TopicPath<'_>) -> Result<bool, OpenError> {
    let dir = place.namespace.topics_dir().map_err(place.io("opening"))?;
    match os::open_file(dir, place.name.file_name(), OpenMode::ReadWrite) {
        Ok(fd) => {
            let alone = lock::try_write_lease(fd.as_fd());
            alone.map(|alone| !alone).map_err(place.io("taking a lease on"))
        }
        // Somebody else holds a lease on it.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        // WHY: without the right to open it there is no finding out, and its owner may remove it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(place.io("opening")(error)),
    }
}
