//! Removes namespaces that this process has not joined. This works even if a namespace can no
//! longer be opened.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::{
    Namespace, NamespaceConfig, NamespaceRemoveError, TOPICS_DIRECTORY, directory,
    lock_open_namespaces,
};
use crate::file::header::{self, HeaderError, Provenance};
use crate::file::lane_name;
use crate::file::name::TopicName;
use crate::file::open::provenance;
use crate::os::access::AccessRule;
use crate::os::{self, FileStatus, OpenMode, lock};
use crate::process::liveness::{self, ProcessInfo};
use crate::protocol::layout::HEADER_BYTES;

impl Namespace {
    /// Removes the namespace that `config` selects, and all topics in it, without joining it. Works
    /// even if the namespace's registry is damaged, was replaced, or is not a file. Does nothing if
    /// the namespace does not exist.
    ///
    /// # Errors
    ///
    /// [`NamespaceRemoveError::InUse`] if a process (this one included) is alive in the
    /// namespace, or has one of its topics open. Nothing was removed then.
    pub fn remove_at(config: &NamespaceConfig) -> Result<(), NamespaceRemoveError> {
        // WHY: another thread that opens the namespace meanwhile finds all of it, or none.
        let _known = lock_open_namespaces();
        let path = config.dir().join(config.name().as_str());
        let removal = NamespaceRemoval {
            path,
            access: config.access_rule(),
        };
        let found = removal.open_parent(config.dir())?;
        let Some(parent) = found else { return Ok(()) };
        removal.remove(parent.as_fd(), OsStr::new(config.name().as_str()))
    }
}

impl Namespace {
    /// Returns an error if a process may use one of the topics without a lock in the registry of
    /// this namespace: it has joined a registry that was removed since. `topics` is the directory
    /// of the topics.
    pub(super) fn check_no_hidden_users(
        &self,
        topics: BorrowedFd<'_>,
    ) -> Result<(), NamespaceRemoveError> {
        let removal = NamespaceRemoval {
            path: self.path.clone(),
            access: self.access_rule(),
        };
        let provenance = provenance(self);
        for name in os::list_dir(topics).map_err(removal.io_error("list the topics of"))? {
            let shown = name.to_string_lossy();
            // WHY no lane files: a process that uses one uses its topic, too.
            if lane_name::is_lane_file_name(&shown)
                || is_topic_of_registry(topics, &shown, provenance)
            {
                continue;
            }
            drop(removal.lease_topic(topics, &name)?);
        }
        Ok(())
    }
}

/// Returns true if the file with the name `name` is a topic whose users have locks in the registry
/// that `provenance` names. Also returns true if the file was created before the machine was last
/// booted, so that no process uses it.
fn is_topic_of_registry(topics: BorrowedFd<'_>, name: &str, provenance: Provenance) -> bool {
    let Ok(topic) = TopicName::from_file_name(name) else {
        return false;
    };
    let read = || -> io::Result<(Vec<u8>, u64)> {
        // WHY checked first: a FIFO must not be opened.
        if !os::fstatat(topics, name)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let fd = os::open_file(topics, name, OpenMode::ReadWrite)?;
        let size = os::fstat(fd.as_fd())?.size_bytes;
        let mut bytes = vec![0; HEADER_BYTES.min(size as usize)];
        os::read_at(fd.as_fd(), &mut bytes, 0)?;
        Ok((bytes, size))
    };
    read().is_ok_and(|(bytes, size)| {
        let decoded = header::decode_topic_header(&bytes, size, topic.as_str(), provenance);
        matches!(decoded, Ok(_) | Err(HeaderError::Boot))
    })
}

/// The removal of one namespace. It contains the namespace's path only for error texts.
struct NamespaceRemoval {
    path: PathBuf,
    access: AccessRule,
}

impl NamespaceRemoval {
    fn io_error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> NamespaceRemoveError {
        let path = self.path.clone();
        move |source| NamespaceRemoveError::Io {
            doing,
            path,
            source,
        }
    }

    fn in_use_error(&self, process: Option<ProcessInfo>) -> NamespaceRemoveError {
        NamespaceRemoveError::InUse {
            path: self.path.clone(),
            process,
        }
    }

