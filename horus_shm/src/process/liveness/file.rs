//! Registry files: creates and opens them, checks them, and replaces an unusable file that no
//! process has locked.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::record::{
    REGISTRY_BYTES, RegistryEntry, RegistryHeader, all_entries_lock, entry_at_lock_offset,
    removal_lock,
};
use super::{JOIN_ATTEMPTS, ProcessInfo, RegistryError};
use crate::os::access::AccessRule;
use crate::os::boot::boot_id_of_files_in;
use crate::os::lock::{LockKind, LockRange, find_conflicting_lock, try_lock};
use crate::os::{self, FileStatus, OpenMode};
use crate::process::fork::{LOCK_FD_LIMIT, LockFd, LockFdError};

/// Name of the registry file, which is in the directory of its namespace.
pub(crate) const REGISTRY_FILE_NAME: &str = "registry";

/// The directory of a registry file, and the users that share the registry.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegistryPath<'a> {
    pub(super) dir: BorrowedFd<'a>,
    /// The path of the directory that contains the registry file, for error texts.
    pub(super) path: &'a Path,
    pub(super) access: AccessRule,
    /// True if a missing file is created; false if that is the error [`RegistryError::Gone`].
    pub(super) creates: bool,
}

impl RegistryPath<'_> {
    pub(super) fn file_path(&self) -> PathBuf {
        self.path.join(REGISTRY_FILE_NAME)
    }

    pub(super) fn io_error(&self, doing: &'static str) -> impl Fn(io::Error) -> RegistryError {
        let path = self.file_path();
        move |source| RegistryError::Io {
            doing,
            path: path.clone(),
            source,
        }
    }

    /// Returns the boot id that a registry of the present boot contains.
    fn boot_id(&self) -> Result<[u8; 16], RegistryError> {
        boot_id_of_files_in(self.dir).map_err(self.io_error("find out the boot of"))
    }

    /// Returns true if the name of the registry file in the directory belongs to the file whose
    /// status is `file`.
    pub(super) fn is_name_of_file(&self, file: &FileStatus) -> Result<bool, RegistryError> {
        os::is_name_of_file(self.dir, REGISTRY_FILE_NAME, file).map_err(self.io_error("look for"))
    }
}

/// The result of an attempt to open or join a registry: success, or a reason to try again.
#[derive(Debug)]
pub(super) enum RegistryAttempt<T> {
    Done(T),
    /// Another process changed the registry file during the attempt. The caller has to start again.
    Again,
    /// Another process is replacing or removing the registry file, or is joining at its last free
    /// entry. The caller has to start again after a pause.
    Wait,
}

/// An open registry file whose owner, permissions and content have been checked.
#[derive(Debug)]
pub(super) struct OpenRegistry {
    pub(super) lock: LockFd,
    pub(super) stat: FileStatus,
    pub(super) header: RegistryHeader,
}

/// Opens and checks the registry file. If there is none, creates it, if the caller wants that.
pub(super) fn open_or_create(
    registry_path: RegistryPath<'_>,
) -> Result<RegistryAttempt<OpenRegistry>, RegistryError> {
    let open = || os::open_file(registry_path.dir, REGISTRY_FILE_NAME, OpenMode::ReadWrite);
    let lock = match LockFd::open(open) {
        Ok(lock) => lock,
        Err(LockFdError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            if !registry_path.creates {
                return Err(RegistryError::Gone {
                    path: registry_path.path.into(),
                });
            }
            return create_file(registry_path).map(|()| RegistryAttempt::Again);
        }
        Err(error) => return Err(lock_fd_error(registry_path, error)),
    };
    let fd = lock.get().map_err(registry_path.io_error("use"))?;
    let stat = os::fstat(fd).map_err(registry_path.io_error("examine"))?;
    if stat.links == 0 {
        return Ok(RegistryAttempt::Again);
    }
    check_ownership(registry_path, &stat)?;
    let boot_id = registry_path.boot_id()?;
    match RegistryHeader::read(fd, stat.size_bytes, boot_id)
        .map_err(registry_path.io_error("read"))?
    {
        Ok(header) => Ok(RegistryAttempt::Done(OpenRegistry { lock, stat, header })),
        Err(fault) if remove_unusable_file(registry_path, fd, &stat)? => {
            // WHY the fault is not reported: no process can have been using the file.
            let _ = fault;
            // WHY created in any case: the file is replaced, and was not missing before.
            create_file(registry_path).map(|()| RegistryAttempt::Again)
        }
        Err(_) if is_locked_for_removal(registry_path, fd)? => Ok(RegistryAttempt::Wait),
        Err(_) if !registry_path.is_name_of_file(&stat)? => Ok(RegistryAttempt::Again),
        Err(fault) => Err(RegistryError::Damaged {
            path: registry_path.file_path(),
            fault,
        }),
    }
}

