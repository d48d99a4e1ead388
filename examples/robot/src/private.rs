//! A namespace for this one run: the demo neither sees nor disturbs a robot that is running.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use horus_core::message::DiagnosticStatus;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, remove_topic};
use horus_core::scheduler;

use crate::Result;

/// So many lines of a black box are shown.
const LINES: usize = 3;

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct PrivateNamespace {
    namespace: Arc<Namespace>,
    /// The directory of all namespaces, if it was not there before.
    made: Option<PathBuf>,
}

impl PrivateNamespace {
    /// Makes the namespace, in the same directory as any other of this user.
    pub(crate) fn create() -> Result<Self> {
        let name = NamespaceName::new(&format!("robot_demo_{}", std::process::id()))?;
        let config = NamespaceConfig::from_env()?;
        let made = (!config.dir().exists()).then(|| config.dir().to_owned());
        let namespace = Namespace::open(&NamespaceConfig::new(config.dir(), name))?;
        Ok(Self { namespace, made })
    }

    /// What a process has in its environment to be in this namespace.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        ("HORUS_NAMESPACE", self.namespace.config().name().as_str())
    }

    /// Where its files are.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.namespace.path()
    }

    /// What the black boxes of the schedulers say that was not as it should be, the last of each.
    /// They are still there because they outlive their processes; then they are cleared up.
    pub(crate) fn open_black_boxes(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for scheduler in scheduler::schedulers(&self.namespace)? {
            let events = scheduler::black_box(&self.namespace, &scheduler.name)?;
            let bad: Vec<_> =
                events.iter().filter(|event| event.level != DiagnosticStatus::OK).collect();
            let last = bad.iter().rev().take(LINES).rev().map(|event| format!("  {event}"));
            lines.push(format!("{}: {} events", scheduler.name, events.len()));
            lines.extend(last);
            scheduler::forget(&self.namespace, &scheduler.name)?;
        }
        remove_topic(&self.namespace, scheduler::EMERGENCY_STOP_TOPIC)?;
        Ok(lines)
    }

    /// Removes the namespace and says what was left in it, which is nothing if every process
    /// cleared up after itself, and after those that were killed.
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
        // An error here means that it was removed already, or that some process is still in it.
        let _ = self.namespace.remove();
        if let Some(dir) = &self.made {
            // Removes it only if it is empty; whoever is just about to use it makes it again.
            let _: io::Result<()> = fs::remove_dir(dir);
        }
    }
}
