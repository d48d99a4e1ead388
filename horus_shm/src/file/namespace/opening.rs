//! Opens a namespace: joins it, and removes the files that dead processes left in it.

use std::sync::Arc;

use super::{Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::sweep;

impl Namespace {
    /// Opens the namespace that `config` selects, and creates it if it is missing. Two calls for
    /// the same directory return the same namespace, unless it was removed in between.
    ///
    /// Makes some thirty system calls. Does not block, unless other processes are removing the
    /// namespace; then it takes about a second at most.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] if the namespace cannot be opened.
    pub fn open(config: &NamespaceConfig) -> Result<Arc<Self>, NamespaceError> {
        let config = config
            .to_absolute()
            .map_err(directory::io_error("find", config.dir()))?;
        let opened = Self::join(&config)?;
        if opened.is_new {
            // WHY: every process that joins removes the remains of dead ones. A directory that
            // cannot be read is reported when a topic in it is opened.
            let _ = sweep(&opened.namespace);
        }
        Ok(opened.namespace)
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
