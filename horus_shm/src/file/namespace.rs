//! Namespaces. A namespace is a directory of one user or group, with a registry of live processes
//! and the topic files.
//!
//! ```text
//! <dir>/                      $HORUS_SHM_DIR, else /dev/shm/horus-<uid>, or horus-g<gid>
//!   <namespace>/              $HORUS_NAMESPACE, else default
//!     registry
//!     topics/<encoded name>
//! ```

mod config;
mod directory;
pub(crate) mod error;
mod opening;
mod removal;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use thiserror::Error;

pub use config::NamespaceConfig;
pub(crate) use error::NamespaceError;

use crate::os::access::AccessRule;
use crate::os::descriptor::CheckedFd;
use crate::os::{self, FileStatus};
use crate::process::fork::ForkLocal;
use crate::process::liveness::{ProcessInfo, Registry, RegistryError};

const TOPICS_DIRECTORY: &str = "topics";

/// Maximum number of attempts to open a namespace. An attempt fails if another process removes the
/// namespace in the meantime.
const NAMESPACE_OPEN_ATTEMPTS_MAX: u32 = 100;
const OPEN_RETRY_PAUSE: Duration = Duration::from_millis(1);

/// The namespaces that are open in this process, so that it opens each of them only once.
static OPEN_NAMESPACES: ForkLocal<Mutex<Vec<Weak<Namespace>>>> = ForkLocal::new();

