//! Directories of namespaces. A missing one is created. One that another user could write to, or
//! that is not on a local file system, is refused.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::NamespaceError;
use crate::os::access::AccessRule;
use crate::os::{self, FileStatus, group};

/// Maximum number of attempts to open or create a directory that other processes keep creating and
/// removing.
const OPEN_ATTEMPTS_MAX: u32 = 8;

/// File systems that are refused: their magic numbers, as in statfs(2), and their names. Their
/// locks or mappings are controlled by another machine or by a user-space process.
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

/// Opens the directory `name` in `parent`, and creates it if it is missing. `path` is the
/// directory's path, for use in messages.
pub(super) fn open_or_create(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    access: AccessRule,
) -> Result<OwnedFd, NamespaceError> {
    let mut not_found = Vec::new();
    for _ in 0..OPEN_ATTEMPTS_MAX {
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
            Some(refused) if !may_be_incomplete(&refused) => return Err(refused),
            // WHY safe: only an empty directory can be removed, and that is simply made again.
            Some(refused) if os::remove_dir(parent, name).is_err() => return Err(refused),
            _ => {}
        }
        match make_directory(parent, name, access) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The new directory was removed again, or its parent was.
            Err(error) if error.kind() == io::ErrorKind::NotFound => not_found.push(error),
            Err(error) => return Err(member_or_io_error("create", path, access, error)),
        }
    }
    // WHY: some file systems, such as /proc, refuse every new directory by this error.
    if not_found.len() == OPEN_ATTEMPTS_MAX as usize
        && os::fstat(parent).is_ok_and(|parent| parent.links > 0)
        && let Some(error) = not_found.pop()
    {
        return Err(io_error("create", path)(error));
    }
    Err(NamespaceError::Gone { path: path.into() })
}

/// Opens the directory `name` in `parent`, as [`open_or_create`] does; returns `None` if it is
/// missing.
pub(super) fn open_existing(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    access: AccessRule,
) -> Result<Option<OwnedFd>, NamespaceError> {
    match os::open_dir(parent, name) {
        Ok(dir) => check_directory(dir.as_fd(), path, access).map(|()| Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let found = os::fstatat(parent, name).ok();
            Err(refused_entry_error(found, path, access, error))
        }
    }
}

/// Opens the parent directory of `path`. Returns it, and the last component of `path`, which is the
/// directory's name there.
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

/// Returns true if a directory that was refused may be incomplete: its creator may not yet have set
/// the permission bits that the umask cleared, or may have died before it could.
fn may_be_incomplete(refused: &NamespaceError) -> bool {
    match refused {
        NamespaceError::Refused {
            uid,
            mode,
            wanted_uid,
            wanted_mode,
            ..
        } => uid == wanted_uid && mode & !wanted_mode == 0,
        NamespaceError::NotOfGroup {
            uid,
            gid,
            mode,
            wanted_gid,
            ..
        } => {
            let is_ours = *uid == os::effective_uid() || gid == wanted_gid;
            is_ours && mode & !AccessRule::Group(*wanted_gid).dir_mode() == 0
        }
        _ => false,
    }
}

/// Creates the directory `name` in `parent`. Its permission bits are those of the access rule.
fn make_directory(parent: BorrowedFd<'_>, name: &OsStr, access: AccessRule) -> io::Result<()> {
    match access {
        AccessRule::Group(gid) if !access.permits_dir(&os::fstat(parent)?) => {
            create_under_temporary_name(parent, name, gid)
        }
        // In a directory of the group, a new directory belongs to the group at once. Until it has
        // all permission bits, any member may remove it.
        _ => {
            os::make_dir(parent, name, access.dir_mode())?;
            undo_umask(parent, name, access)
        }
    }
}

