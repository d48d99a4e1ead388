//! Opens a namespace: joins it, and removes the files that dead processes left in it.

use std::sync::Arc;

use super::{JoinedNamespace, Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::{SweepReport, sweep};

impl Namespace {
    /// Opens the namespace that `config` selects, and creates it if it is missing. Two calls for
    /// the same directory return the same namespace, unless it was removed in between.
    ///
    /// Makes some forty system calls. Does not block, unless other processes are removing the
    /// namespace or joining at the last free entry of its registry; then it takes some seconds at
    /// most.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace cannot be opened.
    pub fn open(config: &NamespaceConfig) -> Result<Arc<Self>, NamespaceError> {
        let config = config
            .to_absolute()
            .map_err(directory::io_error("find", config.dir()))?;
        Ok(Self::join(&config)?.sweep_if_new())
    }

    /// Opens the namespace that `config` selects, as [`Self::open`] does, but creates nothing.
    /// Returns `None` if there is no such namespace, or if its registry or its directory of topics
    /// is missing. Meant for tools: another process may remove the namespace at the same moment,
    /// and it then stays removed.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace exists, but cannot be opened.
    pub fn open_existing(config: &NamespaceConfig) -> Result<Option<Arc<Self>>, NamespaceError> {
        let found = Self::open_existing_with_report(config)?;
        Ok(found.map(|(namespace, _)| namespace))
    }

    /// Opens a namespace, as [`Self::open_existing`] does. Also returns what this call found when
    /// it removed the files that dead processes had left there. The report is empty if this process
    /// had already opened the namespace, or if the directory of the topics cannot be read.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace exists, but cannot be opened.
    pub fn open_existing_with_report(
        config: &NamespaceConfig,
    ) -> Result<Option<(Arc<Self>, SweepReport)>, NamespaceError> {
        let config = config
            .to_absolute()
            .map_err(directory::io_error("find", config.dir()))?;
        let found = Self::join_existing(&config)?;
        Ok(found.map(JoinedNamespace::sweep_if_new_with_report))
    }

    /// Opens the namespace that the environment variables name: see [`NamespaceConfig::from_env`].
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace cannot be opened.
    pub fn current() -> Result<Arc<Self>, NamespaceError> {
        Self::open(&NamespaceConfig::from_env()?)
    }
}

impl JoinedNamespace {
    /// Returns the namespace. If this call has opened it, removes what dead processes left in it.
    fn sweep_if_new(self) -> Arc<Namespace> {
        self.sweep_if_new_with_report().0
    }

    /// Returns the namespace, as [`Self::sweep_if_new`] does, and the report of what was removed.
    fn sweep_if_new_with_report(self) -> (Arc<Namespace>, SweepReport) {
        let mut report = SweepReport::default();
        if self.is_new {
            // WHY: every process that joins removes the remains of dead ones. A directory that
            // cannot be read is reported when a topic in it is opened.
            self.namespace.remove_unfinished_directories();
            report = sweep(&self.namespace).unwrap_or_default();
        }
        (self.namespace, report)
    }
}