/// The reason why a namespace could not be removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceRemoveError {
    /// Another live process uses the namespace. Try again after that process has ended.
    #[error("the namespace {} is in use by {}", path.display(), describe_process(process))]
    InUse {
        /// The path of the namespace.
        path: PathBuf,
        /// One of the live processes; `None` if that process has not yet stored its description.
        process: Option<ProcessInfo>,
    },
    /// The directory of the open namespace was removed, or its name belongs to a different
    /// directory now. Permanent.
    #[error("the namespace {} was removed or replaced: open it again", path.display())]
    Replaced {
        /// The path of the namespace.
        path: PathBuf,
    },
    /// The namespace contains a topic of another user of its group. Only that user or root can find
    /// out whether a process uses the topic. Nothing was removed.
    #[error(
        "cannot remove the namespace {}: it holds a topic of user {uid}, and only that user or \
         root can find out whether it is in use: run this as one of them",
        path.display()
    )]
    OtherOwner {
        /// The path of the namespace.
        path: PathBuf,
        /// User id of the user that owns the topic.
        uid: u32,
    },
    /// A system call failed. A part of the namespace may have been removed. Open the namespace
    /// again to remove the rest.
    #[error("cannot {doing} the namespace {}: {source}", path.display())]
    Io {
        /// A description of the operation that failed, for the error text.
        doing: &'static str,
        /// The path of the namespace.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

fn describe_process(process: &Option<ProcessInfo>) -> String {
    process
        .as_ref()
        .map_or_else(|| "another process".into(), ProcessInfo::to_string)
}

/// The result of [`Namespace::join`]: the namespace, and how it was obtained.
struct JoinedNamespace {
    namespace: Arc<Namespace>,
    /// True if this call opened the namespace; false if this process had already opened it.
    is_new: bool,
}

/// An open namespace: a directory of topics, and the registry of the processes that use them. The
/// parts of a process that open the same namespace share one value.
#[derive(Debug)]
pub struct Namespace {
    registry: Registry,
    parent: CheckedFd,
    dir: CheckedFd,
    topics: CheckedFd,
    stat: FileStatus,
    topics_stat: FileStatus,
    config: NamespaceConfig,
    path: PathBuf,
}

impl Namespace {
    /// Joins the namespace that `config` selects, or returns it if this process has already opened
    /// it. Tries again if other processes remove the namespace at the same time.
    fn join(config: &NamespaceConfig) -> Result<JoinedNamespace, NamespaceError> {
        // WHY not locked between the attempts: other threads can open other namespaces meanwhile.
        let join_once = || Self::join_once(config, &mut lock_open_namespaces());
        for _ in 1..NAMESPACE_OPEN_ATTEMPTS_MAX {
            match join_once() {
                Err(
                    NamespaceError::Gone { .. }
                    | NamespaceError::Registry(RegistryError::Gone { .. }),
                ) => thread::sleep(OPEN_RETRY_PAUSE),
                other => return other,
            }
        }
        join_once()
    }

    /// Joins the namespace that `config` selects, as [`Self::join`] does, but creates nothing.
    /// Returns `None` if there is no such namespace, or if another process is removing it.
    fn join_existing(config: &NamespaceConfig) -> Result<Option<JoinedNamespace>, NamespaceError> {
        let mut known = lock_open_namespaces();
        let found = directory::open_parent(config.dir()).and_then(|(place, name)| {
            directory::open_existing_directory(
                place.as_fd(),
                name,
                config.dir(),
                config.access_rule(),
            )
        });
        let Some(parent) = none_if_missing(found)?.flatten() else {
            return Ok(None);
        };
        let name = OsStr::new(config.name().as_str());
        let path = config.dir().join(name);
        let found =
            directory::open_existing_directory(parent.as_fd(), name, &path, config.access_rule());
        let Some(dir) = found? else {
            return Ok(None);
        };
        let creates = false;
        none_if_missing(Self::join_directory(
            config,
            (parent, dir),
            &mut known,
            creates,
        ))
    }

    fn join_once(
        config: &NamespaceConfig,
        known: &mut Vec<Weak<Self>>,
    ) -> Result<JoinedNamespace, NamespaceError> {
        let access = config.access_rule();
        let (place, name) = directory::open_parent(config.dir())?;
        let parent =
            directory::open_or_create_directory(place.as_fd(), name, config.dir(), access)?;
        let name = OsStr::new(config.name().as_str());
        let path = config.dir().join(name);
        let dir = directory::open_or_create_directory(parent.as_fd(), name, &path, access)?;
        let creates = true;
        Self::join_directory(config, (parent, dir), known, creates)
    }

    /// Joins the namespace whose directory is `dir`, in the directory `parent`. Creates a missing
    /// registry or directory of topics if `creates` is true; otherwise returns an error that says
    /// that it is missing.
    fn join_directory(
        config: &NamespaceConfig,
        (parent, dir): (OwnedFd, OwnedFd),
        known: &mut Vec<Weak<Self>>,
        creates: bool,
    ) -> Result<JoinedNamespace, NamespaceError> {
        let access = config.access_rule();
        let path = config.dir().join(config.name().as_str());
        let stat = os::fstat(dir.as_fd()).map_err(directory::io_error("examine", &path))?;

        known.retain(|namespace| namespace.strong_count() > 0);
        for open in known.iter().filter_map(Weak::upgrade) {
            // WHY an error if the system gives no answer: joining again would give this process a
            // second registry entry, and it would take itself for another process.
            if open.stat.is_same_file(&stat)
                && open.has_open_descriptors()
                && open
                    .has_own_parts_on_disk()
                    .map_err(directory::io_error("examine", &path))?
            {
                return Ok(JoinedNamespace {
                    namespace: open,
                    is_new: false,
                });
            }
        }

        let topics_path = path.join(TOPICS_DIRECTORY);
        let topics_name = OsStr::new(TOPICS_DIRECTORY);
        let (registry, topics) = if creates {
            let registry = Registry::join(dir.as_fd(), &path, access)?;
            let topics = directory::open_or_create_directory(
                dir.as_fd(),
                topics_name,
                &topics_path,
                access,
            )?;
            (registry, topics)
        } else {
            let registry = Registry::join_existing(dir.as_fd(), &path, access)?;
            let topics =
                directory::open_existing_directory(dir.as_fd(), topics_name, &topics_path, access)?;
            let missing = || NamespaceError::Gone {
                path: topics_path.clone(),
            };
            (registry, topics.ok_or_else(missing)?)
        };
        let topics_stat =
            os::fstat(topics.as_fd()).map_err(directory::io_error("examine", &topics_path))?;
        let config = config.clone();
        let hold = |dir| CheckedFd::new(dir).map_err(directory::io_error("examine", &path));
        let parent = hold(parent)?;
        let dir = hold(dir)?;
        let topics = hold(topics)?;
        let namespace = Arc::new(Self {
            registry,
            parent,
            dir,
            topics,
            stat,
            topics_stat,
            config,
            path,
        });
        known.push(Arc::downgrade(&namespace));
        Ok(JoinedNamespace {
            namespace,
            is_new: true,
        })
    }

    /// Returns the registry of the live processes of this namespace.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the open directory that contains the topic files and the lane files.
    ///
    /// # Errors
    ///
    /// An error if the program closed the descriptor of the directory, or the descriptor whose lock
    /// marks this process as alive.
    pub fn topics_dir(&self) -> io::Result<BorrowedFd<'_>> {
        self.registry.check_lock_open()?;
        self.topics.get()
    }

    /// Returns false if the program closed one of this namespace's descriptors. The namespace then
    /// has to be opened again. (Open endpoints detect without this function that the descriptor
    /// with the lock of this process was closed.)
    fn has_open_descriptors(&self) -> bool {
        let dirs = [&self.parent, &self.dir, &self.topics];
        self.registry.check_lock_open().is_ok() && dirs.iter().all(|dir| dir.is_still_open())
    }

    /// Returns the path of the namespace's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the topic files' directory, for use in messages. To open topic files,
    /// use [`Namespace::topics_dir`].
    pub fn topics_path(&self) -> PathBuf {
        self.path.join(TOPICS_DIRECTORY)
    }

    /// Returns the configuration with which this namespace was opened; its path is absolute.
    pub fn config(&self) -> &NamespaceConfig {
        &self.config
    }

    /// Returns the rule that decides which users share the namespace's files.
    pub(crate) fn access_rule(&self) -> AccessRule {
        self.config.access_rule()
    }

    /// Returns true if the registry and the topics directory on disk are still the ones that this
    /// process opened. If not, a user removed them, and the next [`Namespace::open`] creates and
    /// joins new ones. Also returns false if the system cannot tell.
    pub fn is_current(&self) -> bool {
        self.has_own_parts_on_disk().unwrap_or(false)
    }

    /// Returns true if the namespace still has its name, and [`Self::is_current`] is true.
    ///
    /// # Errors
    ///
    /// The system error, if the system cannot tell.
    pub(crate) fn is_unchanged_on_disk(&self) -> io::Result<bool> {
        let name = self.config.name().as_str();
        Ok(os::is_name_of_file(self.parent.get()?, name, &self.stat)?
            && self.has_own_parts_on_disk()?)
    }

    fn has_own_parts_on_disk(&self) -> io::Result<bool> {
        let dir = self.dir.get()?;
        Ok(self.registry.is_linked(dir)?
            && os::is_name_of_file(dir, TOPICS_DIRECTORY, &self.topics_stat)?)
    }

    /// Removes the namespace and all topics in it. For tests and benchmarks that create a namespace
    /// only for themselves.
    ///
    /// Handles that this process has open continue to work, but their files no longer have names.
    /// An emergency stop that is engaged is removed, too: schedulers that start later do not know
    /// it. The command `horus namespace rm` refuses that.
    ///
    /// # Errors
    ///
    /// [`NamespaceRemoveError::InUse`] if another process, or another copy of this library in
    /// this process, is alive in the namespace, or has a topic open that belongs to a registry
    /// which was removed. [`NamespaceRemoveError::OtherOwner`] if only another user can find that
    /// out. Nothing was removed then.
    pub fn remove(&self) -> Result<(), NamespaceRemoveError> {
        // WHY: another thread that opens the namespace meanwhile finds all of it, or none.
        let _known = lock_open_namespaces();
        match self
            .registry
            .try_lock_out_others()
            .map_err(self.io_error("lock"))?
        {
            Ok(()) => {}
            Err(process) => {
                return Err(NamespaceRemoveError::InUse {
                    path: self.path.clone(),
                    process,
                });
            }
        }
        let removed = self.remove_files();
        if removed.is_err() {
            self.registry
                .unlock_for_others()
                .map_err(self.io_error("unlock"))?;
        }
        removed
    }

    fn remove_files(&self) -> Result<(), NamespaceRemoveError> {
        let parent = self.parent.get().map_err(self.io_error("examine"))?;
        let dir = self.dir.get().map_err(self.io_error("examine"))?;
        let topics = self.topics_dir().map_err(self.io_error("examine"))?;
        let name = self.config.name().as_str();
        if !self
            .is_unchanged_on_disk()
            .map_err(self.io_error("examine"))?
        {
            return Err(NamespaceRemoveError::Replaced {
                path: self.path.clone(),
            });
        }
        self.check_no_hidden_users(topics)?;
        for topic in os::list_dir(topics).map_err(self.io_error("list the topics of"))? {
            removal::remove_entry_of_any_kind(topics, &topic)
                .map_err(self.io_error("remove a topic of"))?;
        }
        os::remove_dir(dir, TOPICS_DIRECTORY).map_err(self.io_error("remove the topics of"))?;
        self.remove_unfinished_directories();
        self.registry
            .unlink(dir)
            .map_err(self.io_error("remove the registry of"))?;
        match os::remove_dir(parent, name) {
            Ok(()) => Ok(()),
            // WHY success: once the registry is gone, other processes may use the directory. One
            // that waited for that has made a new registry in it, or has even removed the directory
            // already.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.io_error("remove")(error)),
        }
    }

    /// Removes the directories that killed processes were making for this namespace.
    fn remove_unfinished_directories(&self) {
        if let (Ok(parent), Ok(dir)) = (self.parent.get(), self.dir.get()) {
            directory::remove_unfinished_directories_of(
                parent,
                OsStr::new(self.config.name().as_str()),
            );
            directory::remove_unfinished_directories_of(dir, OsStr::new(TOPICS_DIRECTORY));
        }
    }

    fn io_error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> NamespaceRemoveError {
        let path = self.path.clone();
        move |source| NamespaceRemoveError::Io {
            doing,
            path,
            source,
        }
    }
}

/// Returns `None` instead of an error that says that the namespace does not exist.
fn none_if_missing<T>(found: Result<T, NamespaceError>) -> Result<Option<T>, NamespaceError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(NamespaceError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(NamespaceError::Gone { .. } | NamespaceError::Registry(RegistryError::Gone { .. })) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn lock_open_namespaces() -> std::sync::MutexGuard<'static, Vec<Weak<Namespace>>> {
    // WHY: the list is valid at every instruction, so a panic of another thread cannot damage it.
    OPEN_NAMESPACES
        .get()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}
