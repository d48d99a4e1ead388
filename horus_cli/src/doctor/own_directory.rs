//! Directories whose mode `horus doctor --fix` may change: only those that the library has made,
//! and that belong to the user.
//!
//! The user may have named any directory, such as `/dev/shm` itself, which others need as it is.
//! Whoever may write to the directory of the namespaces may also replace what is in it by a link.
//! So a directory is opened first, and all else is looked at and changed through its descriptor.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use horus_core::namespace::NamespaceName;

use crate::namespace::has_registry;

/// The mode that the library gives to directories of a single user.
const PRIVATE_MODE: u32 = 0o700;

/// Number of random digits in the name of a directory that is being made.
const RANDOM_DIGITS: usize = 32;

/// The beginning of the name of the directory that the library makes for the namespaces of a user.
const DEFAULT_NAME_PREFIX: &str = "horus-";

/// The kinds of directories that the library makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryKind {
    /// The directory that contains those of the namespaces.
    Namespaces,
    /// The directory of one namespace.
    Namespace,
}

/// The reason why the mode of a directory is not changed.
#[derive(Debug)]
pub(super) enum ModeChangeRefusal {
    /// The directory is empty, and the library does not give its name. Only the user knows what it
    /// is for.
    Empty,
    /// The directory is not of the library, or cannot be opened.
    Other(io::Error),
}

/// A directory of the library that belongs to the user, opened without following a link.
#[derive(Debug)]
pub(super) struct OwnDirectory(File);

impl ModeChangeRefusal {
    fn of(reason: &str) -> Self {
        Self::Other(io::Error::other(reason))
    }
}

impl fmt::Display for ModeChangeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty and may be for something else"),
            Self::Other(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for ModeChangeRefusal {
    fn from(error: io::Error) -> Self {
        Self::Other(error)
    }
}

impl OwnDirectory {
    /// Opens the directory at `path` if the library has made it for this user.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or belongs to another user, or has something in it that is not of the
    /// library. The text says which.
    pub(super) fn open(path: &Path, kind: DirectoryKind) -> Result<Self, ModeChangeRefusal> {
        let found = fs::symlink_metadata(path)?;
        // WHY its entry `.`: only a directory has one, so this neither opens nor waits for a file.
        let file = File::open(path.join("."))?;
        let metadata = file.metadata()?;
        let is_same = (found.dev(), found.ino()) == (metadata.dev(), metadata.ino());
        if !found.is_dir() || !is_same {
            return Err(ModeChangeRefusal::of(
                "it is a link, or was replaced just now",
            ));
        }
        if metadata.uid() != fs::metadata("/proc/self")?.uid() {
            return Err(ModeChangeRefusal::of("it belongs to another user"));
        }
        if metadata.mode() & 0o7000 != 0 {
            return Err(ModeChangeRefusal::of(
                "its mode is none that the library sets",
            ));
        }
        let directory = Self(file);
        let fault = match kind {
            DirectoryKind::Namespaces => directory.refusal_for_foreign_content(path)?,
            DirectoryKind::Namespace if has_registry(&directory.path()) => None,
            DirectoryKind::Namespace => Some(ModeChangeRefusal::of("it has no registry")),
        };
        match fault {
            Some(fault) => Err(fault),
            None => Ok(directory),
        }
    }

    /// Sets the mode of the directory to that of a single user.
    pub(super) fn make_private(&self) -> io::Result<()> {
        self.0.set_permissions(Permissions::from_mode(PRIVATE_MODE))
    }

    /// Returns a path that leads to the open directory, whatever has its name now.
    fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// Returns the reason why the directory `name` may be for something else than namespaces;
    /// `None` if it contains only these, or is empty and has a name that the library gives.
    fn refusal_for_foreign_content(&self, name: &Path) -> io::Result<Option<ModeChangeRefusal>> {
        let mut is_empty = true;
        for entry in fs::read_dir(self.path())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_namespace = || NamespaceName::new(&name).is_ok() && has_registry(&entry.path());
            if !entry.file_type()?.is_dir()
                || !(is_name_of_unfinished_directory(&name) || is_namespace())
            {
                return Ok(Some(ModeChangeRefusal::of(
                    "it is not for namespaces alone",
                )));
            }
            is_empty = false;
        }
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let may_be_foreign = is_empty && !name.starts_with(DEFAULT_NAME_PREFIX);
        Ok(may_be_foreign.then_some(ModeChangeRefusal::Empty))
    }
}

/// Returns true if the library gives this name to a directory that it is making.
fn is_name_of_unfinished_directory(name: &str) -> bool {
    let Some((stem, random)) = name.rsplit_once('.') else {
        return false;
    };
    let is_random = random.len() == RANDOM_DIGITS && random.bytes().all(|b| b.is_ascii_hexdigit());
    stem.starts_with('.') && is_random
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::private_namespace;

    /// Whoever may write to the directory can put a link in place of a namespace.
    #[test]
    fn neither_a_link_nor_a_foreign_directory_is_opened() {
        let (_dir, namespace) = private_namespace();
        let dir = namespace.config().dir();
        let (namespaces, one) = (DirectoryKind::Namespaces, DirectoryKind::Namespace);
        assert!(OwnDirectory::open(dir, namespaces).is_ok());
        let opened = OwnDirectory::open(namespace.path(), one).unwrap();
        // What has the name now is not changed.
        let away = dir.join("away");
        fs::rename(namespace.path(), &away).unwrap();
        let target = tempfile::tempdir().unwrap();
        fs::write(target.path().join("registry"), "x").unwrap();
        let mode_of = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        fs::set_permissions(target.path(), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&away, Permissions::from_mode(0o755)).unwrap();
        symlink(target.path(), namespace.path()).unwrap();
        opened.make_private().unwrap();
        assert_eq!((mode_of(target.path()), mode_of(&away)), (0o755, 0o700));
        let error = OwnDirectory::open(namespace.path(), one).unwrap_err();
        assert!(error.to_string().contains("link"), "{error}");
        // The link is not of the library.
        assert!(OwnDirectory::open(dir, namespaces).is_err());
        fs::remove_file(namespace.path()).unwrap();
        fs::rename(&away, namespace.path()).unwrap();
        fs::create_dir(dir.join(format!(".x.{:032x}", 7))).unwrap();
        assert!(OwnDirectory::open(dir, namespaces).is_ok());
    }

    #[test]
    fn unfinished_names_are_known() {
        let random = "0123456789abcdef".repeat(2);
        for (name, is_one) in [
            (format!(".default.{random}"), true),
            (format!("default.{random}"), false),
            (format!(".default.{random}0"), false),
            (".ssh".to_owned(), false),
            (".default.".to_owned() + &"g".repeat(32), false),
        ] {
            assert_eq!(is_name_of_unfinished_directory(&name), is_one, "{name}");
        }
    }
}
