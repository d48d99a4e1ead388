//! Opens a namespace: joins it, and removes the files that dead processes left in it.

use std::sync::Arc;

use super::{JoinedNamespace, Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::sweep;

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
        Ok(Self::join(&config)?.swept())
    }

    /// Opens the namespace that `config` selects, as [`Self::open`] does, but creates nothing.
    /// Returns `None` if there is no such namespace. Meant for tools: another process may remove
    /// the namespace at the same moment, and it then stays removed.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace exists, but cannot be opened.
    pub fn open_existing(config: &NamespaceConfig) -> Result<Option<Arc<Self>>, NamespaceError> {
        let config = config
            .to_absolute()
            .map_err(directory::io_error("find", config.dir()))?;
        Ok(Self::join_existing(&config)?.map(JoinedNamespace::swept))
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
    fn swept(self) -> Arc<Namespace> {
        if self.is_new {
            // WHY: every process that joins removes the remains of dead ones. A directory that
            // cannot be read is reported when a topic in it is opened.
            self.namespace.remove_unfinished_directories();
            let _ = sweep(&self.namespace);
        }
        self.namespace
    }
}
