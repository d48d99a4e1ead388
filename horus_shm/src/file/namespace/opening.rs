//! Opening namespaces: joining one, and removing the remains of dead processes in it.

use std::sync::Arc;

use super::{Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::sweep;

impl Namespace {
    /// Opens the namespace that `config` names, and makes it if it is missing. Opening the same
    /// directory twice gives the same namespace, as long as it was not removed in between.
    ///
    /// Some thirty system calls. Does not block, except for at most about a second while other
    /// processes remove the namespace.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`].
    pub fn open(config: &NamespaceConfig) -> Result<Arc<Self>, NamespaceError> {
        let dir =
            std::path::absolute(&config.dir).map_err(directory::io_error("find", &config.dir))?;
        let config = NamespaceConfig { dir, ..config.clone() };
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