/// Locks all processes out of the registry in `dir`, if no live process is in it. Otherwise
/// returns, as the inner error, the description of one live process; `None` if that process has no
/// description. If there is no registry, creates an empty file in its place, which the users of
/// `access` share, and locks that.
///
/// The lock is released when the returned descriptor is closed. The descriptor is `None` if
/// something that is not a regular file has the registry's name, so that no process can join.
pub(crate) fn lock_out_all_processes(
    dir: BorrowedFd<'_>,
    access: AccessRule,
) -> io::Result<Result<Option<LockFd>, Option<ProcessInfo>>> {
    for _ in 0..JOIN_ATTEMPTS {
        let lock =
            match LockFd::open(|| os::open_file(dir, REGISTRY_FILE_NAME, OpenMode::ReadWrite)) {
                Ok(lock) => lock,
                Err(LockFdError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    create_empty_file(dir, access)?;
                    continue;
                }
                Err(LockFdError::Io(error)) => match os::fstatat(dir, REGISTRY_FILE_NAME) {
                    Ok(stat) if stat.is_file() => return Err(error),
                    Ok(_) => return Ok(Ok(None)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(io::Error::other(error)),
            };
        let fd = lock.get()?;
        let stat = os::fstat(fd)?;
        if !stat.is_file() {
            return Ok(Ok(None));
        }
        if !try_lock(fd, LockRange::ALL, LockKind::Exclusive)? {
            return Ok(Err(find_process_with_lock(fd)?));
        }
        // WHY after the lock: another process may have replaced the file since it was opened, and
        // live in the new one. From now on nobody replaces this one.
        if os::is_name_of_file(dir, REGISTRY_FILE_NAME, &stat)? {
            return Ok(Ok(Some(lock)));
        }
    }
    Err(io::Error::other(
        "other processes replaced it repeatedly: retry",
    ))
}

/// Returns the description of a process that has locked an entry of the registry file.
fn find_process_with_lock(fd: BorrowedFd<'_>) -> io::Result<Option<ProcessInfo>> {
    let lock = find_conflicting_lock(fd, all_entries_lock()?)?;
    let entry = lock.and_then(|lock| entry_at_lock_offset(lock.start));
    let entry = entry.and_then(|entry| RegistryEntry::read(fd, entry).ok());
    Ok(entry.map(|entry| entry.process_info()))
}

/// Creates an empty file in the place of a registry, for a process that wants to lock all others
/// out. WHY not a registry: it takes no memory, and a process that joins later waits for the lock,
/// and then replaces the file.
fn create_empty_file(dir: BorrowedFd<'_>, access: AccessRule) -> io::Result<()> {
    let file = os::open_unnamed_file(dir)?;
    access.apply_to_file(file.as_fd())?;
    match os::link_unnamed_file(file.as_fd(), dir, REGISTRY_FILE_NAME) {
        // WHY success: another process has created the registry.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Returns true if another process has locked the registry file, because it is replacing, removing
/// or joining the registry.
fn is_locked_for_removal(
    registry_path: RegistryPath<'_>,
    fd: BorrowedFd<'_>,
) -> Result<bool, RegistryError> {
    let byte = removal_lock().and_then(|range| find_conflicting_lock(fd, range));
    Ok(byte.map_err(registry_path.io_error("probe"))?.is_some())
}

/// Creates the registry file. The file gets its name last, so at any time either the name does not
/// exist or the file is complete.
fn create_file(registry_path: RegistryPath<'_>) -> Result<(), RegistryError> {
    let boot_id = registry_path.boot_id()?;
    let file = match os::open_unnamed_file(registry_path.dir) {
        Ok(file) => file,
        Err(error) => return Err(gone_or_io_error(registry_path, "create", error)),
    };
    let header =
        RegistryHeader::new(boot_id).map_err(registry_path.io_error("get random numbers for"))?;
    let fd = file.as_fd();
    os::set_len(fd, REGISTRY_BYTES).map_err(registry_path.io_error("size"))?;
    // WHY reserved now: a later process must not find the file system full when it joins.
    os::fallocate(fd, 0, REGISTRY_BYTES).map_err(registry_path.io_error("reserve room for"))?;
    os::write_at(fd, bytemuck::bytes_of(&header), 0).map_err(registry_path.io_error("write"))?;
    registry_path
        .access
        .apply_to_file(fd)
        .map_err(registry_path.io_error("set the mode of"))?;
    match os::link_unnamed_file(fd, registry_path.dir, REGISTRY_FILE_NAME) {
        Ok(()) => Ok(()),
        // WHY success: another process was first, and its file serves as well.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(gone_or_io_error(registry_path, "link", error)),
    }
}

/// Converts the error of a system call. Returns [`RegistryError::Gone`] if the directory was
/// removed. WHY this check: file systems return various errors in that case.
fn gone_or_io_error(
    registry_path: RegistryPath<'_>,
    doing: &'static str,
    error: io::Error,
) -> RegistryError {
    if os::fstat(registry_path.dir).is_ok_and(|dir| dir.links == 0) {
        return RegistryError::Gone {
            path: registry_path.path.into(),
        };
    }
    registry_path.io_error(doing)(error)
}

/// Removes a registry file that cannot be used. Returns false, and keeps the file, if a process has
/// locked a byte of it.
fn remove_unusable_file(
    registry_path: RegistryPath<'_>,
    fd: BorrowedFd<'_>,
    stat: &FileStatus,
) -> Result<bool, RegistryError> {
    // WHY every byte: another layout may have its locks elsewhere. The lock also keeps two
    // processes from discarding at once, where the slower one would unlink the new file of the
    // faster one.
    let locked = try_lock(fd, LockRange::ALL, LockKind::Exclusive);
    if !locked.map_err(registry_path.io_error("lock"))? {
        return Ok(false);
    }
    if registry_path.is_name_of_file(stat)? {
        os::unlink(registry_path.dir, REGISTRY_FILE_NAME)
            .map_err(registry_path.io_error("replace"))?;
    }
    Ok(true)
}

fn check_ownership(
    registry_path: RegistryPath<'_>,
    stat: &FileStatus,
) -> Result<(), RegistryError> {
    if !stat.is_file() {
        return Err(RegistryError::NotAFile {
            path: registry_path.file_path(),
        });
    }
    if registry_path.access.permits_file(stat) && stat.links == 1 {
        return Ok(());
    }
    let path = registry_path.file_path();
    let &FileStatus { uid, links, .. } = stat;
    Err(match registry_path.access {
        AccessRule::User => RegistryError::Refused {
            path,
            uid,
            mode: stat.permissions(),
            links,
            wanted_uid: os::effective_uid(),
            wanted_mode: registry_path.access.file_mode(),
        },
        AccessRule::Group(wanted_gid) => RegistryError::NotOfGroup {
            path,
            uid,
            gid: stat.gid,
            mode: stat.mode_bits(),
            links,
            wanted_gid,
        },
    })
}

fn lock_fd_error(registry_path: RegistryPath<'_>, error: LockFdError) -> RegistryError {
    match error {
        LockFdError::TableFull => RegistryError::TooManyOpen {
            path: registry_path.file_path(),
            limit: LOCK_FD_LIMIT,
        },
        LockFdError::Forking => RegistryError::Busy {
            path: registry_path.file_path(),
        },
        LockFdError::Io(error) => match os::fstatat(registry_path.dir, REGISTRY_FILE_NAME) {
            // WHY: for a symlink, directory or socket the error of `open` would be misleading.
            Ok(stat) if !stat.is_file() => RegistryError::NotAFile {
                path: registry_path.file_path(),
            },
            // WHY: a file that this process may not open is not one that its group shares.
            Ok(stat) if error.kind() == io::ErrorKind::PermissionDenied => {
                match check_ownership(registry_path, &stat) {
                    Err(refused) => refused,
                    Ok(()) => registry_path.io_error("open")(error),
                }
            }
            _ => registry_path.io_error("open")(error),
        },
    }
}