    /// Opens the parent directory `dir` of the namespace's directory; returns `None` if it does not
    /// exist.
    fn open_parent(&self, dir: &Path) -> Result<Option<OwnedFd>, NamespaceRemoveError> {
        let dir = std::path::absolute(dir).map_err(self.io_error("find"))?;
        let (Some(place), Some(name)) = (dir.parent(), dir.file_name()) else {
            return Ok(None);
        };
        let place = match os::open_o_path(place) {
            Ok(place) => place,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io_error("look for")(error)),
        };
        self.open_dir(place.as_fd(), name)
    }

    /// Opens the directory `name` in the directory `dir`; returns `None` if it does not exist.
    fn open_dir(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<Option<OwnedFd>, NamespaceRemoveError> {
        match os::open_dir(dir, name) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io_error("open")(error)),
        }
    }

    fn remove(&self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), NamespaceRemoveError> {
        directory::remove_unfinished_directories_of(parent, name);
        let Some(dir) = self.open_dir(parent, name)? else {
            return Ok(());
        };
        let dir = dir.as_fd();
        // WHY: a directory that is open to other users is not this namespace, whatever is in it.
        let stat = os::fstat(dir).map_err(self.io_error("examine"))?;
        directory::refuse_if_foreign(&stat, &self.path, self.access)
            .map_err(|refused| self.io_error("remove")(io::Error::other(refused)))?;
        // WHY held until the end: no process can join meanwhile.
        let _lock = match liveness::lock_out_all_processes(dir, self.access) {
            Ok(Ok(lock)) => lock,
            Ok(Err(process)) => return Err(self.in_use_error(process)),
            // WHY success: another process has removed the namespace.
            Err(_) if os::fstat(dir).is_ok_and(|dir| dir.links == 0) => return Ok(()),
            Err(error) => return Err(self.io_error("lock the registry of")(error)),
        };
        let topics = match os::open_dir(dir, TOPICS_DIRECTORY) {
            Ok(topics) => Some(topics),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // WHY no error: another kind of file has the name, and is removed below.
            Err(_) => return self.remove_registry_and_directories(parent, name, dir),
        };
        if let Some(topics) = topics {
            self.remove_topics(topics.as_fd())?;
        }
        self.remove_registry_and_directories(parent, name, dir)
    }

    /// Removes all topics, if no process has one of them open. WHY this is checked with leases: a
    /// process that joined a registry which was replaced later holds no lock on the present
    /// registry.
    fn remove_topics(&self, topics: BorrowedFd<'_>) -> Result<(), NamespaceRemoveError> {
        let names = os::list_dir(topics).map_err(self.io_error("list the topics of"))?;
        // WHY not all leases at once: a process may have more topics than descriptors.
        for name in &names {
            drop(self.lease_topic(topics, name)?);
        }
        for name in &names {
            let _lease = self.lease_topic(topics, name)?;
            self.remove_entry(topics, name)?;
        }
        Ok(())
    }

    /// Takes a lease on the topic file `name`, which shows that no process has it open. Returns an
    /// error if one has; `None` if the file is gone, is no regular file, or cannot be opened by its
    /// owner.
    fn lease_topic(
        &self,
        topics: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<Option<OwnedFd>, NamespaceRemoveError> {
        use io::ErrorKind::{NotFound, PermissionDenied, WouldBlock};
        let stat = match os::fstatat(topics, name) {
            Err(error) if error.kind() == NotFound => return Ok(None),
            stat => stat.map_err(self.io_error("examine a topic of"))?,
        };
        if !stat.is_file() {
            return Ok(None);
        }
        let fd = match os::open_file(topics, name, OpenMode::ReadWrite) {
            Ok(fd) => fd,
            Err(error) if error.kind() == NotFound => return Ok(None),
            Err(error) if error.kind() == PermissionDenied => {
                // WHY: a file that its owner may not open is not in use either.
                self.check_owner(&stat)?;
                return Ok(None);
            }
            // WHY: another process has a lease on it, because it removes or replaces the file.
            Err(error) if error.kind() == WouldBlock => {
                return Err(self.in_use_error(liveness::find_process_with_open_file(&stat)));
            }
            Err(error) => return Err(self.io_error("open a topic of")(error)),
        };
        match lock::try_write_lease(fd.as_fd()) {
            Ok(true) => Ok(Some(fd)),
            Ok(false) => Err(self.in_use_error(liveness::find_process_with_open_file(&stat))),
            Err(error) => {
                self.check_owner(&stat)?;
                Err(self.io_error("lease a topic of")(error))
            }
        }
    }

    /// Returns an error if the file belongs to another user. WHY: only that user or root can find
    /// out whether a process uses the file.
    fn check_owner(&self, stat: &FileStatus) -> Result<(), NamespaceRemoveError> {
        if stat.uid == os::effective_uid() {
            return Ok(());
        }
        Err(NamespaceRemoveError::OtherOwner {
            path: self.path.clone(),
            uid: stat.uid,
        })
    }

    fn remove_registry_and_directories(
        &self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        dir: BorrowedFd<'_>,
    ) -> Result<(), NamespaceRemoveError> {
        directory::remove_unfinished_directories_of(dir, OsStr::new(TOPICS_DIRECTORY));
        self.remove_entry(dir, OsStr::new(TOPICS_DIRECTORY))?;
        self.remove_entry(dir, OsStr::new(liveness::REGISTRY_FILE_NAME))?;
        // WHY success: once the registry is gone, other processes may use the name. One that waited
        // for that has made a new registry.
        let is_used_again = || {
            let registry = Path::new(name).join(liveness::REGISTRY_FILE_NAME);
            os::fstatat(parent, registry).is_ok()
        };
        match self.remove_entry(parent, name) {
            Err(NamespaceRemoveError::Io { source, .. })
                if source.kind() == io::ErrorKind::DirectoryNotEmpty && is_used_again() =>
            {
                Ok(())
            }
            other => other,
        }
    }

    /// Removes the file or empty directory `name` from `dir`. Does nothing if there is none.
    fn remove_entry(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), NamespaceRemoveError> {
        match remove_entry_of_any_kind(dir, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(self.io_error("remove a file of")),
        }
    }
}

/// Removes the file or empty directory `name` from `dir`.
pub(super) fn remove_entry_of_any_kind(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match os::unlink(dir, name) {
        Err(error) if error.raw_os_error() == Some(libc::EISDIR) => os::remove_dir(dir, name),
        other => other,
    }
}
