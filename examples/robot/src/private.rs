//! A namespace for this run only, so that the demo neither sees nor disturbs a running robot.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use horus_core::message::DiagnosticStatus;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, remove_topic};
use horus_core::scheduler;

use crate::Result;

/// Number of lines shown from each black box.
const LINES: usize = 3;

/// A namespace that is removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct PrivateNamespace {
    namespace: Arc<Namespace>,
    /// The directory that contains all namespaces, if this process created it.
    made: Option<PathBuf>,
}

impl PrivateNamespace {
    /// Creates the namespace, in the directory that contains all namespaces of this user.
    pub(crate) fn create() -> Result<Self> {
        let name = NamespaceName::new(&format!("robot_demo_{}", std::process::id()))?;
        let config = NamespaceConfig::from_env()?;
        let made = (!config.dir().exists()).then(|| config.dir().to_owned());
        let namespace = Namespace::open(&config.with_name(name))?;
        Ok(Self { namespace, made })
    }

    /// Returns the environment variable with which a process finds this namespace.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        ("HORUS_NAMESPACE", self.namespace.config().name().as_str())
    }

    /// Returns the directory of the namespace's files.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.namespace.path()
    }

    /// Returns the last problem in each scheduler's black box, then removes the black boxes, which
    /// remain after their processes until then.
    pub(crate) fn open_black_boxes(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for scheduler in scheduler::schedulers(&self.namespace)? {
            let events = scheduler::black_box(&self.namespace, &scheduler.name)?;
            let bad: Vec<_> = events
                .iter()
                .filter(|event| event.level != DiagnosticStatus::OK)
                .collect();
            let last = bad
                .iter()
                .rev()
                .take(LINES)
                .rev()
                .map(|event| format!("  {event}"));
            lines.push(format!("{}: {} events", scheduler.name, events.len()));
            lines.extend(last);
            scheduler::forget(&self.namespace, &scheduler.name)?;
        }
        remove_topic(&self.namespace, scheduler::EMERGENCY_STOP_TOPIC)?;
        Ok(lines)
    }

    /// Removes the namespace and returns the names of the files left in it. There are none if every
    /// process cleaned up after itself and after killed processes.
    pub(crate) fn remove(self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for file in fs::read_dir(self.namespace.topics_path())? {
            left.push(format!("topic file {}", file?.file_name().display()));
        }
        self.namespace.remove()?;
        let path = self.namespace.path();
        if fs::exists(path)? {
            left.push(format!("directory {}", path.display()));
        }
        Ok(left)
    }
}

impl Drop for PrivateNamespace {
    fn drop(&mut self) {
        // An error here means that it was removed already, or that a process still uses it.
        let _ = self.namespace.remove();
        if let Some(dir) = &self.made {
            // Removes the directory only if it is empty; a process that is about to use it creates
            // it again.
            let _: io::Result<()> = fs::remove_dir(dir);
        }
    }
}
