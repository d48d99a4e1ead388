//! Opening namespaces: joining one, and removing the remains of dead processes in it.

use std::sync::Arc;

use super::{Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::sweep;

impl Namespace {
    /// Opens the namespace that `config` names, and makes it if it is missing. Two calls for the
    /// same directory return the same namespace, unless it was removed in between.
    ///
    /// Makes some thirty system calls. Does not block, except while other processes remove the
    /// namespace: about a second at most.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`].
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

    /// Opens the namespace that the environment names: see [`NamespaceConfig::from_env`].
    ///
    /// # Errors
    ///
    /// [`NamespaceError`].
    pub fn current() -> Result<Arc<Self>, NamespaceError> {
        Self::open(&NamespaceConfig::from_env()?)
    }
}
