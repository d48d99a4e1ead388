//! Errors of opening a namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::name::NameError;
use crate::process::liveness::RegistryError;

/// Why a namespace could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// `$HORUS_NAMESPACE` is no name. Permanent.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The path does not end in a directory's name. Permanent.
    #[error("{} does not end in a directory's name: set HORUS_SHM_DIR to a path that does",
        path.display())]
    BadDirectory {
        /// The path.
        path: PathBuf,
    },
    /// Something else, a symbolic link perhaps, has the directory's name. Permanent until somebody
    /// removes it.
    #[error("{} is not a directory: remove it, or set HORUS_SHM_DIR to another", path.display())]
    NotADirectory {
        /// What was found in place of a directory.
        path: PathBuf,
    },
    /// The directory belongs, or is open, to others, or lacks rights of its owner. It is left as it
    /// is. (An empty one that only lacks rights is made anew.)
    #[error(
        "the directory {} belongs to uid {uid} with mode {mode:04o}, wanted uid {wanted_uid} and \
         mode {wanted_mode:04o}: change that yourself, or set HORUS_SHM_DIR to another",
        path.display()
    )]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// Its permissions.
        mode: u32,
        /// The user of this process.
        wanted_uid: u32,
        /// What its permissions have to be.
        wanted_mode: u32,
    },
    /// The directory is on a file system of other machines. Permanent.
    #[error("the directory {} is on {name}: set HORUS_SHM_DIR to one in memory", path.display())]
    FileSystem {
        /// The directory.
        path: PathBuf,
        /// Name of the file system.
        name: &'static str,
    },
    /// Others kept removing the directory while it was being opened. Transient.
    #[error("the directory {} was removed while it was being opened: retry", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {doing} the directory {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// This process could not join the registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}
