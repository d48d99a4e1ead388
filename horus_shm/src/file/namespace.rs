//! The namespace: a private directory with a registry of who is alive and the files of the topics.
//!
//! ```text
//! <dir>/                      $HORUS_SHM_DIR, else /dev/shm/horus-<uid>
//!   <namespace>/              $HORUS_NAMESPACE, else default
//!     registry
//!     topics/<encoded name>
//! ```

mod directory;
pub(crate) mod error;
mod opening;
mod removal;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use thiserror::Error;

pub(crate) use error::NamespaceError;

use crate::file::name::{NameError, NamespaceName};
use crate::os::descriptor::Held;
use crate::os::{self, Stat};
use crate::process::fork::ForkLocal;
use crate::process::liveness::{ProcessInfo, Registry, RegistryError};

const DIR_VARIABLE: &str = "HORUS_SHM_DIR";
const NAMESPACE_VARIABLE: &str = "HORUS_NAMESPACE";
const TOPICS: &str = "topics";

/// How often, and how far apart, a namespace is opened that others remove meanwhile.
const OPEN_ATTEMPTS: u32 = 100;
const OPEN_PAUSE: Duration = Duration::from_millis(1);

/// The namespaces that this process has open.
static OPEN: ForkLocal<Mutex<Vec<Weak<Namespace>>>> = ForkLocal::new();

/// Who else may enter: the modes of what is made, and the most that is accepted of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) file_mode: u32,
    pub(crate) dir_mode: u32,
}

impl Access {
    /// Only processes of the same user.
    pub(crate) const PRIVATE: Self = Self { file_mode: 0o600, dir_mode: 0o700 };
}

/// Which namespace to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceConfig {
    dir: PathBuf,
    name: NamespaceName,
    access: Access,
}

impl NamespaceConfig {
    /// The namespace `name` in `dir`. Both are made when the namespace is opened; what `dir` is in
    /// has to exist.
    pub fn new(dir: impl Into<PathBuf>, name: NamespaceName) -> Self {
        Self { dir: dir.into(), name, access: Access::PRIVATE }
    }

    /// The namespace that the environment names: `$HORUS_NAMESPACE` in `$HORUS_SHM_DIR`. Where a
    /// variable is unset or empty, `default` in `/dev/shm/horus-<uid>`: two terminals of one user
    /// meet there.
    ///
    /// # Errors
    ///
    /// [`NameError`] if `$HORUS_NAMESPACE` is no name.
    pub fn from_env() -> Result<Self, NameError> {
        let set = |variable| env::var_os(variable).filter(|value: &OsString| !value.is_empty());
        let dir = set(DIR_VARIABLE).map_or_else(
            || PathBuf::from(format!("/dev/shm/horus-{}", os::effective_uid())),
            PathBuf::from,
        );
        let name = match set(NAMESPACE_VARIABLE) {
            // What is no UTF-8 becomes a character that no name has.
            Some(name) => NamespaceName::new(&name.to_string_lossy())?,
            None => NamespaceName::default(),
        };
        Ok(Self::new(dir, name))
    }

    /// The directory of all namespaces.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The namespace's name.
    pub fn name(&self) -> &NamespaceName {
        &self.name
    }
}

/// Why a namespace could not be removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceRemoveError {
    /// Another process lives in it. Retry after it ended.
    #[error("the namespace {} is in use by {}", path.display(), shown(process))]
    Attended {
        /// The namespace.
        path: PathBuf,
        /// One of those who live in it, if it said who it is.
        process: Option<ProcessInfo>,
    },
    /// What has the namespace's name is not what was opened. Permanent.
    #[error("the namespace {} was removed or replaced by others: open it anew", path.display())]
    Replaced {
        /// The namespace.
        path: PathBuf,
    },
    /// A system call failed; a part may be removed. Open the namespace anew to remove the rest.
    #[error("cannot {doing} the namespace {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The namespace.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

fn shown(process: &Option<ProcessInfo>) -> String {
    process.as_ref().map_or_else(|| "another process".into(), ProcessInfo::to_string)
}

/// A namespace that [`Namespace::join`] found or joined.
struct Opened {
    namespace: Arc<Namespace>,
    /// False if this process had it open.
    is_new: bool,
}

/// An open namespace, shared by all that uses it in this process.
#[derive(Debug)]
pub struct Namespace {
    registry: Registry,
    parent: Held,
    dir: Held,
    topics: Held,
    stat: Stat,
    topics_stat: Stat,
    config: NamespaceConfig,
    path: PathBuf,
}

impl Namespace {
    /// Joins the namespace `config`, or finds it among those that this process has open. Tries
    /// again while other processes remove it.
    fn join(config: &NamespaceConfig) -> Result<Opened, NamespaceError> {
        let mut known = lock_known();
        for _ in 1..OPEN_ATTEMPTS {
            match Self::join_once(config, &mut known) {
                Err(
                    NamespaceError::Gone { .. }
                    | NamespaceError::Registry(RegistryError::Gone { .. }),
                ) => thread::sleep(OPEN_PAUSE),
                other => return other,
            }
        }
        Self::join_once(config, &mut known)
    }

