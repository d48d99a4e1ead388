//! Directories of namespaces. A missing one is created. One that another user could write to, or
//! that is not on a local file system, is refused.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::NamespaceError;
use crate::os::access::AccessRule;
use crate::os::{self, FileStatus, group};

/// Maximum number of attempts to open or create a directory that other processes keep creating and
/// removing.
const DIRECTORY_OPEN_ATTEMPTS_MAX: u32 = 8;

/// Maximum number of bytes of a directory's name in its temporary names. A file name can have 255
/// bytes.
const TEMPORARY_NAME_STEM_BYTES_MAX: usize = 200;

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
pub(super) fn open_or_create_directory(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    access: AccessRule,
) -> Result<OwnedFd, NamespaceError> {
    let mut not_found = Vec::new();
    for _ in 0..DIRECTORY_OPEN_ATTEMPTS_MAX {
        if let Some(dir) = open_existing_directory(parent, name, path, access)? {
            return Ok(dir);
        }
        match make_directory(parent, name, access) {
            // WHY: what other processes are making is of no use any more.
            Ok(()) => remove_unfinished_directories_of(parent, name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The new directory was removed before it had its name, or after, or its parent was.
            Err(error) if error.kind() == io::ErrorKind::NotFound => not_found.push(error),
            Err(error) => return Err(not_member_or_io_error("create", path, access, error)),
        }
    }
    // WHY: some file systems, such as /proc, refuse every new directory by this error.
    if not_found.len() == DIRECTORY_OPEN_ATTEMPTS_MAX as usize
        && os::fstat(parent).is_ok_and(|parent| parent.links > 0)
        && let Some(error) = not_found.pop()
    {
        return Err(io_error("create", path)(error));
    }
    Err(NamespaceError::Gone { path: path.into() })
}

/// Opens the directory `name` in `parent`, as [`open_or_create_directory`] does; returns `None` if
/// it is missing.
pub(super) fn open_existing_directory(
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

/// Creates the directory `name` in `parent`. If the name is in use, the error is `EEXIST`.
///
/// The directory is made under a temporary name, and renamed when it is complete. WHY: a directory
/// with its final name then never lacks permission bits, so nobody has to repair it. A repair could
/// not tell whether the directory's maker is dead or has only been interrupted.
fn make_directory(parent: BorrowedFd<'_>, name: &OsStr, access: AccessRule) -> io::Result<()> {
    let random = u128::from_ne_bytes(os::random_bytes()?);
    let mut temporary = temporary_prefix(name);
    temporary.push(format!("{random:032x}"));
    os::make_dir(parent, &temporary, 0o700)?;
    let named = os::open_dir_o_path(parent, &temporary)
        .and_then(|dir| set_group_and_mode(dir.as_fd(), access))
        .and_then(|()| os::rename_to_free_name(parent, &temporary, name));
    if named.is_err() {
        // WHY ignored: the first error is reported.
        let _ = os::remove_dir(parent, &temporary);
    }
    named
}

/// Sets the group and the permission bits of a new directory to those of the access rule. WHY the
/// bits, too: the umask may have cleared some of them.
fn set_group_and_mode(dir: BorrowedFd<'_>, access: AccessRule) -> io::Result<()> {
    let stat = os::fstat(dir)?;
    // WHY: another user's directory must never be changed. If the name belongs to one, the new
    // directory was removed.
    if stat.uid != os::effective_uid() {
        return Err(io::ErrorKind::NotFound.into());
    }
    match access {
        AccessRule::Group(gid) if stat.gid != gid => os::set_group(dir, gid)?,
        _ => {}
    }
    if access.permits_dir(&stat) {
        return Ok(());
    }
    os::chmod_o_path(dir, access.dir_mode())
}

/// Returns the beginning of the temporary names under which the directory `name` is made. 32
/// hexadecimal digits follow.
fn temporary_prefix(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(
        &bytes[..bytes.len().min(TEMPORARY_NAME_STEM_BYTES_MAX)],
    ));
    prefix.push(".");
    prefix
}

/// Removes the empty directories that processes left in `parent` when they were killed while they
/// were making the directory `name`.
///
/// A process that is still making that directory may lose its unfinished one, and then looks again
/// whether the name is in use.
pub(super) fn remove_unfinished_directories_of(parent: BorrowedFd<'_>, name: &OsStr) {
    let prefix = temporary_prefix(name);
    let is_temporary = |entry: &OsString| {
        let random = entry.as_bytes().strip_prefix(prefix.as_bytes());
        random.is_some_and(|random| random.len() == 32 && random.iter().all(u8::is_ascii_hexdigit))
    };
    // WHY errors are ignored: an unfinished directory only takes some memory. It may belong to
    // another user, who can remove it.
    let names = os::list_dir(parent).unwrap_or_default();
    for name in names.iter().filter(|name| is_temporary(name)) {
        let _ = os::remove_dir(parent, name);
    }
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
            Ok(()) => not_member_or_io_error("open", path, access, error),
        },
        None => io_error("open", path)(error),
    }
}

/// Returns the error of a system call. If the call failed because this process is not a member of
/// the group, returns an error that says so.
fn not_member_or_io_error(
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
