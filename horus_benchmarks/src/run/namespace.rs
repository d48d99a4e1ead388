//! A private directory for the shared files of a benchmark. It is removed when the benchmark ends.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use horus_shm::{Namespace, NamespaceConfig, NamespaceError, NamespaceName};
use tempfile::TempDir;

const NAMESPACE_NAME: &str = "bench";

/// Prefix of the names of private directories.
pub(crate) const DIRECTORY_PREFIX: &str = "horus-bench-";

/// The memory file system in which private directories are made, if it exists.
const SHARED_MEMORY_DIRECTORY: &str = "/dev/shm";

/// A private directory for topics, so that a benchmark neither sees nor disturbs a running robot.
///
/// When dropped, it removes the directory, and the files beside it whose names begin with its name:
/// other libraries create their files there. A run that is killed leaves all of these behind.
#[derive(Debug)]
pub struct PrivateNamespace {
    directory: TempDir,
}

impl PrivateNamespace {
    /// Creates a new directory that only this user can enter.
    pub fn create() -> io::Result<PrivateNamespace> {
        let shared = Path::new(SHARED_MEMORY_DIRECTORY);
        let base = if shared.is_dir() {
            shared.to_owned()
        } else {
            std::env::temp_dir()
        };
        // WHY not a longer name: names of sockets below it end at 108 bytes.
        let directory = tempfile::Builder::new()
            .prefix(&format!("{DIRECTORY_PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        Ok(PrivateNamespace { directory })
    }

    /// Returns the path of the private directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the environment variables that select the private namespace in a child process.
    pub fn environment(&self) -> [(String, OsString); 2] {
        let directory = self.directory().into();
        [
            ("HORUS_SHM_DIR".to_owned(), directory),
            ("HORUS_NAMESPACE".to_owned(), NAMESPACE_NAME.into()),
        ]
    }

    /// Opens the namespace in this process. A child process that was started with the variables of
    /// [`environment`](Self::environment) opens it with [`Namespace::current`].
    pub fn open(&self) -> Result<Arc<Namespace>, NamespaceError> {
        let name = NamespaceName::new(NAMESPACE_NAME)?;
        Namespace::open(&NamespaceConfig::new(self.directory(), name))
    }
}

impl Drop for PrivateNamespace {
    fn drop(&mut self) {
        self.files_named_after_directory().for_each(|path| {
            if let Err(error) = fs::remove_file(&path) {
                eprintln!("cannot remove '{}': {error}", path.display());
            }
        });
    }
}

impl PrivateNamespace {
    /// Returns the files in shared memory whose names begin with that of the private directory.
    fn files_named_after_directory(&self) -> impl Iterator<Item = PathBuf> {
        let name = self.directory().file_name().unwrap_or_default().to_owned();
        let entries = fs::read_dir(SHARED_MEMORY_DIRECTORY)
            .into_iter()
            .flatten()
            .flatten();
        let is_ours = move |path: &PathBuf| {
            let found = path.file_name().unwrap_or_default().as_encoded_bytes();
            found.starts_with(name.as_encoded_bytes()) && path.is_file()
        };
        entries.map(|entry| entry.path()).filter(is_ours)
    }
}