/// Creates a directory of the group `gid` under a temporary name, and renames it when it is
/// complete. WHY: if this process dies in between, the other members may have no right to remove
/// the incomplete directory from `parent`. With the final name, it would lock them out until the
/// user of this process returns.
fn create_under_temporary_name(parent: BorrowedFd<'_>, name: &OsStr, gid: u32) -> io::Result<()> {
    let random = u128::from_ne_bytes(os::random_bytes()?);
    let mut other_name = OsStr::new(".").to_owned();
    other_name.push(name);
    other_name.push(format!(".{random:032x}"));
    os::make_dir(parent, &other_name, 0o700)?;
    let named = os::open_dir_o_path(parent, &other_name).and_then(|dir| {
        os::set_group(dir.as_fd(), gid)?;
        os::chmod_o_path(dir.as_fd(), AccessRule::Group(gid).dir_mode())?;
        os::rename_to_free_name(parent, &other_name, name)
    });
    if named.is_err() {
        // WHY ignored: the first error is reported.
        let _ = os::remove_dir(parent, &other_name);
    }
    named
}

/// Sets the permission bits of a new directory to those of the access rule. WHY: the umask may have
/// cleared some of them.
fn undo_umask(parent: BorrowedFd<'_>, name: &OsStr, access: AccessRule) -> io::Result<()> {
    let place = os::open_dir_o_path(parent, name)?;
    let stat = os::fstat(place.as_fd())?;
    // WHY: another user's file must never be changed. A directory that this process made belongs to
    // its user, and has no permission bit too many.
    let is_ours =
        stat.uid == os::effective_uid() && access.excludes_others(&stat, access.dir_mode());
    if is_ours && !access.permits_dir(&stat) {
        os::chmod_o_path(place.as_fd(), access.dir_mode())?;
    }
    Ok(())
}

fn check_directory(
    dir: BorrowedFd<'_>,
    path: &Path,
    access: AccessRule,
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
    stat: &FileStatus,
    path: &Path,
    access: AccessRule,
) -> Result<(), NamespaceError> {
    if access.permits_dir(stat) {
        return Ok(());
    }
    let path = path.to_path_buf();
    let &FileStatus { uid, gid, .. } = stat;
    let wanted_uid = os::effective_uid();
    Err(match access {
        AccessRule::Group(wanted_gid) => NamespaceError::NotOfGroup {
            path,
            uid,
            gid,
            mode: stat.mode_bits(),
            wanted_gid,
        },
        AccessRule::User if stat.mode_bits() == AccessRule::Group(gid).dir_mode() => {
            NamespaceError::OfGroup {
                path,
                uid,
                gid,
                wanted_uid,
            }
        }
        AccessRule::User => NamespaceError::Refused {
            path,
            uid,
            mode: stat.permissions(),
            wanted_uid,
            wanted_mode: access.dir_mode(),
        },
    })
}

/// Returns the error for a name that could not be opened as a directory, according to the kind of
/// file that has the name.
fn refused_entry_error(
    found: Option<FileStatus>,
    path: &Path,
    access: AccessRule,
    error: io::Error,
) -> NamespaceError {
    match found {
        Some(stat) if !stat.is_dir() => NamespaceError::NotADirectory { path: path.into() },
        Some(stat) => match refuse_if_foreign(&stat, path, access) {
            Err(refused) => refused,
            Ok(()) => member_or_io_error("open", path, access, error),
        },
        None => io_error("open", path)(error),
    }
}

/// Returns the error of a system call. If the call failed because this process is not a member of
/// the group, returns an error that says so.
fn member_or_io_error(
    doing: &'static str,
    path: &Path,
    access: AccessRule,
    error: io::Error,
) -> NamespaceError {
    match access {
        // EPERM or EACCES.
        AccessRule::Group(gid)
            if error.kind() == io::ErrorKind::PermissionDenied
                && !group::is_group_member(gid).unwrap_or(true) =>
        {
            NamespaceError::NotAMember {
                doing,
                path: path.into(),
                gid,
                uid: os::effective_uid(),
            }
        }
        _ => io_error(doing, path)(error),
    }
}
