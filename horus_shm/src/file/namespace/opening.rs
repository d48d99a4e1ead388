//! Opening a namespace: joining it, and clearing away what dead processes left in it.

use std::sync::Arc;

use super::{Namespace, NamespaceConfig, NamespaceError, directory};
use crate::file::sweep::sweep;

impl Namespace {
    /// Opens, and makes where it is missing, the namespace that `config` names. Opening the
    /// same directory twice gives the same namespace, as long as nobody removed it in between.
    ///
    /// Some thirty system calls. Does not block, except for a second or so at most while other
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
            // WHY: every process that comes in clears away what dead ones left. A directory that
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