    fn join_once(
        config: &NamespaceConfig,
        known: &mut Vec<Weak<Self>>,
    ) -> Result<Opened, NamespaceError> {
        let access = config.access;
        let (place, name) = directory::open_parent(&config.dir)?;
        let parent = directory::open(place.as_fd(), name, &config.dir, access)?;
        let name = OsStr::new(config.name.as_str());
        let path = config.dir.join(name);
        let dir = directory::open(parent.as_fd(), name, &path, access)?;
        let stat = os::fstat(dir.as_fd()).map_err(directory::io_error("examine", &path))?;

        known.retain(|namespace| namespace.strong_count() > 0);
        for open in known.iter().filter_map(Weak::upgrade) {
            // WHY: where the system does not say, a second entry in the registry would make this
            // process another one to itself.
            if open.stat.is_same_file(&stat)
                && open.is_held()
                && open.is_linked().map_err(directory::io_error("examine", &path))?
            {
                return Ok(Opened { namespace: open, is_new: false });
            }
        }

        let registry = Registry::join(dir.as_fd(), &path, access.file_mode)?;
        let topics_path = path.join(TOPICS);
        let topics = directory::open(dir.as_fd(), OsStr::new(TOPICS), &topics_path, access)?;
        let topics_stat =
            os::fstat(topics.as_fd()).map_err(directory::io_error("examine", &topics_path))?;
        let config = config.clone();
        let hold = |dir| Held::new(dir).map_err(directory::io_error("examine", &path));
        let (parent, dir, topics) = (hold(parent)?, hold(dir)?, hold(topics)?);
        let namespace =
            Arc::new(Self { registry, parent, dir, topics, stat, topics_stat, config, path });
        known.push(Arc::downgrade(&namespace));
        Ok(Opened { namespace, is_new: true })
    }

    /// Who is alive.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the directory of the topic files.
    ///
    /// # Errors
    ///
    /// The program closed this descriptor, or the one by whose lock this process lives.
    pub fn topics_dir(&self) -> io::Result<BorrowedFd<'_>> {
        self.registry.expect_held()?;
        self.topics.get()
    }

    /// Returns false if the program closed one of the descriptors: the namespace has to be opened
    /// again. Handles are told if it was the one by whose lock they live.
    fn is_held(&self) -> bool {
        let dirs = [&self.parent, &self.dir, &self.topics];
        self.registry.expect_held().is_ok() && dirs.iter().all(|dir| dir.is_ours())
    }

    /// The namespace's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the topic files, for messages: open them in [`Namespace::topics_dir`].
    pub fn topics_path(&self) -> PathBuf {
        self.path.join(TOPICS)
    }

    /// What this namespace was opened by, with an absolute path.
    pub fn config(&self) -> &NamespaceConfig {
        &self.config
    }

    /// The modes of the files in it.
    pub(crate) fn access(&self) -> Access {
        self.config.access
    }

    /// Whether registry and topics still are the ones on disk. If not, a user removed them, and
    /// the next [`Namespace::open`] makes and joins new ones. Where the system does not say, the
    /// answer is no.
    pub fn is_current(&self) -> bool {
        self.is_linked().unwrap_or(false)
    }

    fn is_linked(&self) -> io::Result<bool> {
        let dir = self.dir.get()?;
        Ok(self.registry.is_linked(dir)? && os::leads_to(dir, TOPICS, &self.topics_stat)?)
    }

    /// Removes the namespace and all topics in it: for tests and benchmarks, which have their own.
    ///
    /// Handles that this process has go on with files that have no name.
    ///
    /// # Errors
    ///
    /// [`NamespaceRemoveError::Attended`] if any other process, or another copy of this library in
    /// this one, lives in the namespace: nothing was removed then.
    pub fn remove(&self) -> Result<(), NamespaceRemoveError> {
        // WHY: whoever opens the namespace in another thread finds all of it, or none.
        let _known = lock_known();
        match self.registry.exclude_all().map_err(self.io("lock"))? {
            Ok(()) => {}
            Err(process) => {
                return Err(NamespaceRemoveError::Attended { path: self.path.clone(), process });
            }
        }
        let removed = self.remove_files();
        if removed.is_err() {
            self.registry.admit_all().map_err(self.io("unlock"))?;
        }
        removed
    }

    fn remove_files(&self) -> Result<(), NamespaceRemoveError> {
        let parent = self.parent.get().map_err(self.io("examine"))?;
        let dir = self.dir.get().map_err(self.io("examine"))?;
        let topics = self.topics_dir().map_err(self.io("examine"))?;
        let name = self.config.name.as_str();
        let is_same = os::leads_to(parent, name, &self.stat)
            .and_then(|is_same| Ok(is_same && self.is_linked()?));
        if !is_same.map_err(self.io("examine"))? {
            return Err(NamespaceRemoveError::Replaced { path: self.path.clone() });
        }
        for topic in os::list(topics).map_err(self.io("list the topics of"))? {
            removal::remove_any(topics, &topic).map_err(self.io("remove a topic of"))?;
        }
        os::remove_dir(dir, TOPICS).map_err(self.io("remove the topics of"))?;
        self.registry.unlink(dir).map_err(self.io("remove the registry of"))?;
        match os::remove_dir(parent, name) {
            Ok(()) => Ok(()),
            // WHY: without its registry the directory is anybody's. Who waited for that has moved
            // in and begun anew, or has even left again.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.io("remove")(error)),
        }
    }

    fn io(&self, doing: &'static str) -> impl FnOnce(io::Error) -> NamespaceRemoveError {
        let path = self.path.clone();
        move |source| NamespaceRemoveError::Io { doing, path, source }
    }
}

fn lock_known() -> std::sync::MutexGuard<'static, Vec<Weak<Namespace>>> {
    // WHY: the list is valid at every instruction, so a panic of another thread spoils nothing.
    OPEN.get().lock().unwrap_or_else(PoisonError::into_inner)
}
