//! Errors of opening a namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::name::NameError;
use crate::process::liveness::RegistryError;

/// The reason why a namespace could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// `$HORUS_NAMESPACE` is not a valid name. Permanent.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The path does not end in a directory's name. Permanent.
    #[error("{} does not end in a directory's name: set HORUS_SHM_DIR to a path that does",
        path.display())]
    BadDirectory {
        /// The path.
        path: PathBuf,
    },
    /// A file of another kind, a symbolic link perhaps, has the directory's name. Permanent until
    /// it is removed.
    #[error("{} is not a directory: remove it, or set HORUS_SHM_DIR to another", path.display())]
    NotADirectory {
        /// The path of the file that is not a directory.
        path: PathBuf,
    },
    /// The directory belongs to another user, or other users have access to it, or its owner lacks
    /// permissions. The directory is left unchanged. (An empty one that only lacks permissions is
    /// made again.)
    #[error(
        "the directory {} belongs to uid {uid} with mode {mode:04o}, wanted uid {wanted_uid} and \
         mode {wanted_mode:04o}: change that yourself, or set HORUS_SHM_DIR to another",
        path.display()
    )]
    Refused {
        /// The directory.
        path: PathBuf,
        /// User id of the directory's owner.
        uid: u32,
        /// Permission bits of the directory.
        mode: u32,
        /// User id of this process.
        wanted_uid: u32,
        /// The widest permissions that are accepted.
        wanted_mode: u32,
    },
    /// The directory is on a network file system or similar. Permanent.
    #[error("the directory {} is on {name}: set HORUS_SHM_DIR to one in memory", path.display())]
    FileSystem {
        /// The directory.
        path: PathBuf,
        /// Name of the file system.
        name: &'static str,
    },
    /// Other processes kept removing the directory while it was being opened. Transient.
    #[error("the directory {} was removed while it was being opened: retry", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {doing} the directory {}: {source}", path.display())]
    Io {
        /// The operation that failed.
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
