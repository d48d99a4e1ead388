//! Directories of namespaces: made if they are missing; refused if another user could write to
//! them, or if they are not on a local file system.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::{AccessModes, NamespaceError};
use crate::os::{self, Stat};

/// Maximum number of attempts to open a directory while other processes make and remove it.
const ATTEMPTS: u32 = 8;

/// Magic numbers, as in statfs(2), and names of file systems that are refused: another machine or a
/// user-space process controls their locks or mappings.
const REFUSED_FILE_SYSTEMS: [(u64, &str); 10] = [
    (0x6969, "NFS"),
    (0x6573_5546, "FUSE"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x0102_1997, "9P"),
    (0x7375_7245, "Coda"),
];

/// Opens the directory `name` in `parent`, and makes it if it is missing; `path` is its path, for
/// messages.
pub(super) fn open(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    access: AccessModes,
) -> Result<OwnedFd, NamespaceError> {
    for _ in 0..ATTEMPTS {
        let refused = match os::open_dir(parent, name) {
            Ok(dir) => match check_directory(dir.as_fd(), path, access) {
                Ok(()) => return Ok(dir),
                Err(refused) => Some(refused),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let found = os::fstatat(parent, name).ok();
                Some(refused_entry_error(found, path, access, error))
            }
        };
        match refused {
            Some(refused) if !is_half_made(&refused) => return Err(refused),
            // WHY safe: only an empty directory can be removed, and that is simply made again.
            Some(refused) if os::remove_dir(parent, name).is_err() => return Err(refused),
            _ => {}
        }
        let made = os::make_dir(parent, name, access.dir_mode)
            .and_then(|()| undo_umask(parent, name, access));
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The new directory was removed again, or its parent was.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("make", path)(error)),
        }
    }
    Err(NamespaceError::Gone { path: path.into() })
}

/// Opens the parent of the directory `path`; returns it and the directory's name in it.
pub(super) fn open_parent(path: &Path) -> Result<(OwnedFd, &OsStr), NamespaceError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(NamespaceError::BadDirectory { path: path.into() });
    };
    let place = os::open_o_path(parent).map_err(io_error("open", parent))?;
    Ok((place, name))
}

pub(super) fn io_error(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> NamespaceError {
    move |source| NamespaceError::Io {
        doing,
        path: path.into(),
        source,
    }
}

/// Returns true if the refused directory may be half made: the process that makes it has not yet
/// restored the permission bits that the umask cleared, and may have died.
fn is_half_made(refused: &NamespaceError) -> bool {
    match refused {
        NamespaceError::Refused {
            uid,
            mode,
            wanted_uid,
            wanted_mode,
            ..
        } => uid == wanted_uid && mode & !wanted_mode == 0,
        _ => false,
    }
}

/// Restores the permission bits that the umask cleared in a new directory.
fn undo_umask(parent: BorrowedFd<'_>, name: &OsStr, access: AccessModes) -> io::Result<()> {
    let place = os::open_dir_o_path(parent, name)?;
    let stat = os::fstat(place.as_fd())?;
    // WHY: another user's file must never be changed. A directory that this process made belongs to
    // its user, and has no permission bit too many.
    let is_ours = stat.uid == os::effective_uid() && stat.permissions() & !access.dir_mode == 0;
    if is_ours && stat.permissions() != access.dir_mode & 0o777 {
        os::chmod_o_path(place.as_fd(), access.dir_mode)?;
    }
    Ok(())
}

fn check_directory(
    dir: BorrowedFd<'_>,
    path: &Path,
    access: AccessModes,
) -> Result<(), NamespaceError> {
    let stat = os::fstat(dir).map_err(io_error("examine", path))?;
    refuse_if_foreign(&stat, path, access)?;
    let found = os::file_system_type(dir).map_err(io_error("examine", path))?;
    match REFUSED_FILE_SYSTEMS
        .iter()
        .find(|(magic, _)| *magic == found)
    {
        Some((_, name)) => Err(NamespaceError::FileSystem {
            path: path.into(),
            name,
        }),
        None => Ok(()),
    }
}

pub(super) fn refuse_if_foreign(
    stat: &Stat,
    path: &Path,
    access: AccessModes,
) -> Result<(), NamespaceError> {
    let wanted_uid = os::effective_uid();
    let mode = stat.permissions();
    let is_closed = mode & !access.dir_mode == 0;
    let is_usable = mode & 0o700 == 0o700;
    if stat.uid == wanted_uid && is_closed && is_usable {
        return Ok(());
    }
    Err(NamespaceError::Refused {
        path: path.into(),
        uid: stat.uid,
        mode,
        wanted_uid,
        wanted_mode: access.dir_mode,
    })
}

/// Returns the error for a directory that could not be opened, according to what has its name.
fn refused_entry_error(
    found: Option<Stat>,
    path: &Path,
    access: AccessModes,
    error: io::Error,
) -> NamespaceError {
    match found {
        Some(stat) if !stat.is_dir() => NamespaceError::NotADirectory { path: path.into() },
        Some(stat) => match refuse_if_foreign(&stat, path, access) {
            Err(refused) => refused,
            Ok(()) => io_error("open", path)(error),
        },
        None => io_error("open", path)(error),
    }
}
