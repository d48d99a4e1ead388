//! The errors of opening a namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::name::NameError;
use crate::os::advice::advice_for_error;
use crate::os::group;
use crate::process::liveness::RegistryError;

/// The reason why a namespace could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// The value of the environment variable `$HORUS_NAMESPACE` is not a valid name. Permanent.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The path of the namespace's directory does not end with a name, so no directory can be
    /// created there. Permanent.
    #[error("{} does not end in a directory's name: set HORUS_SHM_DIR to a path that does",
        path.display())]
    BadDirectory {
        /// The path that the caller passed.
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
        /// Permission bits that the directory has.
        mode: u32,
        /// User id of this process, to which the directory would have to belong.
        wanted_uid: u32,
        /// The most permissive permission bits that are accepted.
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
        /// Id of the group to which the directory belongs.
        gid: u32,
        /// Permission bits that the directory has.
        mode: u32,
        /// Id of the group that the user selected, to which the directory would have to belong.
        wanted_gid: u32,
    },
    /// The directory is shared by the members of a group, but the user selected no group.
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
        /// Id of the group to which the directory belongs.
        gid: u32,
        /// User id of this process, to which the directory would have to belong.
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
        /// A description of the operation that failed, for the error text.
        doing: &'static str,
        /// The path of the directory.
        path: PathBuf,
        /// Id of the group that the user selected.
        gid: u32,
        /// User id of this process.
        uid: u32,
    },
    /// The selected group does not exist. A container has its own list of groups.
    #[error(
        "there is no group '{group}' here: make it ('groupadd {group}'), or set HORUS_SHM_GROUP to \
         the number of a group"
    )]
    UnknownGroup {
        /// The group that the user selected, by name or number.
        group: String,
    },
    /// The selected group could not be looked up, because the system's database of groups cannot be
    /// read.
    #[error("cannot look up the group '{group}': {source}: set HORUS_SHM_GROUP to its number")]
    GroupLookup {
        /// The name of the group that the user selected.
        group: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The directory is on a network file system or a similar one, whose locks or mappings another
    /// machine or a user-space process controls. Permanent.
    #[error("the directory {} is on {name}: set HORUS_SHM_DIR to one in memory", path.display())]
    FileSystem {
        /// The path of the directory.
        path: PathBuf,
        /// Name of that file system, such as `nfs`.
        name: &'static str,
    },
    /// Other processes removed the directory repeatedly while this process tried to open it.
    /// Transient.
    #[error("the directory {} was removed while it was being opened: retry", path.display())]
    Gone {
        /// The path of the directory.
        path: PathBuf,
    },
    /// A system call failed.
    #[error(
        "cannot {doing} the directory {}: {source}{}", path.display(),
        advice_on_directory(doing, source)
    )]
    Io {
        /// A description of the operation that failed, for the error text.
        doing: &'static str,
        /// The path of the directory.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// This process could not join the registry of the namespace's processes.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// Returns what a user can do about a system error, as [`advice_for_error`] does. If the parent of
/// the directory is missing, that has to be made first.
fn advice_on_directory(doing: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound if doing == "open" => {
            ": make it first (mkdir -p), or set HORUS_SHM_DIR to another"
        }
        _ => advice_for_error(source),
    }
}

/// Returns the name of the group `gid`, or its number as text if it has no name. The program
/// `usermod` accepts both.
fn group_name(gid: u32) -> String {
    group::find_group_name(gid).unwrap_or_else(|| gid.to_string())
}
