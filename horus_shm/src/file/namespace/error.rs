//! Errors of opening a namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::name::NameError;
use crate::os::group;
use crate::process::liveness::RegistryError;

/// The reason why a namespace could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// `$HORUS_NAMESPACE` is not a valid name. Permanent.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The path does not end with the name of a directory. Permanent.
    #[error("{} does not end in a directory's name: set HORUS_SHM_DIR to a path that does",
        path.display())]
    BadDirectory {
        /// The path that was given.
        path: PathBuf,
    },
    /// The directory's name belongs to a file of another kind, such as a symbolic link. Permanent
    /// until that file is removed.
    #[error("{} is not a directory: remove it, or set HORUS_SHM_DIR to another", path.display())]
    NotADirectory {
        /// The path of the file that is not a directory.
        path: PathBuf,
    },
    /// The directory belongs to another user, or other users have access to it, or its owner lacks
    /// permissions. The directory is left unchanged. (An empty directory that only lacks
    /// permissions is created again instead.)
    #[error(
        "the directory {} belongs to uid {uid} with mode {mode:04o}, wanted uid {wanted_uid} and \
         mode {wanted_mode:04o}: change that yourself, or set HORUS_SHM_DIR to another",
        path.display()
    )]
    Refused {
        /// The path of the directory.
        path: PathBuf,
        /// User id of the directory's owner.
        uid: u32,
        /// Permission bits of the directory.
        mode: u32,
        /// User id of this process.
        wanted_uid: u32,
        /// The widest permission bits that are accepted.
        wanted_mode: u32,
    },
    /// The selected group does not share the directory: it belongs to a different group, or has a
    /// different mode. Perhaps it was created without the group. The directory is left unchanged.
    /// (An empty directory that only lacks permissions is created again instead.)
    #[error(
        "the directory {} belongs to uid {uid} and gid {gid} with mode {mode:04o}, wanted gid \
         {wanted_gid} and mode 2770 for the group {}: unset HORUS_SHM_GROUP to open it without the \
         group, or remove it, or set HORUS_SHM_DIR to another",
        path.display(), group_name(*wanted_gid)
    )]
    NotOfGroup {
        /// The path of the directory.
        path: PathBuf,
        /// User id of the directory's owner.
        uid: u32,
        /// Group id of the directory.
        gid: u32,
        /// Permission bits of the directory.
        mode: u32,
        /// Group id of the selected group.
        wanted_gid: u32,
    },
    /// The members of a group share the directory, but no group was selected.
    #[error(
        "the directory {} belongs to uid {uid} and gid {gid} with mode 2770, wanted uid \
         {wanted_uid} and mode 0700 because no group is selected: set HORUS_SHM_GROUP={} to share \
         it, or set HORUS_SHM_DIR to another",
        path.display(), group_name(*gid)
    )]
    OfGroup {
        /// The path of the directory.
        path: PathBuf,
        /// User id of the directory's owner.
        uid: u32,
        /// Group id of the directory.
        gid: u32,
        /// User id of this process.
        wanted_uid: u32,
    },
    /// This process is not a member of the group that shares the namespace. Permanent for this
    /// process: if a user is added to a group, this takes effect at the user's next login.
    #[error(
        "cannot {doing} the directory {} of the group {} (gid {gid}): user {uid} is not a member \
         of it: run 'usermod -aG {} $USER' as root, and log in again",
        path.display(), group_name(*gid), group_name(*gid)
    )]
    NotAMember {
        /// The operation that failed.
        doing: &'static str,
        /// The path of the directory.
        path: PathBuf,
        /// Group id of the selected group.
        gid: u32,
        /// User id of this process.
        uid: u32,
    },
    /// There is no such group. In a container, the container's own list of groups is used.
    #[error(
        "there is no group '{group}' here: make it ('groupadd {group}'), or set HORUS_SHM_GROUP to \
         the number of a group"
    )]
    UnknownGroup {
        /// The name or number of the group that was selected.
        group: String,
    },
    /// The system's database of groups cannot be read.
    #[error("cannot look up the group '{group}': {source}: set HORUS_SHM_GROUP to its number")]
    GroupLookup {
        /// The name of the group that was selected.
        group: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The directory is on a network file system or a similar one. Permanent.
    #[error("the directory {} is on {name}: set HORUS_SHM_DIR to one in memory", path.display())]
    FileSystem {
        /// The path of the directory.
        path: PathBuf,
        /// Name of the file system.
        name: &'static str,
    },
    /// Other processes kept removing the directory while this process opened it. Transient.
    #[error("the directory {} was removed while it was being opened: retry", path.display())]
    Gone {
        /// The path of the directory.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {doing} the directory {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The path of the directory.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// This process could not join the namespace's registry of processes.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// Returns the name of a group, or its number if it has no name; `usermod` accepts both.
fn group_name(gid: u32) -> String {
    group::find_name(gid).unwrap_or_else(|| gid.to_string())
}
